/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The tables: every verb and every option of the command, with its help.
 */
#include <string.h>

#include "hawk_cli.h"

static const char exit_codes[] =
	"Exit codes: 0 ok, 2 usage, 3 not readable, 4 the answer is incomplete.";

#define AT(member) offsetof(struct hawk_settings, member)

const struct hawk_option hawk_common_options[] = {
	{"help", 'h', HAWK_OPTION_FLAG, AT(help), NULL, "print this help"},
	{0},
};

const struct hawk_option hawk_target_options[] = {
	{"sysroot", '\0', HAWK_OPTION_STRING, AT(sysroot), "DIR",
	 "look for the program's files below DIR"},
	{"debug-dir", '\0', HAWK_OPTION_STRING, AT(debug_directory), "DIR",
	 "look for separate debug files in DIR/.build-id, before /usr/lib/debug"},
	{"exe", '\0', HAWK_OPTION_STRING, AT(executable), "FILE",
	 "the program's executable, if it is not at its old place"},
	{"quiet", 'q', HAWK_OPTION_FLAG, AT(quiet), NULL, "no progress on stderr"},
	{0},
};

static const struct hawk_option color_options[] = {
	{"color", '\0', HAWK_OPTION_CHOICE, AT(color), "auto|always|never",
	 "colour (auto: on a terminal, unless NO_COLOR is set)"},
	{0},
};

static const struct hawk_option run_options[] = {
	{"option", 'o', HAWK_OPTION_TRACER, AT(tracer_options), "KEY=VALUE",
	 "set an option of the tracer; -o help=1 lists them"},
	{"opts", '\0', HAWK_OPTION_TRACERS, AT(tracer_options), "KEY=VALUE:...",
	 "set several, in the form of HAWK_OPTS"},
	{"depth", '\0', HAWK_OPTION_DEPTH, AT(tracer_options), "N",
	 "keep the innermost N frames of each stack (-o depth=N)"},
	{"tracer", '\0', HAWK_OPTION_STRING, AT(tracer), "FILE",
	 "use this libhawk_tracer.so instead of the one beside hawk-core"},
	{"quiet", 'q', HAWK_OPTION_FLAG, AT(quiet), NULL, "no warnings about lost cores"},
	{0},
};

static const struct hawk_option analyze_options[] = {
	{"pid", 'p', HAWK_OPTION_COUNT, AT(pid), "PID",
	 "look at a running or stopped process instead of a core"},
	{"top", 'n', HAWK_OPTION_COUNT, AT(top), "N", "show N sites"},
	{"sort", 's', HAWK_OPTION_CHOICE, AT(sort), "size|count|total",
	 "order sites by live bytes, live blocks, or bytes allocated since start"},
	{"depth", 'd', HAWK_OPTION_COUNT, AT(depth), "N", "show N lines of each stack"},
	{"full", 'f', HAWK_OPTION_FLAG, AT(full), NULL,
	 "everything: all sites, whole stacks, all threads, memory map, modules"},
	{"by", 'b', HAWK_OPTION_CHOICE, AT(by), "site|function|file|module",
	 "add up by what allocated (flat) and what called that (cum)"},
	{"focus", '\0', HAWK_OPTION_STRING, AT(focus), "REGEX",
	 "only sites with a function, file or module that matches"},
	{"ignore", '\0', HAWK_OPTION_STRING, AT(ignore), "REGEX",
	 "no sites with a function, file or module that matches"},
	{"min-bytes", '\0', HAWK_OPTION_BYTES, AT(min_bytes), "SIZE",
	 "only sites with at least SIZE live bytes (10k, 1M, 2GiB)"},
	{"json", 'j', HAWK_OPTION_FLAG, AT(json), NULL, "one JSON document"},
	{0},
};

static const struct hawk_option whatis_options[] = {
	{"pid", 'p', HAWK_OPTION_COUNT, AT(pid), "PID",
	 "look at a running or stopped process instead of a core"},
	{"depth", 'd', HAWK_OPTION_COUNT, AT(depth), "N", "show N lines of the stack"},
	{"full", 'f', HAWK_OPTION_FLAG, AT(full), NULL, "nothing shortened"},
	{"json", 'j', HAWK_OPTION_FLAG, AT(json), NULL, "one JSON document"},
	{0},
};

