/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The list of verbs, and the options that several verbs share.
 */
#include <limits.h>
#include <string.h>

#include "cli.h"

const char hawk_verb_exit_codes[] =
	"Exit codes: 0 ok, 2 usage, 3 not readable, 4 the answer is incomplete.";

const char hawk_verb_address_exit_codes[] =
	"Exit codes: 0 ok, 1 no live block at the address, 2 usage, 3 not readable, 4 the answer "
	"is incomplete.";

const struct hawk_option hawk_common_options[] = {
	{"help", 'h', HAWK_OPTION_FLAG, HAWK_AT(help), NULL, "print this help"},
	{0},
};

const struct hawk_option hawk_target_options[] = {
	{"sysroot", '\0', HAWK_OPTION_STRING, HAWK_AT(sysroot), "DIR",
	 "look for the program's files below DIR"},
	{"debug-dir", '\0', HAWK_OPTION_STRING, HAWK_AT(debug_directory), "DIR",
	 "look for separate debug files in DIR/.build-id, before /usr/lib/debug"},
	{"exe", '\0', HAWK_OPTION_STRING, HAWK_AT(executable), "FILE",
	 "the program's executable, if it is not at its old place"},
	{"table", '\0', HAWK_OPTION_STRING, HAWK_AT(table_file), "FILE",
	 "the process's table file (table=FILE in HAWK_OPTS), which is not in its core"},
	{"quiet", 'q', HAWK_OPTION_FLAG, HAWK_AT(quiet), NULL, "no progress on stderr"},
	{0},
};

const struct hawk_option hawk_query_options[] = {
	{"site", '\0', HAWK_OPTION_SITE, HAWK_AT(site), "HEX",
	 "only blocks of this site, an id or its first digits"},
	{"size", '\0', HAWK_OPTION_SIZES, HAWK_AT(size), "MIN[-MAX]",
	 "only blocks of so many requested bytes (10k, 1M-4M, -64)"},
	{"age", '\0', HAWK_OPTION_AGES, HAWK_AT(age), "MIN[-MAX]",
	 "only blocks of such an age (30, 10m, 1h-2h)"},
	{"type", '\0', HAWK_OPTION_STRING, HAWK_AT(type), "REGEX",
	 "only blocks of a matching type: C++ classes with virtual functions, annotated types"},
	{"module", '\0', HAWK_OPTION_STRING, HAWK_AT(module), "REGEX",
	 "only blocks with a matching module in their stack"},
	{"function", '\0', HAWK_OPTION_STRING, HAWK_AT(function), "REGEX",
	 "only blocks with a matching function in their stack"},
	{0},
};

const struct hawk_option hawk_color_options[] = {
	{"color", '\0', HAWK_OPTION_CHOICE, HAWK_AT(color), "auto|always|never",
	 "colour (auto: on a terminal, unless NO_COLOR is set)"},
	{0},
};

const struct hawk_option hawk_output_options[] = {
	{"output", 'o', HAWK_OPTION_STRING, HAWK_AT(output), "FILE",
	 "write the answer to FILE (mode 0600), which appears once it is complete; - is standard "
	 "output"},
	{"force", '\0', HAWK_OPTION_FLAG, HAWK_AT(force), NULL,
	 "replace FILE if it exists; of a symbolic link, the link"},
	{0},
};

const struct hawk_verb *const hawk_verbs[] = {
	&hawk_verb_run,
	&hawk_verb_analyze,
	&hawk_verb_whatis,
	&hawk_verb_blocks,
	&hawk_verb_leaks,
	&hawk_verb_refs,
	&hawk_verb_path,
	&hawk_verb_merge_paths,
	&hawk_verb_retained,
	&hawk_verb_sites,
	&hawk_verb_source,
	&hawk_verb_schema,
	&hawk_verb_growth,
	&hawk_verb_sql,
	&hawk_verb_diff,
	&hawk_verb_ledger,
	&hawk_verb_export,
	&hawk_verb_redact,
	&hawk_verb_snapshot,
	&hawk_verb_html,
	&hawk_verb_shell,
	&hawk_verb_help,
	NULL,
};

const struct hawk_verb *hawk_verb_find(const char *name)
{
	for (const struct hawk_verb *const *verb = hawk_verbs; *verb; verb++)
		if (!strcmp((*verb)->name, name))
			return *verb;
	return NULL;
}

enum {
	NAME_MAX_BYTES = 32,
	LETTERS_MAX = 2, /**< put in or left out; one letter for another counts as both */
};

static unsigned minimum(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/** Letters to remove from `a` and to insert to get `b`. */
static unsigned edit_distance(const char *a, const char *b)
{
	unsigned row[NAME_MAX_BYTES + 1];
	size_t length = strlen(b);

	if (length > NAME_MAX_BYTES || strlen(a) > NAME_MAX_BYTES)
		return UINT_MAX;
	for (unsigned j = 0; j <= length; j++)
		row[j] = j;
	for (unsigned i = 1; a[i - 1]; i++) {
		unsigned diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= length; j++) {
			unsigned above = row[j];

			row[j] = a[i - 1] == b[j - 1] ? diagonal : minimum(above, row[j - 1]) + 1;
			diagonal = above;
		}
	}
	return row[length];
}

bool hawk_is_nearer(const char *name, const char *other, unsigned *best)
{
	unsigned distance = edit_distance(name, other);

	if (distance >= *best || distance > LETTERS_MAX || distance > (strlen(name) + 1) / 2)
		return false;
	*best = distance;
	return true;
}

const struct hawk_verb *hawk_verb_nearest(const char *name)
{
	const struct hawk_verb *nearest = NULL;
	unsigned best = UINT_MAX;

	for (const struct hawk_verb *const *verb = hawk_verbs; *verb; verb++)
		if (hawk_is_nearer(name, (*verb)->name, &best))
			nearest = *verb;
	return nearest;
}
