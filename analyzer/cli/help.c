/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Usage texts, made from the tables.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

enum { HELP_WIDTH = 79, OPTION_INDENT = 6 };

/** Prints `text`, broken at spaces into lines of HELP_WIDTH columns, all indented. */
static void print_wrapped(const char *text, unsigned indent)
{
	unsigned column = indent;

	printf("%*s", (int)indent, "");
	for (bool first = true; *text; first = false) {
		size_t length = strcspn(text, " ");

		if (!first && column + 1 + length > HELP_WIDTH) {
			printf("\n%*s", (int)indent, "");
			column = indent;
		} else if (!first) {
			putchar(' ');
			column++;
		}
		printf("%.*s", (int)length, text);
		column += (unsigned)length;
		text += length + strspn(text + length, " ");
	}
	putchar('\n');
}

/** Prints an argument; a long choice continues in the next line. */
static void print_argument(const char *argument, unsigned column)
{
	unsigned indent = column;

	while (*argument) {
		size_t length = strcspn(argument, "|");

		length += argument[length] == '|';
		if (column > indent && column + length > HELP_WIDTH) {
			printf("\n%*s", (int)indent, "");
			column = indent;
		}
		printf("%.*s", (int)length, argument);
		column += (unsigned)length;
		argument += length;
	}
}

static void print_option(const struct hawk_option *option)
{
	int column = option->letter ? printf("  -%c, --%s", option->letter, option->name)
				    : printf("  --%s", option->name);

	if (option->argument) {
		if (option->kind != HAWK_OPTION_PERHAPS)
			putchar('=');
		print_argument(option->argument, (unsigned)column + 1);
	}
	putchar('\n');
	print_wrapped(option->help, OPTION_INDENT);
}

int hawk_help_finish(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return HAWK_EXIT_OK;
	hawk_complain("cannot write to standard output");
	return HAWK_EXIT_UNREADABLE;
}

int hawk_help_verb(const struct hawk_verb *verb)
{
	const struct hawk_option *option;

	printf("Usage: hawk-core %s %s\n\n", verb->name, verb->arguments);
	print_wrapped(verb->details, 0);
	printf("\nOptions:\n");
	for (size_t i = 0; (option = hawk_option_at(verb, i)); i++)
		print_option(option);
	putchar('\n');
	if (verb->exit_codes)
		print_wrapped(verb->exit_codes, 0);
	printf("See also hawk-core%s%s(1).\n", verb->exit_codes ? "-" : "",
	       verb->exit_codes ? verb->name : "");
	return hawk_help_finish();
}

int hawk_help_all(void)
{
	printf("Usage: hawk-core VERB [options] ...\n       hawk-core [options of analyze] CORE\n\n"
	       "From a crash to the answer: who owned the memory, by allocation stack.\n\n");
	for (const struct hawk_verb *const *verb = hawk_verbs; *verb; verb++)
		printf("  %-12s %s\n", (*verb)->name, (*verb)->summary);
	printf("\n  hawk-core run -- ./server --port 80    # trace it until it dies\n"
	       "  hawk-core analyze core.1234            # what was its memory?\n\n"
	       "A core called - is standard input. \"hawk-core help VERB\" or \"hawk-core VERB "
	       "--help\"\nsays more; --version prints the version. See also hawk-core(1).\n");
	return hawk_help_finish();
}

static int run(struct hawk_settings *settings)
{
	const struct hawk_verb *verb;

	(void)settings;
	if (settings->count == 0)
		return hawk_help_all();
	if (!strcmp(settings->operands[0], "completion"))
		return hawk_completion(settings->count > 1 ? settings->operands[1] : "bash");
	verb = hawk_verb_find(settings->operands[0]);
	if (verb)
		return hawk_help_verb(verb);
	hawk_complain("unknown command '%s'; hawk-core help lists them", settings->operands[0]);
	return HAWK_EXIT_USAGE;
}

const struct hawk_verb hawk_verb_help = {
	.name = "help",
	.arguments = "[VERB | completion [bash | zsh | fish]]",
	.summary = "help on a verb",
	.details =
		"\"hawk-core help completion\" prints a completion script for bash, zsh or fish.",
	.run = run,
};
