/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Big arrays of unknown final size: reserves address space for the largest possible size; memory is
 * used only where written.
 *
 * Zeroed; asks for huge pages; moves only when the reservation was refused or too small.
 */
#ifndef HAWK_ANALYZER_BASE_AREA_H
#define HAWK_ANALYZER_BASE_AREA_H

#include <stddef.h>
#include <stdint.h>

#include "hawk/base/error.h"

struct hawk_area {
	void *bytes; /**< NULL = empty */
	size_t size; /**< usable bytes */
};

/** Reserves `wanted_bytes`, or as much of them as the system allows. */
struct hawk_error *hawk_area_create(struct hawk_area *area, uint64_t wanted_bytes);

/** Reserves exactly `bytes`, without huge pages: for arrays that stay mostly untouched. */
struct hawk_error *hawk_area_create_sparse(struct hawk_area *area, uint64_t bytes);

/** Makes room for at least `bytes`; `area->bytes` may change. New bytes are zero. */
struct hawk_error *hawk_area_grow(struct hawk_area *area, uint64_t bytes);

/** Frees everything after the first `bytes`. */
void hawk_area_trim(struct hawk_area *area, size_t bytes);

/** Accepts a zeroed area and leaves it zeroed. */
void hawk_area_destroy(struct hawk_area *area);

#endif
