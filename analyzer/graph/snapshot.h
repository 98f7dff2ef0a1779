/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The graph in a snapshot. Internal to graph/.
 */
#ifndef HAWK_ANALYZER_GRAPH_SNAPSHOT_H
#define HAWK_ANALYZER_GRAPH_SNAPSHOT_H

#include "hawk/graph/graph.h"
#include "hawk/snapshot/reader.h"
#include "hawk/snapshot/writer.h"

/** Counts of heuristics in front of what they explain; those of later ones are behind it. */
enum { HAWK_SNAPSHOT_HEURISTICS = 7 };

/** As hawk_graph_make(), from the snapshot that the heap is from. */
struct hawk_error *hawk_graph_read_snapshot(const struct hawk_heap *heap,
					    struct hawk_findings *findings, struct hawk_graph *ret);

#endif
