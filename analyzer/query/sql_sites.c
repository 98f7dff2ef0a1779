/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The tables that have a row, or several, for each site: sites, frames, leaks, retained.
 */
#include <stdlib.h>

#include "hawk_cleanup.h"
#include "hawk_scope_groups.h"
#include "hawk_leaks.h"
#include "hawk_site_freed.h"
#include "hawk_stack.h"
#include "hawk_text.h"
#include "sql_state.h"

static uint64_t site_rows(const struct hawk_sql *sql)
{
	return sql->source.heap->site_count;
}

/** For tables whose first key is the site's id; `rows_each` rows for every site. */
static struct hawk_error *seek_site(struct sql_cursor *cursor, const struct sql_wish *wishes,
				    unsigned rows_each)
{
	uint32_t site;
	struct hawk_error *err;

	hawk_sql_seek_all(cursor, site_rows(cursor->sql) * rows_each);
	if (!wishes[0].is_text)
		return NULL;
	err = hawk_sql_site_of_text(cursor->sql, wishes[0].text, &site);
	if (err)
		return err;
	cursor->at = site == UINT32_MAX ? 0 : (uint64_t)site * rows_each;
	cursor->end = site == UINT32_MAX ? 0 : cursor->at + rows_each;
	return NULL;
}

static struct hawk_error *seek_one(struct sql_cursor *cursor, const struct sql_wish *wishes)
{
	return seek_site(cursor, wishes, 1);
}

/** The stack of the site that the cursor is at. */
struct stack_state {
	struct hawk_stack stack;
	uint64_t site;
	bool filled;
	size_t line;
};

static struct hawk_error *open_stack(struct sql_cursor *cursor)
{
	cursor->state = calloc(1, sizeof(struct stack_state));
	return cursor->state ? NULL : &hawk_enomem;
}

static void close_stack(struct sql_cursor *cursor)
{
	struct stack_state *state = cursor->state;

	if (state)
		hawk_stack_deinit(&state->stack);
	free(state);
}

static struct hawk_error *fill_stack(struct sql_cursor *cursor, uint64_t row)
{
	const struct hawk_sql_source *source = &cursor->sql->source;
	struct stack_state *state = cursor->state;
	struct hawk_error *err;

	if (state->filled && state->site == row)
		return NULL;
	err = hawk_stack_of_trace(source->symbols, source->heap->table,
				  source->heap->sites[row].trace, &state->stack);
	state->filled = !err;
	state->site = row;
	return err;
}

enum site_column {
	SITE_ID,
	SITE_INUSE_OBJECTS,
	SITE_INUSE_BYTES,
	SITE_ALLOC_OBJECTS,
	SITE_ALLOC_BYTES,
	SITE_OLDEST,
	SITE_NEWEST,
	SITE_FUNCTION,
	SITE_FILE,
	SITE_LINE,
	SITE_MODULE,
	SITE_ESTIMATED,
	SITE_TYPE,
	SITE_SCOPES,
};

/** Name and place of the line that other verbs call the site by. */
static struct hawk_error *put_place(struct sql_cursor *cursor, uint64_t row,
				    enum site_column column, sqlite3_context *context)
{
	const struct stack_state *state = cursor->state;
	const struct hawk_stack_line *line;
	struct hawk_error *err = fill_stack(cursor, row);

	if (err || !state->stack.count)
		return err;
	line = &state->stack.lines[hawk_stack_telling_line(&state->stack)];
	if (column == SITE_FUNCTION)
		hawk_sql_result_text(context, line->name.function);
	else if (column == SITE_FILE)
		hawk_sql_result_text(context, line->name.file);
	else if (column == SITE_MODULE && line->has_module)
		hawk_sql_result_text(context, line->module.path);
	else if (column == SITE_LINE && line->name.line)
		sqlite3_result_int64(context, line->name.line);
	return NULL;
}

