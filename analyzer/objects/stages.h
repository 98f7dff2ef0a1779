/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The stages that fill the types. Internal to objects/.
 */
#ifndef HAWK_ANALYZER_OBJECTS_STAGES_H
#define HAWK_ANALYZER_OBJECTS_STAGES_H

#include "hawk/objects/types.h"

/** Types blocks by annotations, classes and first words. */
struct hawk_error *hawk_types_from_heap(struct hawk_types *types, struct hawk_block_types *names,
					struct hawk_symbols *symbols,
					const struct hawk_types_wish *wish);

/** Types blocks that typed variables, or objects of known classes, lead to. Costs nothing without
 * debug information. */
struct hawk_error *hawk_types_from_dwarf(struct hawk_types *types, struct hawk_symbols *symbols,
					 const struct hawk_types_wish *wish);

/** Returns true if the bit is set, or there are none. */
static inline bool hawk_types_bit(const uint64_t *bits, size_t number)
{
	return !bits || bits[number / 64] >> number % 64 & 1;
}

#endif
