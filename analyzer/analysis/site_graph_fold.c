/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Hash tables of places, edges and pairs.
 */
#include "site_graph_fold.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "hawk_prefetch.h"

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

static size_t hash_place(uint32_t source, uint32_t target, uint32_t offset)
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
			    uint32_t offset)
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

/* Room for one more. Each in one line of the cache. */
static struct hawk_error *reserve_places(struct hawk_site_fold *fold)
{
	size_t more = fold->place_capacity ? 2 * fold->place_capacity : SLOTS_FIRST / 2;
	struct hawk_fold_place *moved;

	if (fold->place_count < fold->place_capacity)
		return NULL;
	moved = more < UINT32_MAX / 2 ? aligned_alloc(sizeof(*moved), more * sizeof(*moved)) : NULL;
	if (!moved)
		return &hawk_enomem;
	if (fold->place_count)
		memcpy(moved, fold->places, fold->place_count * sizeof(*moved));
	free(fold->places);
	fold->places = moved;
	fold->place_capacity = more;
	return NULL;
}
static_assert(sizeof(struct hawk_fold_place) == 64, "a line of the cache");

static struct hawk_error *reserve_place(struct hawk_site_fold *fold)
{
	struct hawk_error *err = reserve_places(fold);
	uint32_t *slots;

	if (err)
		return err;
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
				     uint32_t offset, uint32_t *ret)
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
	fold->edges[*slot - 1].anywhere |= offset == HAWK_FOLD_ANYWHERE;
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

/* The number of a place, perhaps a new one; `recent` = one that it may be + 1. */
static inline struct hawk_error *find_place(struct hawk_site_fold *fold, uint32_t source,
					    uint32_t target, uint32_t offset, uint32_t recent,
					    uint32_t *ret)
{
	struct hawk_error *err = NULL;

	if (recent) {
		const struct hawk_fold_place *place = &fold->places[recent - 1];

		*ret = recent - 1;
		if (place->source == source && place->target == target && place->offset == offset)
			return NULL;
	}
	*ret = *place_slot(fold, source, target, offset);
	if (*ret)
		--*ret;
	else
		err = make_place(fold, source, target, offset, ret);
	fold->recent[hawk_fold_recent_slot(source, target, offset)] = *ret + 1;
	return err;
}

/* Counts a target block that is new at a place. */
static inline void add_target(struct hawk_site_fold *fold, uint32_t number, uint32_t block,
			      bool new_edge)
{
	struct hawk_fold_place *place = &fold->places[number];
	uint64_t bytes = hawk_block_index_left_bytes(&fold->graph->heap->index, block);
	struct hawk_fold_edge *edge;

	place->counts.targets++;
	place->counts.target_bytes += bytes;
	if (new_edge)
		return;
	edge = &fold->edges[place->edge];
	edge->repeated_targets++;
	edge->repeated_bytes += bytes;
}

/* Counts the target block of a place, if it is new there. True: further places have to say. */
static inline bool count_target(struct hawk_site_fold *fold, uint32_t number, uint32_t block)
{
	struct hawk_first_places *seen;

	seen = &fold->first[block];
	if (seen->first == number + 1)
		return false;
	if (!seen->first) {
		seen->first = number + 1;
		add_target(fold, number, block, true);
		return false;
	}
	if (seen->second)
		return seen->second != number + 1;
	seen->second = number + 1;
	add_target(fold, number, block,
		   fold->places[seen->first - 1].edge != fold->places[number].edge);
	return false;
}

/* The rest of that, for a block whose first two places are others. Whether it comes now or after
 * other pointers makes no difference. */
static struct hawk_error *count_further(struct hawk_site_fold *fold, uint32_t number,
					uint32_t block)
{
	const struct hawk_first_places *seen = &fold->first[block];
	uint32_t edge = fold->places[number].edge;
	bool new_place;
	bool new_edge = false;
	struct hawk_error *err =
		add_pair(&fold->further_places, (uint64_t)number << 32 | (block + 1), &new_place);

	if (!err && new_place && fold->places[seen->first - 1].edge != edge &&
	    fold->places[seen->second - 1].edge != edge)
		err = add_pair(&fold->further_edges, (uint64_t)edge << 32 | (block + 1), &new_edge);
	if (!err && new_place)
		add_target(fold, number, block, new_edge);
	return err;
}

/* Counts the source block of a place, if it is new there. */
static void count_source(struct hawk_site_fold *fold, struct hawk_fold_place *place,
			 uint32_t source_block)
{
	struct hawk_fold_edge *edge;

	if (source_block == UINT32_MAX) {
		place->counts.sources++;
		return;
	}
	if (place->last_source == source_block)
		return;
	place->last_source = source_block;
	place->counts.sources++;
	edge = &fold->edges[place->edge];
	edge->repeated_sources += edge->last_source == source_block;
	edge->last_source = source_block;
}

/* True: count_further() is to be called for its target. */
static inline bool count_pointer(struct hawk_site_fold *fold, uint32_t number,
				 uint32_t source_block, uint32_t edge)
{
	struct hawk_fold_place *place = &fold->places[number];

	place->counts.pointers++;
	place->counts.interior += edge & HAWK_EDGE_INTERIOR;
	count_source(fold, place, source_block);
	return count_target(fold, number, edge >> 1);
}

