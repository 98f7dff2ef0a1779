/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * From a site to groups of blocks: which sizes there are, and which of them are looked at.
 */
#include "hawk_schema.h"

#include <stdlib.h>
#include <string.h>

#include "hawk_cleanup.h"
#include "schema_tally.h"

enum {
	SIZES_MAX = 4096,
	SIZE_SLOTS = 2 * SIZES_MAX, /**< a power of two */
	GROUPS_DEFAULT = 4,
	COVERED_PERCENT = 90,
	WORDS_BUDGET = 1 << 27, /**< of arrays: looked at in one group */
};

struct size_count {
	uint64_t size;
	uint64_t count; /**< 0 = empty */
};

struct sizes {
	struct size_count *slots;
	size_t count;
	bool many;
	uint64_t least, most;
};

static void count_size(struct sizes *sizes, uint64_t size)
{
	size_t at = (size_t)(size * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (SIZE_SLOTS - 1);

	if (size < sizes->least)
		sizes->least = size;
	if (size > sizes->most)
		sizes->most = size;
	while (sizes->slots[at].count && sizes->slots[at].size != size)
		at = (at + 1) & (SIZE_SLOTS - 1);
	if (!sizes->slots[at].count) {
		if (sizes->count == SIZES_MAX) {
			sizes->many = true;
			return;
		}
		sizes->count++;
		sizes->slots[at].size = size;
	}
	sizes->slots[at].count++;
}

static int compare_sizes(const void *left, const void *right)
{
	const struct size_count *a = left;
	const struct size_count *b = right;
	uint64_t bytes_a = a->size * a->count, bytes_b = b->size * b->count;

	if (bytes_a != bytes_b)
		return bytes_a > bytes_b ? -1 : 1;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return a->size < b->size ? -1 : a->size > b->size;
}

static struct hawk_error *keep(struct hawk_schema_blocks *blocks, uint32_t number)
{
	if (blocks->count == blocks->capacity) {
		size_t more = blocks->capacity ? 2 * blocks->capacity : 1024;
		uint32_t *moved = reallocarray(blocks->numbers, more, sizeof(*moved));

		if (!moved)
			return &hawk_enomem;
		blocks->numbers = moved;
		blocks->capacity = more;
	}
	blocks->numbers[blocks->count++] = number;
	return NULL;
}

static struct hawk_error *collect(const struct hawk_block_graph *graph,
				  const struct hawk_schema_wish *wish,
				  struct hawk_schema_blocks *blocks, struct sizes *sizes,
				  struct hawk_schema *schema)
{
	struct hawk_near near = {.target = graph->target};
	struct hawk_error *err = NULL;

	for (uint32_t i = 0; i < graph->index.count && !err; i++) {
		bool wanted;

		if (hawk_block_graph_site(graph, i) != wish->site)
			continue;
		err = hawk_choice_passes(graph, &near, wish->blocks, i, NULL, &wanted);
		if (err || !wanted)
			continue;
		schema->bytes += hawk_block_index_left_bytes(&graph->index, i);
		schema->objects += hawk_block_index_counts(&graph->index, i);
		if (graph->index.part_count && hawk_block_index_part(&graph->index, i)) {
			schema->carved += hawk_block_index_counts(&graph->index, i);
			continue;
		}
		count_size(sizes, hawk_block_size(&graph->index, i));
		err = keep(blocks, i);
	}
	return err;
}

/** One group for each size, if few sizes have nearly all blocks; else one for all. */
static void choose_groups(struct sizes *sizes, size_t blocks, size_t most,
			  struct hawk_schema *schema)
{
	uint64_t covered = 0;
	size_t used = 0;

	for (size_t i = 0; i < SIZE_SLOTS; i++)
		if (sizes->slots[i].count)
			sizes->slots[used++] = sizes->slots[i];
	qsort(sizes->slots, used, sizeof(*sizes->slots), compare_sizes);
	schema->sizes = sizes->many ? SIZE_MAX : used;
	if (used < most)
		most = used;
	for (size_t i = 0; i < most; i++)
		covered += sizes->slots[i].count;
	if (sizes->many || covered < blocks / 100 * COVERED_PERCENT) {
		schema->groups[schema->group_count++] = (struct hawk_schema_group){
			.size_min = sizes->least, .size_max = sizes->most, .objects = blocks};
		return;
	}
	for (size_t i = 0; i < most; i++)
		schema->groups[schema->group_count++] = (struct hawk_schema_group){
			.size_min = sizes->slots[i].size,
			.size_max = sizes->slots[i].size,
			.objects = sizes->slots[i].count,
		};
	schema->rest_objects = blocks - covered;
}

static struct hawk_error *fill_group(const struct hawk_block_graph *graph, struct hawk_words *words,
				     const struct hawk_schema_blocks *blocks,
				     struct hawk_schema_group *group)
{
	uint64_t each;
	struct hawk_error *err;

	group->bytes_each = HAWK_SCHEMA_WORDS_MAX * sizeof(uint64_t);
	err = hawk_schema_tally(graph, words, blocks, group);
	if (!err)
		group->period = hawk_schema_period(group);
	if (!err && group->period) {
		each = WORDS_BUDGET / (group->examined + 1) * sizeof(uint64_t);
		if (each > group->bytes_each)
			group->bytes_each = each > group->size_max ? UINT64_MAX : each;
		err = hawk_schema_tally(graph, words, blocks, group);
	}
	return err ? err : hawk_schema_find_outliers(graph, words, blocks, group);
}

static struct hawk_error *make(const struct hawk_block_graph *graph,
			       const struct hawk_schema_wish *wish, struct hawk_words *words,
			       struct hawk_schema_blocks *blocks, struct hawk_schema *schema)
{
	CLEANUP(free_ptr) struct size_count *slots = calloc(SIZE_SLOTS, sizeof(*slots));
	struct sizes sizes = {.slots = slots, .least = UINT64_MAX};
	size_t most = wish->groups ? wish->groups : GROUPS_DEFAULT;
	struct hawk_error *err;

	if (!slots)
		return &hawk_enomem;
	err = collect(graph, wish, blocks, &sizes, schema);
	if (err || !blocks->count)
		return err;
	choose_groups(&sizes, blocks->count,
		      most < HAWK_SCHEMA_GROUPS_MAX ? most : HAWK_SCHEMA_GROUPS_MAX, schema);
	for (size_t i = 0; i < schema->group_count && !err; i++)
		err = fill_group(graph, words, blocks, &schema->groups[i]);
	return err;
}

struct hawk_error *hawk_schema_make(const struct hawk_block_graph *graph,
				    const struct hawk_schema_wish *wish, struct hawk_schema *ret)
{
	struct hawk_schema_blocks blocks = {0};
	struct hawk_schema schema = {0};
	struct hawk_words *words = NULL;
	struct hawk_error *err = hawk_block_graph_readable(graph);

	if (!err)
		err = hawk_words_create(graph, &words);
	if (!err)
		err = make(graph, wish, words, &blocks, &schema);
	hawk_words_destroy(words);
	free(blocks.numbers);
	if (err)
		hawk_schema_deinit(&schema);
	else
		*ret = schema;
	return err;
}

void hawk_schema_deinit(struct hawk_schema *schema)
{
	for (size_t i = 0; i < schema->group_count; i++) {
		free(schema->groups[i].words);
		free(schema->groups[i].outliers);
	}
	memset(schema, 0, sizeof(*schema));
}
