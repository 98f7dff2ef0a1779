/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds Lua's interpreters: a lua_State that points to the global_State right behind it. Searched
 * for only in processes with a module of that name, or a program that holds Lua's version.
 */
#include "lua.h"

#include "hawk/symbols/symbols.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES = 4096, GAPS_MAX = 1 << 14 };

/* Returns true if the bytes of a program's file that its module maps hold the text. */
static bool file_holds(struct hawk_symbols *symbols, const struct hawk_module *module,
		       const char *text)
{
	uint64_t at = module->start, available;
	unsigned gaps = 0; /* a damaged module may seem to be of any size */

	while (at < module->end && gaps < GAPS_MAX) {
		const uint8_t *bytes = hawk_symbols_bytes(symbols, at, &available);

		if (bytes && memmem(bytes, available, text, strlen(text)))
			return true;
		gaps += !bytes || !available;
		at += bytes && available ? available : PAGE_BYTES;
	}
	return false;
}

/* Returns true if the process can have Lua in it. */
static bool has_lua(const struct hawk_target *target, struct hawk_symbols *symbols)
{
	size_t count;
	const struct hawk_module *modules = hawk_target_modules(target, &count);

	for (size_t i = 0; i < count; i++) {
		const char *base = strrchr(modules[i].path, '/');

		if (strstr(base ? base : modules[i].path, "lua") ||
		    (modules[i].main && symbols && file_holds(symbols, &modules[i], "Lua 5.")))
			return true;
	}
	return false;
}

/* Returns true if tables have another field before their metatable: then the registry, which has
 * none, has log2 of its slots there. */
static bool is_of_redis(struct lua_reader *reader)
{
	enum { METATABLE = 16, LOG2_MAX = 32 };
	uint64_t table, word;

	return reader->version->registry &&
	       hawk_word(&reader->strings, reader->global + reader->version->registry, &table) &&
	       hawk_word(&reader->strings, table + METATABLE, &word) && (uint8_t)word &&
	       (uint8_t)word < LOG2_MAX;
}

/* Returns true if the word at `at` is the pointer of a main lua_State to its global_State. */
static bool is_state(struct lua_reader *reader, uint64_t at, uint64_t global)
{
	const struct lua_version *version = reader->version;
	uint64_t state = at - version->global, main_thread;
	uint8_t head[LUA_KIND + 1];

	if (global - state != version->state_bytes ||
	    hawk_near_read(&reader->strings, state, head, sizeof(head)) != sizeof(head) ||
	    head[LUA_KIND] != LUA_THREAD ||
	    !hawk_word(&reader->strings, global + version->main_thread, &main_thread) ||
	    main_thread != state)
		return false;
	reader->state = state;
	reader->global = global;
	reader->table = is_of_redis(reader) ? &lua_redis_table : &version->table;
	return true;
}

/* Adds the interpreter if there is one at this word. */
static void try_word(struct lua_reader *reader, uint64_t at, uint64_t word)
{
	for (unsigned i = 0; i < LUA_VERSIONS; i++) {
		reader->version = &lua_versions[i];
		if (!is_state(reader, at, word))
			continue;
		reader->guest = hawk_guest_named(reader->finder->guests, reader->version->name);
		reader->upvalue_count = 0;
		if (reader->guest)
			lua_add_all(reader);
	}
}

void lua_search(struct hawk_guest_finder *finder)
{
	struct lua_reader reader = {.finder = finder, .strings.target = finder->target};
	struct hawk_near near = {.target = finder->target};
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(finder->target, &count);

	for (size_t i = 0; i < count; i++) {
		uint64_t at = (mappings[i].start + 7) & -UINT64_C(8), word;
		uint64_t end = mappings[i].start + mappings[i].present_bytes;

		if (!hawk_is_anonymous(finder->target, &mappings[i]))
			continue;
		for (; hawk_next_word(&near, &at, end, &word); at += sizeof(word))
			if (word - at < UINT8_MAX && !hawk_guest_is_full(finder))
				try_word(&reader, at, word);
	}
	free(reader.upvalues);
}

void hawk_lua_find(struct hawk_guest_finder *finder, struct hawk_symbols *symbols)
{
	if (has_lua(finder->target, symbols))
		lua_search(finder);
}
