/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Nested blocks while the index is filled. Internal to heap/.
 *
 * A block is open until a block outside it comes. Its memory is covered up to each nested block and
 * again from its end.
 */
#ifndef HAWK_ANALYZER_HEAP_BLOCK_NESTS_H
#define HAWK_ANALYZER_HEAP_BLOCK_NESTS_H

#include "hawk/heap/block_index.h"

/** Closes open blocks of `depth` and above. */
struct hawk_error *hawk_block_nests_settle(struct hawk_block_index *index, unsigned depth);

/** Leaves room for `block`, which comes next, in the innermost open block, if any is open. */
struct hawk_error *hawk_block_nests_cut(struct hawk_block_index *index,
					const struct hawk_block *block);

/** Opens `block`, which came last. */
void hawk_block_nests_open(struct hawk_block_index *index, const struct hawk_block *block);

#endif
