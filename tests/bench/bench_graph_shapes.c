/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A function a shape, which adds its pointers. Making the shape is not measured.
 */
#include "bench_graph_shapes.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "bench_clock.h"
#include "synthetic_graph.h"

static void shape_list_with_index(struct graph_shape *shape, uint32_t count)
{
	graph_shape_root(shape, 0);
	for (uint32_t i = 1; i < count; i++)
		graph_shape_edge(shape, 0, i);
	for (uint32_t i = 1; i + 1 < count; i++)
		graph_shape_edge(shape, i, i + 1);
}

static void shape_chain(struct graph_shape *shape, uint32_t count)
{
	graph_shape_root(shape, 0);
	for (uint32_t i = 0; i + 1 < count; i++)
		graph_shape_edge(shape, i, i + 1);
}

static void shape_ladder_backwards(struct graph_shape *shape, uint32_t count)
{
	graph_shape_root(shape, count - 1);
	for (uint32_t i = 1; i < count; i++) {
		if (i > 1)
			graph_shape_edge(shape, i, i - 2);
		graph_shape_edge(shape, i, i - 1);
	}
}

static void shape_star(struct graph_shape *shape, uint32_t count)
{
	for (uint32_t i = 0; i + 1 < count; i++)
		graph_shape_edge(shape, count - 1, i);
}

static void shape_complete(struct graph_shape *shape, uint32_t count)
{
	graph_shape_root(shape, 0);
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < count; j++)
			graph_shape_edge(shape, i, j);
}

static void shape_random(struct graph_shape *shape, uint32_t count)
{
	uint64_t seed = 4;

	graph_shape_root(shape, 0);
	for (uint32_t i = 0; i < count; i++)
		for (unsigned j = 0; j < 2; j++)
			graph_shape_edge(shape, i, (uint32_t)(synthetic_random(&seed) % count));
}

static const struct shape {
	const char *name;
	void (*make)(struct graph_shape *shape, uint32_t count);
	uint32_t counts[2];
	uint32_t edges_per_block; /**< 0 = count */
} shapes[] = {
	{"list with an index", shape_list_with_index, {100000, 1000000}, 2},
	{"chain", shape_chain, {1000000, 10000000}, 1},
	{"ladder backwards", shape_ladder_backwards, {1000000, 10000000}, 2},
	{"star, lost", shape_star, {1000000, 10000000}, 1},
	{"complete graph", shape_complete, {1000, 3000}, 0},
	{"random", shape_random, {100000, 1000000}, 2},
};

static void measure(const struct shape *shape, uint32_t count)
{
	uint64_t per_block = shape->edges_per_block ? shape->edges_per_block : count;
	struct graph_shape *graph = graph_shape_create(count, per_block * count);
	uint64_t size;
	double start;

	shape->make(graph, count);
	size = (uint64_t)count + graph->graph.edge_count;
	start = bench_seconds(CLOCK_PROCESS_CPUTIME_ID);
	graph_shape_finish(graph);
	printf("%-20s %9u blocks  %8.2f ns per block and pointer\n", shape->name, count,
	       (bench_seconds(CLOCK_PROCESS_CPUTIME_ID) - start) / (double)size * 1e9);
	graph_shape_destroy(graph);
}

void bench_graph_shapes(const char *name, unsigned sizes)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		for (unsigned j = 0; j < sizes && (!name || !strcmp(name, shapes[i].name)); j++)
			measure(&shapes[i], shapes[i].counts[j]);
}
