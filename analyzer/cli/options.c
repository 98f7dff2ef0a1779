/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads command lines by a verb's option tables, with getopt_long().
 */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { OPTIONS_MAX = 48, LONG_ONLY = 256 };

/** The tables of a verb laid out for getopt_long(). */
struct layout {
	const struct hawk_option *options[OPTIONS_MAX];
	struct option longs[OPTIONS_MAX + 1];
	char shorts[3 * OPTIONS_MAX + 3];
	size_t count;
};

static void lay_out(const struct hawk_verb *verb, struct layout *layout)
{
	char *shorts = layout->shorts;

	/* ':' asks for our own messages, '+' leaves the program's options alone. */
	if (verb->stops_at_operand)
		*shorts++ = '+';
	*shorts++ = ':';
	for (const struct hawk_option *option; (option = hawk_option_at(verb, layout->count));) {
		size_t i = layout->count++;

		if (i == OPTIONS_MAX)
			abort();
		layout->options[i] = option;
		layout->longs[i] = (struct option){
			.name = option->name,
			.has_arg = option->kind == HAWK_OPTION_PERHAPS ? optional_argument
				   : option->argument                  ? required_argument
								       : no_argument,
			.val = LONG_ONLY + (int)i,
		};
		if (!option->letter)
			continue;
		*shorts++ = option->letter;
		if (option->argument)
			*shorts++ = ':';
	}
	*shorts = '\0';
}

/** Returns the index of `text` in "a|b|c", from 1 on; 0 = none. */
static int read_choice(const char *words, const char *text)
{
	size_t length = strlen(text);
	int number = 1;

	for (const char *word = words; *word; number++) {
		size_t word_length = strcspn(word, "|");

		if (word_length == length && !strncmp(word, text, length))
			return number;
		word += word_length;
		word += *word == '|';
	}
	return 0;
}

static bool append_tracer_option(struct hawk_text *text, const char *prefix, const char *value)
{
	if (text->size)
		hawk_text_puts(text, ":");
	hawk_text_puts(text, prefix);
	hawk_text_puts(text, value);
	return !text->failed;
}

/** Appends KEY=VALUE; escapes colons in the value for HAWK_OPTS. */
static bool append_assignment(struct hawk_text *text, const char *assignment)
{
	const char *equals = strchr(assignment, '=');

	if (!equals || equals == assignment)
		return false;
	if (text->size)
		hawk_text_puts(text, ":");
	for (const char *at = assignment; *at; at++) {
		if (*at == ':')
			hawk_text_puts(text, "\\");
		hawk_text_append(text, at, 1);
	}
	return !text->failed;
}

/** Stores the option's value; returns false if `text` is no valid value. */
static bool store(const struct hawk_option *option, struct hawk_settings *settings,
		  const char *text)
{
	void *to = (char *)settings + option->offset;
	struct hawk_range_seconds *ages = to;
	struct hawk_range_bytes *sizes = to;
	struct hawk_strings *strings = to;
	struct hawk_number *number = to;
	struct hawk_site_query *site = to;
	uint64_t count;

	switch (option->kind) {
	case HAWK_OPTION_FLAG:
		*(bool *)to = true;
		return true;
	case HAWK_OPTION_COUNT:
		return hawk_quantity_parse_count(text, to) && *(uint64_t *)to > 0;
	case HAWK_OPTION_BYTES:
		return hawk_quantity_parse_bytes(text, to);
	case HAWK_OPTION_STRING:
		*(const char **)to = text;
		return *text;
	case HAWK_OPTION_PERHAPS:
		*(const char **)to = text ? text : "";
		return true;
	case HAWK_OPTION_NUMBER:
		number->given = true;
		return hawk_quantity_parse_count(text, &number->value);
	case HAWK_OPTION_STRINGS:
		if (strings->count == HAWK_STRINGS_MAX)
			return false;
		strings->items[strings->count++] = text;
		return *text;
	case HAWK_OPTION_CHOICE:
		*(int *)to = read_choice(option->argument, text);
		return *(int *)to;
	case HAWK_OPTION_SITE:
		site->given = true;
		return hawk_site_prefix_parse(text, &site->prefix);
	case HAWK_OPTION_SIZES:
		sizes->given = true;
		return hawk_quantity_parse_bytes_range(text, &sizes->range);
	case HAWK_OPTION_AGES:
		ages->given = true;
		return hawk_quantity_parse_seconds_range(text, &ages->range);
	case HAWK_OPTION_TRACER:
		return append_assignment(to, text);
	case HAWK_OPTION_TRACERS:
		return append_tracer_option(to, "", text);
	case HAWK_OPTION_DEPTH:
		return hawk_quantity_parse_count(text, &count) &&
		       append_tracer_option(to, "depth=", text);
	}
	return false;
}

