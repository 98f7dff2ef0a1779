/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Goes through a statement clause by clause; what is replaced is replaced as it is seen, and what
 * is not understood ends it.
 */
#include "sql_sums.h"

#include <string.h>

#include "hawk_text.h"
#include "sql_clauses.h"

struct rewriting {
	struct sql_clauses clauses;
	struct sql_span table_words; /**< blocks; the last one is what they are called */
	bool is_joined;              /**< with other tables */
	bool has_sums;
	const char *copied; /**< the text before it is in `to` */
	struct hawk_text *to;
};

/* What blocks have in common: columns of groups, too. */
static const char *const shared_columns[] = {"size", "site", "kind", "age", "reach", "type", NULL};

/* What only blocks have, and what means something else of groups. */
static const char *const own_columns[] = {
	"address", "retained", "rowid", "oid", "_rowid_", NULL,
};

/* Words that would make another statement of it. */
static const char *const strange_words[] = {
	"select",
	"union",
	"except",
	"intersect",
	"over",
	"window",
	"values",
	"with",
	"right",
	"full",
	"natural",
	"raise",
	"blocks",
	"block_groups",
	"current_time",
	"current_date",
	"current_timestamp",
	"indexed",
	"all",
	"match",
	"regexp",
	NULL,
};

static const char *const scalar_functions[] = {
	"addr",      "abs",    "round",  "length",  "lower",  "upper",    "substr",
	"substring", "hex",    "ifnull", "iif",     "nullif", "coalesce", "instr",
	"printf",    "format", "quote",  "replace", "trim",   "ltrim",    "rtrim",
	"typeof",    "sign",   "cast",   NULL,
};

static const char *const sums[] = {"count", "sum", "total", "avg", "min", "max", NULL};

static const struct sql_word *word_at(const struct rewriting *rewriting, size_t i)
{
	return &rewriting->clauses.words.items[i];
}

static bool sign_at(const struct rewriting *rewriting, size_t i, char sign)
{
	return hawk_sql_clauses_sign(&rewriting->clauses, i, sign);
}

static bool is_at(const struct rewriting *rewriting, size_t i, const char *name)
{
	return i < rewriting->clauses.words.count && hawk_sql_word_is(word_at(rewriting, i), name);
}

/** What comes next stands for `words`. */
static void replace(struct rewriting *rewriting, struct sql_span words)
{
	const char *start = word_at(rewriting, words.start)->start;
	const struct sql_word *last = word_at(rewriting, words.end - 1);

	hawk_text_append(rewriting->to, rewriting->copied, (size_t)(start - rewriting->copied));
	rewriting->copied = last->start + last->length;
}

static void put_word(struct rewriting *rewriting, const struct sql_word *word)
{
	hawk_text_append(rewriting->to, word->start, word->length);
}

/** What blocks are called. */
static const struct sql_word *table_of(const struct rewriting *rewriting)
{
	return word_at(rewriting, rewriting->table_words.end - 1);
}

/** The groups' column of a sum; `of` NULL: their number of blocks. */
static void put_column(struct rewriting *rewriting, const struct sql_word *of, const char *sum)
{
	put_word(rewriting, table_of(rewriting));
	hawk_text_puts(rewriting->to, ".\"#");
	if (of) {
		put_word(rewriting, of);
		hawk_text_puts(rewriting->to, "_");
	}
	hawk_text_puts(rewriting->to, sum);
	hawk_text_puts(rewriting->to, "\"");
}

/** Of blocks, or blocks AS b, or blocks b; perhaps more tables behind it. */
static bool find_table(struct rewriting *rewriting)
{
	static const char *const joining[] = {"join", "left", "inner", "cross", NULL};
	struct sql_span from = rewriting->clauses.from;
	size_t at = from.start + 1;

	if (from.start == from.end || !is_at(rewriting, from.start, "blocks"))
		return false;
	at += is_at(rewriting, at, "as");
	if (at < from.end && word_at(rewriting, at)->kind == SQL_WORD_NAME &&
	    !hawk_sql_word_is_one_of(word_at(rewriting, at), joining))
		at++;
	rewriting->table_words = (struct sql_span){from.start, at};
	rewriting->is_joined = at < from.end;
	return word_at(rewriting, at - 1)->kind == SQL_WORD_NAME &&
	       (at == from.start + 1 ||
		!hawk_sql_word_is_one_of(word_at(rewriting, at - 1), strange_words));
}

static void put_table(struct rewriting *rewriting)
{
	replace(rewriting, rewriting->table_words);
	hawk_text_puts(rewriting->to, "block_groups AS ");
	put_word(rewriting, table_of(rewriting));
}

