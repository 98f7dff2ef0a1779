/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Addresses and sites in an answer, found while it is written: "0x" and hexadecimal digits, and
 * words of exactly 16 hexadecimal digits, or of the first digits of one site. Each counts once; the
 * first NUMBERS_MAX of each are kept. Behind a sign it is an offset (libc.so.6+0x1234, rsp-0x10),
 * and behind "mapping" the name of one: no verb takes these.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "hawk_shell.h"
#include "hawk_site_prefix.h"

enum { NUMBERS_MAX = 9999, WORD_MAX = 19 };

struct list {
	char (*items)[WORD_MAX + 1];
	size_t count;
};

struct hawk_shell_numbers {
	uint64_t *ids; /**< of all sites, ascending */
	size_t id_count;
	struct list lists[2];  /**< addresses, sites: of the last answer */
	struct list coming[2]; /**< of the one that is being written */
	char word[WORD_MAX + 1];
	size_t length; /**< WORD_MAX + 1 = too long to be anything */
	char before;   /**< the character in front of the word */
	bool mapping;  /**< the word before that is "mapping" */
};

static int compare_ids(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left;
	uint64_t b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

struct hawk_shell_numbers *hawk_shell_numbers_create(const struct hawk_heap *heap)
{
	struct hawk_shell_numbers *numbers = calloc(1, sizeof(*numbers));

	if (!numbers)
		return NULL;
	numbers->ids = calloc(heap->site_count + 1, sizeof(*numbers->ids));
	if (!numbers->ids) {
		free(numbers);
		return NULL;
	}
	numbers->id_count = heap->site_count;
	for (size_t i = 0; i < heap->site_count; i++)
		numbers->ids[i] = heap->sites[i].id;
	qsort(numbers->ids, numbers->id_count, sizeof(*numbers->ids), compare_ids);
	return numbers;
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
	free(numbers->ids);
	free(numbers);
}

void hawk_shell_numbers_begin(struct hawk_shell_numbers *numbers)
{
	clear(numbers->coming);
	numbers->length = 0;
	numbers->before = '\0';
	numbers->mapping = false;
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

/** The first id that is not below `id`. */
static size_t find_id(const struct hawk_shell_numbers *numbers, uint64_t id)
{
	size_t low = 0, high = numbers->id_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (numbers->ids[middle] < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/** Whether a word of hexadecimal digits names a site, as answers write it where there is no room
 * for all of them. */
static bool is_site(const struct hawk_shell_numbers *numbers, const char *word, size_t digits)
{
	unsigned rest = 4 * (unsigned)(HAWK_SITE_DIGITS - digits);
	uint64_t first;
	size_t at;

	if (digits == HAWK_SITE_DIGITS)
		return true;
	if (digits < HAWK_SITE_DIGITS_MIN || digits > HAWK_SITE_DIGITS)
		return false;
	first = strtoull(word, NULL, 16) << rest;
	at = find_id(numbers, first);
	return at < numbers->id_count && (numbers->ids[at] ^ first) >> rest == 0 &&
	       (at + 1 == numbers->id_count || (numbers->ids[at + 1] ^ first) >> rest != 0);
}

static void end_word(struct hawk_shell_numbers *numbers)
{
	const char *word = numbers->word;
	bool mapping = numbers->mapping;
	size_t digits;

	if (!numbers->length)
		return;
	numbers->mapping = false;
	if (numbers->length > WORD_MAX) {
		numbers->length = 0;
		return;
	}
	numbers->word[numbers->length] = '\0';
	digits = strspn(word, "0123456789abcdef");
	if (numbers->length == digits && is_site(numbers, word, digits))
		keep(&numbers->coming[1], word);
	else if (!strcmp(word, "mapping"))
		numbers->mapping = true;
	else if (!mapping && numbers->before != '+' && numbers->before != '-' &&
		 !strncmp(word, "0x", 2) && numbers->length > 2 &&
		 strspn(word + 2, "0123456789abcdef") == numbers->length - 2)
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
