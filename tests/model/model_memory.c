/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The journal is a list of words; the sharing map an open-addressed table by word address.
 */
#include "model_memory.h"

#include <string.h>

enum {
	JOURNAL_MAX = 1 << 20,
	MAP_LOG2 = 18,
	MAP_ENTRIES = 1 << MAP_LOG2,
};

static struct {
	void *address;
	uint64_t bytes;
	uint64_t before;
} journal[JOURNAL_MAX];
static size_t journal_count;

struct sharing {
	uint64_t key; /**< word address | space << 56; 0 = empty */
	uint8_t readers, writers;
	bool matters; /**< in this round */
};

static struct sharing map[MAP_ENTRIES];
static size_t map_used;
static bool grew;

void model_journal_note(const void *address, size_t bytes)
{
	char *at = (char *)address;

	while (bytes) {
		size_t part = bytes < 8 ? bytes : 8;

		if (journal_count == JOURNAL_MAX)
			model_fail("an execution writes too much");
		journal[journal_count].address = at;
		journal[journal_count].bytes = part;
		model_copy(&journal[journal_count++].before, at, part);
		at += part;
		bytes -= part;
	}
}

void model_journal_undo(void)
{
	while (journal_count) {
		journal_count--;
		model_copy(journal[journal_count].address, &journal[journal_count].before,
			   journal[journal_count].bytes);
	}
}

static struct sharing *entry_of(uint64_t word, unsigned space)
{
	uint64_t key = word | (uint64_t)space << 56;
	size_t at = key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - MAP_LOG2);

	while (map[at].key && map[at].key != key)
		at = (at + 1) % MAP_ENTRIES;
	if (!map[at].key) {
		if (++map_used > MAP_ENTRIES / 2)
			model_fail("a scenario touches too much memory");
		map[at].key = key;
	}
	return &map[at];
}

static bool is_shared(const struct sharing *entry)
{
	uint8_t all = entry->readers | entry->writers;

	return entry->writers && (all & (all - 1));
}

void model_sharing_note(const void *address, size_t bytes, unsigned space, unsigned agent,
			bool writes)
{
	uint64_t first = (uint64_t)address / 8, last = ((uint64_t)address + bytes - 1) / 8;

	for (uint64_t word = first; word <= last; word++) {
		struct sharing *entry = entry_of(word, space);

		if (writes)
			entry->writers |= (uint8_t)(1 << agent);
		else
			entry->readers |= (uint8_t)(1 << agent);
		grew = grew || (is_shared(entry) && !entry->matters);
	}
}

bool model_sharing_matters(const void *address, size_t bytes, unsigned space)
{
	uint64_t first = (uint64_t)address / 8, last = ((uint64_t)address + bytes - 1) / 8;

	for (uint64_t word = first; word <= last; word++)
		if (entry_of(word, space)->matters)
			return true;
	return false;
}

bool model_sharing_grew(void)
{
	bool result = grew;

	for (size_t i = 0; i < MAP_ENTRIES; i++)
		map[i].matters = is_shared(&map[i]);
	grew = false;
	return result;
}

void model_sharing_clear(void)
{
	memset(map, 0, sizeof(map));
	map_used = 0;
	grew = false;
}
