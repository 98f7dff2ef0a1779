/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * SQL over a loaded target: SQLite with virtual tables, nothing copied. The query language of this
 * tool, for what no verb answers. What a table needs of the pointer graph is made when a query uses
 * it. docs/sql.md describes every table and column.
 */
#ifndef HAWK_SQL_H
#define HAWK_SQL_H

#include "hawk_block_graph.h"
#include "hawk_block_type.h"
#include "hawk_output.h"
#include "hawk_root_name.h"

/** Where the rows come from. Everything is used until the close. */
struct hawk_sql_source {
	struct hawk_target *target;
	struct hawk_symbols *symbols;
	const struct hawk_heap *heap;
	struct hawk_block_graph *graph;
	struct hawk_block_types *types;
	/** Makes `parts` of the graph (enum hawk_block_graph_part). */
	struct hawk_error *(*load)(void *context, unsigned parts);
	void *context;
};

enum hawk_sql_format {
	HAWK_SQL_TABLE = 1, /**< columns for people */
	HAWK_SQL_CSV,       /**< RFC 4180, but lines end in LF */
	HAWK_SQL_JSON,      /**< an array of objects, one a line */
};

struct hawk_sql;

struct hawk_error *hawk_sql_open(const struct hawk_sql_source *source, struct hawk_sql **ret);
/** Accepts NULL. */
void hawk_sql_close(struct hawk_sql *sql);

/**
 * Runs the statements in `query`, one after the other, and writes the rows of each. A mistake in
 * the query is HAWK_ERROR_USAGE with SQLite's words.
 */
struct hawk_error *hawk_sql_run(struct hawk_sql *sql, const char *query,
				enum hawk_sql_format format, struct hawk_output *output);

/** "CREATE TABLE ..." of the `index`th table, NULL behind the last. */
const char *hawk_sql_schema(size_t index);

#endif
