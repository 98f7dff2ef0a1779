/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The words of a statement, as far as they are needed to recognise simple ones: names, numbers,
 * strings, and signs of one character. Not a parser; what it does not know it refuses.
 */
#ifndef HAWK_SQL_WORDS_H
#define HAWK_SQL_WORDS_H

#include <stdbool.h>
#include <stddef.h>

enum { SQL_WORDS_MAX = 400 };

enum sql_word_kind {
	SQL_WORD_NAME = 1, /**< keyword or identifier */
	SQL_WORD_QUOTED,   /**< "...", `...`, [...] */
	SQL_WORD_NUMBER,
	SQL_WORD_STRING,
	SQL_WORD_SIGN, /**< one character of an operator, a bracket, ',' ... */
};

struct sql_word {
	const char *start; /**< within the statement */
	size_t length;
	enum sql_word_kind kind;
	unsigned depth; /**< of brackets around it; both of a pair have that of what is outside */
};

struct sql_words {
	struct sql_word items[SQL_WORDS_MAX];
	size_t count;
};

/** False: too many words, brackets that do not match, a comment, a parameter, or a character of no
 * known meaning. A ';' ends it and is left out; `end` is the statement's. */
bool hawk_sql_words_split(const char *text, const char *end, struct sql_words *ret);

/** Whether `word` is the unquoted name `name`, whatever the case. */
bool hawk_sql_word_is(const struct sql_word *word, const char *name);

/** Whether it is one of `names`, which ends with NULL. */
bool hawk_sql_word_is_one_of(const struct sql_word *word, const char *const *names);

bool hawk_sql_word_is_sign(const struct sql_word *word, char sign);

/** The same word, whatever the case of names. */
bool hawk_sql_words_equal(const struct sql_word *a, const struct sql_word *b);

/** The bracket that closes the one at `open`. */
size_t hawk_sql_words_closing(const struct sql_words *words, size_t open);

#endif