static const struct hawk_option *by_code(const struct layout *layout, int code)
{
	if (code >= LONG_ONLY)
		return layout->options[code - LONG_ONLY];
	for (size_t i = 0; i < layout->count; i++)
		if (layout->options[i]->letter == code)
			return layout->options[i];
	return NULL;
}

/** Returns "top" of "--top=5". */
static void name_of_word(const char *word, char *ret, size_t size)
{
	size_t length;

	word += strspn(word, "-");
	length = strcspn(word, "=");
	snprintf(ret, size, "%.*s", (int)length, word);
}

/** Returns the option whose name is nearest to `name`, or NULL; `*starts` is the number of names
 * that begin with it. */
static const struct hawk_option *nearest_option(const struct layout *layout, const char *name,
						unsigned *starts)
{
	const struct hawk_option *nearest = NULL;
	unsigned best = UINT_MAX;

	*starts = 0;
	for (size_t i = 0; i < layout->count; i++) {
		const char *other = layout->options[i]->name;

		*starts += *name && !strncmp(name, other, strlen(name));
		if (hawk_is_nearer(name, other, &best))
			nearest = layout->options[i];
	}
	return nearest;
}

static void complain_unknown(const struct hawk_verb *verb, const struct layout *layout,
			     const char *word)
{
	const struct hawk_option *nearest;
	unsigned starts;
	char name[64];

	name_of_word(word, name, sizeof(name));
	nearest = nearest_option(layout, name, &starts);
	if (starts > 1)
		hawk_complain("option --%s is short for several; see hawk-core help %s", name,
			      verb->name);
	else if (nearest)
		hawk_complain("unknown option --%s (did you mean --%s?); see hawk-core help %s",
			      name, nearest->name, verb->name);
	else
		hawk_complain("unknown option --%s; see hawk-core help %s", name, verb->name);
}

/** Complains about the word that getopt could not read: `argv[optind - 1]`, or a letter inside it.
 */
static void complain(const struct hawk_verb *verb, const struct layout *layout, char **argv,
		     bool lacks_argument)
{
	const char *word = argv[optind - 1];

	if (lacks_argument && optopt < LONG_ONLY)
		hawk_complain("option -%c needs an argument; see hawk-core help %s", optopt,
			      verb->name);
	else if (lacks_argument)
		hawk_complain("option %s needs an argument; see hawk-core help %s", word,
			      verb->name);
	else if (optopt >= LONG_ONLY)
		hawk_complain("option --%s takes no argument; see hawk-core help %s",
			      layout->options[optopt - LONG_ONLY]->name, verb->name);
	else if (optopt > 0)
		hawk_complain("unknown option -%c; see hawk-core help %s", optopt, verb->name);
	else
		complain_unknown(verb, layout, word);
}

bool hawk_options_read(const struct hawk_verb *verb, int argc, char **argv,
		       struct hawk_settings *settings)
{
	struct layout layout = {0};
	int code;

	settings->types = verb->types;
	lay_out(verb, &layout);
	opterr = 0;
	optind = 0;
	while ((code = getopt_long(argc, argv, layout.shorts, layout.longs, NULL)) != -1) {
		const struct hawk_option *option;

		if (code == '?' || code == ':') {
			complain(verb, &layout, argv, code == ':');
			return false;
		}
		option = by_code(&layout, code);
		if (option && store(option, settings, optarg))
			continue;
		hawk_complain("bad value '%s' for --%s %s", optarg ? optarg : "",
			      option ? option->name : "?",
			      option && option->argument ? option->argument : "");
		return false;
	}
	if (settings->output && !strcmp(settings->output, "-"))
		settings->output = NULL;
	settings->operands = argv + optind;
	settings->count = argc - optind;
	return true;
}
