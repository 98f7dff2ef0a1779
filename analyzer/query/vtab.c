/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The bridge between SQLite's virtual table methods and struct sql_table.
 *
 * A plan is passed to the cursor as text: for every value from SQLite, the key's number and the
 * comparison, two characters each.
 */
#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/utf8.h"
#include "state.h"

enum {
	PLAN_MAX = 64,
	COLUMNS_MASK = 0x7fffffff, /**< no table has more; SQLite's number is an int */
	COST_LOOK_UP = 20,
	RANGE_SHARE = 4, /**< of a range the planner is told that it has so much less of all rows */
};

struct instance {
	sqlite3_vtab base; /**< must be first */
	struct hawk_sql *sql;
	const struct sql_table *table;
};

/** Keeps the table's error for hawk_sql_error(). */
static int fail(struct hawk_sql *sql, struct hawk_error *err)
{
	if (!err)
		return SQLITE_OK;
	hawk_error_destroy(sql->error);
	sql->error = err;
	return SQLITE_ERROR;
}

static int connect_table(sqlite3 *database, void *data, int count, const char *const *arguments,
			 sqlite3_vtab **ret, char **message)
{
	const struct instance *registered = data;
	int code = sqlite3_declare_vtab(database, registered->table->schema);
	struct instance *instance;

	(void)count;
	(void)arguments;
	(void)message;
	if (code != SQLITE_OK)
		return code;
	instance = calloc(1, sizeof(*instance));
	if (!instance)
		return SQLITE_NOMEM;
	*instance = *registered;
	*ret = &instance->base;
	return SQLITE_OK;
}

static int disconnect_table(sqlite3_vtab *table)
{
	free(table);
	return SQLITE_OK;
}

/** One letter for comparisons that keys can use; '\0' for others. */
static char comparison(enum sql_key_kind kind, unsigned char operation)
{
	if (operation == SQLITE_INDEX_CONSTRAINT_EQ)
		return '=';
	if (kind != SQL_KEY_NUMBER)
		return '\0';
	switch (operation) {
	case SQLITE_INDEX_CONSTRAINT_GT:
	case SQLITE_INDEX_CONSTRAINT_GE:
		return '>';
	case SQLITE_INDEX_CONSTRAINT_LT:
	case SQLITE_INDEX_CONSTRAINT_LE:
		return '<';
	}
	return '\0';
}

static int find_key(const struct sql_table *table, int column)
{
	for (int i = 0; i < SQL_KEYS; i++)
		if (table->keys[i].kind != SQL_KEY_NONE && table->keys[i].column == column)
			return i;
	return -1;
}

static int plan(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const struct instance *instance = (const struct instance *)base;
	const struct sql_table *table = instance->table;
	double rows = (double)(table->rows ? table->rows(instance->sql)
					   : instance->sql->source.heap->site_count) +
		      1;
	char text[PLAN_MAX] = "";
	size_t length = 0;
	unsigned equal = 0; /* a bit for each key */

	for (int i = 0; i < info->nConstraint && length + 2 < sizeof(text); i++) {
		int key = find_key(table, info->aConstraint[i].iColumn);
		char letter;

		if (key < 0 || !info->aConstraint[i].usable)
			continue;
		letter = comparison(table->keys[key].kind, info->aConstraint[i].op);
		/* Of several lists ("site IN (...) AND site IN (...)") SQLite would try all
		 * combinations. */
		if (!letter || (letter == '=' && equal >> key & 1))
			continue;
		text[length++] = (char)('0' + key);
		text[length++] = letter;
		info->aConstraintUsage[i].argvIndex = (int)(length / 2);
		equal |= (unsigned)(letter == '=') << key;
	}
	info->idxNum = (int)(info->colUsed & COLUMNS_MASK);
	if (length) {
		info->idxStr = sqlite3_mprintf("%s", text);
		info->needToFreeIdxStr = 1;
		if (!info->idxStr)
			return SQLITE_NOMEM;
	}
	info->estimatedCost = equal ? COST_LOOK_UP : length ? rows / RANGE_SHARE : rows;
	info->estimatedRows = equal ? COST_LOOK_UP / 2 : (sqlite3_int64)info->estimatedCost;
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
	const struct instance *instance = (const struct instance *)base;
	struct sql_cursor *cursor = calloc(1, sizeof(*cursor));
	void *state = calloc(1, instance->table->state_bytes + 1);

	if (!cursor || !state) {
		free(cursor);
		free(state);
		return SQLITE_NOMEM;
	}
	cursor->sql = instance->sql;
	cursor->table = instance->table;
	cursor->state = state;
	*ret = &cursor->base;
	return SQLITE_OK;
}

