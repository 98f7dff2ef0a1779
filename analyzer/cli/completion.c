/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Completion scripts for shells, made from the tables: verbs, options with their help texts, words
 * of choices, files for everything else.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

typedef void option_function(const struct hawk_verb *verb, const struct hawk_option *option);

static void for_each_option(const struct hawk_verb *verb, option_function *print)
{
	const struct hawk_option *option;

	for (size_t i = 0; (option = hawk_option_at(verb, i)); i++)
		print(verb, option);
}

static void print_verbs(void)
{
	for (const struct hawk_verb *const *verb = hawk_verbs; *verb; verb++)
		printf("%s ", (*verb)->name);
}

/** Prints the words of "a|b|c". */
static void print_words(const char *choice)
{
	for (const char *at = choice; *at; at++)
		putchar(*at == '|' ? ' ' : *at);
}

static void print_bash_option(const struct hawk_verb *verb, const struct hawk_option *option)
{
	(void)verb;
	printf(" --%s", option->name);
}

/** Prints the case of an option whose values are words of a list. */
static void print_bash_choice(const struct hawk_verb *verb, const struct hawk_option *option)
{
	if (option->kind != HAWK_OPTION_CHOICE)
		return;
	printf("\t%s:--%s)\n\t\tCOMPREPLY=($(compgen -W '", verb->name, option->name);
	print_words(option->argument);
	printf("' -- \"$word\"))\n\t\treturn\n\t\t;;\n");
}

static void print_bash(void)
{
	printf("# bash completion for hawk-core; made by \"hawk-core help completion\"\n"
	       "_hawk_core()\n{\n"
	       "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
	       "\tlocal verb=${COMP_WORDS[1]} options=\n"
	       "\tif [[ $word == = ]]; then word=; fi\n"
	       "\tif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
	       "\tif ((COMP_CWORD == 1)); then\n\t\tCOMPREPLY=($(compgen -W '");
	print_verbs();
	printf("--help --version' -- \"$word\") $(compgen -f -- \"$word\"))\n\t\treturn\n\tfi\n"
	       "\tcase $verb:$before in\n");
	for (const struct hawk_verb *const *verb = hawk_verbs; *verb; verb++)
		for_each_option(*verb, print_bash_choice);
	printf("\t*:--pid)\n"
	       "\t\tCOMPREPLY=($(compgen -W \"$(cd /proc && echo [0-9]*)\" -- \"$word\"))\n"
	       "\t\treturn\n\t\t;;\n\tesac\n\tcase $verb in\n");
	for (const struct hawk_verb *const *verb = hawk_verbs; *verb; verb++) {
		printf("\t%s) options='", (*verb)->name);
		for_each_option(*verb, print_bash_option);
		printf("' ;;\n");
	}
	printf("\tesac\n\tif [[ $word == -* ]]; then\n"
	       "\t\tCOMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
	       "\telse\n\t\tCOMPREPLY=($(compgen -f -- \"$word\"))\n\tfi\n}\n"
	       "complete -o filenames -F _hawk_core hawk-core\n");
}

/** Prints `text` in single quotes, with a backslash before each character of `special`; `quote`
 * replaces a single quote. */
static void print_quoted(const char *text, const char *special, const char *quote)
{
	for (; *text; text++) {
		if (*text == '\'') {
			printf("%s", quote);
			continue;
		}
		if (strchr(special, *text))
			putchar('\\');
		putchar(*text);
	}
}

/** Prints text with the special characters of _arguments and _describe escaped. */
static void print_zsh_text(const char *text)
{
	print_quoted(text, "\\:[]", "'\\''");
}

/** ":NAME:ACTION" */
static void print_zsh_argument(const struct hawk_option *option)
{
	const char *argument = option->argument;

	if (option->kind == HAWK_OPTION_CHOICE) {
		printf(":%s:(", option->name);
		print_words(argument);
		putchar(')');
		return;
	}
	printf(option->kind == HAWK_OPTION_PERHAPS ? "::" : ":");
	print_zsh_text(argument);
	printf(":%s", !strcmp(argument, "DIR")    ? "_files -/"
		      : !strcmp(argument, "FILE") ? "_files"
		      : !strcmp(argument, "PID")  ? "_pids"
						  : " ");
}

