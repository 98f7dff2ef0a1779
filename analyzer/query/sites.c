/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The tables that have a row, or several, for each site: sites, frames, leaks, retained.
 */
#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "hawk/analysis/scope_groups.h"
#include "hawk/analysis/leaks.h"
#include "hawk/analysis/site_freed.h"
#include "hawk/names/stack.h"
#include "hawk/base/text.h"
#include "state.h"

/** The stack of the site that the cursor is at. */
struct stack_state {
	struct hawk_stack stack;
	uint64_t site;
	bool filled;
};

static void close_stack(void *state)
{
	hawk_stack_deinit(&((struct stack_state *)state)->stack);
}

static struct hawk_error *fill_stack(struct sql_cursor *cursor, uint64_t row)
{
	const struct hawk_sql_source *source = &cursor->sql->source;
	struct stack_state *state = cursor->state;

	if (state->filled && state->site == row)
		return NULL;
	hawk_stack_of_blocks(source->symbols, source->heap, source->heap->sites[row].trace,
			     &state->stack);
	state->filled = true;
	state->site = row;
	return NULL;
}

/** The scopes around the site, from outside inwards. */
static struct hawk_error *get_scopes(const struct hawk_heap *heap, uint32_t trace,
				     struct sql_value *ret)
{
	CLEANUP(text) struct hawk_text path = {0};

	hawk_scope_append_path(&path, heap->table, hawk_heap_scope(heap, trace));
	if (path.failed)
		return &hawk_enomem;
	if (path.size)
		*ret = (struct sql_value){.kind = SQL_OWNED, .text = take_ptr(&path.bytes)};
	return NULL;
}

static struct sql_value age_if(bool known, const struct hawk_heap *heap, uint64_t units)
{
	if (!known)
		return (struct sql_value){0};
	return (struct sql_value){.kind = SQL_REAL, .real = hawk_heap_age_seconds(heap, units)};
}

enum { SITE_FUNCTION = 7, SITE_ESTIMATED = 11, SITE_SCOPES = 13 };

static struct hawk_error *get_site(struct sql_cursor *cursor, uint64_t row, int column,
				   struct sql_value *ret)
{
	static const struct hawk_stack_line no_line;
	const struct hawk_heap *heap = cursor->sql->source.heap;
	const struct hawk_site *site = &heap->sites[row];
	const struct hawk_stack *stack = &((struct stack_state *)cursor->state)->stack;
	const struct hawk_stack_line *line = &no_line;
	unsigned knows = hawk_heap_knows_of(heap, site->trace);
	/* If not, the estimates of the others stand for it: sums count it once. */
	bool counted = site->id != HAWK_SITE_NOT_SAMPLED || !heap->sample_mean;
	bool live = counted && site->inuse_objects && knows & HAWK_HEAP_AGES;
	bool totals = counted && knows & HAWK_HEAP_COUNTERS;
	struct hawk_error *err = NULL;

	if (column == SITE_SCOPES)
		return get_scopes(heap, site->trace, ret);
	if (column >= SITE_FUNCTION && column != SITE_ESTIMATED)
		err = fill_stack(cursor, row);
	if (err)
		return err;
	if (stack->count) // the line that other verbs call the site by
		line = &stack->lines[hawk_stack_telling_line(stack)];
	const struct sql_value values[] = {
		sql_site((uint32_t)row),
		sql_integer_if(counted, site->inuse_objects),
		sql_integer_if(counted, site->inuse_bytes),
		sql_integer_if(totals, site->alloc_objects),
		sql_integer_if(totals, site->alloc_bytes),
		age_if(live, heap, site->oldest_units),
		age_if(live, heap, site->newest_units),
		sql_text(line->name.function),
		sql_text(line->name.file),
		sql_integer_if(line->name.line, line->name.line),
		sql_text(line->has_module ? line->module.path : NULL),
		sql_integer(site->sample.estimated),
		sql_text(stack->type),
	};
	*ret = values[column];
	return NULL;
}

const struct sql_table hawk_sql_sites = {
	.name = "sites",
	.schema = "CREATE TABLE sites(site TEXT, inuse_objects INTEGER, inuse_bytes INTEGER, "
		  "alloc_objects INTEGER, alloc_bytes INTEGER, oldest REAL, newest REAL, "
		  "function TEXT, file TEXT, line INTEGER, module TEXT, estimated INTEGER, "
		  "type TEXT, scopes TEXT)",
	.keys = {{0, SQL_KEY_TEXT}},
	.rows_per_site = 1,
	.state_bytes = sizeof(struct stack_state),
	.column = get_site,
	.close = close_stack,
};

static struct hawk_error *enter_frames(struct sql_cursor *cursor, uint64_t row, size_t *ret)
{
	struct hawk_error *err = fill_stack(cursor, row);

