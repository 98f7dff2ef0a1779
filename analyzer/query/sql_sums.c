/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The table of sums: blocks of one site, size class and kind of reach, counted and added up in one
 * pass. What a GROUP BY over millions of rows of `blocks` would find, at once.
 */
#include <stdlib.h>

#include "hawk_leaks.h"
#include "sql_postings.h"

enum column {
	SUM_SITE,
	SUM_SIZE_CLASS,
	SUM_REACH,
	SUM_OBJECTS,
	SUM_BYTES,
};

enum { SIZE_CLASSES = 65 }; /**< 0 bytes, 1, 2, 3 to 4, 5 to 8 ... */

struct sql_sum {
	uint32_t site; /**< number of sites = none */
	uint8_t size_class;
	uint8_t reach;
	uint64_t objects;
	uint64_t bytes;
};

static unsigned needs(uint64_t columns)
{
	(void)columns;
	return HAWK_PART_INDEX | HAWK_PART_REACH;
}

static uint64_t rows(const struct hawk_sql *sql)
{
	return sql->source.heap->site_count * 2;
}

static unsigned size_class(uint64_t bytes)
{
	return bytes < 2 ? (unsigned)bytes : 65 - (unsigned)__builtin_clzll(bytes - 1);
}

/** Adds up the blocks of one site. */
static void sum_site(const struct hawk_sql *sql, uint32_t site,
		     struct sql_sum sums[SIZE_CLASSES][HAWK_REACH_KINDS])
{
	const struct hawk_block_graph *graph = sql->source.graph;
	const struct sql_postings *postings = &sql->blocks_by_site;

	for (uint32_t i = postings->offsets[site]; i < postings->offsets[site + 1]; i++) {
		uint32_t block = postings->items[i];
		uint64_t bytes;
		struct sql_sum *sum;

		if (!hawk_block_index_counts(&graph->index, block))
			continue;
		bytes = hawk_block_index_left_bytes(&graph->index, block);
		sum = &sums[size_class(bytes)][hawk_leaks_kind(graph, block)];
		sum->objects++;
		sum->bytes += bytes;
	}
}

/** Appends those that are not empty. */
static struct hawk_error *append(struct hawk_sql *sql, uint32_t site,
				 struct sql_sum sums[SIZE_CLASSES][HAWK_REACH_KINDS])
{
	for (unsigned class = 0; class < SIZE_CLASSES; class ++) {
		for (unsigned reach = 0; reach < HAWK_REACH_KINDS; reach++) {
			struct sql_sum *sum = &sums[class][reach];

			if (!sum->objects)
				continue;
			if (sql->sum_count == sql->sum_room) {
				size_t room = sql->sum_room ? 2 * sql->sum_room : 256;
				struct sql_sum *larger = realloc(sql->sums, room * sizeof(*larger));

				if (!larger)
					return &hawk_enomem;
				sql->sums = larger;
				sql->sum_room = room;
			}
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
	struct hawk_error *err = hawk_sql_blocks_by_site(sql);

	sql->sum_count = 0;
	for (uint32_t site = 0; !err && site <= sites; site++) {
		sum_site(sql, site, sums);
		err = append(sql, site, sums);
	}
	return err;
}

static struct hawk_error *seek(struct sql_cursor *cursor, const struct sql_wish *wishes)
{
	struct hawk_sql *sql = cursor->sql;
	struct hawk_error *err = sql->has_sums ? NULL : make_sums(sql);

	(void)wishes;
	if (err)
		return err;
	sql->has_sums = true;
	hawk_sql_seek_all(cursor, sql->sum_count);
	return NULL;
}

static struct hawk_error *put_column(struct sql_cursor *cursor, uint64_t row, int column,
				     sqlite3_context *context)
{
	const struct sql_sum *sum = &cursor->sql->sums[row];

	switch ((enum column)column) {
	case SUM_SITE:
		hawk_sql_result_site(cursor->sql, sum->site, context);
		break;
	case SUM_SIZE_CLASS:
		sqlite3_result_int64(
			context,
			sum->size_class ? (int64_t)(UINT64_C(1) << (sum->size_class - 1)) : 0);
		break;
	case SUM_REACH:
		hawk_sql_result_constant(context, hawk_sql_reach_name(sum->reach));
		break;
	case SUM_OBJECTS:
		sqlite3_result_int64(context, (int64_t)sum->objects);
		break;
	case SUM_BYTES:
		sqlite3_result_int64(context, (int64_t)sum->bytes);
		break;
	}
	return NULL;
}

const struct sql_table hawk_sql_sums = {
	.name = "sums",
	.schema = "CREATE TABLE sums(site TEXT, size_class INTEGER, reach TEXT, objects INTEGER, "
		  "bytes INTEGER)",
	.needs = needs,
	.rows = rows,
	.seek = seek,
	.column = put_column,
};
