/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Which part of a mapping with blocks in it is a heap: the kernel joins anonymous mappings that
 * touch, so beside an allocator's memory there may be anything. Internal to graph/.
 */
#ifndef HAWK_ANALYZER_GRAPH_ROOTS_HEAP_H
#define HAWK_ANALYZER_GRAPH_ROOTS_HEAP_H

#include "hawk/heap/block_index.h"

/**
 * The first part of [start, end), which lies in one mapping, that belongs to a heap. False = none.
 * What glibc's malloc mapped for a single block, and its arenas other than the first, are known
 * from its size fields and heap headers; a block of anything else makes all the rest a heap.
 */
bool hawk_roots_heap_next(const struct hawk_target *target, const struct hawk_block_index *index,
			  uint64_t start, uint64_t end, struct hawk_span *ret);

#endif
