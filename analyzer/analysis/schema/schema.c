/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Splits a site's blocks into groups by size and picks the ones to examine.
 */
#include "hawk/analysis/schema.h"

#include <stdlib.h>
#include <string.h>

#include "schema_blocks.h"

enum {
	GROUPS_DEFAULT = 4,
	COVERED_PERCENT = 90,
	WORDS_BUDGET = 1 << 27, /**< of arrays: looked at in one group */
};

static int compare_sizes(const void *left, const void *right)
{
	const struct hawk_schema_size *a = left;
	const struct hawk_schema_size *b = right;
	uint64_t bytes_a = a->size * a->count, bytes_b = b->size * b->count;

	if (bytes_a != bytes_b)
		return bytes_a > bytes_b ? -1 : 1;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return a->size < b->size ? -1 : a->size > b->size;
}

/** One group for each size, if few sizes have nearly all blocks; else one for all. */
static void choose_groups(struct hawk_schema_sizes *sizes, uint64_t blocks, size_t most,
			  struct hawk_schema *schema)
{
	uint64_t covered = 0;
	size_t used = 0;

	for (size_t i = 0; i < HAWK_SCHEMA_SIZE_SLOTS; i++)
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

static struct hawk_error *fill_group(const struct hawk_schema_blocks *blocks,
				     struct hawk_schema_group *group)
{
	uint64_t each;
	struct hawk_error *err;

	group->bytes_each = HAWK_SCHEMA_WORDS_MAX * sizeof(uint64_t);
	err = hawk_schema_tally(blocks, group);
	if (!err)
		group->period = hawk_schema_period(group);
	if (!err && group->period) {
		each = WORDS_BUDGET / (group->examined + 1) * sizeof(uint64_t);
		if (each > group->bytes_each)
			group->bytes_each = each > group->size_max ? UINT64_MAX : each;
		err = hawk_schema_tally(blocks, group);
	}
	return err ? err : hawk_schema_find_outliers(blocks, group);
}

static struct hawk_error *fill_groups(const struct hawk_schema_query *query,
				      struct hawk_schema_blocks *blocks, struct hawk_schema *schema)
{
	size_t most = query->groups ? query->groups : GROUPS_DEFAULT;
	struct hawk_error *err = NULL;

	if (!blocks->count)
		return NULL;
	choose_groups(&blocks->sizes, blocks->count,
		      most < HAWK_SCHEMA_GROUPS_MAX ? most : HAWK_SCHEMA_GROUPS_MAX, schema);
	for (size_t i = 0; i < schema->group_count && !err; i++)
		err = fill_group(blocks, &schema->groups[i]);
	return err;
}

struct hawk_error *hawk_schema_make(const struct hawk_heap *heap,
				    const struct hawk_schema_query *query,
				    struct hawk_block_types *types, struct hawk_findings *findings,
				    struct hawk_schema *ret)
{
	size_t before = findings ? findings->count : 0;
	struct hawk_schema_blocks blocks = {0};
	struct hawk_schema schema = {0};
	struct hawk_error *err = hawk_schema_collect(heap, query, types, &schema, &blocks);

	if (!err) {
		err = fill_groups(query, &blocks, &schema);
		hawk_schema_blocks_deinit(&blocks);
	}
	hawk_findings_sort(findings, before); /* by key, not by block */
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
