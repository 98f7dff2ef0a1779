/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Each lost block belongs to one group, so that all groups together take one pass over the lost
 * blocks' pointers for each of the steps below.
 */
#include "leak_group.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/area.h"

static const uint32_t NONE = UINT32_MAX;

static struct hawk_error *reserve(struct hawk_leak_group *group, uint64_t bytes, void *array)
{
	struct hawk_area *area = &group->areas[group->area_count];
	struct hawk_error *err = hawk_area_create_sparse(area, bytes);

	if (err)
		return err;
	group->area_count++;
	memcpy(array, &area->bytes, sizeof(area->bytes));
	return NULL;
}

struct hawk_error *hawk_leak_group_init(const struct hawk_graph *graph,
					const struct hawk_reach *reach, struct hawk_leak_group *ret)
{
	uint64_t blocks = reach->sums[HAWK_REACH_INDIRECTLY_LOST].objects + 2;
	uint64_t bytes = blocks * sizeof(uint32_t);
	struct hawk_error *err;

	*ret = (struct hawk_leak_group){.graph = graph, .reach = reach};
	ret->met = calloc((size_t)graph->count / 64 + 1, sizeof(*ret->met));
	if (!ret->met)
		return &hawk_enomem;
	err = reserve(ret, bytes, &ret->order);
	if (!err)
		err = reserve(ret, ((uint64_t)graph->count + 1) * sizeof(uint32_t), &ret->places);
	if (!err)
		err = reserve(ret, bytes, &ret->first);
	if (!err)
		err = reserve(ret, ((uint64_t)graph->edge_count + 1) * sizeof(uint32_t),
			      &ret->sources);
	if (!err)
		err = reserve(ret, blocks, &ret->in_cycle);
	if (!err)
		err = reserve(ret, bytes, &ret->queue);
	if (!err)
		err = reserve(ret, bytes, &ret->from);
	return err ? err : reserve(ret, bytes, &ret->counts);
}

void hawk_leak_group_deinit(struct hawk_leak_group *group)
{
	free(group->met);
	while (group->area_count)
		hawk_area_destroy(&group->areas[--group->area_count]);
}

static void add(struct hawk_leak_group *group, uint32_t block)
{
	group->places[block] = group->count;
	group->order[group->count++] = block;
	group->met[block / 64] |= UINT64_C(1) << block % 64;
	hawk_chosen_add(&group->lost, &group->graph->heap->index, block);
}

/* Adds the blocks that `block` points to. */
static void add_targets(struct hawk_leak_group *group, uint32_t block)
{
	const struct hawk_graph *graph = group->graph;
	uint32_t leader = group->order[0];

	for (uint32_t i = graph->offsets[block]; i < graph->offsets[block + 1]; i++) {
		uint32_t target = graph->edges[i] >> 1;

		if (hawk_graph_ignores_edge(graph, group->reach->ends, i))
			continue;
		if (target == leader) {
			group->has_cycle |= block != leader;
			group->has_self |=
				block == leader && !(graph->edges[i] & HAWK_EDGE_INTERIOR);
		} else if (group->reach->kinds[target] == HAWK_REACH_INDIRECTLY_LOST &&
			   !hawk_block_is_chosen(group->met, target)) {
			add(group, target);
		}
	}
}

void hawk_leak_group_fill(struct hawk_leak_group *group, uint32_t leader)
{
	group->count = 0;
	group->lost = (struct hawk_chosen){0};
	group->has_cycle = group->has_self = false;
	add(group, leader);
	for (uint32_t at = 0; at < group->count; at++)
		add_targets(group, group->order[at]);
}

/* Returns the place that edge `i` of place `at` leads to; NONE if outside or to itself. */
static uint32_t target_of(const struct hawk_leak_group *group, uint32_t at, uint32_t i)
{
	uint32_t block = group->graph->edges[i] >> 1, place = group->places[block];

	if (place >= group->count || group->order[place] != block || place == at ||
	    hawk_graph_ignores_edge(group->graph, group->reach->ends, i))
		return NONE;
	return place;
}

