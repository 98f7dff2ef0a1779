/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The structures of musl's mallocng (from 1.2.1 on) in memory. They are found by their shape; no
 * symbol and no file is needed. Private to heap/musl/.
 *
 *     context:  | secret | ready | ... | first, last area of descriptions | ...
 *     area:     | secret | next | count | descriptions ...
 *     group:    | its description | ... | slots: | block | slack, whose length stands at its end |
 *
 * The bytes before a block hold its slot and its exact requested size.
 */
#ifndef HAWK_ANALYZER_HEAP_MUSL_MUSL_H
#define HAWK_ANALYZER_HEAP_MUSL_MUSL_H

#include "hawk/heap/damage.h"
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
	struct hawk_claims memory; /**< memory of groups: the allocator's, not for other walkers */
	uint64_t differing;        /**< groups that do not lead back to their description */
	struct hawk_damages damages; /**< words in which such groups should */
};

/** A live block, or a free slot. */
struct hawk_musl_block {
	uint64_t start;
	uint64_t requested; /**< bytes; all of a free slot */
	bool is_free;
	uint64_t end; /**< of the usable bytes of its slot; not set for free slots */
	uint64_t group, group_bytes;
};

/** Finds the context and all groups. Sets `*is_there` to false if none exist; then nothing needs
 * freeing. */
struct hawk_error *hawk_musl_find(const struct hawk_target *target, struct hawk_musl *ret,
				  bool *is_there);
void hawk_musl_deinit(struct hawk_musl *musl);

enum {
	HAWK_MUSL_DEPTH = 8,         /**< upper limit on nesting of groups in slots */
	HAWK_MUSL_GROUP_HEADER = 16, /**< bytes before a group's first slot */
	HAWK_MUSL_HEAD = 4,          /**< bytes before a block, in the end of the slot before */
	HAWK_MUSL_UNIT = 16,
};

/** The bytes before a block. */
struct hawk_musl_head {
	unsigned slot;
	unsigned code;  /**< of its slack */
	uint64_t units; /**< distance from the group's first slot */
};

/** Returns false if the target does not hold them. */
bool hawk_musl_head(struct hawk_near *near, uint64_t block, struct hawk_musl_head *ret);

enum hawk_musl_content {
	HAWK_MUSL_NOTHING, /**< no block that makes sense; `start` and `end` are set if known */
	HAWK_MUSL_BLOCK,
	HAWK_MUSL_GROUP, /**< another group */
};

/** Reads a slot in use. */
enum hawk_musl_content hawk_musl_slot(struct hawk_near *near, const struct hawk_musl_group *group,
				      uint32_t number, struct hawk_musl_block *ret);

/** Adds what musl's own assertions would fail on. */
void hawk_musl_verify(const void *state, struct hawk_damages *ret);

/** Returns the usable bytes of the free slot that holds `address`, 0 = none does. */
uint64_t hawk_musl_free_bytes(const void *state, uint64_t address);

/** Walks live blocks and free slots in ascending order. Start with zeros, `musl` and `near.target`.
 */
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

/** Gives the next one; returns false behind the last one. */
bool hawk_musl_next(struct hawk_musl_cursor *cursor, struct hawk_musl_block *ret);

#endif
