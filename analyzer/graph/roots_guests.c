/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Floods the graph from its roots, then makes a root of each collected object that was not met.
 */
#include "roots_guests.h"

#include <stdlib.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "hawk/base/number_set.h"

struct flood {
	const struct hawk_graph *graph;
	uint8_t *met;
	uint32_t *stack;
	uint32_t depth;
};

static void meet(struct flood *flood, uint32_t edge)
{
	uint32_t block = edge >> 1;

	if (edge & HAWK_EDGE_INTERIOR || flood->met[block])
		return;
	flood->met[block] = 1;
	flood->stack[flood->depth++] = block;
}

static void run(struct flood *flood)
{
	const struct hawk_graph *graph = flood->graph;

	while (flood->depth) {
		uint32_t block = flood->stack[--flood->depth];

		for (uint32_t i = graph->offsets[block]; i < graph->offsets[block + 1]; i++)
			meet(flood, graph->edges[i]);
	}
}

/* Returns the index of the mapping that contains the address. */
static uint32_t mapping_of(const struct hawk_target *target, uint64_t address)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);
	const struct hawk_mapping *mapping = hawk_target_mapping_at(target, address);

	return mapping ? (uint32_t)(mapping - mappings) & 0xfffffff : 0;
}

static struct hawk_error *add_garbage(struct flood *flood, struct hawk_graph *graph)
{
	const struct hawk_heap *heap = graph->heap;
	struct hawk_roots *roots = &graph->roots;

	for (uint32_t block = 0; block < graph->count; block++) {
		const struct hawk_guest_type *type = hawk_guests_type(&heap->guests, block);
		uint64_t start;

		if (!type || !type->layout.is_collected || flood->met[block])
			continue;
		if (!hawk_array_reserve(&roots->items, roots->count, &roots->capacity,
					sizeof(*roots->items)))
			return &hawk_enomem;
		start = hawk_block_start(&heap->index, block);
		roots->items[roots->count++] = (struct hawk_root){
			.address = start,
			.edge = block << 1,
			.kind = HAWK_ROOT_OTHER,
			.owner = mapping_of(heap->target, start) & 0xfffffff,
		};
		meet(flood, block << 1);
		run(flood);
	}
	return NULL;
}

static int compare(const void *left, const void *right)
{
	const struct hawk_root *a = left, *b = right;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

struct hawk_error *hawk_roots_add_guests(struct hawk_graph *graph)
{
	size_t before = graph->roots.count;
	struct hawk_error *err;

	if (!graph->heap->guests.of_block)
		return NULL;
	CLEANUP(free_ptr) uint8_t *met = calloc((size_t)graph->count + 1, sizeof(*met));
	CLEANUP(free_ptr) uint32_t *stack = calloc((size_t)graph->count + 1, sizeof(*stack));
	if (!met || !stack)
		return &hawk_enomem;
	struct flood flood = {.graph = graph, .met = met, .stack = stack};
	for (size_t i = 0; i < before; i++)
		if (hawk_root_is_strong(&graph->roots.items[i]))
			meet(&flood, graph->roots.items[i].edge);
	run(&flood);
	err = add_garbage(&flood, graph);
	if (!err && graph->roots.count > before)
		qsort(graph->roots.items, graph->roots.count, sizeof(*graph->roots.items), compare);
	return err;
}
