/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The numbers in glibc's thread descriptors by which stacks are found (graph/roots_stacks.c): for
 * who writes a core anew and must leave them in place.
 */
#ifndef HAWK_ANALYZER_GRAPH_DESCRIPTORS_H
#define HAWK_ANALYZER_GRAPH_DESCRIPTORS_H

#include "hawk/heap/source.h"

/** Creates the list of where they lie, in no order, perhaps twice; the caller frees. */
struct hawk_error *hawk_descriptor_numbers_find(const struct hawk_target *target,
						struct hawk_span **ret, size_t *count);

#endif
