/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Counts the components of lost blocks by their sites, and describes the first of each shape.
 */
#include "hawk/analysis/leak_cycles.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/progress.h"
#include "leak_group.h"

enum { CUT_MAX = 1 << 16 /* no pointer to cut is looked for in larger groups */ };

struct search {
	struct hawk_leak_group group;
	struct hawk_leak_cycles *cycles;
	uint32_t *seen; /**< by site, the last one: none: 1 + the last leader that counted it */
};

static void hawk_cleanup_search(struct search *search)
{
	hawk_leak_group_deinit(&search->group);
	free(search->seen);
}

static uint32_t site_at(const struct search *search, uint32_t place)
{
	const struct hawk_heap *heap = search->group.graph->heap;
	uint32_t site = hawk_heap_site_at(heap, search->group.order[place]);

	return site < heap->site_count ? site : (uint32_t)heap->site_count;
}

static uint64_t mix(uint64_t value)
{
	value *= UINT64_C(0x9e3779b97f4a7c15);
	return value ^ value >> 32;
}

/* Returns a hash of the sites in the component, each once. */
static uint64_t shape_of(const struct search *search)
{
	const struct hawk_leak_group *group = &search->group;
	uint64_t shape = group->has_cycle;

	for (uint32_t at = 0; at < group->count; at++) {
		uint32_t site = site_at(search, at);

		if (!group->in_cycle[at] || search->seen[site] == group->order[0] + 1)
			continue;
		search->seen[site] = group->order[0] + 1;
		shape += mix(mix(site) + 1);
	}
	return shape;
}

static uint64_t bytes_at(const struct search *search, uint32_t place)
{
	return hawk_block_size(&search->group.graph->heap->index, search->group.order[place]);
}

/* Returns the largest block of the component, whose site comes first: mostly the owner. */
static uint32_t find_head(const struct search *search)
{
	uint32_t head = 0;

	for (uint32_t at = 1; at < search->group.count; at++) {
		uint64_t bytes = bytes_at(search, at), most = bytes_at(search, head);

		if (search->group.in_cycle[at] &&
		    (bytes > most ||
		     (bytes == most && site_at(search, at) < site_at(search, head))))
			head = at;
	}
	return head;
}

/* Makes steps of the `length` places of the way round, which stand backwards in group->queue. */
static void add_steps(const struct search *search, uint32_t length, struct hawk_leak_cycle *cycle,
		      uint32_t (*ends)[2])
{
	const struct hawk_leak_group *group = &search->group;

	cycle->length = length;
	for (uint32_t i = length; i--;) {
		uint32_t at = group->queue[i], step = cycle->step_count - 1;

		if (i + 1 < length && site_at(search, at) == site_at(search, ends[step][0])) {
			cycle->steps[step].blocks++;
			ends[step][1] = at;
			continue;
		}
		cycle->cut_off = cycle->step_count == HAWK_LEAK_STEPS_MAX;
		if (cycle->cut_off)
			return;
		ends[cycle->step_count][0] = ends[cycle->step_count][1] = at;
		cycle->steps[cycle->step_count++] = (struct hawk_leak_step){
			.block = group->order[at],
			.blocks = 1,
			.offset = HAWK_OFFSET_UNKNOWN,
		};
	}
}

static void read_offsets(const struct search *search, struct hawk_leak_cycle *cycle,
			 uint32_t (*ends)[2])
{
	const struct hawk_leak_group *group = &search->group;
	struct hawk_referrer pointer;

	for (uint32_t i = 0; i + cycle->cut_off < cycle->step_count; i++)
		if (hawk_referrer_between(group->graph, group->order[ends[i][1]],
					  cycle->steps[(i + 1) % cycle->step_count].block,
					  &pointer))
			cycle->steps[i].offset = pointer.offset;
}

/* Tries each pointer between steps. With equal results the last one wins: it leads back to the
 * owner. */
static void find_cut(struct search *search, struct hawk_leak_cycle *cycle, uint32_t (*ends)[2])
{
	cycle->cut = UINT32_MAX;
	for (uint32_t i = 0; i < cycle->step_count && search->group.has_cycle; i++) {
		struct hawk_chosen freed;

		if (cycle->cut_off || search->group.count > CUT_MAX)
			return;
		freed = hawk_leak_group_cut(&search->group, ends[i][1],
					    ends[(i + 1) % cycle->step_count][0]);
		if (!freed.objects || freed.bytes < cycle->freed.bytes)
			continue;
		cycle->cut = i;
		cycle->freed = freed;
		cycle->frees_all = freed.objects == search->group.count;
	}
}

