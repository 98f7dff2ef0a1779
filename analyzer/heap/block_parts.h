/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What block_index.c, which stores blocks, and block_parts.c, which holds back those that may be
 * carved up, share. Internal to heap/.
 */
#ifndef HAWK_ANALYZER_HEAP_BLOCK_PARTS_H
#define HAWK_ANALYZER_HEAP_BLOCK_PARTS_H

#include "hawk/heap/block_index.h"

/** Stores one block above all earlier ones. */
struct hawk_error *hawk_block_index_add_one(struct hawk_block_index *index,
					    const struct hawk_block *block);

/** Takes a block in which others may lie: it is stored when it is known what is left of it. */
struct hawk_error *hawk_block_parts_hold(struct hawk_block_index *index,
					 const struct hawk_block *block);

/** Stores what is left of the blocks of this depth and more. */
struct hawk_error *hawk_block_parts_settle(struct hawk_block_index *index, unsigned depth);

#endif
