/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The table of tools, their schemas, and command lines from their arguments.
 */
#include "tools.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hawk/base/error.h"

#define TOP "--top=10"

const struct hawk_mcp_tool hawk_mcp_open = {
	.name = "open",
	.verb = &hawk_verb_analyze,
	.operand = "core",
	.operand_help = "path of the core, snapshot or table file, which replaces the open one",
	.word = "--brief",
};

static const struct hawk_mcp_tool analyze = {.verb = &hawk_verb_analyze, .word = TOP};
static const struct hawk_mcp_tool leaks = {.verb = &hawk_verb_leaks, .word = TOP};
static const struct hawk_mcp_tool path = {
	.verb = &hawk_verb_path,
	.operand = "addresses",
	.operand_help = "hexadecimal addresses of blocks",
	.word = TOP,
};
static const struct hawk_mcp_tool merge_paths = {.verb = &hawk_verb_merge_paths, .word = TOP};
static const struct hawk_mcp_tool refs = {
	.verb = &hawk_verb_refs,
	.operand = "addresses",
	.operand_help = "hexadecimal addresses of blocks",
	.word = TOP,
};
static const struct hawk_mcp_tool whatis = {
	.verb = &hawk_verb_whatis,
	.operand = "addresses",
	.operand_help = "hexadecimal addresses",
};
static const struct hawk_mcp_tool retained = {.verb = &hawk_verb_retained, .word = TOP};
static const struct hawk_mcp_tool types = {.verb = &hawk_verb_types, .word = TOP};
static const struct hawk_mcp_tool tasks = {.verb = &hawk_verb_tasks, .word = TOP};
static const struct hawk_mcp_tool growth = {.verb = &hawk_verb_growth, .word = TOP};
static const struct hawk_mcp_tool diff = {
	.verb = &hawk_verb_diff,
	.operand = "after",
	.operand_help = "path of a later core of the program; the open one is the earlier",
	.word = TOP,
};
static const struct hawk_mcp_tool sql = {
	.verb = &hawk_verb_sql,
	.operand = "query",
	.operand_help = "SELECT ... over the tables, or .schema, which lists them",
	.word = "--timeout=60",
};
static const struct hawk_mcp_tool source = {
	.verb = &hawk_verb_source,
	.operand = "function",
	.operand_help = "extended regular expression for names of functions",
	.word = TOP,
};

static const struct hawk_mcp_tool *const tools[] = {
	&hawk_mcp_open, &analyze, &leaks, &path,   &merge_paths, &refs, &whatis,
	&retained,      &types,   &tasks, &growth, &diff,        &sql,  &source,
};

/** Options of verbs that tools have too. A new one that names a file must not come in by itself. */
static const char *const offered[] = {
	"top",     "depth",      "full",     "site",        "size",  "age",
	"type",    "module",     "function", "focus",       "what",  "by",
	"ignore",  "min-bytes",  "sort",     "plumbing",    "kinds", "context",
	"verdict", "heuristics", "no-graph", "no-suspects",
};

/** Options that `open` takes. */
static const char *const offered_to_open[] = {"exe", "debug-dir", "sysroot"};

static const char *name_of(const struct hawk_mcp_tool *tool)
{
	return tool->name ? tool->name : tool->verb->name;
}

static bool takes_addresses(const struct hawk_mcp_tool *tool)
{
	return tool->operand && tool->verb->operands_max < 0;
}

static bool needs_operand(const struct hawk_mcp_tool *tool)
{
	return tool == &hawk_mcp_open || tool->verb->operands_min;
}

static bool is_in(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static bool is_offered(const struct hawk_mcp_tool *tool, const struct hawk_option *option)
{
	if (tool == &hawk_mcp_open)
		return is_in(offered_to_open, sizeof(offered_to_open) / sizeof(*offered_to_open),
			     option->name);
	return is_in(offered, sizeof(offered) / sizeof(*offered), option->name);
}

/** Makes the schema of a choice from "a|b|c". */
static json_t *schema_of_choice(const char *words)
{
	json_t *list = json_array();

	while (*words) {
		size_t length = strcspn(words, "|");

		json_array_append_new(list, json_stringn(words, length));
		words += length + (words[length] == '|');
	}
	return json_pack("{s:s, s:o}", "type", "string", "enum", list);
}

static json_t *schema_of_option(const struct hawk_option *option)
{
	json_t *schema;

	if (option->kind == HAWK_OPTION_FLAG)
		schema = json_pack("{s:s}", "type", "boolean");
	else if (option->kind == HAWK_OPTION_COUNT || option->kind == HAWK_OPTION_NUMBER)
		schema = json_pack("{s:s, s:i}", "type", "integer", "minimum",
				   option->kind == HAWK_OPTION_COUNT);
	else if (option->kind == HAWK_OPTION_CHOICE)
		schema = schema_of_choice(option->argument);
	else
		schema = json_pack("{s:s}", "type", "string");
	json_object_set_new(schema, "description", json_string(option->help));
	return schema;
}

static json_t *schema_of_operand(const struct hawk_mcp_tool *tool)
{
	if (takes_addresses(tool))
		return json_pack("{s:s, s:{s:s}, s:s}", "type", "array", "items", "type", "string",
				 "description", tool->operand_help);
	return json_pack("{s:s, s:s}", "type", "string", "description", tool->operand_help);
}

static json_t *schema_of_tool(const struct hawk_mcp_tool *tool)
{
	json_t *properties = json_object();
	json_t *required = json_array();
	const struct hawk_option *option;

	if (tool->operand)
		json_object_set_new(properties, tool->operand, schema_of_operand(tool));
	if (needs_operand(tool))
		json_array_append_new(required, json_string(tool->operand));
	for (size_t i = 0; (option = hawk_option_at(tool->verb, i)); i++)
		if (is_offered(tool, option))
			json_object_set_new(properties, option->name, schema_of_option(option));
	json_object_set_new(properties, "offset",
			    json_pack("{s:s, s:i, s:s}", "type", "integer", "minimum", 0,
				      "description",
				      "first byte of the answer, to go on with one that was cut"));
	return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties", properties,
			 "required", required, "additionalProperties", false);
}

