/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Big arrays whose final size is not known when they are begun: address space is reserved for the
 * largest size that can be, and memory is used only where something was written.
 *
 * Zeroed, asks for huge pages, moves only when the wish was refused or too small.
 */
#ifndef HAWK_ANALYZER_BASE_AREA_H
#define HAWK_ANALYZER_BASE_AREA_H

#include <stddef.h>
#include <stdint.h>

#include "hawk/base/error.h"

struct hawk_area {
	void *bytes; /**< NULL = nothing */
	size_t size; /**< that may be touched */
};

/** Reserves `wish_bytes`, or as much of them as the system allows. */
struct hawk_error *hawk_area_create(struct hawk_area *area, uint64_t wish_bytes);

/** Exactly `bytes` without huge pages, for arrays of which little is ever touched. */
struct hawk_error *hawk_area_create_sparse(struct hawk_area *area, uint64_t bytes);

/** Makes room for at least `bytes`; `area->bytes` may change. What is new is zero. */
struct hawk_error *hawk_area_grow(struct hawk_area *area, uint64_t bytes);

/** Gives back everything behind the first `bytes`. */
void hawk_area_trim(struct hawk_area *area, size_t bytes);

/** Accepts an area of zeros, and leaves one behind. */
void hawk_area_destroy(struct hawk_area *area);

#endif
