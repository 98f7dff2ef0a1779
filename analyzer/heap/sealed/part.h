/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The extent of the heap around a block. The kernel merges adjacent anonymous mappings, so an
 * allocator's mapping may hold other memory. Internal to heap/.
 */
#ifndef HAWK_ANALYZER_HEAP_SEALED_PART_H
#define HAWK_ANALYZER_HEAP_SEALED_PART_H

#include "hawk/heap/source.h"

/**
 * For hawk_heap_source.extent: finds the heap of `block` from glibc's size fields and heap headers:
 * its own mmap()ed chunk, or its arena unless that is the main one. Returns false for neither; the
 * heap is then taken to be its whole mapping.
 */
bool hawk_heap_part(const struct hawk_target *target, const struct hawk_block *block,
		    struct hawk_span *ret);

#endif
