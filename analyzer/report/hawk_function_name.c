/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A scanner for demangled names that knows brackets and operators, and the shortening built on it.
 */
#include "hawk_function_name.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hawk_utf8.h"

/** Where a scan of a name stands. */
struct scan {
	const char *at;
	unsigned angle;       /**< depth of template argument lists */
	unsigned paren;       /**< depth of parentheses, brackets and braces */
	bool after_word_char; /**< the character before `at` belongs to an identifier */
};

static bool word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/** Length of "operator<<", "operator()" ... at `at`, symbol included; 0 if there is none. */
static size_t operator_length(const char *at)
{
	static const char *const symbols[] = {
		"<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "()", "[]", "<", ">"};
	static const size_t word = sizeof("operator") - 1;

	if (strncmp(at, "operator", word))
		return 0;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++)
		if (!strncmp(at + word, symbols[i], strlen(symbols[i])))
			return word + strlen(symbols[i]);
	return word_char(at[word]) ? 0 : word;
}

static const char anonymous[] = "(anonymous namespace)";

/** The next unit of the name: a character, or something that is one in spite of its brackets. */
static size_t unit_length(const struct scan *scan)
{
	size_t length = scan->after_word_char ? 0 : operator_length(scan->at);

	if (length)
		return length;
	if (!strncmp(scan->at, anonymous, sizeof(anonymous) - 1))
		return sizeof(anonymous) - 1;
	if (scan->at[0] == '-' && scan->at[1] == '>')
		return 2;
	return 1;
}

/** Steps over one unit of `length` and keeps the depths. */
static void advance(struct scan *scan, size_t length)
{
	char c = length == 1 ? *scan->at : '\0';

	if (c == '<')
		scan->angle++;
	else if (c == '>' && scan->angle)
		scan->angle--;
	else if (c == '(' || c == '{' || c == '[')
		scan->paren++;
	else if ((c == ')' || c == '}' || c == ']') && scan->paren)
		scan->paren--;
	scan->after_word_char = length == 1 && word_char(c);
	scan->at += length;
}

static bool begins_name(const char *at)
{
	return word_char(*at) || !strncmp(at, anonymous, sizeof(anonymous) - 1);
}

/** Behind the return type, if the name has one: template functions do. */
static const char *skip_return_type(const char *name)
{
	struct scan scan = {.at = name};
	const char *start = name;

	while (*scan.at) {
		size_t length = unit_length(&scan);

		if (!scan.angle && !scan.paren) {
			if (length > 1 && !strncmp(scan.at, "operator", 8))
				return start;
			if (length == 1 && *scan.at == '(')
				return start;
			if (length == 1 && *scan.at == ' ' && begins_name(scan.at + 1))
				start = scan.at + 1;
		}
		advance(&scan, length);
	}
	return name; // no parameters: C, Rust, or a variable
}

struct collapse {
	bool parameters;    /**< "(int, char)" becomes "(...)" */
	unsigned templates; /**< arguments at this depth and deeper become "<...>"; 0 = none */
};

/** The text between the brackets that open at `at`, or 0 if they do not close. */
static size_t bracket_length(struct scan scan)
{
	const char *start = scan.at;
	unsigned angle = scan.angle, paren = scan.paren;

	do {
		advance(&scan, unit_length(&scan));
	} while (*scan.at && (scan.angle > angle || scan.paren > paren));
	if (scan.angle > angle || scan.paren > paren)
		return 0;
	return (size_t)(scan.at - start);
}

static bool to_be_collapsed(const struct scan *scan, size_t unit, struct collapse collapse)
{
	if (unit != 1)
		return false;
	if (*scan->at == '(')
		return collapse.parameters && !scan->angle && !scan->paren && scan->at[1] != ')';
	return *scan->at == '<' && collapse.templates && scan->angle + 1 >= collapse.templates;
}

/** Rust's "<crate::module::Type>::method" stays "<...Type>": without the type it says nothing. */
static void append_self_type(struct hawk_text *text, const char *self, size_t length)
{
	size_t end = length - 1; // the closing bracket
	size_t start = end;

	while (start > 1 && word_char(self[start - 1]))
		start--;
	hawk_text_puts(text, "<...");
	if (start > 2 && self[start - 1] == ':')
		hawk_text_append(text, self + start, end - start);
	hawk_text_puts(text, ">");
}