static const struct hawk_option blocks_options[] = {
	{"site", '\0', HAWK_OPTION_HEX, AT(site), "HEX", "only blocks of this site"},
	{"size", '\0', HAWK_OPTION_SIZES, AT(size), "MIN[-MAX]",
	 "only blocks of so many requested bytes (10k, 1M-4M, -64)"},
	{"age", '\0', HAWK_OPTION_AGES, AT(age), "MIN[-MAX]",
	 "only blocks of such an age (30, 10m, 1h-2h)"},
	{"module", '\0', HAWK_OPTION_STRING, AT(module), "REGEX",
	 "only blocks with a matching module in their stack"},
	{"function", '\0', HAWK_OPTION_STRING, AT(function), "REGEX",
	 "only blocks with a matching function in their stack"},
	{"json", 'j', HAWK_OPTION_FLAG, AT(json), NULL, "one JSON object a line"},
	{0},
};

const struct hawk_verb hawk_verbs[] = {
	{
		.name = "run",
		.arguments = "[options] [--] PROGRAM [ARGUMENTS...]",
		.summary = "run a program under the tracer",
		.details =
			"Runs PROGRAM with libhawk_tracer.so preloaded and core dumps switched on. "
			"When it dies, or when gcore takes a snapshot, the core holds a stack for "
			"every block of the heap; \"hawk-core analyze\" shows them. Warns on "
			"stderr "
			"if this system would lose the core or the heap in it.",
		.options = {run_options, hawk_common_options},
		.stops_at_operand = true,
		.exit_codes = "Exit code: the program's; 127 if it is not found, 126 if it cannot "
			      "be run.",
		.run = hawk_verb_run,
	},
	{
		.name = "analyze",
		.arguments = "[options] CORE | --pid PID",
		.summary = "who owns the memory of a dead or living process",
		.details = "Prints how the process died, where its memory went, and which stacks "
			   "allocated most of it.",
		.options = {analyze_options, hawk_target_options, color_options,
			    hawk_common_options},
		.exit_codes = exit_codes,
		.run = hawk_verb_analyze,
	},
	{
		.name = "whatis",
		.arguments = "[options] CORE ADDRESS... | --pid PID ADDRESS...",
		.summary = "what lies at an address",
		.details =
			"Says for each hexadecimal ADDRESS which block, stack, symbol or mapping "
			"it lies in.",
		.options = {whatis_options, hawk_target_options, color_options,
			    hawk_common_options},
		.exit_codes = exit_codes,
		.run = hawk_verb_whatis,
	},
	{
		.name = "blocks",
		.arguments = "[options] CORE",
		.summary = "list every live block",
		.details = "Prints one line for each live block, in ascending order of address.",
		.options = {blocks_options, hawk_target_options, hawk_common_options},
		.exit_codes = exit_codes,
		.run = hawk_verb_blocks,
	},
	{
		.name = "help",
		.arguments = "[VERB | completion]",
		.summary = "help on a verb",
		.details = "\"hawk-core help completion\" prints a completion script for bash.",
		.options = {hawk_common_options},
		.run = hawk_verb_help,
	},
	{0},
};

const struct hawk_verb *hawk_verb_find(const char *name)
{
	for (const struct hawk_verb *verb = hawk_verbs; verb->name; verb++)
		if (!strcmp(verb->name, name))
			return verb;
	return NULL;
}

enum { NAME_MAX_BYTES = 32, NEAR = 3 };

static unsigned minimum(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/** Insertions, deletions and replacements that make `a` into `b`; large if one is long. */
static unsigned edit_distance(const char *a, const char *b)
{
	unsigned row[NAME_MAX_BYTES + 1];
	size_t length = strlen(b);

	if (length > NAME_MAX_BYTES || strlen(a) > NAME_MAX_BYTES)
		return NAME_MAX_BYTES;
	for (unsigned j = 0; j <= length; j++)
		row[j] = j;
	for (unsigned i = 1; a[i - 1]; i++) {
		unsigned diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= length; j++) {
			unsigned replaced = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			row[j] = minimum(replaced, minimum(row[j], row[j - 1]) + 1);
		}
	}
	return row[length];
}

const struct hawk_verb *hawk_verb_nearest(const char *name)
{
	const struct hawk_verb *nearest = NULL;
	unsigned best = NEAR + 1;

	for (const struct hawk_verb *verb = hawk_verbs; verb->name; verb++) {
		unsigned distance = edit_distance(name, verb->name);

		if (distance < best && distance < strlen(verb->name)) {
			best = distance;
			nearest = verb;
		}
	}
	return nearest;
}
