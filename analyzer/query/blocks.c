/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The table of blocks, and that of sums: blocks of one site, size class and kind of reach, counted
 * and added up in one pass. Replaces a GROUP BY over millions of rows of `blocks`.
 */
#include <stdlib.h>

#include "hawk/analysis/leaks.h"
#include "hawk/base/array.h"
#include "hawk/report/report.h"
#include "state.h"

enum block_column {
	BLOCK_ADDRESS,
	BLOCK_SIZE,
	BLOCK_SITE,
	BLOCK_KIND,
	BLOCK_AGE,
	BLOCK_TYPE,
	BLOCK_REACH,
	BLOCK_RETAINED,
};

static const char *const reach_names[HAWK_REACH_KINDS] = {
	[HAWK_REACH_REACHABLE] = "still reachable",
	[HAWK_REACH_POSSIBLY] = "possibly lost",
	[HAWK_REACH_DEFINITELY_LOST] = "definitely lost",
	[HAWK_REACH_INDIRECTLY_LOST] = "indirectly lost",
};

const char *hawk_sql_reach_name(unsigned kind)
{
	return reach_names[kind];
}

static uint64_t block_rows(const struct hawk_sql *sql)
{
	return sql->source.heap->index.count;
}

static struct hawk_error *seek_site(struct sql_cursor *cursor, const char *text)
{
	struct hawk_sql *sql = cursor->sql;
	uint32_t site;
	struct hawk_error *err = hawk_sql_site_of_text(sql, text, &site);

	if (!err)
		err = hawk_sql_blocks_by_site(sql);
	if (!err && site != UINT32_MAX)
		hawk_sql_seek_posting(cursor, &sql->blocks_by_site, site);
	else
		cursor->end = 0;
	return err;
}

static struct hawk_error *seek_blocks(struct sql_cursor *cursor,
				      const struct sql_constraint *constraints)
{
	const struct hawk_block_index *index = &cursor->sql->source.heap->index;

	if (!constraints[0].given)
		return constraints[1].is_text ? seek_site(cursor, constraints[1].text) : NULL;
	cursor->at = hawk_block_index_first(index, constraints[0].low);
	if (constraints[0].high < UINT64_MAX)
		cursor->end = hawk_block_index_first(index, constraints[0].high + 1);
	return NULL;
}

/** Gets kind, age or type from the block's header; NULL if unknown. */
static struct hawk_error *get_known(const struct hawk_sql *sql, uint32_t number, int column,
				    struct sql_value *ret)
{
	struct hawk_block block;
	bool known = hawk_heap_block(sql->source.heap, number, &block);

	if (column == BLOCK_TYPE) {
		*ret = sql_text(hawk_block_type(sql->source.types, &block));
	} else if (column == BLOCK_KIND) {
		*ret = sql_text(known && block.kind ? hawk_report_kind_name(block.kind) : NULL);
	} else if (known && hawk_heap_knows_of(sql->source.heap, block.trace) & HAWK_HEAP_AGES) {
		ret->kind = SQL_REAL;
		ret->real = hawk_heap_age_seconds(sql->source.heap, hawk_birth_decode(block.birth));
	}
	return NULL;
}

static struct hawk_error *get_block(struct sql_cursor *cursor, uint64_t row, int column,
				    struct sql_value *ret)
{
	const struct hawk_graph *graph = cursor->sql->source.graph;
	const struct hawk_heap *heap = cursor->sql->source.heap;
	uint32_t block = (uint32_t)row;

	switch ((enum block_column)column) {
	case BLOCK_ADDRESS:
		*ret = sql_integer(hawk_block_start(&heap->index, block));
		break;
	case BLOCK_SIZE:
		*ret = sql_integer(hawk_block_own_bytes(&heap->index, block));
		break;
	case BLOCK_SITE:
		*ret = sql_site(hawk_heap_site_at(heap, block));
		break;
	case BLOCK_REACH:
		*ret = sql_text(hawk_sql_reach_name(
			hawk_leaks_kind(graph, cursor->sql->source.reach, block)));
		break;
	case BLOCK_RETAINED:
		*ret = sql_integer(hawk_dominators_retained(cursor->sql->source.dominators, block));
		break;
	default:
		return get_known(cursor->sql, block, column, ret);
	}
	return NULL;
}

