/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * How far the heap around a block reaches: the kernel joins anonymous mappings that touch, so
 * beside an allocator's memory there may be anything.
 */
#ifndef HAWK_ANALYZER_HEAP_PART_H
#define HAWK_ANALYZER_HEAP_PART_H

#include "hawk/heap/source.h"

/**
 * The heap that the block [start, end) lies in: what glibc's malloc mapped for it alone, or the
 * arena that it was taken from, if that is not the first one, as size fields and heap headers say.
 * False = neither: the heap is all of its mapping, for all that is known.
 */
bool hawk_heap_part(const struct hawk_target *target, uint64_t start, uint64_t end,
		    struct hawk_span *ret);

#endif
