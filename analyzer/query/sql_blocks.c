/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The table of blocks.
 */
#include "hawk_leaks.h"
#include "hawk_report.h"
#include "sql_postings.h"

enum column {
	ADDRESS,
	SIZE,
	SITE,
	KIND,
	AGE,
	TYPE,
	REACH,
	RETAINED,
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

static unsigned needs(uint64_t columns)
{
	unsigned parts = HAWK_PART_INDEX;

	if (columns & UINT64_C(1) << REACH)
		parts |= HAWK_PART_REACH;
	if (columns & UINT64_C(1) << RETAINED)
		parts |= HAWK_PART_RETAINED;
	return parts;
}

static uint64_t rows(const struct hawk_sql *sql)
{
	return sql->source.graph->index.count;
}

static struct hawk_error *seek_site(struct sql_cursor *cursor, const char *text)
{
	struct hawk_sql *sql = cursor->sql;
	uint32_t site;
	struct hawk_error *err = hawk_sql_site_of_text(sql, text, &site);

	if (!err)
		err = hawk_sql_blocks_by_site(sql);
	if (err)
		return err;
	cursor->at = cursor->end = 0;
	if (site != UINT32_MAX)
		hawk_sql_seek_posting(cursor, &sql->blocks_by_site, site);
	return NULL;
}

static struct hawk_error *seek(struct sql_cursor *cursor, const struct sql_wish *wishes)
{
	const struct hawk_block_index *index = &cursor->sql->source.graph->index;

	if (!wishes[0].given && wishes[1].is_text)
		return seek_site(cursor, wishes[1].text);
	hawk_sql_seek_all(cursor, index->count);
	if (!wishes[0].given)
		return NULL;
	cursor->at = hawk_block_index_first(index, wishes[0].low);
	if (wishes[0].high < UINT64_MAX)
		cursor->end = hawk_block_index_first(index, wishes[0].high + 1);
	return NULL;
}

/** A block that a pool carved up is one row, at its first part. */
static struct hawk_error *enter(struct sql_cursor *cursor, uint64_t row, bool *keep)
{
	*keep = hawk_block_index_counts(&cursor->sql->source.graph->index, (uint32_t)row);
	return NULL;
}

struct hawk_error *hawk_sql_result_type(struct hawk_sql *sql, uint32_t number,
					sqlite3_context *context)
{
	struct hawk_block block;
	const char *type;
	struct hawk_error *err;

	hawk_block_graph_block(sql->source.graph, number, &block);
	err = hawk_block_type(sql->source.types, &block, &type);
	if (!err)
		hawk_sql_result_text(context, type);
	return err;
}

/** What is in the block's header. */
static struct hawk_error *put_header(struct hawk_sql *sql, uint32_t number, int column,
				     sqlite3_context *context)
{
	struct hawk_block block;
	bool known = hawk_block_graph_block(sql->source.graph, number, &block);

	if (!known)
		return NULL;
	if (column == KIND)
		hawk_sql_result_constant(context, hawk_report_kind_name(block.kind));
	else
		sqlite3_result_double(
			context,
			hawk_heap_age_seconds(sql->source.heap, hawk_birth_decode(block.birth)));
	return NULL;
}

static struct hawk_error *put_column(struct sql_cursor *cursor, uint64_t row, int column,
				     sqlite3_context *context)
{
	const struct hawk_block_graph *graph = cursor->sql->source.graph;
	uint32_t block = (uint32_t)row;

	switch ((enum column)column) {
	case ADDRESS:
		sqlite3_result_int64(context, (int64_t)hawk_block_start(&graph->index, block));
		return NULL;
	case SIZE:
		sqlite3_result_int64(context,
				     (int64_t)hawk_block_index_left_bytes(&graph->index, block));
		return NULL;
	case SITE:
		hawk_sql_result_site(cursor->sql, hawk_block_graph_site(graph, block), context);
		return NULL;
	case KIND:
	case AGE:
		return put_header(cursor->sql, block, column, context);
	case TYPE:
		return hawk_sql_result_type(cursor->sql, block, context);
	case REACH:
		hawk_sql_result_constant(context,
					 hawk_sql_reach_name(hawk_leaks_kind(graph, block)));
		return NULL;
	case RETAINED:
		sqlite3_result_int64(context, (int64_t)hawk_block_graph_retained(
						      graph, &graph->dominators, block));
		return NULL;
	}
	return NULL;
}

const struct sql_table hawk_sql_blocks = {
	.name = "blocks",
	.schema = "CREATE TABLE blocks(address INTEGER, size INTEGER, site TEXT, kind TEXT, "
		  "age REAL, type TEXT, reach TEXT, retained INTEGER)",
	.keys = {{ADDRESS, SQL_KEY_NUMBER}, {SITE, SQL_KEY_TEXT}},
	.needs = needs,
	.rows = rows,
	.seek = seek,
	.row = enter,
	.column = put_column,
};
