/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Hash tables of places, edges and pairs.
 */
#include "site_graph_fold.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS_FIRST = 1024 };

/* Numbers that differ anywhere differ in their upper half. */
static uint64_t mix(uint64_t number)
{
	number ^= number >> 32;
	number *= UINT64_C(0x9e3779b97f4a7c15);
	number ^= number >> 29;
	number *= UINT64_C(0xbf58476d1ce4e5b9);
	return number ^ number >> 32;
}

static size_t hash_edge(uint32_t source, uint32_t target)
{
	return (size_t)mix((uint64_t)source << 32 | target);
}

static size_t hash_place(uint32_t source, uint32_t target, uint64_t offset)
{
	return (size_t)mix(((uint64_t)source << 32 | target) ^
			   offset * UINT64_C(0x94d049bb133111eb));
}

static void put_pair(struct hawk_pair_set *set, uint64_t pair)
{
	size_t mask = set->slot_count - 1;
	size_t at = (size_t)mix(pair) & mask;

	while (set->slots[at])
		at = (at + 1) & mask;
	set->slots[at] = pair;
}

static struct hawk_error *grow_set(struct hawk_pair_set *set)
{
	struct hawk_pair_set more = {
		.slot_count = set->slot_count ? 2 * set->slot_count : SLOTS_FIRST,
		.count = set->count,
	};
	struct hawk_error *err =
		hawk_area_create(&more.area, more.slot_count * sizeof(*more.slots));

	if (!err)
		err = hawk_area_grow(&more.area, more.slot_count * sizeof(*more.slots));
	if (err) {
		hawk_area_destroy(&more.area);
		return err;
	}
	more.slots = more.area.bytes;
	for (size_t i = 0; i < set->slot_count; i++)
		if (set->slots[i])
			put_pair(&more, set->slots[i]);
	hawk_area_destroy(&set->area);
	*set = more;
	return NULL;
}

/* `*is_new` = it was not there before. */
static struct hawk_error *add_pair(struct hawk_pair_set *set, uint64_t pair, bool *is_new)
{
	size_t mask;
	size_t at;

	if (2 * (set->count + 1) > set->slot_count) {
		struct hawk_error *err = grow_set(set);

		if (err)
			return err;
	}
	mask = set->slot_count - 1;
	at = (size_t)mix(pair) & mask;
	while (set->slots[at] && set->slots[at] != pair)
		at = (at + 1) & mask;
	*is_new = !set->slots[at];
	set->slots[at] = pair;
	set->count += *is_new;
	return NULL;
}

/* The slot of a place, or an empty one. */
static uint32_t *place_slot(const struct hawk_site_fold *fold, uint32_t source, uint32_t target,
			    uint64_t offset)
{
	size_t mask = fold->place_slot_count - 1;
	size_t at = hash_place(source, target, offset) & mask;

	for (; fold->place_slots[at]; at = (at + 1) & mask) {
		const struct hawk_fold_place *place = &fold->places[fold->place_slots[at] - 1];

		if (place->source == source && place->target == target && place->offset == offset)
			break;
	}
	return &fold->place_slots[at];
}

static uint32_t *edge_slot(const struct hawk_site_fold *fold, uint32_t source, uint32_t target)
{
	size_t mask = fold->edge_slot_count - 1;
	size_t at = hash_edge(source, target) & mask;

	for (; fold->edge_slots[at]; at = (at + 1) & mask) {
		const struct hawk_fold_edge *edge = &fold->edges[fold->edge_slots[at] - 1];

		if (edge->source == source && edge->target == target)
			break;
	}
	return &fold->edge_slots[at];
}

/* `items` with room for one more, perhaps moved; NULL = no memory. */
static void *reserve(void *items, size_t count, size_t *capacity, size_t size)
{
	size_t more = *capacity ? 2 * *capacity : SLOTS_FIRST / 2;
	void *moved;

	if (count < *capacity)
		return items;
	moved = more < UINT32_MAX / 2 ? reallocarray(items, more, size) : NULL;
	if (moved)
		*capacity = more;
	return moved;
}

