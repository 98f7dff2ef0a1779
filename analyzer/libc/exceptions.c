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

/* Returns true if the pool's first free entry, arena and size are `words`. */
static bool is_reserve(struct hawk_near *near, const uint64_t words[3])
{
	uint64_t entry = words[0], arena = words[1], bytes = words[2], free_bytes;

	return arena && arena % ALIGNMENT == 0 && bytes >= ARENA_BYTES_MIN &&
	       bytes <= ARENA_BYTES_MAX && entry % ALIGNMENT == 0 && entry >= arena &&
	       entry - arena < bytes &&
	       hawk_near_read(near, entry, &free_bytes, HAWK_RESERVE_ENTRY_BYTES) ==
		       HAWK_RESERVE_ENTRY_BYTES &&
	       free_bytes && free_bytes <= bytes - (entry - arena);
}

static void search(const struct hawk_target *target, uint64_t start, uint64_t end,
		   struct hawk_reserve *ret)
{
	struct hawk_near variables = {.target = target}, heap = {.target = target};
	uint64_t words[3];

	for (uint64_t at = start; !ret->block && at + sizeof(words) <= end; at += sizeof(*words))
		if (hawk_near_read(&variables, at, words, sizeof(words)) == sizeof(words) &&
		    is_reserve(&heap, words))
			*ret = (struct hawk_reserve){
				.variables = at, .entry = words[0], .block = words[1]};
}

void hawk_reserve_find(const struct hawk_target *target, struct hawk_reserve *ret)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);

	*ret = (struct hawk_reserve){0};
	for (size_t i = 0; i < count && !ret->block; i++) {
		const struct hawk_mapping *mapping = &mappings[i];
		const struct hawk_module *module =
			mapping->data ? hawk_target_module_at(target, mapping->start) : NULL;
		uint64_t bytes = mapping->present_bytes < VARIABLES_BYTES_MAX
					 ? mapping->present_bytes
					 : VARIABLES_BYTES_MAX;

		if (module && strstr(module->path, "/libstdc++.so"))
			search(target, mapping->start, mapping->start + bytes, ret);
	}
}
