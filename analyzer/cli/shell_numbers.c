/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Addresses and sites in an answer, found while it is written: "0x" and hexadecimal digits, and
 * words of exactly 16 hexadecimal digits. Each counts once; the first NUMBERS_MAX of each are kept.
 * Behind a sign it is an offset (libc.so.6+0x1234, rsp-0x10), and no address.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "hawk_shell.h"

enum { NUMBERS_MAX = 9999, WORD_MAX = 19, SITE_DIGITS = 16 };

struct list {
	char (*items)[WORD_MAX + 1];
	size_t count;
};

struct hawk_shell_numbers {
	struct list lists[2];  /**< addresses, sites: of the last answer */
	struct list coming[2]; /**< of the one that is being written */
	char word[WORD_MAX + 1];
	size_t length; /**< WORD_MAX + 1 = too long to be anything */
	char before;   /**< the character in front of the word */
};

struct hawk_shell_numbers *hawk_shell_numbers_create(void)
{
	return calloc(1, sizeof(struct hawk_shell_numbers));
}

static void clear(struct list lists[2])
{
	free(lists[0].items);
	free(lists[1].items);
	memset(lists, 0, 2 * sizeof(*lists));
}

void hawk_shell_numbers_destroy(struct hawk_shell_numbers *numbers)
{
	if (!numbers)
		return;
	clear(numbers->lists);
	clear(numbers->coming);
	free(numbers);
}

void hawk_shell_numbers_begin(struct hawk_shell_numbers *numbers)
{
	clear(numbers->coming);
	numbers->length = 0;
	numbers->before = '\0';
}

static void keep(struct list *list, const char *word)
{
	if (list->count == NUMBERS_MAX)
		return;
	for (size_t i = 0; i < list->count; i++)
		if (!strcmp(list->items[i], word))
			return;
	if (!list->items)
		list->items = calloc(NUMBERS_MAX, sizeof(*list->items));
	if (list->items)
		strcpy(list->items[list->count++], word);
}

static void end_word(struct hawk_shell_numbers *numbers)
{
	const char *word = numbers->word;
	size_t digits;

	if (!numbers->length || numbers->length > WORD_MAX) {
		numbers->length = 0;
		return;
	}
	numbers->word[numbers->length] = '\0';
	digits = strspn(word, "0123456789abcdef");
	if (numbers->length == SITE_DIGITS && digits == SITE_DIGITS)
		keep(&numbers->coming[1], word);
	else if (numbers->before != '+' && numbers->before != '-' && !strncmp(word, "0x", 2) &&
		 numbers->length > 2 && strspn(word + 2, "0123456789abcdef") == numbers->length - 2)
		keep(&numbers->coming[0], word);
	numbers->length = 0;
}

void hawk_shell_numbers_add(struct hawk_shell_numbers *numbers, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (!isalnum((unsigned char)bytes[i])) {
			end_word(numbers);
			numbers->before = bytes[i];
		} else if (numbers->length < WORD_MAX) {
			numbers->word[numbers->length++] = bytes[i];
		} else {
			numbers->length = WORD_MAX + 1;
		}
	}
}

void hawk_shell_numbers_end(struct hawk_shell_numbers *numbers)
{
	end_word(numbers);
	for (int i = 0; i < 2; i++) {
		if (!numbers->coming[i].count)
			continue;
		free(numbers->lists[i].items);
		numbers->lists[i] = numbers->coming[i];
		numbers->coming[i] = (struct list){0};
	}
}

const char *hawk_shell_number(const struct hawk_shell_numbers *numbers, char sigil, size_t n)
{
	const struct list *list = &numbers->lists[sigil == '%'];

	return n && n <= list->count ? list->items[n - 1] : NULL;
}