static uint32_t first_edge(const struct hawk_leak_group *group, uint32_t at)
{
	return group->graph->offsets[group->order[at]];
}

static uint32_t end_edge(const struct hawk_leak_group *group, uint32_t at)
{
	return group->graph->offsets[group->order[at] + 1];
}

/* Fills `first` and `sources`. */
static void turn_pointers(struct hawk_leak_group *group)
{
	uint32_t *first = group->first, sum = 0;

	memset(first, 0, ((size_t)group->count + 1) * sizeof(*first));
	for (uint32_t at = 0; at < group->count; at++)
		for (uint32_t i = first_edge(group, at); i < end_edge(group, at); i++) {
			uint32_t target = target_of(group, at, i);

			if (target != NONE)
				first[target]++;
		}
	for (uint32_t at = 0; at <= group->count; at++)
		first[at] = sum += first[at];
	for (uint32_t at = group->count; at--;)
		for (uint32_t i = end_edge(group, at); i-- > first_edge(group, at);) {
			uint32_t target = target_of(group, at, i);

			if (target != NONE)
				group->sources[--first[target]] = at;
		}
}

void hawk_leak_group_close(struct hawk_leak_group *group)
{
	uint32_t depth = 0;

	turn_pointers(group);
	memset(group->in_cycle, 0, group->count);
	group->in_cycle[0] = 1;
	group->queue[depth++] = 0;
	while (depth) {
		uint32_t at = group->queue[--depth];

		for (uint32_t i = group->first[at]; i < group->first[at + 1]; i++) {
			uint32_t source = group->sources[i];

			if (group->in_cycle[source])
				continue;
			group->in_cycle[source] = 1;
			group->queue[depth++] = source;
		}
	}
}

uint32_t hawk_leak_group_way(struct hawk_leak_group *group, uint32_t head)
{
	uint32_t end = 0, closing = NONE, length = 0;

	group->queue[end++] = head;
	group->from[head] = NONE;
	group->in_cycle[head] = 0;
	for (uint32_t next = 0; next < end && closing == NONE; next++) {
		uint32_t at = group->queue[next];

		for (uint32_t i = first_edge(group, at); i < end_edge(group, at); i++) {
			uint32_t target = target_of(group, at, i);

			if (target == head)
				closing = at;
			if (target == NONE || !group->in_cycle[target])
				continue;
			group->in_cycle[target] = 0;
			group->from[target] = at;
			group->queue[end++] = target;
		}
	}
	for (; closing != NONE; closing = group->from[closing])
		group->queue[length++] = closing;
	return length;
}

/* Takes the pointers from `at` to `to` (NONE: to any) from the counts. Queues the places that lose
 * their last one. */
static void take(struct hawk_leak_group *group, uint32_t at, uint32_t to, uint32_t *end)
{
	for (uint32_t i = first_edge(group, at); i < end_edge(group, at); i++) {
		uint32_t target = target_of(group, at, i);

		if (target == NONE || (to != NONE && target != to) || !group->counts[target])
			continue;
		if (!--group->counts[target])
			group->queue[(*end)++] = target;
	}
}

struct hawk_chosen hawk_leak_group_cut(struct hawk_leak_group *group, uint32_t from, uint32_t to)
{
	struct hawk_chosen freed = {0};
	uint32_t end = 0;

	for (uint32_t at = 0; at < group->count; at++)
		group->counts[at] = group->first[at + 1] - group->first[at];
	take(group, from, to, &end);
	for (uint32_t next = 0; next < end; next++) {
		hawk_chosen_add(&freed, &group->graph->heap->index,
				group->order[group->queue[next]]);
		take(group, group->queue[next], NONE, &end);
	}
	return freed;
}
