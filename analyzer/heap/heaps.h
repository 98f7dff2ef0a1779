/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds the extent of heaps around blocks of a source that does not know it: the tracer's. The
 * kernel joins adjacent anonymous mappings, so a mapping with blocks may hold other memory.
 * Internal to heap/.
 */
#ifndef HAWK_ANALYZER_HEAP_HEAPS_H
#define HAWK_ANALYZER_HEAP_HEAPS_H

#include "hawk/heap/heap.h"

/** Adds a span for each heap that holds blocks and that no source has claimed. The heap is the
 * chunk or the arena that glibc's words before a block describe, else the rest of its mapping. */
struct hawk_error *hawk_heap_add_heaps(struct hawk_heap *heap);

/** Makes the heaps of blocks with headers unsound: some of their live blocks were not found, and
 * their places are unknown. */
void hawk_heap_distrust(struct hawk_heap *heap);

/** Gives the words by which hawk_heap_add_heaps() finds the same heaps. */
struct hawk_error *hawk_heap_keep_heaps(const struct hawk_heap *heap, hawk_keep_function *take,
					void *context);

#endif
