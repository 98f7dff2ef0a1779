/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The extent of the heap around a block. The kernel merges adjacent anonymous mappings, so an
 * allocator's mapping may hold other memory.
 */
#ifndef HAWK_ANALYZER_HEAP_PART_H
#define HAWK_ANALYZER_HEAP_PART_H

#include "hawk/heap/source.h"

/**
 * Finds the heap of block [start, end) from glibc's size fields and heap headers: its own mmap()ed
 * chunk, or its arena unless that is the main one. Returns false for neither; the heap is then
 * taken to be its whole mapping.
 */
bool hawk_heap_part(const struct hawk_target *target, uint64_t start, uint64_t end,
		    struct hawk_span *ret);

#endif
