/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Which group of roots alone leads to each block: what would go if the group were gone. A variable
 * that holds a structure by two pointers (the head and the end of a list, the buckets and the first
 * node of a hash table) dominates it, though none of the structure's blocks does; and one that
 * points into a structure of another variable does not. Registers and stacks pass: they count only
 * for blocks that nothing else leads to. Internal to analysis/.
 */
#ifndef HAWK_ROOT_OWNERS_H
#define HAWK_ROOT_OWNERS_H

#include "hawk_dominators.h"

enum {
	HAWK_OWNER_NONE = 0xffffffff, /**< no root leads there */
	HAWK_OWNERS_SEVERAL = 0xfffffffe,
};

struct hawk_root_owners {
	const uint32_t *of; /**< by block: a group, or one of the above; over the pointers
				 that count */
	uint64_t *lasting;  /**< a bit for each block that not only registers and stacks lead to */
};

static inline bool hawk_root_owners_lasting(const struct hawk_root_owners *owners, uint32_t block)
{
	return owners->lasting[block / 64] >> block % 64 & 1;
}

/** One that goes away with what the thread does. */
static inline bool hawk_root_passes(const struct hawk_root *root)
{
	return root->kind == HAWK_ROOT_REGISTER || root->kind == HAWK_ROOT_STACK;
}

/** Whether its pointer is one of `edges`. */
static inline bool hawk_root_counts(const struct hawk_root *root, enum hawk_edges edges)
{
	return edges == HAWK_EDGES_ALL || hawk_root_is_strong(root);
}

/**
 * `edges` says which pointers count, of roots too. `groups[root]` is the group of each root, below
 * 2^31. `of` has room for all blocks and is the caller's. Needs edges and roots. O(edges), whatever
 * the shape: a block changes twice at most.
 */
struct hawk_error *hawk_root_owners_find(const struct hawk_graph *graph, enum hawk_edges edges,
					 const uint32_t *groups, uint32_t *of,
					 struct hawk_root_owners *ret);

/** Accepts owners of zeros. */
void hawk_root_owners_deinit(struct hawk_root_owners *owners);

#endif