static void append_collapsed(struct hawk_text *text, const char *name, struct collapse collapse)
{
	struct scan scan = {.at = name};
	bool balanced =
		true; // else do not look for the end of each bracket again: that is quadratic

	while (*scan.at) {
		size_t unit = unit_length(&scan);
		size_t length = 0;

		if (balanced && to_be_collapsed(&scan, unit, collapse)) {
			length = bracket_length(scan);
			balanced = length > 0;
		}
		if (length > sizeof("<...>") - 1) {
			if (scan.at == name && *scan.at == '<')
				append_self_type(text, name, length);
			else
				hawk_text_puts(text, *scan.at == '(' ? "(...)" : "<...>");
			scan.at += length;
			scan.after_word_char = false;
			continue;
		}
		hawk_text_append(text, scan.at, unit);
		advance(&scan, unit);
	}
}

/** Behind the next "::" outside of brackets, or NULL. */
static const char *next_scope(const char *name)
{
	struct scan scan = {.at = name};

	while (*scan.at) {
		if (!scan.angle && !scan.paren && scan.at[0] == ':' && scan.at[1] == ':')
			return scan.at + 2;
		advance(&scan, unit_length(&scan));
	}
	return NULL;
}

/** The longest start of `name` that leaves room for "...", at a character. */
static void append_cut(struct hawk_text *text, const char *name, size_t width)
{
	const char *at = name;

	for (size_t i = 0; i + 3 < width && *at; i++) {
		size_t length = hawk_utf8_length(at);

		at += length ? length : 1;
	}
	hawk_text_append(text, name, (size_t)(at - name));
	hawk_text_puts(text, "...");
}

/** Columns of the `length` bytes at `string`. */
static size_t width_of(const char *string, size_t length)
{
	const char *end = string + length;
	size_t width = 0;

	for (; string < end; width++) {
		size_t size = hawk_utf8_length(string);

		string += size ? size : 1;
	}
	return width;
}

/** Drops outer scopes until it fits, then cuts. */
static void append_inner_scopes(struct hawk_text *text, const char *name, size_t width)
{
	size_t left = hawk_utf8_width(name); // columns from `scope` on
	const char *scope = name;
	const char *next;

	while (left + 5 > width && (next = next_scope(scope))) {
		left -= width_of(scope, (size_t)(next - scope));
		scope = next;
	}
	if (scope != name && width > 8) {
		hawk_text_puts(text, "...::");
		width -= 5;
	}
	if (left <= width)
		hawk_text_puts(text, scope);
	else
		append_cut(text, scope, width);
}

/** Rust's "function::<...>" is "function"; else what is left would be the empty arguments. */
static void drop_turbofish(struct hawk_text *text)
{
	static const char turbofish[] = "::<...>";
	const size_t length = sizeof(turbofish) - 1;

	if (text->size > length && !strcmp(text->bytes + text->size - length, turbofish)) {
		text->size -= length;
		text->bytes[text->size] = '\0';
	}
}

static void replace_all(struct hawk_text *text, const char *from, const char *to)
{
	struct hawk_text result = {0};
	const char *at = text->bytes;
	const char *hit;

	while ((hit = strstr(at, from))) {
		hawk_text_append(&result, at, (size_t)(hit - at));
		hawk_text_puts(&result, to);
		at = hit + strlen(from);
	}
	hawk_text_puts(&result, at);
	if (result.failed) {
		hawk_text_deinit(&result);
		return;
	}
	hawk_text_deinit(text);
	*text = result;
}

/** Safe characters, no return type, the usual name of std::string. */
static bool tidy(struct hawk_text *text, const char *name)
{
	hawk_utf8_append_safe(text, skip_return_type(name));
	if (text->failed || !text->bytes)
		return false;
	replace_all(text, "std::__cxx11::", "std::");
	replace_all(text, "std::basic_string<char, std::char_traits<char>, std::allocator<char> >",
		    "std::string");
	return true;
}

void hawk_function_name_append(struct hawk_text *text, const char *name, size_t width)
{
	static const struct collapse steps[] = {
		{false, 0}, {true, 0}, {true, 3}, {true, 2}, {true, 1}};
	struct hawk_text whole = {0}, shorter = {0};

	hawk_text_puts(text, ""); // never NULL, not even for an empty name
	if (!tidy(&whole, name)) {
		hawk_text_deinit(&whole);
		return;
	}
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		hawk_text_clear(&shorter);
		append_collapsed(&shorter, whole.bytes, steps[i]);
		if (shorter.failed || hawk_utf8_width(shorter.bytes) <= width)
			break;
	}
	if (!shorter.failed && hawk_utf8_width(shorter.bytes) > width)
		drop_turbofish(&shorter);
	if (shorter.failed)
		text->failed = true;
	else if (hawk_utf8_width(shorter.bytes) <= width)
		hawk_text_puts(text, shorter.bytes);
	else
		append_inner_scopes(text, shorter.bytes, width);
	hawk_text_deinit(&whole);
	hawk_text_deinit(&shorter);
}

const char *hawk_path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}