/** What the program has said about the site: the type of its blocks, the scopes around it. */
static struct hawk_error *put_label(struct sql_cursor *cursor, uint64_t row,
				    enum site_column column, sqlite3_context *context)
{
	const struct hawk_heap *heap = cursor->sql->source.heap;
	const struct stack_state *state = cursor->state;
	CLEANUP(text) struct hawk_text path = {0};
	struct hawk_error *err = fill_stack(cursor, row);

	if (err)
		return err;
	if (column == SITE_TYPE) {
		hawk_sql_result_text(context, state->stack.type);
		return NULL;
	}
	hawk_scope_append_path(&path, heap->table,
			       hawk_table_scope(heap->table, heap->sites[row].trace));
	if (path.failed)
		return &hawk_enomem;
	hawk_sql_result_text(context, path.size ? path.bytes : NULL);
	return NULL;
}

static struct hawk_error *put_site(struct sql_cursor *cursor, uint64_t row, int number,
				   sqlite3_context *context)
{
	enum site_column column = (enum site_column)number;
	const struct hawk_heap *heap = cursor->sql->source.heap;
	const struct hawk_site *site = &heap->sites[row];
	const uint64_t counts[] = {0, site->inuse_objects, site->inuse_bytes, site->alloc_objects,
				   site->alloc_bytes};

	if (column == SITE_TYPE || column == SITE_SCOPES)
		return put_label(cursor, row, column, context);
	if (column >= SITE_FUNCTION && column <= SITE_MODULE)
		return put_place(cursor, row, column, context);
	if (column == SITE_ESTIMATED)
		sqlite3_result_int(context, site->sample.estimated);
	else if (column == SITE_ID)
		hawk_sql_result_site(cursor->sql, (uint32_t)row, context);
	else if (site->id == HAWK_SITE_NOT_SAMPLED && heap->sample_mean)
		return NULL; /* the estimates of the others stand for it: sums count it once */
	else if (column <= SITE_ALLOC_BYTES)
		sqlite3_result_int64(context, (int64_t)counts[column]);
	else if (site->inuse_objects)
		sqlite3_result_double(context,
				      hawk_heap_age_seconds(heap, column == SITE_OLDEST
									  ? site->oldest_units
									  : site->newest_units));
	return NULL;
}

const struct sql_table hawk_sql_sites = {
	.name = "sites",
	.schema = "CREATE TABLE sites(site TEXT, inuse_objects INTEGER, inuse_bytes INTEGER, "
		  "alloc_objects INTEGER, alloc_bytes INTEGER, oldest REAL, newest REAL, "
		  "function TEXT, file TEXT, line INTEGER, module TEXT, estimated INTEGER, "
		  "type TEXT, scopes TEXT)",
	.keys = {{SITE_ID, SQL_KEY_TEXT}},
	.rows = site_rows,
	.seek = seek_one,
	.column = put_site,
	.open = open_stack,
	.close = close_stack,
};

enum frame_column {
	FRAME_SITE,
	FRAME_DEPTH,
	FRAME_FUNCTION,
	FRAME_FILE,
	FRAME_LINE,
	FRAME_MODULE,
	FRAME_ADDRESS,
	FRAME_INLINED,
};

static struct hawk_error *enter_frames(struct sql_cursor *cursor, uint64_t row, bool *keep)
{
	struct stack_state *state = cursor->state;
	struct hawk_error *err = fill_stack(cursor, row);

	state->line = 0;
	*keep = state->stack.count > 0;
	return err;
}

static bool more_frames(struct sql_cursor *cursor)
{
	struct stack_state *state = cursor->state;

	return ++state->line < state->stack.count;
}