/** A name, perhaps with a table's in front. */
struct column {
	const struct sql_word *word;
	const struct sql_word *table; /**< NULL = none */
	bool is_blocks;               /**< of blocks, or it may be */
	size_t end;                   /**< the word behind it */
};

static struct column column_at(const struct rewriting *rewriting, size_t i)
{
	struct column column = {word_at(rewriting, i), NULL, true, i + 1};

	if (sign_at(rewriting, i + 1, '.') && i + 2 < rewriting->clauses.words.count) {
		column.table = column.word;
		column.word = word_at(rewriting, i + 2);
		column.is_blocks = hawk_sql_words_equal(column.table, table_of(rewriting));
		column.end = i + 3;
	}
	return column;
}

static bool is_column_of(const struct column *column, const char *const *names)
{
	return column->is_blocks && hawk_sql_word_is_one_of(column->word, names);
}

/** Names without a table are not ambiguous. */
static bool columns_equal(const struct column *a, const struct column *b)
{
	if (!hawk_sql_words_equal(a->word, b->word))
		return false;
	if (hawk_sql_word_is_one_of(a->word, shared_columns))
		return a->is_blocks && b->is_blocks;
	return !a->table || !b->table || hawk_sql_words_equal(a->table, b->table);
}

/** A SELECT in brackets: of other tables, and of columns that groups have. */
static bool check_inner(const struct rewriting *rewriting, struct sql_span span)
{
	for (size_t i = span.start + 1; i < span.end; i++) {
		const struct sql_word *word = word_at(rewriting, i);

		if (word->kind == SQL_WORD_QUOTED || hawk_sql_word_is_one_of(word, own_columns) ||
		    hawk_sql_word_is_one_of(word, strange_words))
			return false;
	}
	return true;
}

/** A name in front of a bracket. */
static bool check_function(const struct rewriting *rewriting, size_t i)
{
	static const char *const others[] = {"min", "max", "exists", "on", "using", "where", NULL};
	const struct sql_word *word = word_at(rewriting, i);

	return hawk_sql_word_is_one_of(word, scalar_functions) ||
	       hawk_sql_word_is_one_of(word, hawk_sql_expression_words) ||
	       hawk_sql_word_is_one_of(word, others);
}

/** The word behind what is at `i`; 0 = it cannot be asked of groups. */
static size_t check_row_word(const struct rewriting *rewriting, size_t i)
{
	const struct sql_word *word = word_at(rewriting, i);
	struct column column;

	if (word->kind != SQL_WORD_NAME)
		return word->kind == SQL_WORD_QUOTED ? 0 : i + 1;
	if (hawk_sql_word_is(word, "select") && sign_at(rewriting, i - 1, '(')) {
		size_t end = hawk_sql_words_closing(&rewriting->clauses.words, i - 1);

		return check_inner(rewriting, (struct sql_span){i, end}) ? end : 0;
	}
	if (sign_at(rewriting, i + 1, '('))
		return check_function(rewriting, i) ? i + 1 : 0;
	column = column_at(rewriting, i);
	if (hawk_sql_word_is(word, "in") || is_column_of(&column, own_columns) ||
	    hawk_sql_word_is_one_of(column.word, strange_words))
		return 0;
	return column.end;
}

/** Whether what is asked of each block can be asked of groups: of no column but shared ones, with
 * no function that is not known. */
static bool check_rows(const struct rewriting *rewriting, struct sql_span span)
{
	size_t i = span.start;

	while (i && i < span.end)
		i = check_row_word(rewriting, i);
	return i >= span.end;
}

/** sum(size), max(address) ...: kept for each group. False: `call` is of something else. */
static bool put_kept_sum(struct rewriting *rewriting, struct sql_span call)
{
	static const char *const summed[] = {"size", "retained", NULL};
	static const char *const bounded[] = {"size", "retained", "address", NULL};
	struct column column = column_at(rewriting, call.start + 2);
	const struct sql_word *name = word_at(rewriting, call.start);
	bool is_bound = hawk_sql_word_is(name, "min") || hawk_sql_word_is(name, "max");

	if (column.end != call.end - 1 || !is_column_of(&column, is_bound ? bounded : summed))
		return false;
	replace(rewriting, call);
	if (hawk_sql_word_is(name, "avg"))
		hawk_text_puts(rewriting->to, "hawk_mean");
	else
		put_word(rewriting, name);
	hawk_text_puts(rewriting->to, "(");
	put_column(rewriting, column.word,
		   hawk_sql_word_is(name, "min")   ? "min"
		   : hawk_sql_word_is(name, "max") ? "max"
		   : hawk_sql_word_is(name, "sum") ? "sum"
						   : "total");
	if (hawk_sql_word_is(name, "avg")) {
		hawk_text_puts(rewriting->to, ", ");
		put_column(rewriting, NULL, "n");
	}
	hawk_text_puts(rewriting->to, ")");
	return true;
}

