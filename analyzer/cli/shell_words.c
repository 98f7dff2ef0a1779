/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A command line of the shell taken apart: words, then perhaps "| command" or "> file". Only what
 * is in front of them is ours.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "hawk_shell.h"

struct reader {
	const char *at;
	const struct hawk_shell_numbers *numbers;
	struct hawk_text word;
	bool begun; /**< "" is a word, too */
};

/** $12 or %3, if `at` is one. False: there is no such number, which has been told. */
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

/** One word into `word`. */
static bool read_word(struct reader *reader)
{
	hawk_text_clear(&reader->word);
	reader->begun = false;
	while (!ends_word(*reader->at)) {
		reader->begun = true;
		if (*reader->at == '\'' || *reader->at == '"') {
			if (!read_quoted(reader))
				return false;
		} else if (*reader->at == '$' || *reader->at == '%') {
			if (!read_number(reader))
				return false;
		} else {
			if (*reader->at == '\\' && reader->at[1])
				reader->at++;
			hawk_text_append(&reader->word, reader->at++, 1);
		}
	}
	return true;
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
		if (!read_word(reader))
			return false;
		if (command->count == HAWK_SHELL_WORDS_MAX) {
			hawk_complain("more than %d words", HAWK_SHELL_WORDS_MAX);
			return false;
		}
		command->words[command->count] =
			strdup(reader->word.bytes ? reader->word.bytes : "");
		if (!command->words[command->count])
			return false;
		command->count++;
	}
}

/** "> file", ">> file", "| command". */
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