static struct hawk_error *put_frame(struct sql_cursor *cursor, uint64_t row, int number,
				    sqlite3_context *context)
{
	const struct stack_state *state = cursor->state;
	const struct hawk_stack_line *line = &state->stack.lines[state->line];

	switch ((enum frame_column)number) {
	case FRAME_SITE:
		hawk_sql_result_site(cursor->sql, (uint32_t)row, context);
		break;
	case FRAME_DEPTH:
		sqlite3_result_int64(context, (int64_t)state->line);
		break;
	case FRAME_FUNCTION:
		hawk_sql_result_text(context, line->name.function);
		break;
	case FRAME_FILE:
		hawk_sql_result_text(context, line->name.file);
		break;
	case FRAME_LINE:
		if (line->name.line)
			sqlite3_result_int64(context, line->name.line);
		break;
	case FRAME_MODULE:
		hawk_sql_result_text(context, line->has_module ? line->module.path : NULL);
		break;
	case FRAME_ADDRESS:
		sqlite3_result_int64(context, (int64_t)line->pc);
		break;
	case FRAME_INLINED:
		sqlite3_result_int(context, line->name.inlined);
		break;
	}
	return NULL;
}

const struct sql_table hawk_sql_frames = {
	.name = "frames",
	.schema = "CREATE TABLE frames(site TEXT, depth INTEGER, function TEXT, file TEXT, "
		  "line INTEGER, module TEXT, address INTEGER, inlined INTEGER)",
	.keys = {{FRAME_SITE, SQL_KEY_TEXT}},
	.rows = site_rows,
	.seek = seek_one,
	.row = enter_frames,
	.more = more_frames,
	.column = put_frame,
	.open = open_stack,
	.close = close_stack,
};

enum { EXACT_ALL = 5, EXACT_START };

/** What was found of the latest row. */
struct exact_row {
	bool known;
	uint64_t row;
	struct hawk_site_retained retained;
};

static unsigned needs_retained(uint64_t columns)
{
	(void)columns;
	return HAWK_PART_REACH;
}

/** Both ways, which takes the dominators away: rows of other tables may need them still. */
static struct hawk_error *sum_retained(struct hawk_sql *sql)
{
	struct hawk_block_graph *graph = sql->source.graph;
	unsigned parts = graph->parts & HAWK_PART_RETAINED;
	struct hawk_error *err;

	if (sql->retained)
		return NULL;
	err = hawk_block_graph_retained_chosen(graph, NULL, &sql->retained);
	return err ? err : hawk_block_graph_need(graph, parts);
}

static struct hawk_error *seek_retained(struct sql_cursor *cursor, const struct sql_wish *wishes)
{
	struct hawk_error *err = sum_retained(cursor->sql);

	return err ? err : seek_one(cursor, wishes);
}

static struct hawk_error *open_exact(struct sql_cursor *cursor)
{
	cursor->state = calloc(1, sizeof(struct exact_row));
	return cursor->state ? NULL : &hawk_enomem;
}

static void close_exact(struct sql_cursor *cursor)
{
	free(cursor->state);
}

static struct hawk_error *put_exact(struct sql_cursor *cursor, uint64_t row, int column,
				    sqlite3_context *context)
{
	struct exact_row *exact = cursor->state;
	uint32_t site = (uint32_t)row;
	struct hawk_error *err = NULL;

	if (!exact->known || exact->row != row)
		err = hawk_site_freed(cursor->sql->source.graph, NULL, &site, 1, &exact->retained);
	if (err)
		return err;
	exact->known = true;
	exact->row = row;
	sqlite3_result_int64(context,
			     (int64_t)(column == EXACT_ALL ? exact->retained.all_pointers
							   : exact->retained.start_pointers));
	return NULL;
}

static struct hawk_error *put_retained(struct sql_cursor *cursor, uint64_t row, int column,
				       sqlite3_context *context)
{
	const struct hawk_block_graph *graph = cursor->sql->source.graph;
	const uint64_t numbers[] = {
		0,
		hawk_site_blocks(&graph->heap->sites[row]),
		hawk_site_block_bytes(&graph->heap->sites[row]),
		cursor->sql->retained[row].all_pointers,
		cursor->sql->retained[row].start_pointers,
	};

	if (column >= EXACT_ALL)
		return put_exact(cursor, row, column, context);
	if (column == 0)
		hawk_sql_result_site(cursor->sql, (uint32_t)row, context);
	else
		sqlite3_result_int64(context, (int64_t)numbers[column]);
	return NULL;
}