const struct sql_table hawk_sql_blocks = {
	.name = "blocks",
	.schema = "CREATE TABLE blocks(address INTEGER, size INTEGER, site TEXT, kind TEXT, "
		  "age REAL, type TEXT, reach TEXT, retained INTEGER)",
	.keys = {{BLOCK_ADDRESS, SQL_KEY_NUMBER}, {BLOCK_SITE, SQL_KEY_TEXT}},
	.column_needs = {{BLOCK_REACH, HAWK_SQL_REACH}, {BLOCK_RETAINED, HAWK_SQL_DOMINATORS}},
	.rows = block_rows,
	.seek = seek_blocks,
	.column = get_block,
};

enum { SIZE_CLASSES = 65 }; /**< 0 bytes, 1, 2, 3 to 4, 5 to 8 ... */

struct sql_sum {
	uint32_t site; /**< number of sites = none */
	uint8_t size_class;
	uint8_t reach;
	uint64_t objects;
	uint64_t bytes;
};

/** Returns the number of sums. The planner asks before they are made. */
static uint64_t sum_rows(const struct hawk_sql *sql)
{
	return sql->has_sums ? sql->sum_count : sql->source.heap->site_count * 2;
}

static unsigned size_class(uint64_t bytes)
{
	return bytes < 2 ? (unsigned)bytes : 65 - (unsigned)__builtin_clzll(bytes - 1);
}

/** Adds up the blocks of one site. */
static void sum_site(const struct hawk_sql *sql, uint32_t site,
		     struct sql_sum sums[SIZE_CLASSES][HAWK_REACH_KINDS])
{
	const struct hawk_graph *graph = sql->source.graph;
	const struct sql_postings *postings = &sql->blocks_by_site;

	for (uint32_t i = postings->offsets[site]; i < postings->offsets[site + 1]; i++) {
		uint32_t block = postings->items[i];
		uint64_t bytes;
		struct sql_sum *sum;

		bytes = hawk_block_own_bytes(&graph->heap->index, block);
		sum = &sums[size_class(bytes)][hawk_leaks_kind(graph, sql->source.reach, block)];
		sum->objects++;
		sum->bytes += bytes;
	}
}

/** Appends the sums that are not empty. */
static struct hawk_error *append(struct hawk_sql *sql, uint32_t site,
				 struct sql_sum sums[SIZE_CLASSES][HAWK_REACH_KINDS])
{
	for (unsigned class = 0; class < SIZE_CLASSES; class ++) {
		for (unsigned reach = 0; reach < HAWK_REACH_KINDS; reach++) {
			struct sql_sum *sum = &sums[class][reach];

			if (!sum->objects)
				continue;
			if (!hawk_array_reserve(&sql->sums, sql->sum_count, &sql->sum_room,
						sizeof(*sum)))
				return &hawk_enomem;
			sum->site = site;
			sum->size_class = (uint8_t) class;
			sum->reach = (uint8_t)reach;
			sql->sums[sql->sum_count++] = *sum;
			*sum = (struct sql_sum){0};
		}
	}
	return NULL;
}

static struct hawk_error *make_sums(struct hawk_sql *sql)
{
	struct sql_sum sums[SIZE_CLASSES][HAWK_REACH_KINDS] = {0};
	uint32_t sites = (uint32_t)sql->source.heap->site_count;
	struct hawk_error *err;

	if (sql->has_sums)
		return NULL;
	sql->sum_count = 0;
	err = hawk_sql_blocks_by_site(sql);
	for (uint32_t site = 0; !err && site <= sites; site++) {
		sum_site(sql, site, sums);
		err = append(sql, site, sums);
	}
	sql->has_sums = !err;
	return err;
}

static struct hawk_error *get_sum(struct sql_cursor *cursor, uint64_t row, int column,
				  struct sql_value *ret)
{
	const struct sql_sum *sum = &cursor->sql->sums[row];
	const struct sql_value values[] = {
		sql_site(sum->site),
		sql_integer(sum->size_class ? UINT64_C(1) << (sum->size_class - 1) : 0),
		sql_text(hawk_sql_reach_name(sum->reach)),
		sql_integer(sum->objects),
		sql_integer(sum->bytes),
	};

	*ret = values[column];
	return NULL;
}

const struct sql_table hawk_sql_sums = {
	.name = "sums",
	.schema = "CREATE TABLE sums(site TEXT, size_class INTEGER, reach TEXT, objects INTEGER, "
		  "bytes INTEGER)",
	.needs = HAWK_SQL_REACH,
	.rows = sum_rows,
	.prepare = make_sums,
	.column = get_sum,
};
