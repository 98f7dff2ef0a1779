/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * How far heaps reach around blocks of a source that does not know: the tracer's. The kernel joins
 * adjacent anonymous mappings, so a mapping with blocks may hold other memory. Internal to heap/.
 */
#ifndef HAWK_ANALYZER_HEAP_HEAPS_H
#define HAWK_ANALYZER_HEAP_HEAPS_H

#include "hawk/heap/heap.h"

/** Adds a span for each heap in which blocks lie and no source has claimed: the chunk or the arena
 * that glibc's words in front of a block speak of, else what is left of its mapping. */
struct hawk_error *hawk_heap_add_heaps(struct hawk_heap *heap);

/** Makes the heaps of blocks with headers unsound: some of their live blocks were not found, and
 * nobody knows where these are. */
void hawk_heap_distrust(struct hawk_heap *heap);

/** Gives the words by which hawk_heap_add_heaps() finds the same heaps. */
struct hawk_error *hawk_heap_keep_heaps(const struct hawk_heap *heap, hawk_keep_function *take,
					void *context);

#endif