static void add_shape(struct search *search, uint64_t shape)
{
	struct hawk_leak_cycle *cycle = search->cycles->items + search->cycles->count++;
	uint32_t ends[HAWK_LEAK_STEPS_MAX][2]; /* places: first and last of each step */
	uint32_t length = 1;

	*cycle = (struct hawk_leak_cycle){.shape = shape};
	if (search->group.has_cycle)
		length = hawk_leak_group_way(&search->group, find_head(search));
	else
		search->group.queue[0] = 0;
	add_steps(search, length, cycle, ends);
	read_offsets(search, cycle, ends);
	find_cut(search, cycle, ends);
}

/* Counts the group's component, which has a cycle. */
static void add_component(struct search *search)
{
	struct hawk_leak_cycles *cycles = search->cycles;
	uint64_t shape;
	size_t i = 0;

	hawk_leak_group_close(&search->group);
	shape = shape_of(search);
	while (i < cycles->count && cycles->items[i].shape != shape)
		i++;
	if (i == HAWK_LEAK_CYCLES_MAX) {
		cycles->unlisted++;
		return;
	}
	if (i == cycles->count)
		add_shape(search, shape);
	cycles->items[i].cycles++;
	cycles->items[i].lost.objects += search->group.lost.objects;
	cycles->items[i].lost.bytes += search->group.lost.bytes;
	for (uint32_t j = 0; j < cycles->items[i].step_count; j++) {
		struct hawk_leak_step *step = cycles->items[i].steps + j;
		uint32_t site = hawk_heap_site_at(search->group.graph->heap, step->block);

		step->leaders += site == site_at(search, 0);
	}
}

static void search_all(struct search *search, const uint64_t *chosen)
{
	const struct hawk_reach *reach = search->group.reach;
	uint32_t count = search->group.graph->count;
	struct hawk_progress progress;
	uint64_t reported = 0;

	hawk_progress_begin(&progress, "looking for cycles of lost blocks", count);
	for (uint32_t block = 0; block < count; block++) {
		const uint8_t *next =
			memchr(reach->kinds + block, HAWK_REACH_DEFINITELY_LOST, count - block);

		if (!next)
			break;
		block = (uint32_t)(next - reach->kinds);
		hawk_progress_pass(&reported, block);
		hawk_leak_group_fill(&search->group, block);
		if ((search->group.has_cycle || search->group.has_self) &&
		    hawk_block_is_chosen(chosen, block))
			add_component(search);
	}
	hawk_progress_end(&progress);
}

static int compare(const void *left, const void *right)
{
	const struct hawk_leak_cycle *a = left, *b = right;

	if (a->lost.bytes != b->lost.bytes)
		return a->lost.bytes > b->lost.bytes ? -1 : 1;
	return a->steps[0].block < b->steps[0].block ? -1 : 1;
}

struct hawk_error *hawk_leak_cycles_find(const struct hawk_graph *graph,
					 const struct hawk_reach *reach, const uint64_t *chosen,
					 struct hawk_leak_cycles *ret)
{
	CLEANUP(search) struct search search = {.cycles = ret};
	struct hawk_error *err = hawk_leak_group_init(graph, reach, &search.group);

	*ret = (struct hawk_leak_cycles){0};
	search.seen = calloc(graph->heap->site_count + 1, sizeof(*search.seen));
	if (!err && !search.seen)
		err = &hawk_enomem;
	if (err)
		return err;
	search_all(&search, chosen);
	qsort(ret->items, ret->count, sizeof(*ret->items), compare);
	return NULL;
}

static struct hawk_type_words words_of(const struct hawk_graph *graph,
				       const struct hawk_module_words *modules, uint32_t block)
{
	struct hawk_near near = {.target = graph->heap->target};
	const struct hawk_block_index *index = &graph->heap->index;

	return hawk_type_words_at(modules, &near, hawk_block_start(index, block),
				  hawk_block_size(index, block));
}

void hawk_leaks_read_types(const struct hawk_graph *graph, const struct hawk_module_words *modules,
			   struct hawk_leaks *leaks, struct hawk_leak_cycles *cycles)
{
	for (size_t i = 0; i < leaks->count; i++)
		leaks->records[i].words = words_of(graph, modules, leaks->records[i].example);
	for (size_t i = 0; i < cycles->count; i++)
		for (uint32_t j = 0; j < cycles->items[i].step_count; j++)
			cycles->items[i].steps[j].words =
				words_of(graph, modules, cycles->items[i].steps[j].block);
}

const struct hawk_leak_cycle *hawk_leak_cycle_of(const struct hawk_heap *heap,
						 const struct hawk_leak_cycles *cycles,
						 uint32_t site, uint64_t *leaders)
{
	const struct hawk_leak_cycle *ret = NULL;

	*leaders = 0;
	for (size_t i = 0; i < cycles->count; i++)
		for (uint32_t j = 0; j < cycles->items[i].step_count; j++) {
			const struct hawk_leak_step *step = cycles->items[i].steps + j;

			if (hawk_heap_site_at(heap, step->block) != site ||
			    step->leaders <= *leaders)
				continue;
			*leaders = step->leaders;
			ret = cycles->items + i;
		}
	return ret;
}
