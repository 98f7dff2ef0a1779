/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * One pass over blocks; a group is found by a hash of what tells it apart. Neighbours are often of
 * the same one.
 */
#include "sql_group_fold.h"

#include <stdlib.h>
#include <string.h>

#include "hawk_leaks.h"
#include "hawk_parallel.h"
#include "hawk_prefetch.h"
#include "hawk_progress.h"

enum { SLOTS_FIRST = 1 << 10, NOWHERE = -1, NUMBERS_AHEAD = 32 };

/** The groups of one thread. */
struct table {
	struct sql_group *items;
	size_t count, capacity;
	int32_t *slots; /**< indices into `items`; twice as many as there may be items */
	size_t slot_count;
	bool is_too_much, no_memory;
};

struct fold {
	const struct hawk_block_graph *graph;
	unsigned parts;
	unsigned shares;
	struct table tables[HAWK_PARALLEL_MAX];
};

static bool same(const struct sql_group *a, const struct sql_group *b)
{
	return a->size == b->size && a->site == b->site && a->kind == b->kind &&
	       a->birth == b->birth && a->reach == b->reach && a->is_known == b->is_known &&
	       a->type.given == b->type.given && a->type.first == b->type.first &&
	       a->type.second == b->type.second;
}

static size_t slot_of(const struct table *table, const struct sql_group *key)
{
	uint64_t rest = (uint64_t)key->site << 32 | (uint64_t)key->kind << 24 |
			(uint64_t)key->birth << 16 | (uint64_t)key->reach << 8 | key->is_known;
	uint64_t hash = (key->size + UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);

	hash ^= (uintptr_t)key->type.given ^ key->type.first ^ key->type.second << 16;
	hash = (hash ^ hash >> 29 ^ rest) * UINT64_C(0x94d049bb133111eb);
	return (hash ^ hash >> 32) & (table->slot_count - 1);
}

static void place(struct table *table, int32_t item)
{
	size_t slot = slot_of(table, &table->items[item]);

	while (table->slots[slot] != NOWHERE)
		slot = (slot + 1) & (table->slot_count - 1);
	table->slots[slot] = item;
}

/** Room for twice as many groups, or for the first. */
static bool grow(struct table *table)
{
	size_t slots = table->slot_count ? 2 * table->slot_count : SLOTS_FIRST;
	struct sql_group *items = reallocarray(table->items, slots / 2, sizeof(*items));
	int32_t *places = malloc(slots * sizeof(*places));

	if (items)
		table->items = items;
	if (!items || !places) {
		free(places);
		return false;
	}
	free(table->slots);
	table->slots = places;
	table->slot_count = slots;
	table->capacity = slots / 2;
	memset(places, 0xff, slots * sizeof(*places));
	for (size_t i = 0; i < table->count; i++)
		place(table, (int32_t)i);
	return true;
}

/** The group of `key`, perhaps a new one; NULL: there are too many, or no memory. */
static struct sql_group *find_group(struct table *table, const struct sql_group *key)
{
	size_t slot;

	if (table->count == table->capacity && !grow(table)) {
		table->no_memory = true;
		return NULL;
	}
	for (slot = slot_of(table, key); table->slots[slot] != NOWHERE;
	     slot = (slot + 1) & (table->slot_count - 1))
		if (same(&table->items[table->slots[slot]], key))
			return &table->items[table->slots[slot]];
	if (table->count == SQL_GROUPS_MAX) {
		table->is_too_much = true;
		return NULL;
	}
	table->slots[slot] = (int32_t)table->count;
	table->items[table->count] = *key;
	table->items[table->count].sizes.low = UINT64_MAX;
	table->items[table->count].retained.low = UINT64_MAX;
	return &table->items[table->count++];
}

static void widen(struct sql_range *range, uint64_t low, uint64_t high)
{
	range->low = low < range->low ? low : range->low;
	range->high = high > range->high ? high : range->high;
}

/** False: the sum is no number of SQL's. */
static bool add(struct sql_range *range, uint64_t sum, uint64_t low, uint64_t high)
{
	widen(range, low, high);
	return !__builtin_add_overflow(range->sum, sum, &range->sum) && range->sum <= INT64_MAX;
}

static void read_head(const struct fold *fold, struct sql_type_reader *reader, uint32_t block,
		      struct sql_group *key)
{
	uint64_t head = hawk_block_graph_next_head(fold->graph, &reader->near, block);
	struct hawk_block whole;

	if (fold->parts & SQL_GROUP_BY_TYPE)
		key->type = hawk_sql_type_words(reader, block, hawk_header_kind(head << 48));
	/* The rest of the header's word tells whether it is there. */
	if (fold->parts & (SQL_GROUP_BY_KIND | SQL_GROUP_BY_BIRTH))
		key->is_known = head || hawk_block_graph_block(fold->graph, block, &whole);
	if (fold->parts & SQL_GROUP_BY_KIND)
		key->kind = (uint8_t)hawk_header_kind(head << 48);
	if (fold->parts & SQL_GROUP_BY_BIRTH)
		key->birth = hawk_header_birth(head << 48);
}

/** What tells the group of `block` apart. */
static void fill_key(const struct fold *fold, struct sql_type_reader *reader, uint32_t block,
		     struct sql_group *key)
{
	const struct hawk_block_graph *graph = fold->graph;

