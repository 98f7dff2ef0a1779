/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core shell: keeps one core loaded for many questions.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shell.h"

struct shell {
	struct hawk_session *session;
	const struct hawk_settings *settings; /**< of the shell itself */
	struct hawk_shell_numbers *numbers;
	int code; /**< of the last command */
	bool done;
};

static volatile sig_atomic_t interrupted;
static volatile sig_atomic_t answering;

static void on_interrupt(int signal)
{
	(void)signal;
	if (interrupted && answering) { /* the answer did not end: a second ^C ends the program */
		hawk_bar_give_up();
		_exit(128 + SIGINT);
	}
	interrupted = 1;
}

/** Watches output for numbers, and ends it when the user interrupts. */
static void watch(struct hawk_output *output, const char *bytes, size_t size)
{
	hawk_shell_numbers_add(output->watch_context, bytes, size);
	if (interrupted)
		output->errnum = EINTR;
}

/** Returns true for verbs that can answer here. */
static bool answers(const struct hawk_verb *verb)
{
	return hawk_verb_asks(verb) && verb != &hawk_verb_shell && verb != &hawk_verb_redact &&
	       verb != &hawk_verb_snapshot;
}

static void print_help(const struct hawk_verb *verb)
{
	if (verb) {
		hawk_help_verb(verb);
		return;
	}
	printf("Type a verb without its core: analyze, leaks, blocks ...; help VERB says more.\n"
	       "  VERB ... | COMMAND    pipes the answer to a program\n"
	       "  VERB ... > FILE       writes it into a file (>> appends)\n"
	       "  $1 $2 ...             the last answer's addresses; %%1 %%2 ... its sites\n"
	       "  $                     lists them\n"
	       "  Tab completes verbs, options and files. quit ends.\n\n");
	for (const struct hawk_verb *const *one = hawk_verbs; *one; one++)
		if (answers(*one))
			printf("  %-12s %s\n", (*one)->name, (*one)->summary);
}

static void list_numbers(const struct hawk_shell_numbers *numbers)
{
	const char *text;

	for (size_t i = 1; (text = hawk_shell_number(numbers, '$', i)); i++)
		printf("$%-4zu %s\n", i, text);
	for (size_t i = 1; (text = hawk_shell_number(numbers, '%', i)); i++)
		printf("%%%-4zu %s\n", i, text);
}

/** Prints help on `verb` (NULL = on the shell), or the numbers if `numbers`, to the command's
 * destination. */
static void print(struct shell *shell, const struct hawk_shell_command *command, bool numbers,
		  const struct hawk_verb *verb)
{
	struct hawk_shell_sink sink;

	shell->code = HAWK_EXIT_USAGE;
	if (!hawk_shell_sink_open(command, hawk_shell_edit_is_terminal(), &sink))
		return;
	if (numbers)
		list_numbers(shell->numbers);
	else
		print_help(verb);
	hawk_shell_sink_close(&sink);
	shell->code = HAWK_EXIT_OK;
}

/** Returns true for options that would open another target. */
static bool opens_target(const struct hawk_settings *settings)
{
	return settings->sysroot || settings->debug_directory || settings->module_directory ||
	       settings->debuginfod || settings->max_download || settings->executable ||
	       settings->table_file || settings->pid;
}

/** Reads the command's options; returns false if no answer is due. */
static bool read_command(struct shell *shell, const struct hawk_verb *verb,
			 struct hawk_shell_command *command, struct hawk_settings *settings)
{
	struct hawk_error *err = NULL;

	shell->code = HAWK_EXIT_USAGE;
	if (!hawk_options_read(verb, command->count, command->words, settings))
		return false;
	if (settings->help) {
		print(shell, command, false, verb);
		return false;
	}
	if (opens_target(settings)) {
		hawk_complain("the core is open already: say so to hawk-core shell");
		return false;
	}
	if (!hawk_verb_takes(verb, settings->count)) {
		hawk_complain("%s needs %s (the core is known here)%s; see help %s", verb->name,
			      verb->needs,
			      verb == &hawk_verb_sql && settings->count > 1 ? ", in quotes" : "",
			      verb->name);
		return false;
	}
	if (!settings->threads)
		settings->threads = shell->settings->threads;
	if (verb->check)
		err = verb->check(settings);
	if (err)
		shell->code = hawk_fail(err);
	return !err;
}

static void ask(struct shell *shell, const struct hawk_verb *verb,
		struct hawk_shell_command *command)
{
	struct hawk_session *session = shell->session;
	struct hawk_settings settings = {0};
	struct hawk_shell_sink sink;
	struct hawk_error *err;
	bool on_screen;

