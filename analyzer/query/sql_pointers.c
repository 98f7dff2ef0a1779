/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The tables of pointers: edges between blocks, and roots.
 */
#include <stdlib.h>

#include "hawk_cleanup.h"
#include "hawk_text.h"
#include "sql_postings.h"

enum edge_column {
	EDGE_SOURCE,
	EDGE_OFFSET,
	EDGE_TARGET,
	EDGE_INSIDE,
	EDGE_INTERIOR,
};

/** The pointers of the block that the cursor is at. */
struct edge_state {
	struct hawk_referrers list;
	size_t at;
	uint32_t to; /**< the only target wanted; HAWK_BLOCK_NOWHERE = any */
	uint32_t source;
};

static unsigned needs_edges(uint64_t columns)
{
	(void)columns;
	return HAWK_PART_EDGES;
}

static uint64_t edge_rows(const struct hawk_sql *sql)
{
	return sql->source.graph->index.count;
}

static struct hawk_error *open_edges(struct sql_cursor *cursor)
{
	cursor->state = calloc(1, sizeof(struct edge_state));
	return cursor->state ? NULL : &hawk_enomem;
}

static void close_edges(struct sql_cursor *cursor)
{
	struct edge_state *state = cursor->state;

	if (state)
		hawk_referrers_deinit(&state->list);
	free(state);
}

/** The block that begins at the only address that `wish` allows, or HAWK_BLOCK_NOWHERE. */
static uint32_t wished_block(const struct hawk_block_index *index, const struct sql_wish *wish)
{
	bool interior;
	uint32_t block = hawk_block_index_find(index, wish->low, &interior);

	return interior || !hawk_block_index_counts(index, block) ? HAWK_BLOCK_NOWHERE : block;
}

/** Moves the end behind the last part of every block that begins in the range: other rows that come
 * with them are not of these blocks, and SQLite leaves them out. */
static void include_parts(struct sql_cursor *cursor, const struct hawk_block_index *index,
			  const struct sql_wish *wish)
{
	uint64_t end = cursor->end;

	if (!index->part_count || cursor->at >= end)
		return;
	if (wish->low == wish->high) {
		uint32_t block = (uint32_t)cursor->at;

		end = hawk_block_index_first(index,
					     hawk_block_start(index, block) +
						     hawk_block_index_asked_bytes(index, block));
	} else {
		for (size_t i = 0; i < index->part_count; i++)
			if (index->parts[i].first >= cursor->at && index->parts[i].first < end &&
			    index->parts[i].number >= cursor->end)
				cursor->end = index->parts[i].number + UINT64_C(1);
	}
	if (end > cursor->end)
		cursor->end = end;
}

static struct hawk_error *seek_edges(struct sql_cursor *cursor, const struct sql_wish *wishes)
{
	const struct hawk_block_index *index = &cursor->sql->source.graph->index;
	struct edge_state *state = cursor->state;
	struct hawk_error *err;

	state->to = HAWK_BLOCK_NOWHERE;
	state->source = HAWK_BLOCK_NOWHERE;
	hawk_sql_seek_all(cursor, index->count);
	if (wishes[0].given) {
		cursor->at = hawk_block_index_first(index, wishes[0].low);
		if (wishes[0].high < UINT64_MAX)
			cursor->end = hawk_block_index_first(index, wishes[0].high + 1);
		include_parts(cursor, index, &wishes[0]);
	}
	if (!wishes[1].given || wishes[1].low != wishes[1].high)
		return NULL;
	state->to = wished_block(index, &wishes[1]);
	if (state->to == HAWK_BLOCK_NOWHERE) {
		cursor->at = cursor->end;
		return NULL;
	}
	if (wishes[0].given)
		return NULL;
	err = hawk_sql_sources_by_block(cursor->sql);
	if (!err)
		hawk_sql_seek_posting(cursor, &cursor->sql->sources_by_block, state->to);
	return err;
}

