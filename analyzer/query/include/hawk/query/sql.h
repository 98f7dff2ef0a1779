/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * SQL over a loaded target: SQLite with virtual tables, nothing copied. For questions that no verb
 * answers. Builds the parts of the pointer graph that a query needs. docs/sql.md describes every
 * table and column.
 */
#ifndef HAWK_ANALYZER_QUERY_SQL_H
#define HAWK_ANALYZER_QUERY_SQL_H

#include "hawk/analysis/fragmentation.h"
#include "hawk/names/block_type.h"
#include "hawk/graph/dominators.h"
#include "hawk/output/output.h"
#include "hawk/names/root_name.h"
#include "hawk/analysis/site_freed.h"

enum hawk_sql_need {
	HAWK_SQL_EDGES = 1u << 0, /**< the graph, without names of roots */
	HAWK_SQL_GRAPH = 1u << 1,
	HAWK_SQL_REACH = 1u << 2,
	HAWK_SQL_DOMINATORS = 1u << 3 | HAWK_SQL_REACH,
};

/** Source of the rows. Everything must outlive the hawk_sql. */
struct hawk_sql_source {
	struct hawk_target *target;
	struct hawk_symbols *symbols;
	const struct hawk_heap *heap;
	/* NULL before load(): */
	const struct hawk_graph *graph;
	const struct hawk_reach *reach;           /**< by all pointers */
	const struct hawk_dominators *dominators; /**< likewise */
	struct hawk_block_types *types;
	/** Makes what `needs` (enum hawk_sql_need) lists, and enters it into `source`. */
	struct hawk_error *(*load)(void *context, unsigned needs, struct hawk_sql_source *source);
	/** Computes what sites retain; caller frees. Enters the dominators into
	 * `source`. */
	struct hawk_error *(*retained)(void *context, struct hawk_sql_source *source,
				       uint64_t **ret);
	/** Finds what pins free memory. Fails with HAWK_ERROR_UNSUPPORTED where no allocator's
	 * structures are known; deinitialize `ret` also then. */
	struct hawk_error *(*fragmentation)(void *context, struct hawk_fragmentation *ret);
	void *context;
};

enum hawk_sql_format {
	HAWK_SQL_TABLE = 1, /**< columns for people */
	HAWK_SQL_CSV,       /**< RFC 4180, but lines end in LF; safe for terminals and sheets */
	HAWK_SQL_JSON,      /**< an array of objects, one a line */
};

struct hawk_sql;

struct hawk_error *hawk_sql_open(const struct hawk_sql_source *source, struct hawk_sql **ret);
/** Accepts NULL. */
void hawk_sql_close(struct hawk_sql *sql);

/**
 * Runs the statements in `query`, one after the other, and writes the rows of each. A mistake in
 * the query is HAWK_ERROR_USAGE with SQLite's message; HAWK_ERROR_LIMIT if it takes longer than
 * `timeout_seconds` (0 = no limit) or too much memory, after the rows that were found by then.
 * A statement that asks an unknown heap is the last: in place of rows it gets "unknown: why", in
 * JSON null, in CSV nothing.
 */
struct hawk_error *hawk_sql_run(struct hawk_sql *sql, const char *query,
				enum hawk_sql_format format, uint64_t timeout_seconds,
				struct hawk_output *output);

/** Facts about a saved database, stored in it. */
struct hawk_sql_about {
	const char *version; /**< of hawk-core */
	const char *source;  /**< path of the core */
	/** Returns findings of missing and damaged data, after all is read. */
	const struct hawk_findings *(*findings)(void *context);
	void *context;
};

/**
 * Writes all tables, without hidden columns, to the empty file `fd` as a database. It needs no name
 * and stays the caller's. docs/export.md describes it. The hawk_sql can only be closed afterwards.
 * Returns HAWK_ERROR_OS if the file cannot be written; its contents are then useless.
 */
struct hawk_error *hawk_sql_save(struct hawk_sql *sql, int fd, const struct hawk_sql_about *about);

/** Returns the name of table `index`, or NULL after the last. */
const char *hawk_sql_name(size_t index);

/** Returns "CREATE TABLE ..." of table `index`, or NULL after the last. */
const char *hawk_sql_schema(size_t index);

#endif
