/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Commands as lists of words, and as lines for a shell.
 */
#include "hawk/report/next.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "hawk/base/cleanup.h"

enum { FUNCTION_BYTES_MAX = 48, TYPE_BYTES_MAX = 80, OPTION_BYTES = 32 };

void hawk_next_deinit(struct hawk_next *next)
{
	for (size_t i = 0; i < next->count; i++)
		hawk_text_deinit(&next->items[i].words);
	hawk_text_deinit(&next->core);
	*next = (struct hawk_next){0};
}

void hawk_next_append_word(struct hawk_text *words, const char *word)
{
	hawk_text_append(words, word, strlen(word) + 1);
}

void hawk_next_add(struct hawk_next *next, const char *verb, const char *option,
		   const char *operand, const char *why)
{
	struct hawk_next_command *command = &next->items[next->count];

	if (next->count == HAWK_NEXT_MAX)
		return;
	*command = (struct hawk_next_command){.why = why};
	hawk_next_append_word(&command->words, "hawk-core");
	hawk_next_append_word(&command->words, verb);
	if (option)
		hawk_next_append_word(&command->words, option);
	hawk_text_append(&command->words, next->core.bytes, next->core.size);
	if (operand)
		hawk_next_append_word(&command->words, operand);
	next->count++;
}

void hawk_next_add_site(struct hawk_next *next, const char *verb, uint64_t id, const char *why)
{
	char option[OPTION_BYTES];

	snprintf(option, sizeof(option), "--site=%016" PRIx64, id);
	hawk_next_add(next, verb, option, NULL, why);
}

void hawk_next_add_address(struct hawk_next *next, const char *verb, uint64_t address,
			   const char *why)
{
	char operand[OPTION_BYTES];

	snprintf(operand, sizeof(operand), "0x%" PRIx64, address);
	hawk_next_add(next, verb, NULL, operand, why);
}

/* Appends a regular expression that matches the text. */
static void append_literal(struct hawk_text *pattern, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		hawk_text_puts(pattern, strchr(".[]{}()*+?^$\\|", text[i]) ? "\\" : "");
		hawk_text_append(pattern, text + i, 1);
	}
}

void hawk_next_add_source(struct hawk_next *next, const char *function)
{
	CLEANUP(text) struct hawk_text pattern = {0};
	size_t length = function ? strcspn(function, "(") : 0; // without parameters

	if (!length || length > FUNCTION_BYTES_MAX)
		return;
	append_literal(&pattern, function, length);
	hawk_next_add(next, "source", NULL, hawk_text_string(&pattern), "the lines that allocate");
}

bool hawk_next_add_type(struct hawk_next *next, const char *verb, const char *type, const char *why)
{
	CLEANUP(text) struct hawk_text option = {0};

	if (strlen(type) > TYPE_BYTES_MAX)
		return false;
	hawk_text_puts(&option, "--type=^");
	append_literal(&option, type, strlen(type));
	hawk_text_puts(&option, "$");
	hawk_next_add(next, verb, hawk_text_string(&option), NULL, why);
	return true;
}

void hawk_append_shell_word(struct hawk_text *text, const char *word)
{
	bool plain = *word, printable = true;

	for (const char *at = word; *at; at++) {
		plain = plain && (isalnum((unsigned char)*at) || strchr("_./+=:@%,-", *at));
		printable = printable && *at >= ' ' && *at <= '~';
	}
	if (plain) {
		hawk_text_puts(text, word);
		return;
	}
	hawk_text_puts(text, printable ? "'" : "$'");
	for (const char *at = word; *at; at++) {
		if (!printable && (*at < ' ' || *at > '~'))
			hawk_text_printf(text, "\\x%02x", (unsigned char)*at);
		else if (!printable && (*at == '\'' || *at == '\\'))
			hawk_text_printf(text, "\\%c", *at);
		else if (*at == '\'')
			hawk_text_puts(text, "'\\''");
		else
			hawk_text_append(text, at, 1);
	}
	hawk_text_puts(text, "'");
}

void hawk_next_append_shell(struct hawk_text *text, const struct hawk_next_command *command)
{
	const char *end = command->words.bytes + command->words.size;

	for (const char *word = command->words.bytes; word < end; word += strlen(word) + 1) {
		hawk_text_puts(text, word == command->words.bytes ? "" : " ");
		hawk_append_shell_word(text, word);
	}
}
