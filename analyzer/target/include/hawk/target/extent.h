/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds how far memory extends without a gap: blocks and table segments may span adjacent mappings.
 * Used by heap/ and trace/.
 */
#ifndef HAWK_ANALYZER_TARGET_EXTENT_H
#define HAWK_ANALYZER_TARGET_EXTENT_H

#include "hawk/target/target.h"

/** The contiguous memory above one mapping's start. */
struct hawk_extent {
	uint64_t end;         /**< first unmapped address above it, whatever the rights */
	uint64_t present_end; /**< first unreadable address above it; its start if nothing is
				 readable */
};

/** Creates one extent per mapping; the caller frees. Sets `*ret` to NULL if there are none. */
struct hawk_error *hawk_extents_create(const struct hawk_target *target, struct hawk_extent **ret);

/** Fills `*ret` for the mapping that contains `address`; false if none does. */
bool hawk_extent_at(const struct hawk_target *target, uint64_t address, struct hawk_extent *ret);

/** Returns the lowest address from which memory is mapped up to `address` without a gap, or
 * `address` if it is not mapped. */
uint64_t hawk_extent_start(const struct hawk_target *target, uint64_t address);

#endif
