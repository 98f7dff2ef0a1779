/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * How far memory reaches without a gap: blocks and table segments may lie across mappings that
 * touch. For heap/ and trace/.
 */
#ifndef HAWK_ANALYZER_TARGET_EXTENT_H
#define HAWK_ANALYZER_TARGET_EXTENT_H

#include "hawk/target/target.h"

/** Of one mapping. */
struct hawk_extent {
	uint64_t end;         /**< first address above it that is not mapped, whatever the rights */
	uint64_t present_end; /**< first address above it that cannot be read; its start if nothing
				 can */
};

/** One for each of the target's mappings; the caller frees. NULL with `*ret` NULL if there are
 * none. */
struct hawk_error *hawk_extents_create(const struct hawk_target *target, struct hawk_extent **ret);

/** Of the mapping that contains `address`; false if there is none. */
bool hawk_extent_at(const struct hawk_target *target, uint64_t address, struct hawk_extent *ret);

/** The lowest address from which memory is mapped up to `address` without a gap; `address` itself
 * if it is not mapped. */
uint64_t hawk_extent_start(const struct hawk_target *target, uint64_t address);

#endif
