/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Keywords outside of brackets tell where a clause ends.
 */
#include "sql_clauses.h"

#include <stdlib.h>

const char *const hawk_sql_expression_words[] = {
	"and",  "or",      "not",    "in",      "like",   "glob",   "between",
	"is",   "null",    "isnull", "case",    "when",   "then",   "else",
	"end",  "notnull", "escape", "collate", "nocase", "binary", "asc",
	"desc", "nulls",   "first",  "last",    "true",   "false",  NULL,
};

static const char *const clause_words[] = {
	"select", "from", "where", "group", "having", "order", "limit", NULL,
};

bool hawk_sql_clauses_sign(const struct sql_clauses *clauses, size_t i, char sign)
{
	return i < clauses->words.count && hawk_sql_word_is_sign(&clauses->words.items[i], sign);
}

/** The clause that begins at `*at` with `name` and has `skip` words before its own; moves behind
 * it. */
static struct sql_span take_clause(const struct sql_words *words, size_t *at, const char *name,
				   size_t skip)
{
	struct sql_span span = {*at, *at};

	if (*at + skip > words->count || *at == words->count ||
	    !hawk_sql_word_is(&words->items[*at], name))
		return span;
	span.start = *at + skip;
	for (span.end = span.start; span.end < words->count; span.end++)
		if (!words->items[span.end].depth &&
		    hawk_sql_word_is_one_of(&words->items[span.end], clause_words))
			break;
	*at = span.end;
	return span;
}

bool hawk_sql_clauses_cut(const struct sql_clauses *clauses, struct sql_span span,
			  struct sql_list *ret)
{
	const struct sql_word *words = clauses->words.items;
	size_t start = span.start;

	ret->count = 0;
	if (span.start == span.end)
		return true;
	for (size_t i = span.start; i <= span.end; i++) {
		if (i < span.end && (words[i].depth != words[span.start].depth ||
				     !hawk_sql_word_is_sign(&words[i], ',')))
			continue;
		if (ret->count == SQL_ITEMS_MAX || i == start)
			return false;
		ret->items[ret->count++] = (struct sql_span){start, i};
		start = i + 1;
	}
	return true;
}

/** Whether an expression may end with the word, so that a name behind it is an alias. */
static bool ends_expression(const struct sql_word *word)
{
	static const char *const closing[] = {"end",   "null",   "isnull", "notnull", "true",
					      "false", "nocase", "binary", NULL};

	if (word->kind == SQL_WORD_SIGN)
		return *word->start == ')';
	return hawk_sql_word_is_one_of(word, closing) ||
	       !hawk_sql_word_is_one_of(word, hawk_sql_expression_words);
}

/** Takes "AS name", or the name alone, off the end of a column. */
static void take_alias(struct sql_clauses *clauses, size_t column)
{
	struct sql_span *span = &clauses->columns.items[column];
	const struct sql_word *last = &clauses->words.items[span->end - 1];

	clauses->aliases[column] = 0;
	if (span->end - span->start < 2 || last->kind == SQL_WORD_NUMBER ||
	    last->kind == SQL_WORD_SIGN ||
	    hawk_sql_word_is_one_of(last, hawk_sql_expression_words) || !ends_expression(last - 1))
		return;
	clauses->aliases[column] = --span->end;
	if (span->end - span->start > 1 && hawk_sql_word_is(last - 1, "as"))
		span->end--;
}

size_t hawk_sql_clauses_alias(const struct sql_clauses *clauses, const struct sql_word *word)
{
	size_t i = 0;

	while (i < clauses->columns.count &&
	       (!clauses->aliases[i] ||
		!hawk_sql_words_equal(word, &clauses->words.items[clauses->aliases[i]])))
		i++;
	return i;
}

/** A column's number, or its alias, stands for it. */
static bool resolve_group(struct sql_clauses *clauses, struct sql_span *group)
{
	const struct sql_word *word = &clauses->words.items[group->start];
	size_t column = clauses->columns.count;

	if (group->end - group->start > 1)
		return true;
	if (word->kind == SQL_WORD_NUMBER && word->length < 3)
		column = (size_t)strtoul(word->start, NULL, 10) - 1;
	else if (word->kind == SQL_WORD_NAME)
		column = hawk_sql_clauses_alias(clauses, word);
	if (column >= clauses->columns.count)
		return word->kind == SQL_WORD_NAME;
	clauses->is_by_alias = clauses->is_by_alias || word->kind == SQL_WORD_NAME;
	*group = clauses->columns.items[column];
	return true;
}

static bool take_groups(struct sql_clauses *clauses, struct sql_span span)
{
	if (!hawk_sql_clauses_cut(clauses, span, &clauses->groups))
		return false;
	for (size_t i = 0; i < clauses->groups.count; i++)
		if (!resolve_group(clauses, &clauses->groups.items[i]))
			return false;
	return true;
}

static bool take_columns(struct sql_clauses *clauses, struct sql_span span)
{
	if (!hawk_sql_clauses_cut(clauses, span, &clauses->columns))
		return false;
	for (size_t i = 0; i < clauses->columns.count; i++)
		take_alias(clauses, i);
	return clauses->columns.count > 0;
}

static bool take_order(struct sql_clauses *clauses, struct sql_span span)
{
	static const char *const orders[] = {"asc", "desc", "nulls", "first", "last", NULL};

	if (!hawk_sql_clauses_cut(clauses, span, &clauses->order))
		return false;
	for (size_t i = 0; i < clauses->order.count; i++) {
		struct sql_span *term = &clauses->order.items[i];

		while (term->end - term->start > 1 &&
		       hawk_sql_word_is_one_of(&clauses->words.items[term->end - 1], orders))
			term->end--;
	}
	return true;
}

bool hawk_sql_clauses_take(const char *text, const char *end, struct sql_clauses *ret)
{
	const struct sql_words *words = &ret->words;
	struct sql_span columns, groups, order;
	size_t at = 0;

	if (!hawk_sql_words_split(text, end, &ret->words) || words->count < 4)
		return false;
	ret->is_by_alias = false;
	ret->is_distinct = hawk_sql_word_is(&words->items[1], "distinct");
	columns = take_clause(words, &at, "select", 1 + (size_t)ret->is_distinct);
	ret->from = take_clause(words, &at, "from", 1);
	ret->where = take_clause(words, &at, "where", 1);
	groups = take_clause(words, &at, "group", 2);
	ret->having = take_clause(words, &at, "having", 1);
	order = take_clause(words, &at, "order", 2);
	take_clause(words, &at, "limit", 1);
	return at == words->count && take_columns(ret, columns) && take_groups(ret, groups) &&
	       take_order(ret, order);
}
