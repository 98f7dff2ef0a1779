/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The options shared by several verbs, each defined once.
 */
#include <assert.h>

#include "cli.h"

/** In the order of help texts; an option's bit in hawk_verb.shared is 1 << its index. */
static const struct hawk_option shared[] = {
	{"pid", 'p', HAWK_OPTION_COUNT, HAWK_AT(pid), "PID",
	 "look at a running or stopped process instead of a core"},
	{"last", '\0', HAWK_OPTION_PERHAPS, HAWK_AT(last), "[=NAME|PID]",
	 "the newest core that \"hawk-core list\" finds, or the newest of a program or process"},
	{"top", 'n', HAWK_OPTION_COUNT, HAWK_AT(top), "N", "show N entries of each list"},
	{"depth", 'd', HAWK_OPTION_COUNT, HAWK_AT(depth), "N",
	 "show N lines per stack, N levels of a tree"},
	{"full", 'f', HAWK_OPTION_FLAG, HAWK_AT(full), NULL, "everything, and nothing shortened"},
	{"threads", '\0', HAWK_OPTION_COUNT, HAWK_AT(threads), "N",
	 "work with N threads; as many as there are processors if not given"},
	{"json", 'j', HAWK_OPTION_FLAG, HAWK_AT(json), NULL, "one JSON document"},
	{"folded", '\0', HAWK_OPTION_FLAG, HAWK_AT(folded), NULL,
	 "the tree as folded stacks for flame graphs: \"root;site;site bytes\""},
	{"source-dir", '\0', HAWK_OPTION_STRINGS, HAWK_AT(source_directories), "DIR",
	 "look for source files below DIR first, by as much of their path as fits; may be "
	 "repeated"},
	{"what", 'w', HAWK_OPTION_CHOICE, HAWK_AT(what), "live|total|lost|retained|paths",
	 "live blocks; all that was allocated since the start; what leaked; live blocks below what "
	 "retains them; or below the shortest path to them"},
	{"plumbing", '\0', HAWK_OPTION_FLAG, HAWK_AT(plumbing), NULL,
	 "keep the frames of allocators and standard libraries at the end of stacks"},
	{"focus", '\0', HAWK_OPTION_STRING, HAWK_AT(focus), "REGEX",
	 "only sites with a function, file, module, scope or type that matches"},
	{"ignore", '\0', HAWK_OPTION_STRING, HAWK_AT(ignore), "REGEX",
	 "no sites with a function, file, module, scope or type that matches"},
	{"min-bytes", '\0', HAWK_OPTION_BYTES, HAWK_AT(min_bytes), "SIZE",
	 "only sites with at least SIZE live bytes (10k, 1M, 2GiB)"},
	{"site", '\0', HAWK_OPTION_SITE, HAWK_AT(site), "HEX",
	 "only blocks of this site, an id or its first digits"},
	{"size", '\0', HAWK_OPTION_SIZES, HAWK_AT(size), "MIN[-MAX]",
	 "only blocks of so many requested bytes (10k, 1M-4M, -64)"},
	{"age", '\0', HAWK_OPTION_AGES, HAWK_AT(age), "MIN[-MAX]",
	 "only blocks of this age (30, 10m, 1h-2h)"},
	{"type", '\0', HAWK_OPTION_STRING, HAWK_AT(type), "REGEX",
	 "only blocks of a matching type: C++ classes with virtual functions, annotated types"},
	{"module", '\0', HAWK_OPTION_STRING, HAWK_AT(module), "REGEX",
	 "only blocks with a matching module in their stack"},
	{"function", '\0', HAWK_OPTION_STRING, HAWK_AT(function), "REGEX",
	 "only blocks with a matching function in their stack"},
	{"sysroot", '\0', HAWK_OPTION_STRING, HAWK_AT(sysroot), "DIR",
	 "look for the program's files below DIR"},
	{"debug-dir", '\0', HAWK_OPTION_STRING, HAWK_AT(debug_directory), "DIR",
	 "look for separate debug files in DIR/.build-id, before /usr/lib/debug"},
	{"module-dir", '\0', HAWK_OPTION_STRING, HAWK_AT(module_directory), "DIR",
	 "look for programs, libraries and debug files anywhere below DIR, by build-id"},
	{"debuginfod", '\0', HAWK_OPTION_PERHAPS, HAWK_AT(debuginfod), "[=URL]",
	 "fetch missing files from the debuginfod server URL, or those of DEBUGINFOD_URLS"},
	{"max-download", '\0', HAWK_OPTION_BYTES, HAWK_AT(max_download), "SIZE",
	 "fetch SIZE at most (2G if not given)"},
	{"exe", '\0', HAWK_OPTION_STRING, HAWK_AT(executable), "FILE",
	 "the program's executable, if it is not at its old place"},
	{"table", '\0', HAWK_OPTION_STRING, HAWK_AT(table_file), "FILE",
	 "the process's table file (table=FILE in HAWK_OPTS), which is not in its core"},
	{"no-native", '\0', HAWK_OPTION_FLAG, HAWK_AT(no_native), NULL,
	 "do not read allocators' own structures where the process was not traced"},
	{"guest", '\0', HAWK_OPTION_CHOICE, HAWK_AT(guest), "all|lua|python|java|none",
	 "interpreters whose objects are told apart"},
	{"no-types", '\0', HAWK_OPTION_FLAG, HAWK_AT(no_types), NULL,
	 "group blocks of untraced processes by size, not by their types in debug information"},
	{"quiet", 'q', HAWK_OPTION_FLAG, HAWK_AT(quiet), NULL, "no progress on stderr"},
	{"output", 'o', HAWK_OPTION_STRING, HAWK_AT(output), "FILE",
	 "write the answer to FILE (mode 0600), which appears once it is complete; - is standard "
	 "output"},
	{"force", '\0', HAWK_OPTION_FLAG, HAWK_AT(force), NULL,
	 "replace FILE if it exists; if it is a symbolic link, replace the link"},
	{"color", '\0', HAWK_OPTION_CHOICE, HAWK_AT(color), "auto|always|never",
	 "colour (auto: on a terminal, unless NO_COLOR is set)"},
};

static const struct hawk_option help = {"help",        'h',  HAWK_OPTION_FLAG,
					HAWK_AT(help), NULL, "print this help"};

const struct hawk_option *hawk_option_at(const struct hawk_verb *verb, size_t index)
{
	enum { COUNT = sizeof(shared) / sizeof(shared[0]) };
	size_t own = 0, bit = 0;

	static_assert(HAWK_TAKES_COLOR == UINT64_C(1) << (COUNT - 1),
		      "a bit for each shared option");
	while (verb->options && verb->options[own].name)
		if (own++ == index)
			return &verb->options[index];
	for (index -= own; bit < COUNT; bit++)
		if (verb->shared >> bit & 1 && !index--)
			return &shared[bit];
	return index ? NULL : &help;
}