	*ret = ((struct stack_state *)cursor->state)->stack.count;
	return err;
}

static struct hawk_error *get_frame(struct sql_cursor *cursor, uint64_t row, int column,
				    struct sql_value *ret)
{
	const struct stack_state *state = cursor->state;
	const struct hawk_stack_line *line = &state->stack.lines[cursor->part];
	const struct sql_value values[] = {
		sql_site((uint32_t)row),
		sql_integer(cursor->part),
		sql_text(line->name.function),
		sql_text(line->name.file),
		sql_integer_if(line->name.line, line->name.line),
		sql_text(line->has_module ? line->module.path : NULL),
		sql_integer_if(line->kind != HAWK_LINE_CLASS, line->pc),
		sql_integer(line->name.inlined),
	};

	*ret = values[column];
	return NULL;
}

const struct sql_table hawk_sql_frames = {
	.name = "frames",
	.schema = "CREATE TABLE frames(site TEXT, depth INTEGER, function TEXT, file TEXT, "
		  "line INTEGER, module TEXT, address INTEGER, inlined INTEGER)",
	.keys = {{0, SQL_KEY_TEXT}},
	.rows_per_site = 1,
	.state_bytes = sizeof(struct stack_state),
	.enter = enter_frames,
	.column = get_frame,
	.close = close_stack,
};

static struct hawk_error *sum_retained(struct hawk_sql *sql)
{
	struct hawk_sql_source *source = &sql->source;

	return sql->retained ? NULL : source->retained(source->context, source, &sql->retained);
}

enum { EXACT_ALL = 4 /**< the column that is found site by site */ };

/** Values found for the latest row. */
struct exact_row {
	bool known;
	uint64_t row;
	uint64_t retained;
};

static struct hawk_error *get_retained(struct sql_cursor *cursor, uint64_t row, int column,
				       struct sql_value *ret)
{
	const struct hawk_sql *sql = cursor->sql;
	const struct hawk_site *site = &sql->source.heap->sites[row];
	struct exact_row *exact = cursor->state;
	struct hawk_error *err = NULL;
	uint32_t number = (uint32_t)row;

	if (column >= EXACT_ALL && (!exact->known || exact->row != row)) {
		if (hawk_sql_is_late(sql))
			return hawk_sql_late_error(sql);
		err = hawk_site_freed(sql->source.graph, NULL, &number, 1, &exact->retained);
		exact->known = !err;
		exact->row = row;
	}
	const struct sql_value values[] = {
		sql_site(number),
		sql_integer(hawk_site_blocks(site)),
		sql_integer(hawk_site_block_bytes(site)),
		sql_integer(sql->retained[row]),
		sql_integer(exact->retained),
	};
	*ret = values[column];
	return err;
}

const struct sql_table hawk_sql_retained = {
	.name = "retained",
	.schema = "CREATE TABLE retained(site TEXT, objects INTEGER, shallow_bytes INTEGER, "
		  "all_pointers INTEGER, exact_all_pointers INTEGER HIDDEN)",
	.keys = {{0, SQL_KEY_TEXT}},
	.needs = HAWK_SQL_REACH,
	.rows_per_site = 1,
	.state_bytes = sizeof(struct exact_row),
	.prepare = sum_retained,
	.column = get_retained,
};

/** Sums the rows of `leaks`, without blocks that have no site. */
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
	err = hawk_leaks_make(sql->source.graph, &sql->source.graph->explained, sql->source.reach,
			      ~0u, NULL, &found);
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

static struct hawk_error *enter_leak(struct sql_cursor *cursor, uint64_t row, size_t *ret)
{
	*ret = cursor->sql->leaks[row].objects > 0;
	return NULL;
}

static struct hawk_error *get_leak(struct sql_cursor *cursor, uint64_t row, int column,
				   struct sql_value *ret)
{
	const struct hawk_sql *sql = cursor->sql;
	const struct sql_leak *leak = &sql->leaks[row];
	const struct sql_value values[] = {
		sql_site((uint32_t)(row / SQL_KINDS)),
		sql_text(hawk_sql_reach_name((unsigned)(row % SQL_KINDS) + 1)),
		sql_integer(leak->objects),
		sql_integer(leak->bytes),
		sql_integer(hawk_block_start(&sql->source.heap->index, leak->example)),
	};

	*ret = values[column];
	return NULL;
}

const struct sql_table hawk_sql_leaks = {
	.name = "leaks",
	.schema = "CREATE TABLE leaks(site TEXT, kind TEXT, objects INTEGER, bytes INTEGER, "
		  "example INTEGER)",
	.keys = {{0, SQL_KEY_TEXT}},
	.needs = HAWK_SQL_REACH,
	.rows_per_site = SQL_KINDS,
	.prepare = sum_leaks,
	.enter = enter_leak,
	.column = get_leak,
};
