/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The tables of pointers: edges between blocks, and roots.
 */
#include "hawk/base/text.h"
#include "state.h"

/** The pointers of the block that the cursor is at. */
struct edge_state {
	struct hawk_referrers list;
	uint32_t to; /**< the only target wanted; HAWK_BLOCK_NOWHERE = any */
	uint32_t source;
};

static uint64_t edge_rows(const struct hawk_sql *sql)
{
	return sql->source.heap->index.count;
}

static void close_edges(void *state)
{
	hawk_referrers_deinit(&((struct edge_state *)state)->list);
}

/** Returns the block that begins at the only address that `constraint` allows, or
 * HAWK_BLOCK_NOWHERE. */
static uint32_t wished_block(const struct hawk_block_index *index,
			     const struct sql_constraint *constraint)
{
	bool interior;
	uint32_t block = hawk_block_index_find(index, constraint->low, &interior);

	return interior ? HAWK_BLOCK_NOWHERE : block;
}

static struct hawk_error *seek_edges(struct sql_cursor *cursor,
				     const struct sql_constraint *constraints)
{
	const struct hawk_block_index *index = &cursor->sql->source.heap->index;
	struct edge_state *state = cursor->state;
	struct hawk_error *err;

	state->to = HAWK_BLOCK_NOWHERE;
	state->source = HAWK_BLOCK_NOWHERE;
	if (constraints[0].given) {
		cursor->at = hawk_block_index_first(index, constraints[0].low);
		if (constraints[0].high < UINT64_MAX)
			cursor->end = hawk_block_index_first(index, constraints[0].high + 1);
	}
	if (!constraints[1].given || constraints[1].low != constraints[1].high)
		return NULL;
	state->to = wished_block(index, &constraints[1]);
	if (state->to == HAWK_BLOCK_NOWHERE) {
		cursor->at = cursor->end;
		return NULL;
	}
	if (constraints[0].given)
		return NULL;
	err = hawk_sql_sources_by_block(cursor->sql);
	if (!err)
		hawk_sql_seek_posting(cursor, &cursor->sql->sources_by_block, state->to);
	return err;
}

static struct hawk_error *enter_edges(struct sql_cursor *cursor, uint64_t row, size_t *ret)
{
	const struct hawk_graph *edges = cursor->sql->source.graph;
	struct edge_state *state = cursor->state;
	uint32_t source = (uint32_t)row;
	struct hawk_error *err;

	*ret = 0;
	/* A source with several pointers is listed once for each; all its pointers were given the
	 * first time.
	 */
	if (source == state->source || edges->offsets[source] == edges->offsets[source + 1])
		return NULL;
	state->source = source;
	state->list.count = 0;
	err = hawk_referrers_add(cursor->sql->source.graph, source, state->to, &state->list);
	*ret = state->list.count;
	return err;
}

static struct hawk_error *get_edge(struct sql_cursor *cursor, uint64_t row, int column,
				   struct sql_value *ret)
{
	const struct hawk_block_index *index = &cursor->sql->source.heap->index;
	const struct edge_state *state = cursor->state;
	const struct hawk_referrer *edge = &state->list.items[cursor->part];
	const struct sql_value values[] = {
		sql_integer(hawk_block_start(index, edge->source)),
		sql_integer_if(edge->offset != HAWK_OFFSET_UNKNOWN, edge->offset),
		sql_integer(hawk_block_start(index, edge->target)),
		sql_integer_if(edge->inside != HAWK_OFFSET_UNKNOWN, edge->inside),
		sql_integer(edge->interior),
	};

	(void)row;
	*ret = values[column];
	return NULL;
}

const struct sql_table hawk_sql_edges = {
	.name = "edges",
	.schema = "CREATE TABLE edges(source INTEGER, offset INTEGER, target INTEGER, "
		  "inside INTEGER, interior INTEGER)",
	.keys = {{0, SQL_KEY_NUMBER}, {2, SQL_KEY_NUMBER}},
	.needs = HAWK_SQL_EDGES,
	.state_bytes = sizeof(struct edge_state),
	.rows = edge_rows,
	.seek = seek_edges,
	.enter = enter_edges,
	.column = get_edge,
	.close = close_edges,
};

