/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The tables of what the process was: threads, mappings, modules.
 */
#include <stdio.h>

#include "sql_state.h"

static void put_address(sqlite3_context *context, uint64_t address)
{
	sqlite3_result_int64(context, (int64_t)address);
}

static uint64_t thread_rows(const struct hawk_sql *sql)
{
	size_t count;

	hawk_target_threads(sql->source.target, &count);
	return count;
}

static struct hawk_error *seek_threads(struct sql_cursor *cursor, const struct sql_wish *wishes)
{
	(void)wishes;
	hawk_sql_seek_all(cursor, thread_rows(cursor->sql));
	return NULL;
}

enum thread_column {
	THREAD_TID,
	THREAD_NAME,
	THREAD_SIGNAL,
	THREAD_CRASHED,
	THREAD_RIP,
	THREAD_RSP
};

static struct hawk_error *put_thread(struct sql_cursor *cursor, uint64_t row, int column,
				     sqlite3_context *context)
{
	size_t count;
	const struct hawk_thread *thread =
		&hawk_target_threads(cursor->sql->source.target, &count)[row];

	switch ((enum thread_column)column) {
	case THREAD_TID:
		sqlite3_result_int64(context, thread->tid);
		break;
	case THREAD_NAME:
		hawk_sql_result_text(context, thread->name[0] ? thread->name : NULL);
		break;
	case THREAD_SIGNAL:
		if (thread->signal)
			sqlite3_result_int(context, thread->signal);
		break;
	case THREAD_CRASHED:
		sqlite3_result_int(context, thread->crashed);
		break;
	case THREAD_RIP:
		put_address(context, thread->registers[HAWK_RIP]);
		break;
	case THREAD_RSP:
		put_address(context, thread->registers[HAWK_RSP]);
		break;
	}
	return NULL;
}

const struct sql_table hawk_sql_threads = {
	.name = "threads",
	.schema = "CREATE TABLE threads(tid INTEGER, name TEXT, signal INTEGER, "
		  "crashed INTEGER, rip INTEGER, rsp INTEGER)",
	.rows = thread_rows,
	.seek = seek_threads,
	.column = put_thread,
};

static uint64_t mapping_rows(const struct hawk_sql *sql)
{
	size_t count;

	hawk_target_mappings(sql->source.target, &count);
	return count;
}

static struct hawk_error *seek_mappings(struct sql_cursor *cursor, const struct sql_wish *wishes)
{
	(void)wishes;
	hawk_sql_seek_all(cursor, mapping_rows(cursor->sql));
	return NULL;
}

enum mapping_column {
	MAPPING_START,
	MAPPING_END,
	MAPPING_BYTES,
	MAPPING_PRESENT,
	MAPPING_RIGHTS,
	MAPPING_PATH,
	MAPPING_FILE_OFFSET,
};

static struct hawk_error *put_mapping(struct sql_cursor *cursor, uint64_t row, int column,
				      sqlite3_context *context)
{
	size_t count;
	const struct hawk_mapping *mapping =
		&hawk_target_mappings(cursor->sql->source.target, &count)[row];
	char rights[4] = "---";

	switch ((enum mapping_column)column) {
	case MAPPING_START:
		put_address(context, mapping->start);
		break;
	case MAPPING_END:
		put_address(context, mapping->end);
		break;
	case MAPPING_BYTES:
		sqlite3_result_int64(context, (int64_t)(mapping->end - mapping->start));
		break;
	case MAPPING_PRESENT:
		sqlite3_result_int64(context, (int64_t)mapping->present_bytes);
		break;
	case MAPPING_RIGHTS:
		rights[0] = mapping->flags & HAWK_MAPPING_READ ? 'r' : '-';
		rights[1] = mapping->flags & HAWK_MAPPING_WRITE ? 'w' : '-';
		rights[2] = mapping->flags & HAWK_MAPPING_EXEC ? 'x' : '-';
		hawk_sql_result_text(context, rights);
		break;
	case MAPPING_PATH:
		hawk_sql_result_text(context, mapping->path);
		break;
	case MAPPING_FILE_OFFSET:
		if (mapping->path)
			put_address(context, mapping->file_offset);
		break;
	}
	return NULL;
}

const struct sql_table hawk_sql_mappings = {
	.name = "mappings",
	.schema = "CREATE TABLE mappings(start INTEGER, end INTEGER, bytes INTEGER, "
		  "present_bytes INTEGER, rights TEXT, path TEXT, file_offset INTEGER)",
	.rows = mapping_rows,
	.seek = seek_mappings,
	.column = put_mapping,
};

static uint64_t module_rows(const struct hawk_sql *sql)
{
	size_t count;

	hawk_target_modules(sql->source.target, &count);
	return count;
}

static struct hawk_error *seek_modules(struct sql_cursor *cursor, const struct sql_wish *wishes)
{
	(void)wishes;
	hawk_sql_seek_all(cursor, module_rows(cursor->sql));
	return NULL;
}

enum module_column {
	MODULE_PATH,
	MODULE_START,
	MODULE_END,
	MODULE_BIAS,
	MODULE_MAIN,
	MODULE_BUILD_ID,
};

static void put_build_id(const struct hawk_module *module, sqlite3_context *context)
{
	char text[2 * HAWK_MODULE_BUILD_ID_MAX + 1] = "";

	for (uint32_t i = 0; i < module->build_id_bytes && i < HAWK_MODULE_BUILD_ID_MAX; i++)
		snprintf(text + 2 * i, 3, "%02x", module->build_id[i]);
	hawk_sql_result_text(context, text[0] ? text : NULL);
}

static struct hawk_error *put_module(struct sql_cursor *cursor, uint64_t row, int column,
				     sqlite3_context *context)
{
	size_t count;
	const struct hawk_module *module =
		&hawk_target_modules(cursor->sql->source.target, &count)[row];

	switch ((enum module_column)column) {
	case MODULE_PATH:
		hawk_sql_result_text(context, module->path[0] ? module->path : NULL);
		break;
	case MODULE_START:
		put_address(context, module->start);
		break;
	case MODULE_END:
		put_address(context, module->end);
		break;
	case MODULE_BIAS:
		if (module->has_bias)
			put_address(context, module->bias);
		break;
	case MODULE_MAIN:
		sqlite3_result_int(context, module->main);
		break;
	case MODULE_BUILD_ID:
		put_build_id(module, context);
		break;
	}
	return NULL;
}

const struct sql_table hawk_sql_modules = {
	.name = "modules",
	.schema = "CREATE TABLE modules(path TEXT, start INTEGER, end INTEGER, bias INTEGER, "
		  "main INTEGER, build_id TEXT)",
	.rows = module_rows,
	.seek = seek_modules,
	.column = put_module,
};
