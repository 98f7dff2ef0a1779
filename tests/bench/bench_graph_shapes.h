/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Heaps of shapes that break other algorithms: what dominators cost per block and pointer there.
 */
#ifndef BENCH_GRAPH_SHAPES_H
#define BENCH_GRAPH_SHAPES_H

/** Prints a line for each of the first `sizes` (1 or 2) sizes of shape `name`; NULL: of all. */
void bench_graph_shapes(const char *name, unsigned sizes);

#endif
