/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Blocks in blocks on their way into the index. Internal to heap/.
 *
 * A block is open until one comes that does not lie in it. Its memory is covered as far as the
 * next block in it, then from behind that one on.
 */
#ifndef HAWK_ANALYZER_HEAP_BLOCK_NESTS_H
#define HAWK_ANALYZER_HEAP_BLOCK_NESTS_H

#include "hawk/heap/block_index.h"

/** Closes open blocks of `depth` and above. */
struct hawk_error *hawk_block_nests_settle(struct hawk_block_index *index, unsigned depth);

/** Leaves room for `block`, which comes next, in the innermost open block, if there is one. */
struct hawk_error *hawk_block_nests_cut(struct hawk_block_index *index,
					const struct hawk_block *block);

/** Opens `block`, which came last. */
void hawk_block_nests_open(struct hawk_block_index *index, const struct hawk_block *block);

#endif
