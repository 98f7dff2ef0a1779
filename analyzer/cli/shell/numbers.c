/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds addresses and sites in an answer while it is written: "0x" and hexadecimal digits, and
 * words of exactly 16 hexadecimal digits, or of the first digits of one site. Each counts once; the
 * first NUMBERS_MAX of each are kept. A number behind a sign is an offset (libc.so.6+0x1234,
 * rsp-0x10), and one behind "mapping" names a mapping: no verb takes these.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "shell.h"
#include "hawk/names/site_prefix.h"

enum { NUMBERS_MAX = 9999, WORD_MAX = 19 };

struct list {
	size_t count;
	char items[NUMBERS_MAX][WORD_MAX + 1];
};

struct hawk_shell_numbers {
	struct list lists[2];  /**< addresses, sites: of the last answer */
	struct list coming[2]; /**< of the answer being written */
	char word[WORD_MAX + 1];
	size_t length; /**< WORD_MAX + 1 = too long for a number */
	char before;   /**< the character before the word */
	bool mapping;  /**< the previous word is "mapping" */
	size_t id_count;
	uint64_t ids[]; /**< of all sites, ascending */
};

static int compare_ids(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left;
	uint64_t b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

struct hawk_shell_numbers *hawk_shell_numbers_create(const struct hawk_heap *heap)
{
	struct hawk_shell_numbers *numbers =
		calloc(1, sizeof(*numbers) + heap->site_count * sizeof(numbers->ids[0]));

	if (!numbers)
		return NULL;
	numbers->id_count = heap->site_count;
	for (size_t i = 0; i < heap->site_count; i++)
		numbers->ids[i] = heap->sites[i].id;
	qsort(numbers->ids, numbers->id_count, sizeof(numbers->ids[0]), compare_ids);
	return numbers;
}

void hawk_shell_numbers_destroy(struct hawk_shell_numbers *numbers)
{
	free(numbers);
}

void hawk_shell_numbers_begin(struct hawk_shell_numbers *numbers)
{
	numbers->coming[0].count = numbers->coming[1].count = 0;
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
	strcpy(list->items[list->count++], word);
}

/** Ids that begin with the key's digits. */
struct prefix {
	uint64_t first;
	unsigned rest;
};

static int compare_prefix(const void *key, const void *id)
{
	const struct prefix *prefix = key;
	uint64_t a = prefix->first >> prefix->rest;
	uint64_t b = *(const uint64_t *)id >> prefix->rest;

	return a < b ? -1 : a > b;
}

/** Returns true if a word of hexadecimal digits names a site, shortened as in narrow answers. */
static bool is_site(const struct hawk_shell_numbers *numbers, const char *word, size_t digits)
{
	struct prefix prefix = {.rest = 4 * (unsigned)(HAWK_SITE_DIGITS - digits)};
	const uint64_t *end = numbers->ids + numbers->id_count;
	const uint64_t *found;

	if (digits == HAWK_SITE_DIGITS)
		return true;
	if (digits < HAWK_SITE_DIGITS_MIN || digits > HAWK_SITE_DIGITS)
		return false;
	prefix.first = strtoull(word, NULL, 16) << prefix.rest;
	found = bsearch(&prefix, numbers->ids, numbers->id_count, sizeof(*found), compare_prefix);
	return found && (found == numbers->ids || compare_prefix(&prefix, found - 1) != 0) &&
	       (found + 1 == end || compare_prefix(&prefix, found + 1) != 0);
}

static void end_word(struct hawk_shell_numbers *numbers)
{
	const char *word = numbers->word;
	size_t length = numbers->length;
	bool mapping = numbers->mapping;
	size_t digits;

	if (!length)
		return;
	numbers->mapping = false;
	numbers->length = 0;
	if (length > WORD_MAX)
		return;
	numbers->word[length] = '\0';
	digits = strspn(word, "0123456789abcdef");
	if (length == digits && is_site(numbers, word, digits))
		keep(&numbers->coming[1], word);
	else if (!strcmp(word, "mapping"))
		numbers->mapping = true;
	else if (!mapping && numbers->before != '+' && numbers->before != '-' &&
		 !strncmp(word, "0x", 2) && length > 2 &&
		 strspn(word + 2, "0123456789abcdef") == length - 2)
		keep(&numbers->coming[0], word);
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
	for (int i = 0; i < 2; i++)
		if (numbers->coming[i].count)
			numbers->lists[i] = numbers->coming[i];
}

const char *hawk_shell_number(const struct hawk_shell_numbers *numbers, char sigil, size_t n)
{
	const struct list *list = &numbers->lists[sigil == '%'];

	return n && n <= list->count ? list->items[n - 1] : NULL;
}