const struct sql_table hawk_sql_retained = {
	.name = "retained",
	.schema = "CREATE TABLE retained(site TEXT, objects INTEGER, shallow_bytes INTEGER, "
		  "all_pointers INTEGER, start_pointers INTEGER, "
		  "exact_all_pointers INTEGER HIDDEN, exact_start_pointers INTEGER HIDDEN)",
	.keys = {{0, SQL_KEY_TEXT}},
	.needs = needs_retained,
	.rows = site_rows,
	.seek = seek_retained,
	.column = put_retained,
	.open = open_exact,
	.close = close_exact,
};

enum leak_column {
	LEAK_SITE,
	LEAK_KIND,
	LEAK_OBJECTS,
	LEAK_BYTES,
	LEAK_EXAMPLE,
};

static unsigned needs_leaks(uint64_t columns)
{
	(void)columns;
	return HAWK_PART_REACH;
}

/** Those of `leaks`, but for blocks without a site. */
static struct hawk_error *sum_leaks(struct hawk_sql *sql)
{
	size_t sites = sql->source.heap->site_count;
	CLEANUP(free_ptr) struct sql_leak *leaks = NULL;
	struct hawk_leaks found;
	struct hawk_error *err;

	if (sql->leaks)
		return NULL;
	leaks = calloc(sites * SQL_KINDS + 1, sizeof(*leaks));
	if (!leaks)
		return &hawk_enomem;
	err = hawk_leaks_make(sql->source.graph, &sql->source.graph->explained, ~0u, NULL, &found);
	if (err)
		return err;
	for (size_t i = 0; i < found.count; i++) {
		const struct hawk_leak_record *record = &found.records[i];

		if (record->site < sites && record->kind)
			leaks[(size_t)record->site * SQL_KINDS + record->kind - 1] =
				(struct sql_leak){record->objects, record->bytes, record->example};
	}
	hawk_leaks_deinit(&found);
	sql->leaks = take_ptr(&leaks);
	return NULL;
}

static struct hawk_error *seek_leaks(struct sql_cursor *cursor, const struct sql_wish *wishes)
{
	struct hawk_error *err = sum_leaks(cursor->sql);

	return err ? err : seek_site(cursor, wishes, SQL_KINDS);
}

static struct hawk_error *enter_leak(struct sql_cursor *cursor, uint64_t row, bool *keep)
{
	*keep = cursor->sql->leaks[row].objects > 0;
	return NULL;
}

static struct hawk_error *put_leak(struct sql_cursor *cursor, uint64_t row, int column,
				   sqlite3_context *context)
{
	const struct hawk_sql *sql = cursor->sql;
	const struct sql_leak *leak = &sql->leaks[row];

	switch ((enum leak_column)column) {
	case LEAK_SITE:
		hawk_sql_result_site(cursor->sql, (uint32_t)(row / SQL_KINDS), context);
		break;
	case LEAK_KIND:
		hawk_sql_result_constant(context,
					 hawk_sql_reach_name((unsigned)(row % SQL_KINDS) + 1));
		break;
	case LEAK_OBJECTS:
		sqlite3_result_int64(context, (int64_t)leak->objects);
		break;
	case LEAK_BYTES:
		sqlite3_result_int64(context, (int64_t)leak->bytes);
		break;
	case LEAK_EXAMPLE:
		sqlite3_result_int64(context, (int64_t)hawk_block_start(&sql->source.graph->index,
									leak->example));
		break;
	}
	return NULL;
}

const struct sql_table hawk_sql_leaks = {
	.name = "leaks",
	.schema = "CREATE TABLE leaks(site TEXT, kind TEXT, objects INTEGER, bytes INTEGER, "
		  "example INTEGER)",
	.keys = {{LEAK_SITE, SQL_KEY_TEXT}},
	.needs = needs_leaks,
	.rows = site_rows,
	.seek = seek_leaks,
	.row = enter_leak,
	.column = put_leak,
};
