/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The database: in memory, empty but for the virtual tables.
 */
#include <stdlib.h>
#include <string.h>

#include "state.h"
#include "hawk/base/cleanup.h"
#include "hawk/base/numbers.h"
#include "hawk/names/function_name.h"

enum {
	STEPS_BETWEEN = 1 << 12,      /**< of SQLite's, looks at the clock */
	MEMORY_BYTES_MAX = 512 << 20, /**< of SQLite's own, without files that it sorts in */
	SHORT_COLUMNS = 60,
};

static const uint64_t NS_PER_S = 1000000000;

/** Limits far above the need of a query, far below harm to the machine. */
static const struct {
	int id, value;
} limits[] = {
	{SQLITE_LIMIT_LENGTH, 64 << 20},
	{SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
	{SQLITE_LIMIT_COLUMN, 1000},
	{SQLITE_LIMIT_EXPR_DEPTH, 200},
	{SQLITE_LIMIT_COMPOUND_SELECT, 100},
	{SQLITE_LIMIT_VDBE_OP, 1 << 20},
	{SQLITE_LIMIT_FUNCTION_ARG, 100},
	{SQLITE_LIMIT_ATTACHED, 0},
	{SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000},
	{SQLITE_LIMIT_VARIABLE_NUMBER, 100},
	{SQLITE_LIMIT_TRIGGER_DEPTH, 10},
	{SQLITE_LIMIT_WORKER_THREADS, 0},
};

const struct sql_table *const hawk_sql_tables[] = {
	&hawk_sql_blocks,
	&hawk_sql_sites,
	&hawk_sql_frames,
	&hawk_sql_edges,
	&hawk_sql_roots,
	&hawk_sql_leaks,
	&hawk_sql_retained,
	&hawk_sql_sums,
	&hawk_sql_pins,
	&hawk_sql_threads,
	&hawk_sql_mappings,
	&hawk_sql_modules,
	NULL,
};

enum { TABLES = sizeof(hawk_sql_tables) / sizeof(hawk_sql_tables[0]) };

const char *hawk_sql_name(size_t index)
{
	return index < TABLES && hawk_sql_tables[index] ? hawk_sql_tables[index]->name : NULL;
}

const char *hawk_sql_schema(size_t index)
{
	return index < TABLES && hawk_sql_tables[index] ? hawk_sql_tables[index]->schema : NULL;
}

/** addr(n): the number as addresses are written everywhere else. */
static void address_text(sqlite3_context *context, int count, sqlite3_value **values)
{
	char *text;

	(void)count;
	if (sqlite3_value_type(values[0]) == SQLITE_NULL)
		return;
	text = sqlite3_mprintf("0x%llx", sqlite3_value_int64(values[0]));
	sqlite3_result_text(context, text, -1, sqlite3_free);
}

/** short(name): a function or type as other verbs show it. */
static void short_name(sqlite3_context *context, int count, sqlite3_value **values)
{
	const char *name = (const char *)sqlite3_value_text(values[0]);
	CLEANUP(text) struct hawk_text text = {0};

	(void)count;
	if (!name)
		return;
	hawk_function_name_append(&text, name, SHORT_COLUMNS);
	if (text.failed)
		sqlite3_result_error_nomem(context);
	else
		sqlite3_result_text(context, hawk_text_string(&text), -1, SQLITE_TRANSIENT);
}

bool hawk_sql_is_late(const struct hawk_sql *sql)
{
	return sql->deadline_ns && hawk_now_ns(CLOCK_MONOTONIC) >= sql->deadline_ns;
}

struct hawk_error *hawk_sql_late_error(const struct hawk_sql *sql)
{
	return hawk_error_create(
		HAWK_ERROR_LIMIT,
		"SQL: stopped after %llu s, so rows are missing; --timeout=SECONDS "
		"gives more time (0: no limit)",
		(unsigned long long)sql->timeout_seconds);
}

/** The system's memory ended, or SQLite's share of it. */
static struct hawk_error *memory_error(void)
{
	if (sqlite3_memory_highwater(false) < MEMORY_BYTES_MAX / 2)
		return &hawk_enomem;
	return hawk_error_create(HAWK_ERROR_LIMIT, "SQL: stopped: the query takes more than %d MiB",
				 MEMORY_BYTES_MAX >> 20);
}

struct hawk_error *hawk_sql_error(struct hawk_sql *sql)
{
	struct hawk_error *err = sql->error;

	sql->error = NULL;
	if (err)
		return err;
	switch (sqlite3_errcode(sql->database)) {
	case SQLITE_NOMEM:
		return memory_error();
	case SQLITE_INTERRUPT:
		return hawk_sql_late_error(sql);
	default:
		return hawk_error_create(HAWK_ERROR_USAGE, "SQL: %s",
					 sqlite3_errmsg(sql->database));
	}
}

static bool register_all(struct hawk_sql *sql)
{
	for (size_t i = 0; hawk_sql_tables[i]; i++)
		if (!hawk_sql_register(sql, hawk_sql_tables[i]))
			return false;
	return sqlite3_create_function(sql->database, "addr", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
				       NULL, address_text, NULL, NULL) == SQLITE_OK &&
	       sqlite3_create_function(sql->database, "short", 1,
				       SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, short_name, NULL,
				       NULL) == SQLITE_OK;
}

struct hawk_error *hawk_sql_open(const struct hawk_sql_source *source, struct hawk_sql **ret)
{
	struct hawk_sql *sql = calloc(1, sizeof(*sql));

	if (!sql)
		return &hawk_enomem;
	sql->source = *source;
	if (sqlite3_open_v2(":memory:", &sql->database,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI,
			    NULL) != SQLITE_OK ||
	    !register_all(sql)) {
		hawk_sql_close(sql);
		return &hawk_enomem;
	}
	*ret = sql;
	return NULL;
}

static void free_postings(struct sql_postings *postings)
{
	free(postings->offsets);
	free(postings->items);
}

void hawk_sql_close(struct hawk_sql *sql)
{
	if (!sql)
		return;
	sqlite3_close(sql->database);
	hawk_error_destroy(sql->error);
	hawk_root_namer_destroy(sql->namer);
	free_postings(&sql->blocks_by_site);
	free_postings(&sql->sources_by_block);
	free_postings(&sql->roots_by_block);
	free(sql->sites_by_id);
	free(sql->leaks);
	free(sql->retained);
	free(sql->sums);
	hawk_fragmentation_deinit(&sql->fragmentation);
	free(sql);
}

/** Stops SQLite by returning what is not 0. */
static int refresh(void *context)
{
	hawk_progress_refresh();
	return hawk_sql_is_late(context);
}

void hawk_sql_refresh(struct hawk_sql *sql)
{
	sqlite3_progress_handler(sql->database, STEPS_BETWEEN, refresh, sql);
}

/** Returns true for a table of the heap. SQLite names no database if no column is used: SELECT
 * count(*) FROM blocks. */
static bool is_of_heap(const char *table, const char *database)
{
	for (size_t i = 0; table && hawk_sql_tables[i]; i++)
		if (!sqlite3_stricmp(table, hawk_sql_tables[i]->name))
			return !hawk_sql_tables[i]->of_process &&
			       (!database || !strcmp(database, "main"));
	return false;
}

/** Queries write no files; VACUUM INTO attaches one, too. */
static int authorize(void *context, int action, const char *a, const char *b, const char *c,
		     const char *d)
{
	struct hawk_sql *sql = context;

	(void)b, (void)d;
	if (action == SQLITE_READ && is_of_heap(a, c))
		sql->reads_heap = true;
	if (action != SQLITE_ATTACH)
		return SQLITE_OK;
	hawk_error_destroy(sql->error);
	sql->error = hawk_error_create(HAWK_ERROR_USAGE,
				       "SQL: no other database can be used; \"hawk-core export "
				       "--format=sqlite -o FILE CORE\" writes all tables to one");
	return SQLITE_DENY;
}

static void set_limits(struct hawk_sql *sql, uint64_t timeout_seconds)
{
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		sqlite3_limit(sql->database, limits[i].id, limits[i].value);
	sqlite3_hard_heap_limit64(MEMORY_BYTES_MAX);
	sqlite3_memory_highwater(true);
	sql->timeout_seconds = timeout_seconds;
	sql->deadline_ns = timeout_seconds && timeout_seconds < UINT32_MAX
				   ? hawk_now_ns(CLOCK_MONOTONIC) + timeout_seconds * NS_PER_S
				   : 0;
}

struct hawk_error *hawk_sql_run(struct hawk_sql *sql, const char *query,
				enum hawk_sql_format format, uint64_t timeout_seconds,
				struct hawk_output *output)
{
	struct hawk_progress progress;
	struct hawk_error *err = NULL;

	/* Only SQLite knows the amount of work, for sorting say. */
	hawk_progress_begin(&progress, "answering", 0);
	set_limits(sql, timeout_seconds);
	hawk_sql_refresh(sql);
	sqlite3_set_authorizer(sql->database, authorize, sql);
	while (!err && *query) {
		sqlite3_stmt *statement;

		if (sqlite3_prepare_v2(sql->database, query, -1, &statement, &query) != SQLITE_OK) {
			err = hawk_sql_error(sql);
			break;
		}
		if (!statement) // a comment, or nothing
			continue;
		/* No row is not no block; later statements may be about this one's rows. */
		if (sql->reads_heap && !sql->source.heap->knows) {
			sqlite3_finalize(statement);
			hawk_sql_print_unknown(sql, format, output);
			break;
		}
		err = hawk_sql_print(sql, statement, format, output);
		sqlite3_finalize(statement);
	}
	hawk_progress_end(&progress);
	return err;
}

static int compare_ids(const void *left, const void *right)
{
	const struct sql_site_id *a = left, *b = right;

	return a->id < b->id ? -1 : a->id > b->id;
}

static struct hawk_error *sort_sites(struct hawk_sql *sql)
{
	const struct hawk_heap *heap = sql->source.heap;

	if (sql->sites_by_id)
		return NULL;
	sql->sites_by_id = calloc(heap->site_count + 1, sizeof(*sql->sites_by_id));
	if (!sql->sites_by_id)
		return &hawk_enomem;
	for (size_t i = 0; i < heap->site_count; i++)
		sql->sites_by_id[i] = (struct sql_site_id){heap->sites[i].id, (uint32_t)i};
	qsort(sql->sites_by_id, heap->site_count, sizeof(*sql->sites_by_id), compare_ids);
	return NULL;
}

struct hawk_error *hawk_sql_site_of_text(struct hawk_sql *sql, const char *text, uint32_t *ret)
{
	const struct sql_site_id *found = NULL;
	struct hawk_error *err = sort_sites(sql);
	char *rest;
	struct sql_site_id wanted = {.id = strtoull(text, &rest, 16)};

	if (!err && strlen(text) == 16 && !*rest)
		found = bsearch(&wanted, sql->sites_by_id, sql->source.heap->site_count,
				sizeof(wanted), compare_ids);
	*ret = found ? found->site : UINT32_MAX;
	return err;
}