struct hawk_error *hawk_site_fold_add_root(struct hawk_site_fold *fold, uint32_t kind,
					   uint32_t edge)
{
	uint32_t target = hawk_heap_site_at(fold->graph->heap, edge >> 1);
	struct hawk_error *err;
	uint32_t number;

	if (target >= fold->graph->heap->site_count)
		return NULL; /* a heap without counts, and a block of no site */
	err = find_place(fold, HAWK_SITE_ROOTS, target, kind,
			 fold->recent[hawk_fold_recent_slot(HAWK_SITE_ROOTS, target, kind)],
			 &number);
	if (!err && count_pointer(fold, number, UINT32_MAX, edge))
		err = count_further(fold, number, edge >> 1);
	return err;
}

/* Up to HAWK_FOLD_BATCH pointers with all but `numbers`, those between blocks of no site left out.
 */
static void take_pointers(const struct hawk_site_fold *fold, const struct hawk_pointer *pointers,
			  size_t count, struct hawk_folded *ret)
{
	size_t site_count = fold->graph->heap->site_count;
	uint32_t taken = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t source = hawk_heap_site_at(fold->graph->heap, pointers[i].source);
		uint32_t target = hawk_heap_site_at(fold->graph->heap, pointers[i].edge >> 1);
		uint32_t offset = pointers[i].offset < HAWK_SITE_PLACE_BYTES_MAX
					  ? (uint32_t)pointers[i].offset
					  : HAWK_FOLD_ANYWHERE;

		ret->source_sites[taken] = source;
		ret->target_sites[taken] = target;
		ret->offsets[taken] = offset;
		ret->recent[taken] = fold->recent[hawk_fold_recent_slot(source, target, offset)];
		ret->source_blocks[taken] = pointers[i].source;
		ret->edges[taken] = pointers[i].edge;
		taken += source < site_count && target < site_count;
	}
	ret->count = taken;
}

static struct hawk_error *find_places(struct hawk_site_fold *fold, struct hawk_folded *folded)
{
	for (uint32_t i = 0; i < folded->count; i++) {
		struct hawk_error *err =
			find_place(fold, folded->source_sites[i], folded->target_sites[i],
				   folded->offsets[i], folded->recent[i], &folded->numbers[i]);

		if (err)
			return err;
		hawk_prefetch(&fold->edges[fold->places[folded->numbers[i]].edge]);
	}
	return NULL;
}

static void prefetch_places(const struct hawk_site_fold *fold, const struct hawk_folded *folded)
{
	for (uint32_t i = 0; i < folded->count; i++)
		hawk_prefetch(&fold->places[folded->recent[i] ? folded->recent[i] - 1 : 0]);
}

static struct hawk_error *count_pointers(struct hawk_site_fold *fold,
					 const struct hawk_folded *folded)
{
	struct hawk_error *err = NULL;

	for (uint32_t i = 0; i < folded->count && !err; i++)
		if (count_pointer(fold, folded->numbers[i], folded->source_blocks[i],
				  folded->edges[i]))
			err = count_further(fold, folded->numbers[i], folded->edges[i] >> 1);
	return err;
}

struct hawk_error *hawk_site_fold_add(struct hawk_site_fold *fold,
				      const struct hawk_pointer *pointers, size_t count)
{
	struct hawk_error *err = NULL;
	struct hawk_folded folded;
	size_t piece;

	for (size_t i = 0; i < count; i++)
		hawk_site_fold_prefetch(fold, pointers[i].edge >> 1);
	for (; count && !err; pointers += piece, count -= piece) {
		piece = count < HAWK_FOLD_BATCH ? count : HAWK_FOLD_BATCH;
		take_pointers(fold, pointers, piece, &folded);
		prefetch_places(fold, &folded);
		err = find_places(fold, &folded);
		if (!err)
			err = count_pointers(fold, &folded);
	}
	return err;
}

void hawk_site_fold_sum(struct hawk_site_fold *fold)
{
	for (size_t i = 0; i < fold->edge_count; i++) {
		struct hawk_fold_edge *edge = &fold->edges[i];

		edge->counts = (struct hawk_site_counts){
			.sources = 0 - edge->repeated_sources,
			.targets = 0 - edge->repeated_targets,
			.target_bytes = 0 - edge->repeated_bytes,
		};
	}
	for (size_t i = 0; i < fold->place_count; i++) {
		const struct hawk_site_counts *counts = &fold->places[i].counts;
		struct hawk_site_counts *sum = &fold->edges[fold->places[i].edge].counts;

		sum->pointers += counts->pointers;
		sum->interior += counts->interior;
		sum->sources += counts->sources;
		sum->targets += counts->targets;
		sum->target_bytes += counts->target_bytes;
	}
}

struct hawk_error *hawk_site_fold_init(struct hawk_site_fold *fold, const struct hawk_graph *graph)
{
	uint64_t bytes = sizeof(*fold->first) * ((uint64_t)graph->heap->index.count + 1);
	struct hawk_error *err;

	*fold = (struct hawk_site_fold){.graph = graph};
	err = hawk_area_create(&fold->first_area, bytes);
	if (!err)
		err = hawk_area_grow(&fold->first_area, bytes);
	fold->first = fold->first_area.bytes;
	fold->recent = calloc((size_t)1 << HAWK_FOLD_RECENT_LOG2, sizeof(*fold->recent));
	if (!err && !fold->recent)
		err = &hawk_enomem;
	if (!err)
		err = reserve_edge(fold);
	return err ? err : reserve_place(fold);
}

void hawk_site_fold_deinit(struct hawk_site_fold *fold)
{
	hawk_area_destroy(&fold->first_area);
	hawk_area_destroy(&fold->further_places.area);
	hawk_area_destroy(&fold->further_edges.area);
	free(fold->recent);
	free(fold->places);
	free(fold->edges);
	free(fold->place_slots);
	free(fold->edge_slots);
	*fold = (struct hawk_site_fold){0};
}