static struct hawk_error *reserve_edge(struct hawk_site_fold *fold)
{
	void *items =
		reserve(fold->edges, fold->edge_count, &fold->edge_capacity, sizeof(*fold->edges));
	uint32_t *slots;

	if (!items)
		return &hawk_enomem;
	fold->edges = items;
	if (2 * (fold->edge_count + 1) <= fold->edge_slot_count)
		return NULL;
	slots = calloc(2 * fold->edge_capacity, sizeof(*slots));
	if (!slots)
		return &hawk_enomem;
	free(fold->edge_slots);
	fold->edge_slots = slots;
	fold->edge_slot_count = 2 * fold->edge_capacity;
	for (size_t i = 0; i < fold->edge_count; i++)
		*edge_slot(fold, fold->edges[i].source, fold->edges[i].target) = (uint32_t)i + 1;
	return NULL;
}

static struct hawk_error *reserve_place(struct hawk_site_fold *fold)
{
	void *items = reserve(fold->places, fold->place_count, &fold->place_capacity,
			      sizeof(*fold->places));
	uint32_t *slots;

	if (!items)
		return &hawk_enomem;
	fold->places = items;
	if (2 * (fold->place_count + 1) <= fold->place_slot_count)
		return NULL;
	slots = calloc(2 * fold->place_capacity, sizeof(*slots));
	if (!slots)
		return &hawk_enomem;
	free(fold->place_slots);
	fold->place_slots = slots;
	fold->place_slot_count = 2 * fold->place_capacity;
	for (size_t i = 0; i < fold->place_count; i++) {
		const struct hawk_fold_place *place = &fold->places[i];

		*place_slot(fold, place->source, place->target, place->offset) = (uint32_t)i + 1;
	}
	return NULL;
}

static struct hawk_error *make_place(struct hawk_site_fold *fold, uint32_t source, uint32_t target,
				     uint64_t offset, uint32_t *ret)
{
	struct hawk_error *err = reserve_edge(fold);
	uint32_t *slot;

	if (!err)
		err = reserve_place(fold);
	if (err)
		return err;
	slot = edge_slot(fold, source, target);
	if (!*slot) {
		fold->edges[fold->edge_count] = (struct hawk_fold_edge){
			.source = source, .target = target, .last_source = UINT32_MAX};
		*slot = (uint32_t)++fold->edge_count;
	}
	fold->edges[*slot - 1].place_count++;
	fold->places[fold->place_count++] = (struct hawk_fold_place){
		.source = source,
		.target = target,
		.offset = offset,
		.edge = *slot - 1,
		.last_source = UINT32_MAX,
	};
	*ret = (uint32_t)fold->place_count - 1;
	*place_slot(fold, source, target, offset) = *ret + 1;
	return NULL;
}

static struct hawk_error *find_place(struct hawk_site_fold *fold, uint32_t source, uint32_t target,
				     uint64_t offset, uint32_t *ret)
{
	uint32_t *recent = &fold->recent[(offset / sizeof(uint64_t) * 4 + source + 7 * target) &
					 (HAWK_FOLD_RECENT - 1)];
	struct hawk_error *err = NULL;

	if (*recent) {
		const struct hawk_fold_place *place = &fold->places[*recent - 1];

		if (place->source == source && place->target == target && place->offset == offset) {
			*ret = *recent - 1;
			return NULL;
		}
	}
	*ret = *place_slot(fold, source, target, offset);
	if (*ret)
		--*ret;
	else
		err = make_place(fold, source, target, offset, ret);
	*recent = *ret + 1;
	return err;
}

