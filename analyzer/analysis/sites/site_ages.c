/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Births are codes that get coarser as time goes on: a block is spread evenly over the time its
 * code covers.
 */
#include "hawk/analysis/site_ages.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/analysis/leaks.h"
#include "hawk/base/progress.h"

enum { CODES = 256 };

struct spread {
	uint16_t parts[CODES][HAWK_AGE_BINS]; /**< of each code: sum to HAWK_AGE_ONE */
	uint8_t first[CODES], end[CODES];     /**< bins that have some of them */
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

static void note_bins(struct spread *spread, unsigned code)
{
	const uint16_t *parts = spread->parts[code];
	unsigned first = 0, end = HAWK_AGE_BINS;

	while (!parts[first])
		first++;
	while (!parts[end - 1])
		end--;
	spread->first[code] = (uint8_t)first;
	spread->end[code] = (uint8_t)end;
}

static void make_spread(uint64_t life_units, struct spread *spread)
{
	memset(spread, 0, sizeof(*spread));
	for (unsigned code = 0; code < CODES; code++) {
		double start = (double)hawk_birth_decode((uint8_t)code);
		double end = code + 1 < CODES ? (double)hawk_birth_decode((uint8_t)(code + 1))
					      : 2 * start;

		spread_code(start, end, (double)life_units, spread->parts[code]);
		note_bins(spread, code);
	}
}

static void add_block(const struct hawk_heap *heap, const struct hawk_reach *reach,
		      const struct spread *spread, uint32_t number, uint16_t head,
		      struct hawk_site_ages *ages)
{
	uint8_t birth = (uint8_t)head;
	const uint16_t *parts = spread->parts[birth];
	uint64_t size = hawk_block_own_bytes(&heap->index, number);

	ages->bytes += size;
	ages->objects++;
	ages->unknown_objects += !head;
	ages->reach_bytes[reach->kinds[number]] += size;
	if (!head)
		return;
	for (unsigned bin = spread->first[birth]; bin < spread->end[birth]; bin++) {
		ages->born_objects[bin] += parts[bin];
		ages->born_bytes[bin] += parts[bin] * size;
	}
}

static void add_blocks(const struct hawk_heap *heap, const struct hawk_reach *reach,
		       const uint64_t *chosen, const struct spread *spread,
		       struct hawk_site_ages *ages)
{
	struct hawk_near near = {.target = heap->target};
	uint32_t count = heap->index.count;
	struct hawk_progress progress;
	uint64_t reported = 0;

	hawk_progress_begin(&progress, "reading ages", count);
	for (uint32_t i = hawk_block_next_chosen(chosen, 0, count); i < count;
	     i = hawk_block_next_chosen(chosen, i + 1, count)) {
		uint32_t site = hawk_heap_site_at(heap, i);

		hawk_progress_pass(&reported, i);
		if (site < heap->site_count)
			add_block(heap, reach, spread, i, hawk_heap_next_head(heap, &near, i),
				  &ages[site]);
	}
	hawk_progress_end(&progress);
}

struct hawk_error *hawk_site_ages_make(const struct hawk_heap *heap, const struct hawk_reach *reach,
				       const uint64_t *chosen, struct hawk_site_ages **ret)
{
	CLEANUP(free_ptr) struct spread *spread = malloc(sizeof(*spread));
	struct hawk_site_ages *ages = calloc(heap->site_count + 1, sizeof(*ages));

	if (!ages || !spread) {
		free(ages);
		return &hawk_enomem;
	}
	make_spread(heap->life.end_units ? heap->life.end_units : 1, spread);
	add_blocks(heap, reach, chosen, spread, ages);
	*ret = ages;
	return NULL;
}

struct hawk_growth_facts hawk_site_ages_facts(const struct hawk_graph *graph, uint32_t index,
					      const struct hawk_site_ages *ages, bool filtered)
{
	const struct hawk_site *site = &graph->heap->sites[index];
	struct hawk_growth_facts facts = {
		.life_seconds = hawk_site_ages_life_seconds(graph->heap),
		.objects = ages->objects,
		.bytes = ages->bytes,
		.inuse_objects = filtered ? ages->objects : site->inuse_objects,
		.inuse_bytes = filtered ? ages->bytes : site->inuse_bytes,
		.alloc_objects = filtered ? 0 : site->alloc_objects,
		.alloc_bytes = filtered ? 0 : site->alloc_bytes,
		.missing_objects = hawk_heap_not_found(graph->heap),
		.no_ages = !(hawk_heap_knows_of(graph->heap, site->trace) & HAWK_HEAP_AGES),
		.sampled = site->sample.estimated,
		.reach_known = !hawk_leaks_doubt(graph),
	};

	memcpy(facts.born_objects, ages->born_objects, sizeof(facts.born_objects));
	memcpy(facts.born_bytes, ages->born_bytes, sizeof(facts.born_bytes));
	memcpy(facts.reach_bytes, ages->reach_bytes, sizeof(facts.reach_bytes));
	return facts;
}

double hawk_site_ages_life_seconds(const struct hawk_heap *heap)
{
	return heap->knows & HAWK_HEAP_AGES ? hawk_life_seconds(heap->life.end_units) : 0;
}

void hawk_site_ages_choose(const struct hawk_graph *graph, const struct hawk_site_ages *ages,
			   bool filtered, enum hawk_growth_verdict only,
			   struct hawk_site_list *list)
{
	size_t kept = 0;

	hawk_site_list_sort(list, graph->heap, HAWK_SITE_SORT_SIZE);
	for (size_t i = 0; i < list->count; i++) {
		uint32_t site = list->sites[i];
		struct hawk_growth_facts facts =
			hawk_site_ages_facts(graph, site, &ages[site], filtered);

		if (ages[site].objects && (!only || hawk_growth_judge(&facts).verdict == only))
			list->sites[kept++] = site;
	}
	list->count = kept;
}
