/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A scanner for demangled names that knows brackets and operators, and the shortening built on it.
 */
#include "hawk/names/function_name.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hawk/base/utf8.h"
#include "hawk/symbols/coroutines.h"

/** State of a scan of a name. */
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

/** Returns the length of the name's next unit: a character, or text whose brackets do not count
 * (operators, "(anonymous namespace)", "->"). */
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

/** Returns the name after its return type, if it has one: template functions do. */
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

/** A name that is being copied with changes. */
struct edit {
	struct hawk_text *text;
	const char *name;
	struct scan scan;
	struct collapse collapse;
	bool unbalanced; /**< a bracket does not close: to look for its end again is quadratic */
};

/** Copies the name, with replacements. `replace` may append other text and return where to go on,
 * or return NULL to copy the unit. */
static void copy_edited(struct edit *edit, const char *(*replace)(struct edit *edit, size_t unit))
{
	struct scan *scan = &edit->scan;

	for (scan->at = edit->name; *scan->at;) {
		size_t unit = unit_length(scan);
		const char *next = replace(edit, unit);

		if (next) {
			scan->at = next;
			scan->after_word_char = false;
		} else {
			hawk_text_append(edit->text, scan->at, unit);
			advance(scan, unit);
		}
	}
}

static const char *collapse_bracket(struct edit *edit, size_t unit)
{
	const char *at = edit->scan.at;
	size_t length;

	if (edit->unbalanced || !to_be_collapsed(&edit->scan, unit, edit->collapse))
		return NULL;
	length = bracket_length(edit->scan);
	edit->unbalanced = !length;
	if (length <= sizeof("<...>") - 1)
		return NULL;
	if (at == edit->name && *at == '<')
		append_self_type(edit->text, at, length);
	else
		hawk_text_puts(edit->text, *at == '(' ? "(...)" : "<...>");
	return at + length;
}