/* Is the block pointed to from this place, from this edge for the first time? */
static struct hawk_error *meet(struct hawk_site_fold *fold, uint32_t place, uint32_t block,
			       bool *new_place, bool *new_edge)
{
	struct hawk_first_places *seen = &fold->first[block];
	uint32_t edge = fold->places[place].edge;
	struct hawk_error *err = NULL;

	*new_place = *new_edge = !seen->first;
	if (!seen->first)
		seen->first = place + 1;
	if (seen->first == place + 1 || seen->second == place + 1)
		return NULL;
	*new_place = true;
	if (!seen->second) {
		seen->second = place + 1;
		*new_edge = fold->places[seen->first - 1].edge != edge;
		return NULL;
	}
	err = add_pair(&fold->further_places, (uint64_t)place << 32 | (block + 1), new_place);
	if (err || !*new_place || fold->places[seen->first - 1].edge == edge ||
	    fold->places[seen->second - 1].edge == edge)
		return err;
	return add_pair(&fold->further_edges, (uint64_t)edge << 32 | (block + 1), new_edge);
}

static void count(struct hawk_site_counts *counts, uint32_t *last_source, uint32_t source_block,
		  bool interior, bool is_new, uint64_t bytes)
{
	counts->pointers++;
	counts->interior += interior;
	counts->sources += source_block == UINT32_MAX || source_block != *last_source;
	*last_source = source_block;
	counts->targets += is_new;
	counts->target_bytes += is_new ? bytes : 0;
}

struct hawk_error *hawk_site_fold_add(struct hawk_site_fold *fold, uint32_t source,
				      uint32_t source_block, uint64_t offset, uint32_t edge)
{
	uint32_t block = edge >> 1;
	uint32_t target = hawk_block_graph_site(fold->graph, block);
	uint64_t bytes = 0;
	struct hawk_fold_place *place;
	struct hawk_fold_edge *whole;
	struct hawk_error *err = NULL;
	bool new_place;
	bool new_edge;
	uint32_t number;

	if (target >= fold->graph->heap->site_count)
		return NULL; /* a heap without counts, and a block of no site */
	if (offset >= HAWK_SITE_PLACE_BYTES_MAX)
		offset = HAWK_SITE_ANYWHERE;
	err = find_place(fold, source, target, offset, &number);
	if (!err)
		err = meet(fold, number, block, &new_place, &new_edge);
	if (err)
		return err;
	if (new_place || new_edge)
		bytes = hawk_block_index_left_bytes(&fold->graph->index, block);
	place = &fold->places[number];
	whole = &fold->edges[place->edge];
	count(&place->counts, &place->last_source, source_block, edge & HAWK_EDGE_INTERIOR,
	      new_place, bytes);
	count(&whole->counts, &whole->last_source, source_block, edge & HAWK_EDGE_INTERIOR,
	      new_edge, bytes);
	whole->anywhere |= offset == HAWK_SITE_ANYWHERE;
	return NULL;
}

struct hawk_error *hawk_site_fold_init(struct hawk_site_fold *fold,
				       const struct hawk_block_graph *graph, void *first)
{
	uint64_t bytes = sizeof(*fold->first) * ((uint64_t)graph->index.count + 1);
	struct hawk_error *err = NULL;

	*fold = (struct hawk_site_fold){.graph = graph, .first = first};
	if (first) {
		memset(first, 0, bytes);
	} else {
		err = hawk_area_create(&fold->first_area, bytes);
		if (!err)
			err = hawk_area_grow(&fold->first_area, bytes);
		fold->first = fold->first_area.bytes;
	}
	if (!err)
		err = reserve_edge(fold);
	return err ? err : reserve_place(fold);
}

void hawk_site_fold_deinit(struct hawk_site_fold *fold)
{
	hawk_area_destroy(&fold->first_area);
	hawk_area_destroy(&fold->further_places.area);
	hawk_area_destroy(&fold->further_edges.area);
	free(fold->places);
	free(fold->edges);
	free(fold->place_slots);
	free(fold->edge_slots);
	*fold = (struct hawk_site_fold){0};
}
