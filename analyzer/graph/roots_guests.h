/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Roots of guests' garbage. A collector's lists are no references (heap/guests.h), so an object
 * that waits to be freed has none; yet it is not lost. Internal to graph/.
 */
#ifndef HAWK_ANALYZER_GRAPH_ROOTS_GUESTS_H
#define HAWK_ANALYZER_GRAPH_ROOTS_GUESTS_H

#include "hawk/graph/graph.h"

/** Adds a root for each collected object that no other root reaches: HAWK_ROOT_OTHER at the
 * object's own address. */
struct hawk_error *hawk_roots_add_guests(struct hawk_graph *graph);

#endif