static struct hawk_error *enter_edges(struct sql_cursor *cursor, uint64_t row, bool *keep)
{
	const struct hawk_graph *edges = &cursor->sql->source.graph->edges;
	struct edge_state *state = cursor->state;
	uint32_t source = (uint32_t)row;
	struct hawk_error *err;

	*keep = false;
	/* A source of several pointers is listed as often; all of them were given the first time.
	 */
	if (source == state->source || edges->offsets[source] == edges->offsets[source + 1])
		return NULL;
	state->source = source;
	state->list.count = 0;
	state->at = 0;
	err = hawk_referrers_add(cursor->sql->source.graph, source, state->to, &state->list);
	*keep = state->list.count > 0;
	return err;
}

static bool more_edges(struct sql_cursor *cursor)
{
	struct edge_state *state = cursor->state;

	return ++state->at < state->list.count;
}

static struct hawk_error *put_edge(struct sql_cursor *cursor, uint64_t row, int column,
				   sqlite3_context *context)
{
	const struct hawk_block_index *index = &cursor->sql->source.graph->index;
	const struct edge_state *state = cursor->state;
	const struct hawk_referrer *edge = &state->list.items[state->at];

	(void)row;
	switch ((enum edge_column)column) {
	case EDGE_SOURCE:
		sqlite3_result_int64(context, (int64_t)hawk_block_start(index, edge->source));
		break;
	case EDGE_OFFSET:
		if (edge->offset != HAWK_OFFSET_UNKNOWN)
			sqlite3_result_int64(context, (int64_t)edge->offset);
		break;
	case EDGE_TARGET:
		sqlite3_result_int64(context, (int64_t)hawk_block_start(index, edge->target));
		break;
	case EDGE_INSIDE:
		if (edge->inside != HAWK_OFFSET_UNKNOWN)
			sqlite3_result_int64(context, (int64_t)edge->inside);
		break;
	case EDGE_INTERIOR:
		sqlite3_result_int(context, edge->interior);
		break;
	}
	return NULL;
}

const struct sql_table hawk_sql_edges = {
	.name = "edges",
	.schema = "CREATE TABLE edges(source INTEGER, offset INTEGER, target INTEGER, "
		  "inside INTEGER, interior INTEGER)",
	.keys = {{EDGE_SOURCE, SQL_KEY_NUMBER}, {EDGE_TARGET, SQL_KEY_NUMBER}},
	.needs = needs_edges,
	.rows = edge_rows,
	.seek = seek_edges,
	.row = enter_edges,
	.more = more_edges,
	.column = put_edge,
	.open = open_edges,
	.close = close_edges,
};

enum root_column {
	ROOT_KIND,
	ROOT_ADDRESS,
	ROOT_TARGET,
	ROOT_INTERIOR,
	ROOT_THREAD,
	ROOT_FRAME,
	ROOT_FUNCTION,
	ROOT_REGISTER,
	ROOT_SYMBOL,
	ROOT_MODULE,
	ROOT_SECTION,
	ROOT_OFFSET,
	ROOT_NAME,
};

enum { ROOT_NAME_WIDTH = 200 };

static unsigned needs_roots(uint64_t columns)
{
	(void)columns;
	return HAWK_PART_ROOTS;
}

static uint64_t root_rows(const struct hawk_sql *sql)
{
	return sql->source.graph->roots.count;
}

static struct hawk_error *seek_roots(struct sql_cursor *cursor, const struct sql_wish *wishes)
{
	const struct hawk_block_graph *graph = cursor->sql->source.graph;
	struct hawk_error *err;
	uint32_t block;