/* Behind its last row, or not needed any more. */
static void stop_leading(struct sql_cursor *cursor)
{
	struct hawk_sql *sql = cursor->sql;

	if (sql->leader != cursor)
		return;
	hawk_progress_end(&sql->leading);
	sql->leader = NULL;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct sql_cursor *cursor = (struct sql_cursor *)base;

	stop_leading(cursor);
	if (cursor->table->close)
		cursor->table->close(cursor->state);
	free(cursor->state);
	free(cursor);
	return SQLITE_OK;
}

static void constrain_number(struct sql_constraint *constraint, char letter, sqlite3_value *value)
{
	sqlite3_int64 number = sqlite3_value_int64(value);
	uint64_t bound = number < 0 ? 0 : (uint64_t)number;

	if (sqlite3_value_type(value) != SQLITE_INTEGER)
		return; /* SQLite compares as it likes; all rows are given */
	if (letter == '=' && number < 0) {
		constraint->low = 1; /* nothing: no key is negative */
		constraint->high = 0;
		return;
	}
	if (letter != '<' && bound > constraint->low)
		constraint->low = bound;
	if (letter != '>' && number >= 0 && bound < constraint->high)
		constraint->high = bound;
	if (letter == '<' && number < 0)
		constraint->high = 0;
}

static void constrain_text(struct sql_constraint *constraint, sqlite3_value *value)
{
	const unsigned char *text = sqlite3_value_text(value);

	if (sqlite3_value_type(value) != SQLITE_TEXT || !text)
		return;
	constraint->is_text = true;
	/* Longer than any key: then it is none of them, cut off or not. */
	sqlite3_snprintf(sizeof(constraint->text), constraint->text, "%s", text);
}

/* The first cursor that goes through rows is that of the outermost loop: its rows are the progress.
 */
static void start_leading(struct sql_cursor *cursor)
{
	struct hawk_sql *sql = cursor->sql;

	stop_leading(cursor);
	if (sql->leader || cursor->at >= cursor->end)
		return;
	sql->leader = cursor;
	sql->leader_first = cursor->at;
	hawk_progress_begin(&sql->leading, "looking through rows", cursor->end - cursor->at);
}

static uint64_t row_number(const struct sql_cursor *cursor)
{
	return cursor->list ? cursor->list[cursor->at] : cursor->at;
}

/** Goes to the first row number from here on that stands for rows. */
static struct hawk_error *enter_row(struct sql_cursor *cursor)
{
	struct hawk_error *err = NULL;

	cursor->part = 0;
	cursor->parts = 1;
	for (; cursor->at < cursor->end; cursor->at++) {
		if (cursor == cursor->sql->leader)
			hawk_progress_reach(cursor->at - cursor->sql->leader_first);
		if (cursor->table->enter)
			err = cursor->table->enter(cursor, row_number(cursor), &cursor->parts);
		if (err || cursor->parts)
			break;
	}
	if (cursor->at >= cursor->end)
		stop_leading(cursor);
	return err;
}

static struct hawk_error *load(struct sql_cursor *cursor, uint64_t columns)
{
	struct hawk_sql_source *source = &cursor->sql->source;
	const struct sql_table *table = cursor->table;
	unsigned parts = table->needs;
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < sizeof(table->column_needs) / sizeof(table->column_needs[0]); i++)
		if (columns >> table->column_needs[i].column & 1)
			parts |= table->column_needs[i].needs;
	if (parts)
		err = source->load(source->context, parts, source);
	return err || !table->prepare ? err : table->prepare(cursor->sql);
}

static struct hawk_error *seek_site(struct sql_cursor *cursor, const char *text)
{
	unsigned each = cursor->table->rows_per_site;
	uint32_t site;
	struct hawk_error *err = hawk_sql_site_of_text(cursor->sql, text, &site);

	cursor->at = site == UINT32_MAX ? 0 : (uint64_t)site * each;
	cursor->end = site == UINT32_MAX ? 0 : cursor->at + each;
	return err;
}

static struct hawk_error *seek(struct sql_cursor *cursor, const struct sql_constraint *constraints)
{
	const struct sql_table *table = cursor->table;

	cursor->at = 0;
	cursor->list = NULL;
	if (table->rows_per_site) {
		cursor->end = cursor->sql->source.heap->site_count * table->rows_per_site;
		return constraints[0].is_text ? seek_site(cursor, constraints[0].text) : NULL;
	}
	cursor->end = table->rows(cursor->sql);
	return table->seek ? table->seek(cursor, constraints) : NULL;
}

