/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds blocks and strings with equal contents.
 */
#include "hawk/analysis/contents.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "hawk/base/progress.h"
#include "hawk/base/utf8.h"

/** libstdc++'s std::string: a pointer to the text, its length, room for a short text. */
enum { SHORT_TEXT = 16, SHORT_STRING_BYTES = 32, SHORT_MAX = 15 };

/** Different contents with one hash that are told apart; more count as not repeated. */
enum { COLLISIONS_MAX = 64 };

struct finder {
	const struct hawk_heap *heap;
	struct hawk_contents *ret;
	bool strings;
	struct hawk_near near, other; /**< two, to compare */
};

static void hawk_cleanup_contents(struct hawk_contents *contents)
{
	hawk_contents_deinit(contents);
}

/* Returns memory in place, or NULL. */
static const uint8_t *view(struct hawk_near *near, uint64_t address, uint64_t bytes)
{
	const uint8_t *found = hawk_near_view(near, address, bytes);
	uint8_t byte;

	/* A read moves the view. */
	if (!found && hawk_near_read(near, address, &byte, 1) == 1)
		found = hawk_near_view(near, address, bytes);
	return found;
}

static struct hawk_error *add(struct finder *finder, uint32_t block, uint64_t address,
			      const uint8_t *bytes, uint32_t size)
{
	struct hawk_contents *ret = finder->ret;

	if (!hawk_array_reserve(&ret->items, ret->item_count, &ret->item_capacity,
				sizeof(*ret->items)))
		return &hawk_enomem;
	ret->items[ret->item_count++] = (struct hawk_content){
		.hash = XXH3_64bits_withSeed(bytes, size, size),
		.address = address,
		.block = block,
		.bytes = size,
	};
	ret->all.objects++;
	ret->all.bytes += size + finder->strings;
	return NULL;
}

/* Returns the length of the text at `bytes` that a NUL ends before `size`; 0 = none, or short. */
static uint32_t text_length(const uint8_t *bytes, uint32_t size)
{
	const uint8_t *end = memchr(bytes, '\0', size);
	const char *at = (const char *)bytes;

	if (!end || end - bytes < HAWK_STRING_MIN)
		return 0;
	while (*at) {
		size_t length = hawk_utf8_length(at);

		if (!length || (hawk_utf8_steering(at, length) && !strchr("\t\n\r", *at)))
			return 0;
		at += length;
	}
	return (uint32_t)(end - bytes);
}

/* Six bytes of text and a NUL can be a pointer. */
static bool is_pointer(const struct finder *finder, const uint8_t *bytes, uint64_t size)
{
	uint64_t word;

	if (size < sizeof(word))
		return false;
	memcpy(&word, bytes, sizeof(word));
	return hawk_target_mapping_at(finder->heap->target, word) != NULL;
}

static struct hawk_error *add_short_strings(struct finder *finder, uint32_t block, uint64_t start,
					    const uint8_t *bytes, uint32_t size)
{
	struct hawk_error *err = NULL;

	for (uint32_t at = 0; !err && size >= SHORT_STRING_BYTES && at <= size - SHORT_STRING_BYTES;
	     at += 8) {
		const uint8_t *text = bytes + at + SHORT_TEXT;
		uint64_t words[2];

		memcpy(words, bytes + at, sizeof(words));
		if (words[0] == start + at + SHORT_TEXT && words[1] <= SHORT_MAX &&
		    words[1] >= HAWK_STRING_MIN && text_length(text, SHORT_MAX + 1) == words[1])
			err = add(finder, block, words[0], text, (uint32_t)words[1]);
	}
	return err;
}

static bool is_zero(const uint8_t *bytes, uint32_t size)
{
	return !bytes[0] && !memcmp(bytes, bytes + 1, size - 1);
}

static struct hawk_error *take_block(struct finder *finder, uint32_t block)
{
	const struct hawk_block_index *index = &finder->heap->index;
	uint64_t start = hawk_block_start(index, block), size = hawk_block_size(index, block);
	const uint8_t *bytes = size < UINT32_MAX ? view(&finder->near, start, size) : NULL;
	uint32_t length;

	if (!size || hawk_block_nest(index, block))
		return NULL;
	if (!bytes) {
		hawk_chosen_add(&finder->ret->unread, index, block);
		return NULL;
	}
	if (finder->strings) {
		length = text_length(bytes, (uint32_t)size);
		return length && !is_pointer(finder, bytes, size)
			       ? add(finder, block, start, bytes, length)
			       : add_short_strings(finder, block, start, bytes, (uint32_t)size);
	}
	if (!is_zero(bytes, (uint32_t)size))
		return add(finder, block, start, bytes, (uint32_t)size);
	hawk_chosen_add(&finder->ret->zeros, index, block);
	return NULL;
}