	hawk_sql_seek_all(cursor, graph->roots.count);
	if (!wishes[0].given || wishes[0].low != wishes[0].high)
		return NULL;
	block = wished_block(&graph->index, &wishes[0]);
	if (block == HAWK_BLOCK_NOWHERE) {
		cursor->at = cursor->end;
		return NULL;
	}
	err = hawk_sql_roots_by_block(cursor->sql);
	if (!err)
		hawk_sql_seek_posting(cursor, &cursor->sql->roots_by_block, block);
	return err;
}

static struct hawk_error *name_root(struct hawk_sql *sql, uint32_t root,
				    struct hawk_root_name *name)
{
	struct hawk_error *err = NULL;

	if (!sql->namer)
		err = hawk_root_namer_create(sql->source.graph, sql->source.symbols, &sql->namer);
	return err ? err : hawk_root_find(sql->namer, root, name);
}

static void put_full_name(const struct hawk_root_name *name, sqlite3_context *context)
{
	CLEANUP(text) struct hawk_text text = {0};

	hawk_root_name_append(&text, name, ROOT_NAME_WIDTH);
	hawk_sql_result_text(context, text.bytes);
}

static void put_root_name(const struct hawk_root_name *name, enum root_column column,
			  sqlite3_context *context)
{
	switch (column) {
	case ROOT_THREAD:
		if (name->tid)
			sqlite3_result_int64(context, name->tid);
		break;
	case ROOT_FRAME:
		if (name->has_frame)
			sqlite3_result_int64(context, name->frame);
		break;
	case ROOT_FUNCTION:
		hawk_sql_result_text(context, name->function);
		break;
	case ROOT_REGISTER:
		hawk_sql_result_text(context, name->reg[0] ? name->reg : NULL);
		break;
	case ROOT_SYMBOL:
		hawk_sql_result_text(context, name->symbol);
		break;
	case ROOT_MODULE:
		hawk_sql_result_text(context, name->module);
		break;
	case ROOT_SECTION:
		hawk_sql_result_text(context, name->section);
		break;
	case ROOT_OFFSET:
		if (name->kind != HAWK_ROOT_REGISTER)
			sqlite3_result_int64(context, name->offset);
		break;
	default:
		put_full_name(name, context);
		break;
	}
}

static struct hawk_error *put_root(struct sql_cursor *cursor, uint64_t row, int number,
				   sqlite3_context *context)
{
	const struct hawk_block_graph *graph = cursor->sql->source.graph;
	enum root_column column = (enum root_column)number;
	const struct hawk_root *root = &graph->roots.items[row];
	uint32_t target = hawk_block_index_whole(&graph->index, root->edge >> 1);
	struct hawk_root_name name;
	struct hawk_error *err;

	if (column == ROOT_KIND) {
		hawk_sql_result_constant(context,
					 hawk_root_kind_name((enum hawk_root_kind)root->kind));
		return NULL;
	}
	if (column == ROOT_TARGET) {
		sqlite3_result_int64(context, (int64_t)hawk_block_start(&graph->index, target));
		return NULL;
	}
	if (column == ROOT_INTERIOR) {
		sqlite3_result_int(context, root->edge != target << 1);
		return NULL;
	}
	if (column == ROOT_ADDRESS) {
		if (root->kind != HAWK_ROOT_REGISTER)
			sqlite3_result_int64(context, (int64_t)root->address);
		return NULL;
	}
	err = name_root(cursor->sql, (uint32_t)row, &name);
	if (!err)
		put_root_name(&name, column, context);
	return err;
}

const struct sql_table hawk_sql_roots = {
	.name = "roots",
	.schema = "CREATE TABLE roots(kind TEXT, address INTEGER, target INTEGER, "
		  "interior INTEGER, thread INTEGER, frame INTEGER, function TEXT, "
		  "register TEXT, symbol TEXT, module TEXT, section TEXT, offset INTEGER, "
		  "name TEXT)",
	.keys = {{ROOT_TARGET, SQL_KEY_NUMBER}},
	.needs = needs_roots,
	.rows = root_rows,
	.seek = seek_roots,
	.column = put_root,
};
