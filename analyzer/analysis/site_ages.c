/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Births are codes that get coarser as time goes on: a block counts in equal parts for all the time
 * that its code stands for.
 */
#include "hawk_leaks.h"
#include "hawk_site_ages.h"

#include <stdlib.h>
#include <string.h>

enum { CODES = 256 };

struct spread {
	uint16_t parts[CODES][HAWK_AGE_BINS]; /**< of each code: sum to HAWK_AGE_ONE */
};

static void spread_code(double start, double end, double life, uint16_t *parts)
{
	unsigned left = HAWK_AGE_ONE, largest = HAWK_AGE_BINS - 1;

	if (end > life)
		end = life;
	if (start >= end) {
		parts[largest] = HAWK_AGE_ONE;
		return;
	}
	for (unsigned bin = 0; bin < HAWK_AGE_BINS; bin++) {
		double from = life * bin / HAWK_AGE_BINS, to = life * (bin + 1) / HAWK_AGE_BINS;
		double overlap = (end < to ? end : to) - (start > from ? start : from);

		if (overlap <= 0)
			continue;
		parts[bin] = (uint16_t)(overlap / (end - start) * HAWK_AGE_ONE);
		left -= parts[bin];
		if (parts[bin] >= parts[largest])
			largest = bin;
	}
	parts[largest] = (uint16_t)(parts[largest] + left);
}

static void make_spread(uint64_t life_units, struct spread *spread)
{
	memset(spread, 0, sizeof(*spread));
	for (unsigned code = 0; code < CODES; code++) {
		double start = (double)hawk_birth_decode((uint8_t)code);
		double end = code + 1 < CODES ? (double)hawk_birth_decode((uint8_t)(code + 1))
					      : 2 * start;

		spread_code(start, end, (double)life_units, spread->parts[code]);
	}
}

static void add_block(const struct hawk_block_graph *graph, const struct spread *spread,
		      uint32_t number, const struct hawk_block *block, bool header,
		      struct hawk_site_ages *ages)
{
	const uint16_t *parts = spread->parts[block->birth];
	/* Of a carved block every part comes here, with its own bytes; it is one block. */
	bool counts = hawk_block_index_counts(&graph->index, number);
	uint64_t size = hawk_block_size(&graph->index, number);

	ages->bytes += size;
	ages->objects += counts;
	ages->unknown_objects += counts && !header;
	if (graph->parts & HAWK_PART_REACH && graph->reach.kinds[number] < HAWK_REACH_KINDS)
		ages->reach_bytes[graph->reach.kinds[number]] += size;
	if (!header)
		return;
	for (unsigned bin = 0; bin < HAWK_AGE_BINS; bin++) {
		ages->born_objects[bin] += counts ? parts[bin] : 0;
		ages->born_bytes[bin] += parts[bin] * size;
	}
}

static uint64_t life_units(const struct hawk_heap *heap)
{
	return heap->life.end_units ? heap->life.end_units : 1;
}

struct hawk_error *hawk_site_ages_make(const struct hawk_block_graph *graph,
				       hawk_ages_filter *filter, const void *context,
				       struct hawk_site_ages **ret)
{
	struct hawk_site_ages *ages = calloc(graph->heap->site_count + 1, sizeof(*ages));
	struct spread *spread = malloc(sizeof(*spread));
	struct hawk_near near = {.target = graph->target};
	struct hawk_error *err = ages && spread ? NULL : &hawk_enomem;

	if (!err)
		make_spread(life_units(graph->heap), spread);
	for (uint32_t i = 0; !err && i < graph->index.count; i++) {
		uint32_t site = hawk_block_graph_site(graph, i);
		struct hawk_block block;
		bool wanted = true, header;

		if (site >= graph->heap->site_count)
			continue;
		header = hawk_block_graph_next_block(graph, &near, i, &block);
		if (filter)
			err = filter(context, &block, &wanted);
		if (!err && wanted)
			add_block(graph, spread, i, &block, header, &ages[site]);
	}
	free(spread);
	if (err) {
		free(ages);
		return err;
	}
	*ret = ages;
	return NULL;
}

struct hawk_growth_facts hawk_site_ages_facts(const struct hawk_block_graph *graph, uint32_t index,
					      const struct hawk_site_ages *ages, bool filtered)
{
	const struct hawk_site *site = &graph->heap->sites[index];
	struct hawk_growth_facts facts = {
		.life_seconds = hawk_site_ages_life_seconds(graph->heap),
		.most_seconds = hawk_life_seconds(graph->heap->life.latest_units),
		.objects = ages->objects,
		.bytes = ages->bytes,
		.inuse_objects = filtered ? ages->objects : site->inuse_objects,
		.inuse_bytes = filtered ? ages->bytes : site->inuse_bytes,
		.alloc_objects = filtered ? 0 : site->alloc_objects,
		.alloc_bytes = filtered ? 0 : site->alloc_bytes,
		.sampled = site->sample.estimated,
		.reach_known = graph->parts & HAWK_PART_REACH && !hawk_leaks_doubt(graph),
	};

	memcpy(facts.born_objects, ages->born_objects, sizeof(facts.born_objects));
	memcpy(facts.born_bytes, ages->born_bytes, sizeof(facts.born_bytes));
	memcpy(facts.reach_bytes, ages->reach_bytes, sizeof(facts.reach_bytes));
	return facts;
}

double hawk_site_ages_life_seconds(const struct hawk_heap *heap)
{
	return heap->table ? hawk_life_seconds(heap->life.end_units) : 0;
}
