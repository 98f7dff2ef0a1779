/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A bump allocator with a hash set of the strings in it. Symbolizing a large heap asks for some
 * hundred thousand strings, most of them equal: one probe each, no malloc for known ones.
 */
#include "strings.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum {
	CHUNK_BYTES = 256 * 1024,
	FIRST_SLOTS = 1024,
};

struct hawk_strings_chunk {
	struct hawk_strings_chunk *next;
	size_t used;
	size_t size;
	_Alignas(8) char bytes[];
};

void hawk_strings_init(struct hawk_strings *strings)
{
	memset(strings, 0, sizeof(*strings));
}

void hawk_strings_deinit(struct hawk_strings *strings)
{
	while (strings->chunk) {
		struct hawk_strings_chunk *next = strings->chunk->next;

		free(strings->chunk);
		strings->chunk = next;
	}
	free(strings->slots);
	free(strings->hashes);
	hawk_strings_init(strings);
}

static struct hawk_strings_chunk *add_chunk(struct hawk_strings *strings, size_t bytes)
{
	size_t size = bytes > CHUNK_BYTES / 4 ? bytes : CHUNK_BYTES;
	struct hawk_strings_chunk *chunk;

	if (size > SIZE_MAX / 2)
		return NULL;
	chunk = calloc(1, sizeof(*chunk) + size);
	if (!chunk)
		return NULL;
	chunk->size = size;
	chunk->next = strings->chunk;
	strings->chunk = chunk;
	return chunk;
}

void *hawk_strings_alloc(struct hawk_strings *strings, size_t bytes)
{
	struct hawk_strings_chunk *chunk = strings->chunk;
	void *result;

	if (bytes > SIZE_MAX / 4)
		return NULL;
	bytes = (bytes + 7) & ~(size_t)7;
	if (!chunk || chunk->size - chunk->used < bytes)
		chunk = add_chunk(strings, bytes);
	if (!chunk)
		return NULL;
	result = chunk->bytes + chunk->used;
	chunk->used += bytes;
	return result;
}

static void put_slot(struct hawk_strings *strings, const char *string, uint32_t hash)
{
	size_t mask = strings->slot_count - 1;
	size_t slot = hash & mask;

	while (strings->slots[slot])
		slot = (slot + 1) & mask;
	strings->slots[slot] = string;
	strings->hashes[slot] = hash;
}

static bool grow_slots(struct hawk_strings *strings)
{
	struct hawk_strings bigger = *strings;

	bigger.slot_count = strings->slot_count ? 2 * strings->slot_count : FIRST_SLOTS;
	bigger.slots = calloc(bigger.slot_count, sizeof(*bigger.slots));
	bigger.hashes = calloc(bigger.slot_count, sizeof(*bigger.hashes));
	if (!bigger.slots || !bigger.hashes) {
		free(bigger.slots);
		free(bigger.hashes);
		return false;
	}
	for (size_t i = 0; i < strings->slot_count; i++)
		if (strings->slots[i])
			put_slot(&bigger, strings->slots[i], strings->hashes[i]);
	free(strings->slots);
	free(strings->hashes);
	*strings = bigger;
	return true;
}

const char *hawk_strings_intern(struct hawk_strings *strings, const char *bytes, size_t size)
{
	uint32_t hash = (uint32_t)XXH3_64bits(bytes, size);
	char *copy;

	if (2 * strings->count >= strings->slot_count && !grow_slots(strings))
		return NULL;
	for (size_t slot = hash & (strings->slot_count - 1); strings->slots[slot];
	     slot = (slot + 1) & (strings->slot_count - 1)) {
		const char *known = strings->slots[slot];

		if (strings->hashes[slot] == hash && strncmp(known, bytes, size) == 0 &&
		    !known[size])
			return known;
	}
	copy = hawk_strings_alloc(strings, size + 1);
	if (!copy)
		return NULL;
	memcpy(copy, bytes, size);
	put_slot(strings, copy, hash);
	strings->count++;
	return copy;
}
