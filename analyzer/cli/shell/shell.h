/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core shell: many questions to one core. Its parts: the line editor with completion and
 * history (edit.c), a command's words and output (command.c), the addresses of the last answer
 * (numbers.c).
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
	char *pipe; /**< command behind '|', for the system's shell; owned; NULL = none */
	char *file; /**< behind '>' or '>>'; owned; NULL = none */
	bool append;
};

/** Numbers from the last answer: $1 is its first address, %1 its first site. */
struct hawk_shell_numbers;

/** Creates the numbers for the sites of `heap`, to which it keeps no reference. NULL = out of
 * memory. */
struct hawk_shell_numbers *hawk_shell_numbers_create(const struct hawk_heap *heap);
void hawk_shell_numbers_destroy(struct hawk_shell_numbers *numbers);

/** Begins a new answer. */
void hawk_shell_numbers_begin(struct hawk_shell_numbers *numbers);
/** Adds part of an answer, cut anywhere. */
void hawk_shell_numbers_add(struct hawk_shell_numbers *numbers, const char *bytes, size_t size);
/** Ends the answer. An answer without numbers keeps those of the previous one. */
void hawk_shell_numbers_end(struct hawk_shell_numbers *numbers);

/** Returns the text of number `n` (from 1 on) of sigil '$' or '%'; NULL = none. */
const char *hawk_shell_number(const struct hawk_shell_numbers *numbers, char sigil, size_t n);

/**
 * Parses `line`: blanks separate words, quotes and backslashes work as in sh, $N and %N are
 * replaced. Returns false after complaining about a mistake.
 */
bool hawk_shell_parse(const char *line, const struct hawk_shell_numbers *numbers,
		      struct hawk_shell_command *ret);
void hawk_shell_command_deinit(struct hawk_shell_command *command);

/** The destination of this process's standard output during one command. */
struct hawk_shell_sink {
	int stdout_fd; /**< the original standard output */
	FILE *reader;  /**< of popen(); NULL = none */
};

/** Redirects standard output to a file, a program or, if `pager`, a pager. Returns false after
 * complaining. */
bool hawk_shell_sink_open(const struct hawk_shell_command *command, bool pager,
			  struct hawk_shell_sink *ret);
/** Waits for the program, and restores standard output. */
void hawk_shell_sink_close(struct hawk_shell_sink *sink);

/** Opens the only line editor; without a terminal it only reads lines. */
void hawk_shell_edit_open(void);
/** Saves the history. */
void hawk_shell_edit_close(void);
/** Returns the next line without its newline, valid until the next call; NULL behind the last, or
 * after a signal. */
const char *hawk_shell_edit_read(void);
bool hawk_shell_edit_is_terminal(void);

#endif
