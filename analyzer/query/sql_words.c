/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Cuts a statement into words as SQLite does, for what is taken at all.
 */
#include "sql_words.h"

#include <string.h>
#include <strings.h>

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       (unsigned char)c >= 0x80;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

/** Behind the closing `quote`, doubled ones being part of the text; NULL: it is not closed. */
static const char *skip_quoted(const char *at, const char *end, char quote)
{
	for (at++; at < end; at++) {
		if (*at != quote)
			continue;
		if (quote == ']' || at + 1 >= end || at[1] != quote)
			return at + 1;
		at++;
	}
	return NULL;
}

/** Digits, hexadecimal ones, a point, an exponent: whether it is well-formed is for SQLite to say.
 */
static const char *skip_number(const char *at, const char *end)
{
	bool is_hexadecimal = end - at > 1 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X');

	for (at++; at < end; at++) {
		bool is_sign = (*at == '+' || *at == '-') && (at[-1] == 'e' || at[-1] == 'E') &&
			       !is_hexadecimal;

		if (!is_digit(*at) && !is_letter(*at) && *at != '.' && !is_sign)
			break;
	}
	return at;
}

static const char *skip_name(const char *at, const char *end)
{
	while (at < end && (is_letter(*at) || is_digit(*at) || *at == '$'))
		at++;
	return at;
}

/** The word at `at`, without its depth; NULL: refused. */
static const char *take_word(const char *at, const char *end, struct sql_word *word)
{
	const char *after = at + 1;

	word->start = at;
	if (is_letter(*at)) {
		word->kind = SQL_WORD_NAME;
		after = skip_name(at, end);
	} else if (is_digit(*at) || (*at == '.' && at + 1 < end && is_digit(at[1]))) {
		word->kind = SQL_WORD_NUMBER;
		after = skip_number(at, end);
	} else if (*at == '\'') {
		word->kind = SQL_WORD_STRING;
		after = skip_quoted(at, end, '\'');
	} else if (*at == '"' || *at == '`' || *at == '[') {
		word->kind = SQL_WORD_QUOTED;
		after = skip_quoted(at, end, *at == '[' ? ']' : *at);
	} else if (strchr("()+-*/%<>=!&|~,.", *at) && *at) {
		word->kind = SQL_WORD_SIGN;
	} else {
		return NULL;
	}
	if (after)
		word->length = (size_t)(after - at);
	return after;
}

/** `--` and the slash with the star. */
static bool is_comment(const char *at, const char *end)
{
	return at + 1 < end && ((at[0] == '-' && at[1] == '-') || (at[0] == '/' && at[1] == '*'));
}

bool hawk_sql_words_split(const char *text, const char *end, struct sql_words *ret)
{
	unsigned depth = 0;

	ret->count = 0;
	while (text < end && *text != ';') {
		struct sql_word *word = &ret->items[ret->count];

		if (is_space(*text)) {
			text++;
			continue;
		}
		if (ret->count == SQL_WORDS_MAX || is_comment(text, end))
			return false;
		text = take_word(text, end, word);
		if (!text)
			return false;
		if (hawk_sql_word_is_sign(word, ')') && !depth--)
			return false;
		word->depth = depth;
		depth += hawk_sql_word_is_sign(word, '(');
		ret->count++;
	}
	return !depth;
}

bool hawk_sql_word_is(const struct sql_word *word, const char *name)
{
	return word->kind == SQL_WORD_NAME && strlen(name) == word->length &&
	       !strncasecmp(word->start, name, word->length);
}

bool hawk_sql_word_is_one_of(const struct sql_word *word, const char *const *names)
{
	for (; *names; names++)
		if (hawk_sql_word_is(word, *names))
			return true;
	return false;
}

bool hawk_sql_word_is_sign(const struct sql_word *word, char sign)
{
	return word->kind == SQL_WORD_SIGN && *word->start == sign;
}

bool hawk_sql_words_equal(const struct sql_word *a, const struct sql_word *b)
{
	if (a->kind != b->kind || a->length != b->length)
		return false;
	if (a->kind == SQL_WORD_NAME)
		return !strncasecmp(a->start, b->start, a->length);
	return !memcmp(a->start, b->start, a->length);
}

size_t hawk_sql_words_closing(const struct sql_words *words, size_t open)
{
	size_t i = open + 1;

	while (words->items[i].depth != words->items[open].depth)
		i++;
	return i;
}