static void append_collapsed(struct hawk_text *text, const char *name, struct collapse collapse)
{
	copy_edited(&(struct edit){.text = text, .name = name, .collapse = collapse},
		    collapse_bracket);
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

/** Where `name` begins without as many outer scopes as it takes to fit behind "...::". */
static const char *inner_scope(const char *name, size_t width)
{
	size_t left = hawk_utf8_width(name); // columns from `scope` on
	const char *scope = name;
	const char *next;

	if (left <= width)
		return name;
	while (left + 5 > width && (next = next_scope(scope))) {
		left -= width_of(scope, (size_t)(next - scope));
		scope = next;
	}
	return scope;
}

/** Returns true if that is enough, and leaves a function its class. */
static bool inner_scope_fits(const char *name, size_t width)
{
	const char *scope = inner_scope(name, width);

	return scope == name ? hawk_utf8_width(scope) <= width
			     : next_scope(scope) && hawk_utf8_width(scope) + 5 <= width;
}

/** Drops outer scopes until it fits, then cuts. */
static void append_inner_scopes(struct hawk_text *text, const char *name, size_t width)
{
	const char *scope = inner_scope(name, width);

	if (scope != name && width > 8) {
		hawk_text_puts(text, "...::");
		width -= 5;
	}
	if (hawk_utf8_width(scope) <= width)
		hawk_text_puts(text, scope);
	else
		append_cut(text, scope, width);
}

static bool starts_with(const char *string, const char *prefix)
{
	return !strncmp(string, prefix, strlen(prefix));
}

/** Behind a template argument: at the ',' or '>' that ends it; NULL if nothing does. */
static const char *argument_end(struct scan scan)
{
	unsigned angle = scan.angle, paren = scan.paren;

	while (*scan.at) {
		size_t unit = unit_length(&scan);

		if (unit == 1 && scan.angle == angle && scan.paren == paren &&
		    (*scan.at == ',' || *scan.at == '>'))
			return scan.at;
		advance(&scan, unit);
	}
	return NULL;
}

/** Returns true for template arguments usually left at their default: allocators, comparisons, lock
 * policies. */
static bool is_default_argument(const char *argument)
{
	static const char *const starts[] = {
		"std::allocator<",      "std::char_traits<",
		"std::less<",           "std::hash<",
		"std::equal_to<",       "std::default_delete<",
		"std::__1::allocator<", "(__gnu_cxx::_Lock_policy)",
	};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (starts_with(argument, starts[i]))
			return true;
	return false;
}

static const char *drop_default(struct edit *edit, size_t unit)
{
	struct scan argument = edit->scan;
	const char *end;

	(void)unit;
	if (edit->unbalanced || !argument.angle || !starts_with(argument.at, ", ") ||
	    !is_default_argument(argument.at + 2))
		return NULL;
	argument.at += 2;
	end = argument_end(argument);
	edit->unbalanced = !end;
	return end;
}

static void append_without_defaults(struct hawk_text *text, const char *name)
{
	copy_edited(&(struct edit){.text = text, .name = name}, drop_default);
}

/** "vector<shop::Order>" becomes "vector<Order>". */
static void append_without_argument_scopes(struct hawk_text *text, const char *name)
{
	struct scan scan = {.at = name};

	while (*scan.at) {
		size_t unit = unit_length(&scan), word = 0;

		if (scan.angle && !scan.after_word_char && unit == 1)
			while (word_char(scan.at[word]))
				word++;
		if (word && scan.at[word] == ':' && scan.at[word + 1] == ':') {
			scan.at += word + 2;
			continue;
		}
		unit = word ? word : unit;
		hawk_text_append(text, scan.at, unit);
		if (word) {
			scan.at += word;
			scan.after_word_char = true;
		} else {
			advance(&scan, unit);
		}
	}
}

static const char *shorten_arguments(struct edit *edit, size_t unit)
{
	struct scan rest = edit->scan;
	const char *end;

	(void)unit;
	if (edit->unbalanced || rest.angle != 1 || rest.paren || *rest.at != ',')
		return NULL;
	do {
		rest.at++;
		end = argument_end(rest);
		rest.at = end;
	} while (end && *end == ',');
	edit->unbalanced = !end;
	if (!end || end - edit->scan.at <= 5)
		return NULL;
	hawk_text_puts(edit->text, ", ...");
	return end;
}

/** "map<Key, Value>" becomes "map<Key, ...>": the first one says most. */
static void append_first_arguments(struct hawk_text *text, const char *name)
{
	copy_edited(&(struct edit){.text = text, .name = name}, shorten_arguments);
}

/** Rust's "function::<i32>" is "function"; else what is left would be the arguments. */
static void append_without_turbofish(struct hawk_text *text, const char *name)
{
	size_t size = strlen(name), end = size;
	struct scan scan = {.at = name};

	while (*scan.at) {
		if (!scan.angle && !scan.paren && starts_with(scan.at, "::<"))
			end = (size_t)(scan.at - name);
		advance(&scan, unit_length(&scan));
	}
	hawk_text_append(text, name, size && name[size - 1] == '>' && end ? end : size);
}

/** Replaces the text by the output of `append`. */
static void rewrite(struct hawk_text *text,
		    void (*append)(struct hawk_text *text, const char *name))
{
	struct hawk_text result = {0};

	append(&result, text->bytes);
	if (result.failed || !result.bytes) {
		hawk_text_deinit(&result);
		return;
	}
	hawk_text_deinit(text);
	*text = result;
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

/** Finds the object that a shared_ptr keeps with its counters: the first template argument. */
static const char *shared_object(const char *name, size_t *length)
{
	static const char *const holders[] = {"std::_Sp_counted_ptr_inplace<",
					      "std::_Sp_counted_ptr<", "std::_Sp_counted_deleter<",
					      "std::__1::__shared_ptr_emplace<",
					      "std::__1::__shared_ptr_pointer<"};

	for (size_t i = 0; i < sizeof(holders) / sizeof(holders[0]); i++) {
		struct scan scan = {.at = name + strlen(holders[i]), .angle = 1};
		const char *end;

		if (!starts_with(name, holders[i]) || name[strlen(name) - 1] != '>')
			continue;
		end = argument_end(scan);
		if (!end || end == scan.at)
			return NULL;
		*length = (size_t)(end - scan.at) - (end[-1] == '*');
		return scan.at;
	}
	return NULL;
}

/** Safe characters, the usual name of std::string. */
static bool tidy_type(struct hawk_text *text, const char *name)
{
	hawk_utf8_append_safe(text, name);
	if (text->failed || !text->bytes)
		return false;
	replace_all(text, "std::__cxx11::", "std::");
	replace_all(text, "std::basic_string<char, std::char_traits<char>, std::allocator<char> >",
		    "std::string");
	return true;
}

void hawk_type_name_append(struct hawk_text *text, const char *name)
{
	struct hawk_text whole = {0};

	if (tidy_type(&whole, name))
		append_without_defaults(text, whole.bytes);
	else
		text->failed |= whole.failed;
	hawk_text_deinit(&whole);
}

/** As tidy_type(), without a return type; of a shared_ptr's block the object. */
static bool tidy(struct hawk_text *text, const char *name)
{
	size_t length = 0;
	const char *object;

	if (!tidy_type(text, skip_return_type(name)))
		return false;
	object = shared_object(text->bytes, &length);
	if (object) {
		struct hawk_text shorter = {0};

		hawk_text_append(&shorter, object, length);
		if (shorter.failed || !shorter.bytes)
			return true;
		hawk_text_deinit(text);
		*text = shorter;
	}
	return true;
}

/** Ever shorter forms of a name. */
struct form {
	void (*rewrite)(struct hawk_text *text, const char *name); /**< first, or NULL */
	struct collapse collapse;
};

void hawk_function_name_append(struct hawk_text *text, const char *name, size_t width)
{
	static const struct form forms[] = {
		{NULL, {false, 0}},
		{append_without_defaults, {false, 0}},
		{NULL, {true, 0}},
		{append_without_turbofish, {true, 0}},
		{append_without_argument_scopes, {true, 0}},
		{NULL, {true, 3}},
		{NULL, {true, 2}},
		{append_first_arguments, {true, 2}},
	};
	struct hawk_text whole = {0}, shorter = {0};
	size_t frame = strlen(HAWK_COROUTINE_FRAME);

	hawk_text_puts(text, ""); // never NULL, not even for an empty name
	if (!strncmp(name, HAWK_COROUTINE_FRAME, frame) && width > frame) {
		hawk_text_puts(text, HAWK_COROUTINE_FRAME);
		name += frame;
		width -= width == SIZE_MAX ? 0 : frame;
	}
	if (!tidy(&whole, name)) {
		hawk_text_deinit(&whole);
		return;
	}
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (forms[i].rewrite)
			rewrite(&whole, forms[i].rewrite);
		hawk_text_clear(&shorter);
		append_collapsed(&shorter, whole.bytes, forms[i].collapse);
		if (shorter.failed || hawk_utf8_width(shorter.bytes) <= width)
			break;
	}
	if (!shorter.failed && !inner_scope_fits(shorter.bytes, width)) {
		hawk_text_clear(&shorter);
		append_collapsed(&shorter, whole.bytes, (struct collapse){true, 1});
	}
	if (shorter.failed)
		text->failed = true;
	else
		append_inner_scopes(text, shorter.bytes, width);
	hawk_text_deinit(&whole);
	hawk_text_deinit(&shorter);
}
