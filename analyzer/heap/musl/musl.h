/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * musl's mallocng (from 1.2.1 on) as it lies in memory. It is found by its shape; no symbol and no
 * file is needed. Private to heap/musl/.
 *
 *     context:  | secret | ready | ... | first, last area of descriptions | ...
 *     area:     | secret | next | count | descriptions ...
 *     group:    | its description | ... | slots: | block | slack, whose length stands at its end |
 *
 * The bytes before a block tell its slot and what the program asked for, exactly.
 */
#ifndef HAWK_ANALYZER_HEAP_MUSL_MUSL_H
#define HAWK_ANALYZER_HEAP_MUSL_MUSL_H

#include "walker.h"

/** Slots of one size. */
struct hawk_musl_group {
	uint64_t start;
	uint64_t stride;
	uint32_t live; /**< a bit for each slot */
	uint32_t slots;
};

struct hawk_musl {
	const struct hawk_target *target;
	uint64_t context;
	struct hawk_musl_group *groups; /**< ascending; one may lie in a slot of another */
	size_t group_count, group_capacity;
	struct hawk_claims metadata;
	struct hawk_claims memory; /**< groups: the allocator's, for other walkers to leave */
	uint64_t differing;        /**< groups that do not lead back to their description */
};

/** A live block. */
struct hawk_musl_block {
	uint64_t start;
	uint64_t requested;
};

/** Finds the context and all groups. `*is_there` false: nothing is to be freed. */
struct hawk_error *hawk_musl_find(const struct hawk_target *target, struct hawk_musl *ret,
				  bool *is_there);
void hawk_musl_deinit(struct hawk_musl *musl);

enum { HAWK_MUSL_DEPTH = 8 /* of groups in slots */ };

/** Goes through live blocks in ascending order. Start with zeros, `musl` and `near.target`. */
struct hawk_musl_cursor {
	const struct hawk_musl *musl;
	struct hawk_near near;
	size_t next; /**< the next group that lies in no other one */
	struct {
		size_t group;
		uint32_t slot;
	} at[HAWK_MUSL_DEPTH]; /**< innermost last */
	unsigned depth;        /**< 0 = between groups */
};

/** Gives the next block; false: there is none. */
bool hawk_musl_next(struct hawk_musl_cursor *cursor, struct hawk_musl_block *ret);

#endif