static void print_zsh_option(const struct hawk_verb *verb, const struct hawk_option *option)
{
	bool many = option->kind == HAWK_OPTION_STRINGS || option->kind == HAWK_OPTION_TRACER;
	const char *equals = option->kind == HAWK_OPTION_PERHAPS ? "=-"
			     : option->argument                  ? "="
								 : "";

	(void)verb;
	printf("\t\t");
	if (option->letter && many)
		printf("'*'{-%c%s,--%s%s}", option->letter, option->argument ? "+" : "",
		       option->name, equals);
	else if (option->letter)
		printf("'(-%c --%s)'{-%c%s,--%s%s}", option->letter, option->name, option->letter,
		       option->argument ? "+" : "", option->name, equals);
	else
		printf("'%s--%s%s'", many ? "*" : "", option->name, equals);
	printf("'[");
	print_zsh_text(option->help);
	putchar(']');
	if (option->argument)
		print_zsh_argument(option);
	printf("' \\\n");
}

static const char *zsh_operands(const struct hawk_verb *verb)
{
	if (verb->stops_at_operand)
		return "'(-):program:_command_names -e' '*::arguments: _normal'";
	return verb == &hawk_verb_help ? "'1: :->verb' '2:shell:(bash zsh fish)'"
				       : "'*:file:_files'";
}

static void print_zsh(void)
{
	printf("#compdef hawk-core\n# made by \"hawk-core help completion zsh\"\n"
	       "local -a verbs\nlocal curcontext=$curcontext state line\nverbs=(\n");
	for (const struct hawk_verb *const *verb = hawk_verbs; *verb; verb++) {
		printf("\t'%s:", (*verb)->name);
		print_zsh_text((*verb)->summary);
		printf("'\n");
	}
	printf(")\nif (( CURRENT == 2 )); then\n\t_describe -t commands command verbs\n\t_files\n"
	       "\treturn\nfi\nshift words\n(( CURRENT-- ))\ncase $words[1] in\n");
	for (const struct hawk_verb *const *verb = hawk_verbs; *verb; verb++) {
		printf("%s)\n\t_arguments -C -s -S \\\n", (*verb)->name);
		for_each_option(*verb, print_zsh_option);
		printf("\t\t%s\n\t;;\n", zsh_operands(*verb));
	}
	printf("*)\n\t_files\n\t;;\nesac\n"
	       "if [[ $state == verb ]]; then\n\tverbs+=('completion:a script like this')\n"
	       "\t_describe -t commands command verbs\nfi\n");
}

static void print_fish_text(const char *text)
{
	print_quoted(text, "\\", "\\'");
}

static void print_fish_option(const struct hawk_verb *verb, const struct hawk_option *option)
{
	const char *argument = option->argument;

	printf("complete -c hawk-core -n '__fish_seen_subcommand_from %s' -l %s", verb->name,
	       option->name);
	if (option->letter)
		printf(" -s %c", option->letter);
	if (option->kind == HAWK_OPTION_CHOICE) {
		printf(" -x -a '");
		print_words(argument);
		putchar('\'');
	} else if (argument && option->kind != HAWK_OPTION_PERHAPS) {
		printf("%s", !strcmp(argument, "DIR")    ? " -x -a '(__fish_complete_directories)'"
			     : !strcmp(argument, "FILE") ? " -r"
			     : !strcmp(argument, "PID")  ? " -x -a '(__fish_complete_pids)'"
							 : " -x");
	}
	printf(" -d '");
	print_fish_text(option->help);
	printf("'\n");
}

static void print_fish(void)
{
	printf("# fish completion for hawk-core; made by \"hawk-core help completion fish\"\n");
	for (const struct hawk_verb *const *verb = hawk_verbs; *verb; verb++) {
		printf("complete -c hawk-core -n __fish_use_subcommand -a %s -d '", (*verb)->name);
		print_fish_text((*verb)->summary);
		printf("'\n");
		for_each_option(*verb, print_fish_option);
	}
	printf("complete -c hawk-core -f -n '__fish_seen_subcommand_from help' -a '");
	print_verbs();
	printf("completion'\n");
}

int hawk_completion(const char *shell)
{
	if (!strcmp(shell, "bash")) {
		print_bash();
	} else if (!strcmp(shell, "zsh")) {
		print_zsh();
	} else if (!strcmp(shell, "fish")) {
		print_fish();
	} else {
		hawk_complain("no completion for '%s'; bash, zsh and fish have one", shell);
		return HAWK_EXIT_USAGE;
	}
	return hawk_help_finish();
}
