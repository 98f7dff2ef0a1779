/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads and writes a snapshot's graph. Internal to graph/.
 */
#ifndef HAWK_ANALYZER_GRAPH_SNAPSHOT_H
#define HAWK_ANALYZER_GRAPH_SNAPSHOT_H

#include "hawk/graph/graph.h"
#include "hawk/snapshot/reader.h"
#include "hawk/snapshot/writer.h"

/** Number of heuristics whose counts precede what they explain; counts of later ones follow it. */
enum { HAWK_SNAPSHOT_HEURISTICS = 7 };

/** Works as hawk_graph_make(), from the heap's snapshot. */
struct hawk_error *hawk_graph_read_snapshot(const struct hawk_heap *heap,
					    struct hawk_findings *findings, struct hawk_graph *ret);

#endif
