/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The second half of loading a heap: from what sources found to blocks and sites. Private to heap/.
 */
#ifndef HAWK_ANALYZER_HEAP_LOAD_BLOCKS_H
#define HAWK_ANALYZER_HEAP_LOAD_BLOCKS_H

#include "hawk/heap/heap.h"

/** Walks all sources that found something and fills index, sites and sums; or says why the heap is
 * unknown. `findings` may be NULL. */
struct hawk_error *hawk_heap_load_found(struct hawk_findings *findings, struct hawk_heap *heap);

#endif
