/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The `hawk-core` command: finds the verb and leaves the rest to it; a file alone is analyzed.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static int complain_unknown_verb(const char *name)
{
	const struct hawk_verb *nearest = hawk_verb_nearest(name);

	if (nearest)
		hawk_complain("unknown command '%s' (did you mean %s?)", name, nearest->name);
	else
		hawk_complain("there is no file '%s', and no command of that name; hawk-core help "
			      "lists the commands",
			      name);
	return HAWK_EXIT_USAGE;
}

static int run_settings(const struct hawk_verb *verb, struct hawk_settings *settings)
{
	if (settings->help)
		return hawk_help_verb(verb);
	return hawk_verb_asks(verb) ? hawk_verb_ask(verb, settings) : verb->run(settings);
}

/** Reads argv[1..] for `verb`, and has it answer. */
static int run_verb(const struct hawk_verb *verb, int argc, char **argv)
{
	struct hawk_settings settings = {0};
	int code = HAWK_EXIT_USAGE;

	if (hawk_options_read(verb, argc, argv, &settings))
		code = run_settings(verb, &settings);
	hawk_text_deinit(&settings.tracer_options);
	return code;
}

static bool is_input(const char *word)
{
	return !strcmp(word, "-") || access(word, F_OK) == 0;
}

/** "hawk-core -n 1 CORE": options of analyze before anything else. */
static int run_options(int argc, char **argv)
{
	struct hawk_settings settings = {0};
	const char *word;

	if (!hawk_options_read(&hawk_verb_analyze, argc, argv, &settings))
		return HAWK_EXIT_USAGE;
	word = settings.count ? settings.operands[0] : NULL;
	if (word && !is_input(word) && hawk_verb_find(word)) {
		hawk_complain("%s: the command comes first, then its options", word);
		return HAWK_EXIT_USAGE;
	}
	return run_settings(&hawk_verb_analyze, &settings);
}

/* Ends the process; an unfinished output file has no name yet and vanishes. */
static void end_without_memory(void)
{
	static const char message[] = "hawk-core: out of memory\n";
	ssize_t written = write(STDERR_FILENO, message, sizeof(message) - 1);

	(void)written;
	_exit(HAWK_EXIT_UNREADABLE);
}

int main(int argc, char **argv)
{
	const struct hawk_verb *verb;

	hawk_enomem_set_end(end_without_memory);
	if (argc < 2) {
		hawk_complain("a command is missing; hawk-core help lists them");
		return HAWK_EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("hawk-core " HAWK_VERSION);
		return hawk_help_finish();
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return hawk_help_all();
	verb = hawk_verb_find(argv[1]);
	if (verb)
		return run_verb(verb, argc - 1, argv + 1);
	if (argv[1][0] == '-' && argv[1][1])
		return run_options(argc, argv);
	/* "hawk-core CORE" means analyze, the usual first question. */
	if (is_input(argv[1]))
		return run_verb(&hawk_verb_analyze, argc, argv);
	return complain_unknown_verb(argv[1]);
}