/** count() or sum() of an expression: the groups' number goes with it. */
static void put_weighted(struct rewriting *rewriting, struct sql_span call)
{
	bool is_count = is_at(rewriting, call.start, "count");

	replace(rewriting, (struct sql_span){call.start, call.start + 1});
	hawk_text_puts(rewriting->to, is_count ? "hawk_count" : "hawk_sum");
	replace(rewriting, (struct sql_span){call.end - 1, call.end});
	hawk_text_puts(rewriting->to, ", ");
	put_column(rewriting, NULL, "n");
	hawk_text_puts(rewriting->to, ")");
}

static bool put_count(struct rewriting *rewriting, struct sql_span call)
{
	replace(rewriting, call);
	hawk_text_puts(rewriting->to, "hawk_count(1, ");
	put_column(rewriting, NULL, "n");
	hawk_text_puts(rewriting->to, ")");
	return true;
}

/** A call of one of `sums`, brackets included. */
static bool put_sum(struct rewriting *rewriting, struct sql_span call)
{
	const struct sql_word *name = word_at(rewriting, call.start);
	struct sql_span argument = {call.start + 2, call.end - 1};
	bool is_count = hawk_sql_word_is(name, "count");
	bool is_distinct = is_at(rewriting, argument.start, "distinct");

	rewriting->has_sums = true;
	if (argument.start == argument.end || sign_at(rewriting, argument.start, '*'))
		return is_count && put_count(rewriting, call);
	if (!is_distinct && !is_count && put_kept_sum(rewriting, call))
		return true;
	if (!check_rows(rewriting, argument))
		return false;
	if (hawk_sql_word_is(name, "min") || hawk_sql_word_is(name, "max"))
		return true;
	if (is_distinct)
		return is_count;
	if (!is_count && !hawk_sql_word_is(name, "sum"))
		return false;
	put_weighted(rewriting, call);
	return true;
}

/** Whether the words are one of those that are grouped by. */
static bool is_group(const struct rewriting *rewriting, struct sql_span span)
{
	const struct sql_list *groups = &rewriting->clauses.groups;

	for (size_t i = 0; i < groups->count; i++) {
		size_t length = span.end - span.start;
		size_t same = 0;

		if (groups->items[i].end - groups->items[i].start != length)
			continue;
		while (same < length &&
		       hawk_sql_words_equal(word_at(rewriting, span.start + same),
					    word_at(rewriting, groups->items[i].start + same)))
			same++;
		if (same == length)
			return true;
	}
	return false;
}

/** The same of one column. Without groups, SELECT DISTINCT, groups are all that is told apart. */
static bool is_group_column(const struct rewriting *rewriting, const struct column *column)
{
	const struct sql_list *groups = &rewriting->clauses.groups;

	if (rewriting->clauses.is_distinct)
		return !rewriting->is_joined && is_column_of(column, shared_columns);
	for (size_t i = 0; i < groups->count; i++) {
		struct column group = column_at(rewriting, groups->items[i].start);

		if (word_at(rewriting, groups->items[i].start)->kind == SQL_WORD_NAME &&
		    group.end == groups->items[i].end && columns_equal(&group, column))
			return true;
	}
	return false;
}

/** One of `sums`, or another function. 0: it is not known. */
static size_t put_call(struct rewriting *rewriting, size_t i)
{
	const struct sql_word *name = word_at(rewriting, i);
	size_t end = hawk_sql_words_closing(&rewriting->clauses.words, i + 1) + 1;
	bool is_sum = hawk_sql_word_is_one_of(name, sums);
	struct sql_list arguments;

	if (is_sum && end - i > 3 &&
	    !hawk_sql_clauses_cut(&rewriting->clauses, (struct sql_span){i + 2, end - 1},
				  &arguments))
		return 0;
	if (is_sum && (end - i <= 3 || arguments.count == 1)) {
		if (!put_sum(rewriting, (struct sql_span){i, end}))
			return 0;
		if (!is_at(rewriting, end, "filter") || !sign_at(rewriting, end + 1, '('))
			return end;
		i = end + 1;
		end = hawk_sql_words_closing(&rewriting->clauses.words, i) + 1;
		return check_rows(rewriting, (struct sql_span){i + 1, end - 1}) ? end : 0;
	}
	return check_function(rewriting, i) ? i + 1 : 0;
}

