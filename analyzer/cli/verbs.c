/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The list of verbs.
 */
#include <limits.h>
#include <string.h>

#include "cli.h"

const char hawk_verb_exit_codes[] =
	"Exit codes: 0 ok, 2 usage, 3 not readable, 4 the answer is incomplete.";

const char hawk_verb_address_exit_codes[] =
	"Exit codes: 0 ok, 1 no live block at the address, 2 usage, 3 not readable, 4 the answer "
	"is incomplete.";

const struct hawk_verb *const hawk_verbs[] = {
	&hawk_verb_run,
	&hawk_verb_list,
	&hawk_verb_analyze,
	&hawk_verb_whatis,
	&hawk_verb_blocks,
	&hawk_verb_heap,
	&hawk_verb_types,
	&hawk_verb_tasks,
	&hawk_verb_leaks,
	&hawk_verb_verify,
	&hawk_verb_threads,
	&hawk_verb_refs,
	&hawk_verb_path,
	&hawk_verb_merge_paths,
	&hawk_verb_retained,
	&hawk_verb_sites,
	&hawk_verb_source,
	&hawk_verb_schema,
	&hawk_verb_strings,
	&hawk_verb_duplicates,
	&hawk_verb_growth,
	&hawk_verb_sql,
	&hawk_verb_diff,
	&hawk_verb_ledger,
	&hawk_verb_export,
	&hawk_verb_redact,
	&hawk_verb_pack,
	&hawk_verb_dump,
	&hawk_verb_watch,
	&hawk_verb_handler,
	&hawk_verb_collect,
	&hawk_verb_snapshot,
	&hawk_verb_html,
	&hawk_verb_shell,
	&hawk_verb_mcp,
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
	LETTERS_MAX = 2, /**< letters added or left out; a replaced letter counts as both */
};

static unsigned minimum(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/** Returns the number of letters to remove from `a` and to insert to get `b`. */
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
