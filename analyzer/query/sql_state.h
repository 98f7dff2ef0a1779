/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What a virtual table is, and what all of them share. Internal to query/.
 *
 * A table is rows with numbers 0, 1, 2 ...; a cursor goes through a range of them, or through a
 * list of numbers that a look-up gave. Columns may be looked up by range or by equality if the
 * table says so; SQLite tests every row again, so a look-up may give too much but never too little.
 */
#ifndef HAWK_SQL_STATE_H
#define HAWK_SQL_STATE_H

#include <sqlite3.h>

#include "hawk_progress.h"
#include "hawk_referrers.h"
#include "hawk_sql.h"

enum { SQL_KEYS = 2 };

/** What counting sort makes of a relation: items[offsets[key]] .. items[offsets[key + 1] - 1]. */
struct sql_postings {
	uint32_t *offsets; /**< by key; NULL = not made yet */
	uint32_t *items;
};

struct hawk_sql {
	struct hawk_sql_source source;
	sqlite3 *database;
	struct hawk_error *error;             /**< of a table, told instead of SQLite's; owned */
	struct sql_postings blocks_by_site;   /**< blocks */
	struct sql_postings sources_by_block; /**< blocks that point to a block; twice if twice */
	struct sql_postings roots_by_block;
	uint32_t *sites_by_id; /**< sites, ascending by id; NULL = not made yet */
	/** By site * SQL_KINDS + kind - 1; NULL = not made yet. */
	struct sql_leak {
		uint64_t objects;
		uint64_t bytes;
		uint32_t example; /**< the oldest block */
	} * leaks;
	struct hawk_site_retained *retained; /**< by site; NULL = not made yet */
	struct sql_sum *sums;                /**< rows of that table */
	size_t sum_count, sum_room;
	bool has_sums;
	struct hawk_root_namer *namer;
	const struct sql_cursor *leader; /**< whose rows are the progress; NULL = none's */
	uint64_t leader_first;           /**< its first one */
	struct hawk_progress leading;
};

enum { SQL_KINDS = HAWK_REACH_KINDS - 1 };

/** "definitely lost" ... */
const char *hawk_sql_reach_name(unsigned kind);

/** What a query asks of one key column. Inclusive. */
struct sql_wish {
	bool given;
	bool is_text;
	uint64_t low, high;
	char text[32]; /**< with `is_text`: equal to this */
};

struct sql_cursor {
	sqlite3_vtab_cursor base; /**< must be first */
	struct hawk_sql *sql;
	const struct sql_table *table;
	uint64_t at, end;     /**< rows, or places in `list` */
	const uint32_t *list; /**< row numbers; NULL = all of [at, end) */
	uint64_t columns;     /**< that the statement uses, bit i = column i */
	void *state;          /**< the table's own, from `open` */
};

enum sql_key_kind {
	SQL_KEY_NONE = 0,
	SQL_KEY_NUMBER, /**< ranges and equality */
	SQL_KEY_TEXT,   /**< equality */
};

struct sql_table {
	const char *name;
	const char *schema;
	struct sql_key {
		int column;
		enum sql_key_kind kind;
	} keys[SQL_KEYS];
	/** Parts of the graph for these columns, bit i = column i. */
	unsigned (*needs)(uint64_t columns);
	/** Rows in all, for the planner; anything is allowed. */
	uint64_t (*rows)(const struct hawk_sql *sql);
	/** Sets at, end, list. `wishes` are in the order of `keys`. */
	struct hawk_error *(*seek)(struct sql_cursor *cursor, const struct sql_wish *wishes);
	/** Called for each row number before its columns; may be NULL. False in `*keep`: it has no
	 * row. */
	struct hawk_error *(*row)(struct sql_cursor *cursor, uint64_t row, bool *keep);
	/** Goes to the next row within one row number (many pointers in one block); may be NULL.
	 * False: there is none. */
	bool (*more)(struct sql_cursor *cursor);
	struct hawk_error *(*column)(struct sql_cursor *cursor, uint64_t row, int column,
				     sqlite3_context *context);
	/** May be NULL. */
	struct hawk_error *(*open)(struct sql_cursor *cursor);
	void (*close)(struct sql_cursor *cursor);
};

extern const struct sql_table hawk_sql_blocks;
extern const struct sql_table hawk_sql_sites;
extern const struct sql_table hawk_sql_frames;
extern const struct sql_table hawk_sql_edges;
extern const struct sql_table hawk_sql_roots;
extern const struct sql_table hawk_sql_leaks;
extern const struct sql_table hawk_sql_retained;
extern const struct sql_table hawk_sql_sums;
extern const struct sql_table hawk_sql_threads;
extern const struct sql_table hawk_sql_mappings;
extern const struct sql_table hawk_sql_modules;
extern const struct sql_table *const hawk_sql_tables[];

/** Makes `table` known to the database. False: no memory. */
bool hawk_sql_register(struct hawk_sql *sql, const struct sql_table *table);

/** All rows, if there is no better way. */
void hawk_sql_seek_all(struct sql_cursor *cursor, uint64_t rows);

/** Index of the site with that id in text; UINT32_MAX = there is none. */
struct hawk_error *hawk_sql_site_of_text(struct hawk_sql *sql, const char *text, uint32_t *ret);

/** The site's 16 digits; NULL for UINT32_MAX. */
void hawk_sql_result_site(struct hawk_sql *sql, uint32_t site, sqlite3_context *context);

/** The type of a block, NULL if it is not known. */
struct hawk_error *hawk_sql_result_type(struct hawk_sql *sql, uint32_t block,
					sqlite3_context *context);

/** Text that lives as long as the cursor's row, or NULL. */
void hawk_sql_result_text(sqlite3_context *context, const char *text);

/** Text that lives for ever. */
void hawk_sql_result_constant(sqlite3_context *context, const char *text);

/** Runs `statement` and writes the rows. sql_print.c. */
struct hawk_error *hawk_sql_print(struct hawk_sql *sql, sqlite3_stmt *statement,
				  enum hawk_sql_format format, struct hawk_output *output);

/** What went wrong: the table's own error, or SQLite's message. */
struct hawk_error *hawk_sql_error(struct hawk_sql *sql);

#endif
