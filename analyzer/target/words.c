/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Moves the view of memory from which words are read.
 */
#include "hawk/target/words.h"

#include <stdlib.h>

enum { BUFFER_BYTES = 1 << 20 };

void hawk_words_init(struct hawk_words *words, const struct hawk_target *target)
{
	*words = (struct hawk_words){.target = target};
}

void hawk_words_deinit(struct hawk_words *words)
{
	free(words->buffer);
	*words = (struct hawk_words){0};
}

static uint64_t word_up(uint64_t address)
{
	return (address + HAWK_WORD_BYTES - 1) & -(uint64_t)HAWK_WORD_BYTES;
}

/* Fills the buffer from [start, end); returns the bytes read. */
static size_t fill_buffer(struct hawk_words *words, uint64_t start, uint64_t end)
{
	size_t bytes = end - start < BUFFER_BYTES ? (size_t)(end - start) : BUFFER_BYTES;

	return hawk_target_read_some(words->target, start, words->buffer, bytes) &
	       -(size_t)HAWK_WORD_BYTES;
}

static bool read_buffer(struct hawk_words *words, uint64_t start, uint64_t end)
{
	if (!words->buffer)
		words->buffer = malloc(BUFFER_BYTES);
	if (!words->buffer) {
		words->failed = true;
		return false;
	}
	words->view = words->buffer;
	words->view_start = start;
	words->view_end = start + fill_buffer(words, start, end);
	return words->view_end > start;
}

/* Returns the address to continue at behind an unreadable page, as in a process's anonymous memory
 * (guards, broken memory). UINT64_MAX = none: all of a device is unreadable. */
static uint64_t pass_over(struct hawk_words *words, const struct hawk_mapping *mapping, uint64_t at)
{
	uint64_t page_bytes = hawk_target_process(words->target)->page_bytes;
	uint64_t next = (at & -page_bytes) + page_bytes;

	if (words->failed || !mapping || mapping->path || next < at)
		return UINT64_MAX;
	if (mapping->flags & HAWK_MAPPING_WRITE) /* excludes the kernel's own (vvar) */
		words->unreadable_bytes += next - at;
	return next;
}

/* Moves the view to the whole first range of memory in [at, end). */
static bool move_view(struct hawk_words *words, uint64_t at, uint64_t end)
{
	const struct hawk_mapping *mapping = hawk_target_mapping_at(words->target, at);
	/* Beyond `end`, so that the next blocks are found there too. */
	uint64_t limit = mapping && mapping->end > end ? mapping->end : end;
	uint64_t start;
	uint64_t stop;

	words->view_start = words->view_end = 0;
	while (at < end && hawk_target_next_data(words->target, at, limit, &start, &stop)) {
		start = word_up(start);
		stop &= -(uint64_t)HAWK_WORD_BYTES;
		if (start >= end || start >= stop)
			return false;
		words->view = hawk_target_view(words->target, start, (size_t)(stop - start));
		if (words->view) {
			words->view_start = start;
			words->view_end = stop;
			return true;
		}
		if (read_buffer(words, start, stop))
			return true;
		words->view_start = words->view_end = 0;
		at = pass_over(words, mapping, start);
	}
	return false;
}

bool hawk_words_seek(struct hawk_words *words, uint64_t at, uint64_t end,
		     struct hawk_word_range *ret)
{
	uint64_t start;
	uint64_t stop;

	if (at >= end)
		return false;
	if ((at < words->view_start || at >= words->view_end) && !move_view(words, at, end))
		return false;
	start = at > words->view_start ? at : words->view_start;
	stop = end < words->view_end ? end : words->view_end;
	if (start >= stop)
		return false;
	*ret = (struct hawk_word_range){
		.bytes = words->view + (start - words->view_start),
		.start = start,
		.words = (size_t)(stop - start) / HAWK_WORD_BYTES,
	};
	return ret->words > 0;
}
