/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Arenas of glibc's malloc in modules' data, for heaps whose blocks another source found. Their
 * lists lead to free chunks, whose first word belongs to the block before: they seem to hold blocks
 * but hold none.
 */
#ifndef HAWK_ANALYZER_HEAP_ARENAS_H
#define HAWK_ANALYZER_HEAP_ARENAS_H

#include "hawk/heap/spans.h"
#include "hawk/target/target.h"

/** Adds them as metadata, unsorted. */
struct hawk_error *hawk_heap_find_arenas(const struct hawk_target *target,
					 struct hawk_heap_spans *ret);

#endif