static int by_hash(const void *left, const void *right)
{
	const struct hawk_content *a = left, *b = right;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

static bool are_equal(struct finder *finder, const struct hawk_content *a,
		      const struct hawk_content *b)
{
	const uint8_t *first = view(&finder->near, a->address, a->bytes);
	const uint8_t *second = view(&finder->other, b->address, b->bytes);

	return a->bytes == b->bytes && first && second && !memcmp(first, second, a->bytes);
}

/* Moves those that equal the first item to the front, in their order, and returns the end of these.
 * The others have the same hash by chance. */
static size_t gather(struct finder *finder, size_t first, size_t end)
{
	struct hawk_content *items = finder->ret->items;
	size_t equal = first + 1;

	for (size_t i = first + 1; i < end; i++) {
		struct hawk_content item = items[i];

		if (!are_equal(finder, &items[first], &item))
			continue;
		items[i] = items[equal];
		items[equal++] = item;
	}
	if (equal < end)
		qsort(&items[equal], end - equal, sizeof(*items), by_hash);
	return equal;
}

static struct hawk_error *add_group(struct finder *finder, size_t first, size_t end,
				    bool only_repeated)
{
	struct hawk_contents *ret = finder->ret;
	uint64_t each = ret->items[first].bytes + (uint64_t)finder->strings;

	if (only_repeated && end - first == 1)
		return NULL;
	if (!hawk_array_reserve(&ret->groups, ret->group_count, &ret->group_capacity,
				sizeof(*ret->groups)))
		return &hawk_enomem;
	ret->groups[ret->group_count++] = (struct hawk_content_group){
		.first = &ret->items[first], .count = end - first, .bytes = (end - first) * each};
	ret->repeated.objects += end - first - 1;
	ret->repeated.bytes += (end - first - 1) * each;
	return NULL;
}

/* Groups items with one hash. A hostile core may have many of these that differ. */
static struct hawk_error *split(struct finder *finder, size_t first, size_t end, bool only_repeated)
{
	struct hawk_error *err = NULL;

	for (unsigned tries = 0; !err && first < end; tries++) {
		size_t next = tries < COLLISIONS_MAX ? gather(finder, first, end) : first + 1;

		err = add_group(finder, first, next, only_repeated);
		first = next;
	}
	return err;
}

static struct hawk_error *make_groups(struct finder *finder, bool only_repeated)
{
	const struct hawk_contents *ret = finder->ret;
	struct hawk_error *err = NULL;
	size_t end;

	if (ret->item_count)
		qsort(ret->items, ret->item_count, sizeof(*ret->items), by_hash);
	for (size_t first = 0; !err && first < ret->item_count; first = end) {
		end = first + 1;
		while (end < ret->item_count && ret->items[end].hash == ret->items[first].hash)
			end++;
		err = split(finder, first, end, only_repeated);
	}
	return err;
}

static int compare_groups(uint64_t left, uint64_t right, const struct hawk_content_group *a,
			  const struct hawk_content_group *b)
{
	if (left != right)
		return left > right ? -1 : 1;
	return a->first->address < b->first->address ? -1 : a->first->address > b->first->address;
}

static int by_bytes(const void *left, const void *right)
{
	const struct hawk_content_group *a = left, *b = right;

	return compare_groups(a->bytes, b->bytes, a, b);
}

static int by_wasted(const void *left, const void *right)
{
	const struct hawk_content_group *a = left, *b = right;

	return compare_groups(hawk_content_wasted(a), hawk_content_wasted(b), a, b);
}

struct hawk_error *hawk_contents_make(const struct hawk_heap *heap, const uint64_t *chosen,
				      enum hawk_contents_of what, bool only_repeated,
				      struct hawk_contents *ret)
{
	CLEANUP(contents) struct hawk_contents contents = {0};
	struct finder finder = {.heap = heap,
				.ret = &contents,
				.strings = what == HAWK_CONTENTS_STRINGS,
				.near = {.target = heap->target},
				.other = {.target = heap->target}};
	uint32_t count = heap->index.count;
	struct hawk_progress progress;
	struct hawk_error *err = NULL;
	uint64_t reported = 0;

	hawk_progress_begin(&progress, "reading blocks", count);
	for (uint32_t i = hawk_block_next_chosen(chosen, 0, count); i < count && !err;
	     i = hawk_block_next_chosen(chosen, i + 1, count)) {
		hawk_progress_pass(&reported, i);
		err = take_block(&finder, i);
	}
	hawk_progress_end(&progress);
	if (!err)
		err = make_groups(&finder, only_repeated);
	if (err)
		return err;
	if (contents.group_count)
		qsort(contents.groups, contents.group_count, sizeof(*contents.groups),
		      only_repeated ? by_wasted : by_bytes);
	*ret = contents;
	contents = (struct hawk_contents){0};
	return NULL;
}

void hawk_contents_deinit(struct hawk_contents *contents)
{
	free(contents->items);
	free(contents->groups);
	*contents = (struct hawk_contents){0};
}
