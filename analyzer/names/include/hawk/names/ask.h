/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * All names of a heap at once: of stacks, threads and roots. For snapshots, which must have them.
 */
#ifndef HAWK_ANALYZER_NAMES_ASK_H
#define HAWK_ANALYZER_NAMES_ASK_H

#include "hawk/graph/graph.h"
#include "hawk/symbols/symbols.h"

/** Asks `symbols`, which keep the questions. `graph`: NULL = no names of roots. */
struct hawk_error *hawk_names_ask(const struct hawk_heap *heap, const struct hawk_graph *graph,
				  struct hawk_symbols *symbols);

#endif
