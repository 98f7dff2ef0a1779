/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core shell: many questions to one core. Its parts: the line editor with completion and
 * history (edit.c), the words of a command and where its output goes (command.c), the
 * addresses of the last answer (numbers.c).
 */
#ifndef HAWK_ANALYZER_CLI_SHELL_SHELL_H
#define HAWK_ANALYZER_CLI_SHELL_SHELL_H

#include <stdio.h>

#include "session.h"

enum { HAWK_SHELL_WORDS_MAX = 64 };

/** A command, taken apart. */
struct hawk_shell_command {
	char *words[HAWK_SHELL_WORDS_MAX + 1]; /**< owned; NULL behind the last */
	int count;
	char *pipe; /**< what is behind '|', for the system's shell; owned; NULL = nothing */
	char *file; /**< behind '>' or '>>'; owned; NULL = none */
	bool append;
};

/** Numbers that the last answer gave: $1 is the first address in it, %1 the first site. */
struct hawk_shell_numbers;

/** Keeps nothing of `heap`, which says which sites there are. NULL: no memory. */
struct hawk_shell_numbers *hawk_shell_numbers_create(const struct hawk_heap *heap);
void hawk_shell_numbers_destroy(struct hawk_shell_numbers *numbers);

/** A new answer begins. */
void hawk_shell_numbers_begin(struct hawk_shell_numbers *numbers);
/** Part of an answer, cut anywhere. */
void hawk_shell_numbers_add(struct hawk_shell_numbers *numbers, const char *bytes, size_t size);
/** The answer has ended; one without any number leaves those of the answer before. */
void hawk_shell_numbers_end(struct hawk_shell_numbers *numbers);

/** Text of number `n` (from 1 on) of sigil '$' or '%'; NULL = there is none. */
const char *hawk_shell_number(const struct hawk_shell_numbers *numbers, char sigil, size_t n);

/**
 * Takes `line` apart: blanks separate words, quotes and backslashes work as in sh, $N and %N are
 * replaced. False: a mistake, which has been told.
 */
bool hawk_shell_parse(const char *line, const struct hawk_shell_numbers *numbers,
		      struct hawk_shell_command *ret);
void hawk_shell_command_deinit(struct hawk_shell_command *command);

/** Where the standard output of this process goes during one command. */
struct hawk_shell_sink {
	int stdout_fd; /**< what it was before */
	FILE *reader;  /**< of popen(); NULL = none */
};

/** Leads standard output to a file, a program or, if `pager`, a pager. False: told. */
bool hawk_shell_sink_open(const struct hawk_shell_command *command, bool pager,
			  struct hawk_shell_sink *ret);
/** Waits for the program, and leads standard output back. */
void hawk_shell_sink_close(struct hawk_shell_sink *sink);

/** Makes the line editor, of which there is one; without a terminal it only reads lines. */
void hawk_shell_edit_open(void);
/** Saves the history. */
void hawk_shell_edit_close(void);
/** The next line without its newline, valid until the next call; NULL = there are no more, or a
 * signal came. */
const char *hawk_shell_edit_read(void);
bool hawk_shell_edit_is_terminal(void);

#endif
