/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Parses a command line of the shell: words, then perhaps "| command" or "> file". Sends output to
 * a file, another program or a pager.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shell.h"

struct reader {
	const char *at;
	const struct hawk_shell_numbers *numbers;
	struct hawk_text word;
};

/** Reads $12 or %3 if one lies at `at`. Returns false after complaining if no such number exists.
 */
static bool read_number(struct reader *reader)
{
	char sigil = *reader->at;
	const char *text;
	char *end;
	unsigned long n;

	if (!isdigit((unsigned char)reader->at[1])) {
		hawk_text_append(&reader->word, reader->at++, 1);
		return true;
	}
	n = strtoul(reader->at + 1, &end, 10);
	text = hawk_shell_number(reader->numbers, sigil, n);
	if (!text) {
		hawk_complain("the last answer has no %s number %lu",
			      sigil == '$' ? "address" : "site", n);
		return false;
	}
	hawk_text_puts(&reader->word, text);
	reader->at = end;
	return true;
}

static bool read_quoted(struct reader *reader)
{
	char quote = *reader->at++;

	for (; *reader->at && *reader->at != quote; reader->at++) {
		if (quote == '"' && *reader->at == '\\' && strchr("\"\\$", reader->at[1]) &&
		    reader->at[1])
			reader->at++;
		hawk_text_append(&reader->word, reader->at, 1);
	}
	if (!*reader->at) {
		hawk_complain("a quote is not closed");
		return false;
	}
	reader->at++;
	return true;
}

static bool ends_word(char c)
{
	return !c || isspace((unsigned char)c) || c == '|' || c == '>';
}

/** Reads one word into `word`. */
static bool read_word(struct reader *reader)
{
	bool fine = true;

	hawk_text_clear(&reader->word);
	hawk_text_puts(&reader->word, "");
	while (fine && !ends_word(*reader->at)) {
		if (*reader->at == '\'' || *reader->at == '"') {
			fine = read_quoted(reader);
		} else if (*reader->at == '$' || *reader->at == '%') {
			fine = read_number(reader);
		} else {
			reader->at += *reader->at == '\\' && reader->at[1];
			hawk_text_append(&reader->word, reader->at++, 1);
		}
	}
	return fine;
}

static void skip_blanks(struct reader *reader)
{
	while (isspace((unsigned char)*reader->at))
		reader->at++;
}

static bool read_words(struct reader *reader, struct hawk_shell_command *command)
{
	for (;;) {
		skip_blanks(reader);
		if (!*reader->at || *reader->at == '|' || *reader->at == '>')
			return true;
		if (!read_word(reader) || reader->word.failed)
			return false;
		if (command->count == HAWK_SHELL_WORDS_MAX) {
			hawk_complain("more than %d words", HAWK_SHELL_WORDS_MAX);
			return false;
		}
		command->words[command->count] = strdup(reader->word.bytes);
		if (!command->words[command->count])
			return false;
		command->count++;
	}
}

/** Reads "> file", ">> file" or "| command". */
static bool read_sink(struct reader *reader, struct hawk_shell_command *command)
{
	if (*reader->at == '|') {
		reader->at++;
		skip_blanks(reader);
		if (!*reader->at) {
			hawk_complain("what is to read the output?");
			return false;
		}
		command->pipe = strdup(reader->at);
		return command->pipe;
	}
	if (*reader->at != '>')
		return true;
	command->append = reader->at[1] == '>';
	reader->at += command->append ? 2 : 1;
	skip_blanks(reader);
	if (!read_word(reader))
		return false;
	skip_blanks(reader);
	if (!reader->word.size || *reader->at) {
		hawk_complain("one file name belongs behind '>'");
		return false;
	}
	command->file = strdup(reader->word.bytes);
	return command->file;
}

bool hawk_shell_parse(const char *line, const struct hawk_shell_numbers *numbers,
		      struct hawk_shell_command *ret)
{
	struct reader reader = {.at = line, .numbers = numbers};
	bool fine;

	*ret = (struct hawk_shell_command){0};
	fine = read_words(&reader, ret) && read_sink(&reader, ret) && !reader.word.failed;
	hawk_text_deinit(&reader.word);
	if (fine)
		return true;
	hawk_shell_command_deinit(ret);
	return false;
}

void hawk_shell_command_deinit(struct hawk_shell_command *command)
{
	for (int i = 0; i < command->count; i++)
		free(command->words[i]);
	free(command->pipe);
	free(command->file);
	*command = (struct hawk_shell_command){0};
}

/* -F: exit if the text fits the screen; -R: show colours; -X: leave the text on the screen. If the
 * user chose less without options, its variable passes them. */
static const char default_pager[] = "less -FRX 2>/dev/null || cat";
static const char less_options[] = "FRX";

static int open_file(const struct hawk_shell_command *command)
{
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (command->append ? O_APPEND : O_TRUNC);
	int fd = open(command->file, flags, 0666);

	if (fd < 0)
		hawk_complain("cannot open %s: %s", command->file, strerror(errno));
	return fd;
}

/** Runs `program` by the system's shell; returns its standard input. */
static int open_reader(const char *program, struct hawk_shell_sink *sink)
{
	sink->reader = popen(program, "we");
	if (sink->reader)
		return fcntl(fileno(sink->reader), F_DUPFD_CLOEXEC, 0);
	hawk_complain("cannot run %s: %s", program, strerror(errno));
	return -1;
}

bool hawk_shell_sink_open(const struct hawk_shell_command *command, bool pager,
			  struct hawk_shell_sink *ret)
{
	const char *chosen = getenv("PAGER");
	int fd = -1;

	fflush(stdout);
	*ret = (struct hawk_shell_sink){
		.stdout_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)};
	if (command->file)
		fd = open_file(command);
	else if (command->pipe)
		fd = open_reader(command->pipe, ret);
	else if (!pager || (chosen && !*chosen))
		return true;
	else if (setenv("LESS", less_options, 0) == 0)
		fd = open_reader(chosen ? chosen : default_pager, ret);
	if (fd >= 0 && ret->stdout_fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0) {
		close(fd);
		return true;
	}
	if (fd >= 0)
		close(fd);
	hawk_shell_sink_close(ret);
	return false;
}

void hawk_shell_sink_close(struct hawk_shell_sink *sink)
{
	fflush(stdout);
	clearerr(stdout); /* the reader may have closed the pipe */
	if (sink->stdout_fd >= 0) {
		dup2(sink->stdout_fd, STDOUT_FILENO);
		close(sink->stdout_fd);
	}
	if (sink->reader)
		pclose(sink->reader);
}
