/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds the emergency pool of libstdc++ (eh_alloc.cc) without symbols, in the library's variables:
 *
 *     mutex | first free entry | arena | bytes of the arena
 *                       |           |
 *                       v           v
 *                   size | next     one block of malloc(), about 72 KiB
 */
#include "hawk/libc/exceptions.h"

#include <string.h>

#include "hawk/target/near.h"

enum {
	VARIABLES_BYTES_MAX = 1 << 18,
	ARENA_BYTES_MIN = 1 << 10,
	ARENA_BYTES_MAX = 1 << 20,
	ALIGNMENT = 16,
};

/* Returns the arena of the pool whose first free entry is at `words`; 0 = it is none. */
static uint64_t arena_of(struct hawk_near *near, const uint64_t words[3])
{
	uint64_t entry = words[0], arena = words[1], bytes = words[2], free_bytes;

	if (!arena || arena % ALIGNMENT || bytes < ARENA_BYTES_MIN || bytes > ARENA_BYTES_MAX ||
	    entry % ALIGNMENT || entry < arena || entry - arena >= bytes ||
	    hawk_near_read(near, entry, &free_bytes, sizeof(free_bytes)) != sizeof(free_bytes))
		return 0;
	return free_bytes && free_bytes <= bytes - (entry - arena) ? arena : 0;
}

static uint64_t search(const struct hawk_target *target, uint64_t start, uint64_t end)
{
	struct hawk_near variables = {.target = target}, heap = {.target = target};
	uint64_t words[3], arena = 0;

	for (uint64_t at = start; !arena && at + sizeof(words) <= end; at += sizeof(*words))
		if (hawk_near_read(&variables, at, words, sizeof(words)) == sizeof(words))
			arena = arena_of(&heap, words);
	return arena;
}

uint64_t hawk_exceptions_reserve(const struct hawk_target *target)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);
	uint64_t arena = 0;

	for (size_t i = 0; i < count && !arena; i++) {
		const struct hawk_mapping *mapping = &mappings[i];
		const struct hawk_module *module =
			mapping->data ? hawk_target_module_at(target, mapping->start) : NULL;
		uint64_t bytes = mapping->present_bytes < VARIABLES_BYTES_MAX
					 ? mapping->present_bytes
					 : VARIABLES_BYTES_MAX;

		if (module && strstr(module->path, "/libstdc++.so"))
			arena = search(target, mapping->start, mapping->start + bytes);
	}
	return arena;
}
