/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The line editor: libedit on a terminal, by its readline interface; plain lines elsewhere.
 * Completes verbs, options and files. Keeps the history in $XDG_STATE_HOME/hawk-core/history,
 * readable only by this user.
 */
#include <stdio.h> // needed by the next header

#include <editline/readline.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hawk/base/cleanup.h"
#include "shell.h"

enum { HISTORY_LINES = 1000 };

/* The library's interface has no context. */
static struct {
	bool terminal;
	const struct hawk_verb *verb; /**< verb whose options are completed */
	char *history_path;           /**< NULL = no history */
	char *line;                   /**< the last line read; NULL = none */
	size_t capacity;              /**< of `line`, without a terminal */
} edit;

/** Returns a copy of the next verb that begins with `word`, the first one if `state` is 0; NULL
 * behind the last. */
static char *next_verb(const char *word, int state)
{
	static size_t next;

	if (!state)
		next = 0;
	while (hawk_verbs[next]) {
		const struct hawk_verb *verb = hawk_verbs[next++];

		if (hawk_verb_asks(verb) && strncmp(verb->name, word, strlen(word)) == 0)
			return strdup(verb->name);
	}
	return NULL;
}

/** Likewise, for options of edit.verb, without those that open a target. */
static char *next_option(const char *word, int state)
{
	static size_t next;
	struct hawk_verb here = *edit.verb;
	const struct hawk_option *option;
	char *text;

	if (!state)
		next = 0;
	here.shared &= ~(uint64_t)HAWK_TAKES_TARGET;
	while ((option = hawk_option_at(&here, next++))) {
		if (!strcmp(option->name, "pid") || asprintf(&text, "--%s", option->name) < 0)
			continue;
		if (strncmp(text, word, strlen(word)) == 0)
			return text;
		free(text);
	}
	return NULL;
}

static char **complete(const char *word, int start, int end)
{
	const char *first = rl_line_buffer + strspn(rl_line_buffer, " ");
	CLEANUP(free_ptr) char *name = strndup(first, strcspn(first, " "));

	(void)end;
	rl_attempted_completion_over = 1;
	rl_completion_append_character = ' ';
	if (rl_line_buffer + start <= first)
		return rl_completion_matches(word, next_verb);
	edit.verb = name ? hawk_verb_find(name) : NULL;
	if (edit.verb && word[0] == '-')
		return rl_completion_matches(word, next_option);
	rl_attempted_completion_over = 0; // the library completes files
	rl_completion_append_character = '\0';
	return NULL;
}

/** Returns $XDG_STATE_HOME/hawk-core/history, and makes its folders; NULL = impossible. Caller
 * frees. */
static char *find_history(void)
{
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");
	bool has_state = state && *state == '/';
	char *path;

	if (!has_state && !(home && *home == '/'))
		return NULL;
	if (asprintf(&path, "%s%s/hawk-core/history", has_state ? state : home,
		     has_state ? "" : "/.local/state") < 0)
		return NULL;
	for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	return path;
}

void hawk_shell_edit_open(void)
{
	edit.terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	if (!edit.terminal)
		return;
	rl_readline_name = "hawk-core";
	rl_attempted_completion_function = complete;
	using_history();
	stifle_history(HISTORY_LINES);
	edit.history_path = find_history();
	if (edit.history_path)
		read_history(edit.history_path);
}

void hawk_shell_edit_close(void)
{
	if (edit.history_path) // readable for this user only
		write_history(edit.history_path);
	free(edit.history_path);
	free(edit.line);
}

static const char *read_edited(void)
{
	char *line = readline("hawk> ");

	if (!line)
		return NULL;
	if (line[strspn(line, " \t")] && (!edit.line || strcmp(edit.line, line) != 0))
		add_history(line);
	free(edit.line);
	edit.line = line;
	return line;
}

const char *hawk_shell_edit_read(void)
{
	if (edit.terminal)
		return read_edited();
	if (getline(&edit.line, &edit.capacity, stdin) < 0)
		return NULL;
	edit.line[strcspn(edit.line, "\n")] = '\0';
	return edit.line;
}

bool hawk_shell_edit_is_terminal(void)
{
	return edit.terminal;
}
