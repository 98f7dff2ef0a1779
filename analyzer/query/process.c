/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The tables about the process: threads, mappings, modules.
 */
#include <stdio.h>

#include "state.h"

static uint64_t thread_rows(const struct hawk_sql *sql)
{
	size_t count;

	hawk_target_threads(sql->source.target, &count);
	return count;
}

static struct hawk_error *get_thread(struct sql_cursor *cursor, uint64_t row, int column,
				     struct sql_value *ret)
{
	size_t count;
	const struct hawk_thread *thread =
		&hawk_target_threads(cursor->sql->source.target, &count)[row];
	const struct sql_value values[] = {
		sql_integer(thread->tid),
		sql_text_if(thread->name),
		sql_integer_if(thread->signal, (uint64_t)thread->signal),
		sql_integer(thread->crashed),
		sql_integer(thread->pc),
		sql_integer(thread->sp),
	};

	*ret = values[column];
	return NULL;
}

const struct sql_table hawk_sql_threads = {
	.name = "threads",
	.of_process = true,
	.schema = "CREATE TABLE threads(tid INTEGER, name TEXT, signal INTEGER, "
		  "crashed INTEGER, rip INTEGER, rsp INTEGER)",
	.rows = thread_rows,
	.column = get_thread,
};

static uint64_t mapping_rows(const struct hawk_sql *sql)
{
	size_t count;

	hawk_target_mappings(sql->source.target, &count);
	return count;
}

static struct hawk_error *get_mapping(struct sql_cursor *cursor, uint64_t row, int column,
				      struct sql_value *ret)
{
	static const char *const rights[] = {"---", "r--", "-w-", "rw-",
					     "--x", "r-x", "-wx", "rwx"};
	size_t count;
	const struct hawk_mapping *mapping =
		&hawk_target_mappings(cursor->sql->source.target, &count)[row];
	unsigned bits = (mapping->flags & HAWK_MAPPING_READ ? 1u : 0) |
			(mapping->flags & HAWK_MAPPING_WRITE ? 2u : 0) |
			(mapping->flags & HAWK_MAPPING_EXEC ? 4u : 0);
	const struct sql_value values[] = {
		sql_integer(mapping->start),
		sql_integer(mapping->end),
		sql_integer(mapping->end - mapping->start),
		sql_integer(mapping->present_bytes),
		sql_text(rights[bits]),
		sql_text(mapping->path),
		sql_integer_if(mapping->path, mapping->file_offset),
	};

	*ret = values[column];
	return NULL;
}

const struct sql_table hawk_sql_mappings = {
	.name = "mappings",
	.of_process = true,
	.schema = "CREATE TABLE mappings(start INTEGER, end INTEGER, bytes INTEGER, "
		  "present_bytes INTEGER, rights TEXT, path TEXT, file_offset INTEGER)",
	.rows = mapping_rows,
	.column = get_mapping,
};

static uint64_t module_rows(const struct hawk_sql *sql)
{
	size_t count;

	hawk_target_modules(sql->source.target, &count);
	return count;
}

/** Its digits, NULL if it is not known. */
static struct sql_value build_id(const struct hawk_module *module)
{
	struct hawk_text text = {0};

	for (uint32_t i = 0; i < module->build_id_bytes && i < HAWK_MODULE_BUILD_ID_MAX; i++)
		hawk_text_printf(&text, "%02x", module->build_id[i]);
	return (struct sql_value){.kind = text.bytes ? SQL_OWNED : SQL_NULL, .text = text.bytes};
}

static struct hawk_error *get_module(struct sql_cursor *cursor, uint64_t row, int column,
				     struct sql_value *ret)
{
	size_t count;
	const struct hawk_module *module =
		&hawk_target_modules(cursor->sql->source.target, &count)[row];
	const struct sql_value values[] = {
		sql_text_if(module->path), sql_integer(module->start),
		sql_integer(module->end),  sql_integer_if(module->has_bias, module->bias),
		sql_integer(module->main),
	};
	enum { BUILD_ID = sizeof(values) / sizeof(values[0]) };

	*ret = column == BUILD_ID ? build_id(module) : values[column];
	return NULL;
}

const struct sql_table hawk_sql_modules = {
	.name = "modules",
	.of_process = true,
	.schema = "CREATE TABLE modules(path TEXT, start INTEGER, end INTEGER, bias INTEGER, "
		  "main INTEGER, build_id TEXT)",
	.rows = module_rows,
	.column = get_module,
};
