/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds glibc's message by its shape, without symbols: __libc_message() copies it to a mapping of
 * its own and stores a pointer to it, __abort_msg, for whoever reads the core
 * (sysdeps/posix/libc_fatal.c).
 *
 *     | bytes of the mapping 32 | text, its end a newline and a NUL |
 */
#include "hawk/libc/abort.h"

#include <string.h>

#include "hawk/target/words.h"

enum {
	PAGE_BYTES = 4096,
	MAPPING_MAX = 1 << 20,
	TEXT_MIN = 4,
};

/* Copies the first line of a message; returns false if it is none. */
static bool read_message(const struct hawk_target *target, uint64_t address,
			 struct hawk_abort_message *ret)
{
	struct {
		uint32_t bytes;
		char text[sizeof(ret->text)];
	} message = {0};
	size_t got = hawk_target_read_some(target, address, &message, sizeof(message) - 1);
	size_t length;

	if (got < sizeof(message.bytes) + TEXT_MIN || message.bytes % PAGE_BYTES ||
	    !message.bytes || message.bytes > MAPPING_MAX)
		return false;
	for (length = 0; message.text[length] >= ' ' && message.text[length] <= '~'; length++)
		;
	if (length < TEXT_MIN || (message.text[length] && message.text[length] != '\n'))
		return false;
	memcpy(ret->text, message.text, length);
	ret->text[length] = '\0';
	return true;
}

static bool search(struct hawk_words *words, uint64_t start, uint64_t end,
		   struct hawk_abort_message *ret)
{
	struct hawk_word_range range;

	for (uint64_t at = start; hawk_words_next(words, at, end, &range);
	     at = range.start + range.words * HAWK_WORD_BYTES)
		for (size_t i = 0; i < range.words; i++) {
			uint64_t word;

			memcpy(&word, range.bytes + i * HAWK_WORD_BYTES, sizeof(word));
			if (word && word % PAGE_BYTES == 0 &&
			    read_message(words->target, word, ret))
				return true;
		}
	return false;
}

void hawk_abort_message_find(const struct hawk_target *target, struct hawk_abort_message *ret)
{
	struct hawk_words words;
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);
	bool found = false;

	ret->text[0] = '\0';
	hawk_words_init(&words, target);
	for (size_t i = 0; i < count && !found; i++) {
		const struct hawk_module *module = hawk_target_module_at(target, mappings[i].start);

		if (module && mappings[i].flags & HAWK_MAPPING_WRITE)
			found = search(&words, (mappings[i].start + 7) & -UINT64_C(8),
				       mappings[i].start + mappings[i].present_bytes, ret);
	}
	hawk_words_deinit(&words);
}