enum {
	ROOT_NAMES = 4 /**< columns before those of struct hawk_root_name */,
	ROOT_NAME_WIDTH = 200
};

static uint64_t root_rows(const struct hawk_sql *sql)
{
	return sql->source.graph ? sql->source.graph->roots.count : 0;
}

static struct hawk_error *seek_roots(struct sql_cursor *cursor,
				     const struct sql_constraint *constraints)
{
	const struct hawk_graph *graph = cursor->sql->source.graph;
	struct hawk_error *err;
	uint32_t block;

	if (!constraints[0].given || constraints[0].low != constraints[0].high)
		return NULL;
	block = wished_block(&graph->heap->index, &constraints[0]);
	if (block == HAWK_BLOCK_NOWHERE) {
		cursor->at = cursor->end;
		return NULL;
	}
	err = hawk_sql_roots_by_block(cursor->sql);
	if (!err)
		hawk_sql_seek_posting(cursor, &cursor->sql->roots_by_block, block);
	return err;
}

/** Gets the columns that only the namer knows. */
static struct hawk_error *get_root_name(struct hawk_sql *sql, uint32_t root, int column,
					struct sql_value *ret)
{
	struct hawk_text text = {0};
	struct hawk_root_name name;
	struct hawk_error *err = NULL;

	if (!sql->namer)
		err = hawk_root_namer_create(sql->source.graph, sql->source.symbols, &sql->namer);
	if (err)
		return err;
	name = hawk_root_find(sql->namer, root);
	const struct sql_value values[] = {
		sql_integer_if(name.tid, name.tid),
		sql_integer_if(name.has_frame, name.frame),
		sql_text(name.function),
		sql_text_if(name.reg),
		sql_text(name.symbol),
		sql_text(name.module),
		sql_text(name.section),
		sql_integer_if(name.kind != HAWK_ROOT_REGISTER, (uint64_t)name.offset),
	};
	if (column < (int)(sizeof(values) / sizeof(values[0]))) {
		*ret = values[column];
		return NULL;
	}
	hawk_root_name_append(&text, &name, ROOT_NAME_WIDTH);
	*ret = (struct sql_value){.kind = text.bytes ? SQL_OWNED : SQL_NULL, .text = text.bytes};
	return NULL;
}

static struct hawk_error *get_root(struct sql_cursor *cursor, uint64_t row, int column,
				   struct sql_value *ret)
{
	const struct hawk_graph *graph = cursor->sql->source.graph;
	const struct hawk_root *root = &graph->roots.items[row];
	uint32_t target = root->edge >> 1;
	const struct sql_value values[ROOT_NAMES] = {
		sql_text(hawk_root_kind_name((enum hawk_root_kind)root->kind)),
		sql_integer_if(root->kind != HAWK_ROOT_REGISTER, root->address),
		sql_integer(hawk_block_start(&graph->heap->index, target)),
		sql_integer(root->edge & HAWK_ROOT_INTERIOR),
	};

	if (column >= ROOT_NAMES)
		return get_root_name(cursor->sql, (uint32_t)row, column - ROOT_NAMES, ret);
	*ret = values[column];
	return NULL;
}

const struct sql_table hawk_sql_roots = {
	.name = "roots",
	.schema = "CREATE TABLE roots(kind TEXT, address INTEGER, target INTEGER, "
		  "interior INTEGER, thread INTEGER, frame INTEGER, function TEXT, "
		  "register TEXT, symbol TEXT, module TEXT, section TEXT, offset INTEGER, "
		  "name TEXT)",
	.keys = {{2, SQL_KEY_NUMBER}},
	.needs = HAWK_SQL_GRAPH,
	.rows = root_rows,
	.seek = seek_roots,
	.column = get_root,
};
