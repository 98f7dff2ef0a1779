/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Definition of a virtual table, and state shared by all of them. Internal to query/.
 *
 * A table is rows with numbers 0, 1, 2 ..., each of which may stand for several rows or for none; a
 * cursor goes through a range of them, or through a list of numbers that a look-up gave. Columns
 * may be looked up by range or by equality if the table says so; SQLite tests every row again, so a
 * look-up may give too much but never too little.
 */
#ifndef HAWK_ANALYZER_QUERY_STATE_H
#define HAWK_ANALYZER_QUERY_STATE_H

#include <sqlite3.h>

#include "hawk/base/progress.h"
#include "hawk/analysis/referrers.h"
#include "hawk/query/sql.h"

enum { SQL_KEYS = 2 };

/** Result of a counting sort of a relation: items[offsets[key]] .. items[offsets[key + 1] - 1]. */
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
	struct sql_site_id {
		uint64_t id;
		uint32_t site;
	} * sites_by_id; /**< ascending; NULL = not made yet */
	/** By site * SQL_KINDS + kind - 1; NULL = not made yet. */
	struct sql_leak {
		uint64_t objects;
		uint64_t bytes;
		uint32_t example; /**< the oldest block */
	} * leaks;
	uint64_t *retained;   /**< by site; NULL = not made yet */
	struct sql_sum *sums; /**< rows of that table */
	size_t sum_count, sum_room;
	bool has_sums;
	struct hawk_fragmentation fragmentation; /**< for the table of pins */
	bool has_fragmentation;
	bool reads_heap;          /**< the statement being prepared does */
	bool is_saved;            /**< texts go to a file: foreign ones are made safe */
	uint64_t timeout_seconds; /**< of the query that runs; 0 = none */
	uint64_t deadline_ns;     /**< by CLOCK_MONOTONIC; 0 = none */
	struct hawk_root_namer *namer;
	const struct sql_cursor *leader; /**< whose rows are the progress; NULL = none's */
	uint64_t leader_first;           /**< its first one */
	struct hawk_progress leading;
};

enum { SQL_KINDS = HAWK_REACH_KINDS - 1 };

/** "definitely lost" ... */
const char *hawk_sql_reach_name(unsigned kind);

/** A query's limits on one key column, inclusive. */
struct sql_constraint {
	bool given;
	bool is_text;
	uint64_t low, high;
	char text[32]; /**< with `is_text`: equal to this */
};

struct sql_cursor {
	sqlite3_vtab_cursor base; /**< must be first */
	struct hawk_sql *sql;
	const struct sql_table *table;
	uint64_t at, end;     /**< row numbers, or places in `list` */
	const uint32_t *list; /**< row numbers; NULL = all of [at, end) */
	size_t part, parts;   /**< rows within the row number, all of them */
	void *state;          /**< the table's own: `state_bytes`, zeros at first */
};

/** A column of a row; zeros = NULL. */
struct sql_value {
	enum sql_value_kind {
		SQL_NULL = 0,
		SQL_INTEGER,
		SQL_REAL,
		SQL_TEXT,  /**< copied at once */
		SQL_OWNED, /**< text from malloc(), which is handed over */
		SQL_SITE,  /**< `integer` is the site's index; its id as 16 digits */
	} kind;
	int64_t integer;
	double real;
	const char *text;
};

static inline struct sql_value sql_integer(uint64_t integer)
{
	return (struct sql_value){.kind = SQL_INTEGER, .integer = (int64_t)integer};
}

/** NULL unless `known`. */
static inline struct sql_value sql_integer_if(bool known, uint64_t integer)
{
	return known ? sql_integer(integer) : (struct sql_value){0};
}

/** Accepts NULL. */
static inline struct sql_value sql_text(const char *text)
{
	return (struct sql_value){.kind = text ? SQL_TEXT : SQL_NULL, .text = text};
}

/** NULL if empty. */
static inline struct sql_value sql_text_if(const char *text)
{
	return sql_text(text[0] ? text : NULL);
}

static inline struct sql_value sql_site(uint32_t site)
{
	return (struct sql_value){.kind = SQL_SITE, .integer = site};
}