static int filter(sqlite3_vtab_cursor *base, int columns, const char *text, int count,
		  sqlite3_value **values)
{
	struct sql_cursor *cursor = (struct sql_cursor *)base;
	struct sql_constraint constraints[SQL_KEYS];
	struct hawk_error *err;

	for (int i = 0; i < SQL_KEYS; i++)
		constraints[i] = (struct sql_constraint){.high = UINT64_MAX};
	for (int i = 0; i < count; i++) {
		struct sql_constraint *constraint = &constraints[text[2 * i] - '0'];

		constraint->given = true;
		if (cursor->table->keys[text[2 * i] - '0'].kind == SQL_KEY_TEXT)
			constrain_text(constraint, values[i]);
		else
			constrain_number(constraint, text[2 * i + 1], values[i]);
	}
	err = load(cursor, (uint64_t)columns);
	if (!err)
		err = seek(cursor, constraints);
	if (!err) {
		start_leading(cursor);
		err = enter_row(cursor);
	}
	return fail(cursor->sql, err);
}

static int next(sqlite3_vtab_cursor *base)
{
	struct sql_cursor *cursor = (struct sql_cursor *)base;

	if (++cursor->part < cursor->parts)
		return SQLITE_OK;
	cursor->at++;
	return fail(cursor->sql, enter_row(cursor));
}

static int at_end(sqlite3_vtab_cursor *base)
{
	const struct sql_cursor *cursor = (const struct sql_cursor *)base;

	return cursor->at >= cursor->end;
}

static void put_site(const struct hawk_heap *heap, uint64_t site, sqlite3_context *context)
{
	char text[17];

	if (site >= heap->site_count)
		return;
	for (int i = 0; i < 16; i++)
		text[i] = "0123456789abcdef"[heap->sites[site].id >> (60 - 4 * i) & 15];
	sqlite3_result_text(context, text, 16, SQLITE_TRANSIENT);
}

/** Readers of a file expect UTF-8, and show it on terminals. */
static void put_safe_text(const char *text, sqlite3_context *context)
{
	CLEANUP(text) struct hawk_text safe = {0};

	hawk_utf8_append_safe(&safe, text);
	if (safe.failed)
		sqlite3_result_error_nomem(context);
	else
		sqlite3_result_text(context, hawk_text_string(&safe), -1, SQLITE_TRANSIENT);
}

static void put_text(const struct hawk_sql *sql, const struct sql_value *value,
		     sqlite3_context *context)
{
	bool owned = value->kind == SQL_OWNED;

	if (!sql->is_saved) {
		sqlite3_result_text(context, value->text, -1, owned ? free : SQLITE_TRANSIENT);
		return;
	}
	put_safe_text(value->text, context);
	if (owned)
		free((void *)value->text);
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number)
{
	struct sql_cursor *cursor = (struct sql_cursor *)base;
	struct sql_value value = {0};
	struct hawk_error *err = cursor->table->column(cursor, row_number(cursor), number, &value);

	if (err)
		return fail(cursor->sql, err);
	switch (value.kind) {
	case SQL_NULL:
		break;
	case SQL_INTEGER:
		sqlite3_result_int64(context, value.integer);
		break;
	case SQL_REAL:
		sqlite3_result_double(context, value.real);
		break;
	case SQL_TEXT:
	case SQL_OWNED:
		put_text(cursor->sql, &value, context);
		break;
	case SQL_SITE:
		put_site(cursor->sql->source.heap, (uint64_t)value.integer, context);
		break;
	}
	return SQLITE_OK;
}

static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = (sqlite3_int64)((const struct sql_cursor *)base)->at;
	return SQLITE_OK;
}

/* Without xCreate a table is there as soon as it is named, and cannot be made or dropped. */
static const sqlite3_module module = {
	.xConnect = connect_table,
	.xBestIndex = plan,
	.xDisconnect = disconnect_table,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next,
	.xEof = at_end,
	.xColumn = column,
	.xRowid = row_id,
};

bool hawk_sql_register(struct hawk_sql *sql, const struct sql_table *table)
{
	struct instance *registered = calloc(1, sizeof(*registered));

	if (!registered)
		return false;
	registered->sql = sql;
	registered->table = table;
	return sqlite3_create_module_v2(sql->database, table->name, &module, registered, free) ==
	       SQLITE_OK;
}
