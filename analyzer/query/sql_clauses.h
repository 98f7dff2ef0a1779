/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * One SELECT as its clauses, its columns and what it groups by: spans of words. Of statements that
 * SQLite has accepted; others are refused, or cut up at random. Internal to query/.
 */
#ifndef HAWK_SQL_CLAUSES_H
#define HAWK_SQL_CLAUSES_H

#include "sql_words.h"

enum { SQL_ITEMS_MAX = 40 };

/** Words [start, end). */
struct sql_span {
	size_t start, end;
};

/** Parts of a list, without the commas. */
struct sql_list {
	struct sql_span items[SQL_ITEMS_MAX];
	size_t count;
};

struct sql_clauses {
	struct sql_words words;
	bool is_distinct;
	struct sql_span from, where, having; /**< without the keywords; may be empty */
	struct sql_list columns;             /**< without their aliases */
	size_t aliases[SQL_ITEMS_MAX];       /**< of columns: a word; 0 = none */
	struct sql_list groups;              /**< columns instead of their numbers and aliases */
	bool is_by_alias;                    /**< of `groups`, at least one */
	struct sql_list order;               /**< without ASC, DESC, NULLS ... */
};

/** SELECT ... FROM ... WHERE ... GROUP BY ... HAVING ... ORDER BY ... LIMIT ...; false: it is
 * anything else. */
bool hawk_sql_clauses_take(const char *text, const char *end, struct sql_clauses *ret);

/** The column that is called `word`; `columns.count` = there is none. */
size_t hawk_sql_clauses_alias(const struct sql_clauses *clauses, const struct sql_word *word);

/** Cuts `span` at its commas; false: too many parts, or empty ones. */
bool hawk_sql_clauses_cut(const struct sql_clauses *clauses, struct sql_span span,
			  struct sql_list *ret);

/** Whether word `i` is there, and that sign. */
bool hawk_sql_clauses_sign(const struct sql_clauses *clauses, size_t i, char sign);

/** Words that operators and orders are made of; a bracket may follow some. Ends with NULL. */
extern const char *const hawk_sql_expression_words[];

#endif