	if (fold->parts & SQL_GROUP_BY_SITE)
		key->site = hawk_block_graph_site(graph, block);
	if (fold->parts & SQL_GROUP_BY_SIZE)
		key->size = hawk_block_index_left_bytes(&graph->index, block);
	if (fold->parts & (SQL_GROUP_BY_KIND | SQL_GROUP_BY_BIRTH | SQL_GROUP_BY_TYPE))
		read_head(fold, reader, block, key);
	if (fold->parts & SQL_GROUP_BY_REACH)
		key->reach = (uint8_t)hawk_leaks_kind(graph, block);
}

/** Numbers are in no order of blocks. */
static uint64_t retained_of(const struct hawk_block_graph *graph, uint32_t block)
{
	const struct hawk_dominators *dominators = &graph->dominators;

	if (graph->index.part_count)
		return hawk_block_graph_retained(graph, dominators, block);
	if (graph->index.count - block > NUMBERS_AHEAD)
		hawk_prefetch(&dominators->retained[dominators->numbers[block + NUMBERS_AHEAD]]);
	return dominators->retained[dominators->numbers[block]];
}

static bool add_block(const struct fold *fold, struct sql_group *group, uint32_t block)
{
	const struct hawk_block_graph *graph = fold->graph;
	uint64_t bytes;

	if (!group->count++)
		group->first = block;
	group->last = block;
	if (fold->parts & SQL_GROUP_SIZES) {
		bytes = hawk_block_index_left_bytes(&graph->index, block);
		if (!add(&group->sizes, bytes, bytes, bytes))
			return false;
	}
	if (fold->parts & SQL_GROUP_RETAINED) {
		bytes = retained_of(graph, block);
		if (bytes > INT64_MAX || !add(&group->retained, bytes, bytes, bytes))
			return false;
	}
	return true;
}

static uint32_t start_of(const struct fold *fold, unsigned share)
{
	return (uint32_t)((uint64_t)fold->graph->index.count * share / fold->shares);
}

static void fold_share(void *context, unsigned share)
{
	struct fold *fold = context;
	struct table *table = &fold->tables[share];
	struct sql_type_reader reader = {.graph = fold->graph,
					 .near = {.target = fold->graph->target}};
	struct sql_group key = {0};
	struct sql_group *group = NULL;
	uint32_t end = start_of(fold, share + 1);

	for (uint32_t block = start_of(fold, share); block < end; block++) {
		hawk_progress_tick(block);
		if (!hawk_block_index_counts(&fold->graph->index, block))
			continue;
		fill_key(fold, &reader, block, &key);
		if (!group || !same(group, &key))
			group = find_group(table, &key);
		if (!group)
			return;
		if (!add_block(fold, group, block)) {
			table->is_too_much = true;
			return;
		}
	}
}

/** Adds the groups of a later stretch to those of the first. */
static void merge(struct table *to, const struct table *from)
{
	to->is_too_much |= from->is_too_much;
	to->no_memory |= from->no_memory;
	for (size_t i = 0; i < from->count && !to->is_too_much && !to->no_memory; i++) {
		const struct sql_group *more = &from->items[i];
		struct sql_group key = *more;
		struct sql_group *group;

		key.count = 0;
		key.sizes = key.retained = (struct sql_range){0};
		group = find_group(to, &key);
		if (!group)
			return;
		group->count += more->count;
		group->last = more->last;
		to->is_too_much |=
			!add(&group->sizes, more->sizes.sum, more->sizes.low, more->sizes.high) ||
			!add(&group->retained, more->retained.sum, more->retained.low,
			     more->retained.high);
	}
}

static int compare_groups(const void *left, const void *right)
{
	uint32_t a = ((const struct sql_group *)left)->first;
	uint32_t b = ((const struct sql_group *)right)->first;

	return a < b ? -1 : a > b;
}

static void free_table(struct table *table)
{
	free(table->items);
	free(table->slots);
}

struct hawk_error *hawk_sql_fold_groups(const struct hawk_block_graph *graph, unsigned parts,
					struct sql_group_list *ret)
{
	struct fold *fold = calloc(1, sizeof(*fold));
	struct hawk_progress progress;
	struct table *all;
	bool no_memory;

	if (!fold)
		return &hawk_enomem;
	fold->graph = graph;
	fold->parts = parts;
	fold->shares = hawk_block_graph_threads(graph);
	hawk_progress_begin(&progress, "adding up blocks", graph->index.count);
	hawk_parallel_run(fold->shares, fold_share, fold);
	hawk_progress_end(&progress);
	all = &fold->tables[0];
	for (unsigned share = 1; share < fold->shares; share++) {
		merge(all, &fold->tables[share]);
		free_table(&fold->tables[share]);
	}
	no_memory = all->no_memory;
	if (all->count)
		qsort(all->items, all->count, sizeof(*all->items), compare_groups);
	*ret = (struct sql_group_list){all->items, all->count, all->is_too_much};
	free(all->slots);
	if (no_memory || all->is_too_much) {
		free(ret->items);
		*ret = (struct sql_group_list){.is_too_much = all->is_too_much};
	}
	free(fold);
	return no_memory ? &hawk_enomem : NULL;
}