enum sql_key_kind {
	SQL_KEY_NONE = 0,
	SQL_KEY_NUMBER, /**< ranges and equality */
	SQL_KEY_TEXT,   /**< equality */
};

struct sql_table {
	const char *name;
	bool of_process; /**< not of the heap: known without it */
	const char *schema;
	struct sql_key {
		int column;
		enum sql_key_kind kind;
	} keys[SQL_KEYS];
	unsigned needs; /**< of the graph, for any column */
	/** More parts, for these columns. */
	struct {
		int column;
		unsigned needs;
	} column_needs[2];
	/** That many row numbers for each site, the first key; 0 = see `rows` and `seek`. */
	unsigned rows_per_site;
	size_t state_bytes;
	/** How many row numbers there are. The planner asks before `prepare`. */
	uint64_t (*rows)(const struct hawk_sql *sql);
	/** Makes the data that the rows are read from. May be NULL. */
	struct hawk_error *(*prepare)(struct hawk_sql *sql);
	/** Limits at, end and list, which are all rows, to those of `constraints`, which are in the
	 * order of `keys`. May be NULL. */
	struct hawk_error *(*seek)(struct sql_cursor *cursor,
				   const struct sql_constraint *constraints);
	/** Returns how many rows the number `row` stands for; called before their columns are read.
	 * NULL = one. */
	struct hawk_error *(*enter)(struct sql_cursor *cursor, uint64_t row, size_t *ret);
	/** Called with `*ret` = NULL. */
	struct hawk_error *(*column)(struct sql_cursor *cursor, uint64_t row, int column,
				     struct sql_value *ret);
	/** Frees what `state` points to. May be NULL. */
	void (*close)(void *state);
};

extern const struct sql_table hawk_sql_blocks;
extern const struct sql_table hawk_sql_sites;
extern const struct sql_table hawk_sql_frames;
extern const struct sql_table hawk_sql_edges;
extern const struct sql_table hawk_sql_roots;
extern const struct sql_table hawk_sql_leaks;
extern const struct sql_table hawk_sql_retained;
extern const struct sql_table hawk_sql_sums;
extern const struct sql_table hawk_sql_pins;
extern const struct sql_table hawk_sql_threads;
extern const struct sql_table hawk_sql_mappings;
extern const struct sql_table hawk_sql_modules;
extern const struct sql_table *const hawk_sql_tables[];

/** Makes `table` known to the database. False: no memory. */
bool hawk_sql_register(struct hawk_sql *sql, const struct sql_table *table);

/** Finds the site with that id in text; UINT32_MAX = none. */
struct hawk_error *hawk_sql_site_of_text(struct hawk_sql *sql, const char *text, uint32_t *ret);

/** Makes the look-up of blocks by site, in ascending order; number of sites = none. */
struct hawk_error *hawk_sql_blocks_by_site(struct hawk_sql *sql);

/** Of blocks by the block that they point to, once for every pointer. */
struct hawk_error *hawk_sql_sources_by_block(struct hawk_sql *sql);

/** Of roots by the block that they point to. */
struct hawk_error *hawk_sql_roots_by_block(struct hawk_sql *sql);

/** Lets the cursor go through the entries of `key`. */
void hawk_sql_seek_posting(struct sql_cursor *cursor, const struct sql_postings *postings,
			   uint32_t key);

/** Runs `statement` and writes the rows. sql_print.c. */
struct hawk_error *hawk_sql_print(struct hawk_sql *sql, sqlite3_stmt *statement,
				  enum hawk_sql_format format, struct hawk_output *output);

/** Writes, in place of rows, that the heap is unknown. sql_print.c. */
void hawk_sql_print_unknown(const struct hawk_sql *sql, enum hawk_sql_format format,
			    struct hawk_output *output);

/** Has SQLite refresh the progress from time to time. */
void hawk_sql_refresh(struct hawk_sql *sql);

/** Returns true if the query has used up its time; for rows that are slow to make. */
bool hawk_sql_is_late(const struct hawk_sql *sql);

/** Returns HAWK_ERROR_LIMIT for a query whose time is over. */
struct hawk_error *hawk_sql_late_error(const struct hawk_sql *sql);

/** What went wrong: the table's own error, or SQLite's message. */
struct hawk_error *hawk_sql_error(struct hawk_sql *sql);

#endif