static json_t *describe(const struct hawk_mcp_tool *tool)
{
	bool opens = tool == &hawk_mcp_open;

	return json_pack("{s:s, s:s, s:s, s:o, s:{s:b, s:b}}", "name", name_of(tool), "title",
			 opens ? "open a core, and see who owned its memory" : tool->verb->summary,
			 "description",
			 opens ? "Loads the core that all other tools ask. The answer is the first "
				 "screen, as of hawk-core analyze --brief."
			       : tool->verb->details,
			 "inputSchema", schema_of_tool(tool), "annotations", "readOnlyHint", true,
			 "openWorldHint", false);
}

json_t *hawk_mcp_list_tools(void)
{
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof(tools) / sizeof(*tools); i++)
		json_array_append_new(list, describe(tools[i]));
	return list;
}

const struct hawk_mcp_tool *hawk_mcp_find_tool(const char *name)
{
	for (size_t i = 0; i < sizeof(tools) / sizeof(*tools); i++)
		if (!strcmp(name_of(tools[i]), name))
			return tools[i];
	return NULL;
}

static void add_word(struct hawk_mcp_words *words, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add_word(struct hawk_mcp_words *words, const char *format, ...)
{
	char **items = realloc(words->items, ((size_t)words->count + 2) * sizeof(*items));
	va_list arguments;

	if (!items)
		hawk_enomem_end();
	words->items = items;
	va_start(arguments, format);
	if (vasprintf(&items[words->count], format, arguments) < 0)
		hawk_enomem_end();
	va_end(arguments);
	items[++words->count] = NULL;
}

static const struct hawk_option *find_option(const struct hawk_mcp_tool *tool, const char *name)
{
	const struct hawk_option *option;

	for (size_t i = 0; (option = hawk_option_at(tool->verb, i)); i++)
		if (!strcmp(option->name, name))
			return is_offered(tool, option) ? option : NULL;
	return NULL;
}

/** Adds an option's word. Numbers may be strings, and strings numbers: the verb reads words. */
static bool add_option(const struct hawk_mcp_tool *tool, const char *name, const json_t *value,
		       struct hawk_mcp_words *words)
{
	const struct hawk_option *option = find_option(tool, name);

	if (!option) {
		hawk_complain("%s takes no argument \"%s\"", name_of(tool), name);
		return false;
	}
	if (option->kind == HAWK_OPTION_FLAG && json_is_boolean(value)) {
		if (json_is_true(value))
			add_word(words, "--%s", name);
	} else if (option->kind != HAWK_OPTION_FLAG && json_is_string(value)) {
		add_word(words, "--%s=%s", name, json_string_value(value));
	} else if (option->kind != HAWK_OPTION_FLAG && json_is_integer(value)) {
		add_word(words, "--%s=%lld", name, (long long)json_integer_value(value));
	} else {
		hawk_complain("\"%s\" must be %s", name,
			      option->kind == HAWK_OPTION_FLAG ? "true or false"
							       : "a string or an integer");
		return false;
	}
	return true;
}

static bool add_options(const struct hawk_mcp_tool *tool, json_t *arguments,
			struct hawk_mcp_words *words)
{
	const char *name;
	json_t *value;

	json_object_foreach(arguments, name, value)
	{
		if (!strcmp(name, "offset") || (tool->operand && !strcmp(name, tool->operand)))
			continue;
		if (!add_option(tool, name, value, words))
			return false;
	}
	return true;
}

static bool add_operands(const struct hawk_mcp_tool *tool, const json_t *value,
			 struct hawk_mcp_words *words)
{
	bool right = takes_addresses(tool) ? json_is_array(value) : json_is_string(value);
	const json_t *item;
	size_t i;

	if (!value)
		right = !needs_operand(tool);
	json_array_foreach(value, i, item)
	{
		right = right && json_is_string(item);
		if (right)
			add_word(words, "%s", json_string_value(item));
	}
	if (json_is_string(value))
		add_word(words, "%s", json_string_value(value));
	if (!right)
		hawk_complain("%s needs \"%s\", %s", name_of(tool), tool->operand,
			      takes_addresses(tool) ? "an array of strings" : "a string");
	return right;
}

bool hawk_mcp_words_make(const struct hawk_mcp_tool *tool, json_t *arguments,
			 struct hawk_mcp_words *ret)
{
	*ret = (struct hawk_mcp_words){0};
	add_word(ret, "%s", tool->verb->name);
	add_word(ret, "--json");
	if (tool->word)
		add_word(ret, "%s", tool->word);
	if (!add_options(tool, arguments, ret))
		return false;
	add_word(ret, "--");
	return !tool->operand || add_operands(tool, json_object_get(arguments, tool->operand), ret);
}

void hawk_mcp_words_deinit(struct hawk_mcp_words *words)
{
	for (int i = 0; i < words->count; i++)
		free(words->items[i]);
	free(words->items);
}