	if (!read_command(shell, verb, command, &settings))
		return;
	on_screen = !command->file && !command->pipe && !settings.output;
	/* Must precede redirecting standard output: a pager shows what the terminal can. */
	hawk_session_renew(session, &settings);
	if (!on_screen && settings.color != 2) // always
		session->screen.color = false;
	if (!hawk_shell_sink_open(command, on_screen && hawk_shell_edit_is_terminal(), &sink))
		return;
	interrupted = 0;
	answering = 1;
	err = hawk_session_set_output(session, &settings);
	if (on_screen && sink.reader) // less passes control characters to the terminal
		session->output->terminal = true;
	session->output->watch = watch;
	session->output->watch_context = shell->numbers;
	hawk_shell_numbers_begin(shell->numbers);
	session->failed = err;
	shell->code = err ? hawk_fail(err) : hawk_verb_answer(verb, session);
	shell->code = hawk_session_finish(session, shell->code);
	hawk_shell_numbers_end(shell->numbers);
	answering = 0;
	session->settings = shell->settings;
	hawk_shell_sink_close(&sink);
}

static void run_command(struct shell *shell, struct hawk_shell_command *command)
{
	const char *word = command->words[0];
	const struct hawk_verb *verb = hawk_verb_find(word);

	if (!strcmp(word, "quit") || !strcmp(word, "exit")) {
		shell->done = true;
	} else if (!strcmp(word, "$")) {
		print(shell, command, true, NULL);
	} else if (!strcmp(word, "help")) {
		verb = command->count > 1 ? hawk_verb_find(command->words[1]) : NULL;
		print(shell, command, false, verb);
	} else if (verb && answers(verb)) {
		ask(shell, verb, command);
	} else {
		verb = verb ? NULL : hawk_verb_nearest(word);
		hawk_complain(verb && answers(verb) ? "unknown command '%s' (did you mean %s?)"
						    : "unknown command '%s'; help lists them",
			      word, verb ? verb->name : "");
		shell->code = HAWK_EXIT_USAGE;
	}
	fflush(stdout);
}

/** Returns the next line; ^C drops the line being edited. NULL behind the last. */
static const char *read_line(void)
{
	const char *line;

	do {
		interrupted = 0;
		line = hawk_shell_edit_read();
		if (!line && interrupted)
			putchar('\n');
	} while (!line && interrupted);
	interrupted = 0;
	return line;
}

static void read_commands(struct shell *shell)
{
	const char *line;

	while (!shell->done && (line = read_line())) {
		struct hawk_shell_command command;

		if (line[strspn(line, " \t")] == '#' ||
		    !hawk_shell_parse(line, shell->numbers, &command))
			continue;
		if (command.count)
			run_command(shell, &command);
		hawk_shell_command_deinit(&command);
	}
	if (hawk_shell_edit_is_terminal() && !shell->done)
		putchar('\n');
}

/** Runs with a shell's signals: a reader that closes the pipe, or ^C, ends only an answer. */
static void run_shell(struct shell *shell)
{
	struct sigaction interrupt = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART};
	struct sigaction broken = {.sa_handler = SIG_IGN};
	struct sigaction old_interrupt, old_broken;

	sigaction(SIGINT, &interrupt, &old_interrupt);
	sigaction(SIGPIPE, &broken, &old_broken);
	read_commands(shell);
	sigaction(SIGINT, &old_interrupt, NULL);
	sigaction(SIGPIPE, &old_broken, NULL);
	hawk_error_destroy(hawk_session_set_output(shell->session, shell->settings));
}

static struct hawk_error *answer(struct hawk_session *session)
{
	struct shell shell = {.session = session, .settings = session->settings};
	struct hawk_error *err;

	if (!strcmp(session->source, "-"))
		return hawk_error_create(HAWK_ERROR_USAGE,
					 "the shell reads commands from standard input, so it "
					 "needs the name of a core");
	err = hawk_session_heap(session);
	if (err)
		return err;
	hawk_session_check(session);
	hawk_session_print_partial(session);
	shell.numbers = hawk_shell_numbers_create(session->heap);
	if (!shell.numbers)
		return &hawk_enomem;
	hawk_shell_edit_open();
	run_shell(&shell);
	hawk_shell_edit_close();
	hawk_shell_numbers_destroy(shell.numbers);
	/* The last question sets the exit code, not the core's completeness. */
	session->code = shell.code;
	return err;
}

const struct hawk_verb hawk_verb_shell = {
	.name = "shell",
	.arguments = "[options] CORE",
	.summary = "ask one core many questions",
	.details =
		"Keeps the core loaded and reads commands: every verb, without its core. Answers "
		"go to a pager, a pipe (leaks | head) or a file (> FILE); $1, $2 ... are the "
		"addresses of the last answer, %1, %2 ... its sites; Tab completes verbs, "
		"options and files. Commands can also come from a file or a pipe.",
	.shared = HAWK_TAKES_THREADS | HAWK_TAKES_TARGET,
	.types = true,
	.exit_codes = "Exit code: that of the last command.",
	.needs = "one core file",
	.answer = answer,
};