/** The word behind what is at `i`, of a clause that is about groups of blocks; 0 = it is about
 * more. */
static size_t put_group_word(struct rewriting *rewriting, size_t i)
{
	const struct sql_word *word = word_at(rewriting, i);
	struct column column;

	if (word->kind != SQL_WORD_NAME)
		return word->kind == SQL_WORD_QUOTED ? 0 : i + 1;
	if (sign_at(rewriting, i + 1, '('))
		return put_call(rewriting, i);
	if (hawk_sql_word_is(word, "in") || hawk_sql_word_is_one_of(word, strange_words))
		return 0;
	if (hawk_sql_word_is_one_of(word, hawk_sql_expression_words))
		return i + 1;
	column = column_at(rewriting, i);
	if (is_group_column(rewriting, &column))
		return column.end;
	/* With more tables a name may be a column before it is an alias. */
	if (column.table || rewriting->is_joined)
		return 0;
	return hawk_sql_clauses_alias(&rewriting->clauses, word) < rewriting->clauses.columns.count
		       ? i + 1
		       : 0;
}

static bool put_group_words(struct rewriting *rewriting, struct sql_span span)
{
	size_t i = span.start;

	if (is_group(rewriting, span))
		return true;
	if (span.end - span.start == 1 && sign_at(rewriting, i, '*'))
		return false;
	while (i && i < span.end)
		i = put_group_word(rewriting, i);
	return i >= span.end;
}

/** An alias that is a column's name as well would hide what is asked for. */
static bool check_aliases(const struct rewriting *rewriting)
{
	for (size_t i = 0; i < rewriting->clauses.columns.count; i++) {
		const struct sql_word *alias = word_at(rewriting, rewriting->clauses.aliases[i]);

		if (rewriting->clauses.aliases[i] &&
		    (hawk_sql_word_is_one_of(alias, shared_columns) ||
		     hawk_sql_word_is_one_of(alias, own_columns)))
			return false;
	}
	return true;
}

static bool put_columns(struct rewriting *rewriting)
{
	const struct sql_list *columns = &rewriting->clauses.columns;

	for (size_t i = 0; i < columns->count; i++)
		if (!put_group_words(rewriting, columns->items[i]))
			return false;
	return true;
}

/** What blocks are grouped by. With more tables an alias may be meant, or a column. */
static bool check_groups(const struct rewriting *rewriting)
{
	const struct sql_list *groups = &rewriting->clauses.groups;

	for (size_t i = 0; i < groups->count; i++)
		if (!check_rows(rewriting, groups->items[i]))
			return false;
	return !rewriting->is_joined || !rewriting->clauses.is_by_alias;
}

static bool put_order(struct rewriting *rewriting)
{
	const struct sql_clauses *clauses = &rewriting->clauses;

	for (size_t i = 0; i < clauses->order.count; i++) {
		struct sql_span term = clauses->order.items[i];
		const struct sql_word *first = word_at(rewriting, term.start);

		if (term.end - term.start == 1 &&
		    hawk_sql_clauses_alias(clauses, first) < clauses->columns.count)
			continue;
		if (!put_group_words(rewriting, term))
			return false;
	}
	return true;
}

/** Rows of SELECT DISTINCT come as they are found, and those of a site's blocks are looked up. */
static bool keeps_order(const struct rewriting *rewriting)
{
	struct sql_span where = rewriting->clauses.where;

	for (size_t i = where.start; i < where.end; i++)
		if (is_at(rewriting, i, "site"))
			return false;
	return !rewriting->has_sums && !rewriting->clauses.groups.count;
}

bool hawk_sql_sums_rewrite(const char *text, const char *end, struct hawk_text *ret)
{
	struct rewriting rewriting = {.copied = text, .to = ret};
	struct sql_clauses *clauses = &rewriting.clauses;

	if (!hawk_sql_clauses_take(text, end, clauses) || !find_table(&rewriting) ||
	    !check_aliases(&rewriting) || !check_groups(&rewriting))
		return false;
	if (!put_columns(&rewriting))
		return false;
	put_table(&rewriting);
	if (!check_rows(&rewriting,
			(struct sql_span){rewriting.table_words.end, clauses->from.end}) ||
	    !check_rows(&rewriting, clauses->where) ||
	    !put_group_words(&rewriting, clauses->having) || !put_order(&rewriting))
		return false;
	hawk_text_append(ret, rewriting.copied, (size_t)(end - rewriting.copied));
	if (clauses->is_distinct)
		return keeps_order(&rewriting);
	return rewriting.has_sums || clauses->groups.count;
}
