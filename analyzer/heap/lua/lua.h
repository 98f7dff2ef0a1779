/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Lua 5.1, 5.3 and 5.4 by PUC-Rio: the layout of each version, and what their parts share. Every
 * object begins with the next one of the collector's list, its kind and its mark. Private to
 * heap/lua/.
 */
#ifndef HAWK_ANALYZER_HEAP_LUA_LUA_H
#define HAWK_ANALYZER_HEAP_LUA_LUA_H

#include "../guest.h"
#include "../walker.h"

enum { LUA_LISTS = 4, LUA_KIND = 8, LUA_STRING_DATA = 24, LUA_SLOT_BYTES = 16 };

/** Kinds of objects, without variants. 5.3 has no objects for upvalues. */
enum lua_kind {
	LUA_STRING = 4,
	LUA_TABLE = 5,
	LUA_FUNCTION = 6,
	LUA_USERDATA = 7,
	LUA_THREAD = 8,
	LUA_PROTO,
	LUA_UPVALUE,
};

/** An array that a proto owns: where its pointer and its length lie in the proto. */
struct lua_part {
	uint8_t pointer, count, item_bytes;
	bool has_references;
};

enum { LUA_PARTS = 8 };

/** Where the fields of a table lie, and of its slots; a slot's value is at 0. */
struct lua_table {
	uint8_t bytes, slots_log2, array, array_size, nodes, list;
	uint8_t node_bytes, key, key_kind;
};

/** Offsets, and sizes in bytes; from the public sources of the version. */
struct lua_version {
	const char *name;
	unsigned number;
	uint8_t proto_kind, upvalue_kind;
	uint8_t extra;              /**< bytes of a thread's block before the lua_State */
	uint8_t global;             /**< lua_State: its global_State */
	uint16_t state_bytes;       /**< of lua_State; the main one is followed by global_State */
	uint16_t global_bytes;      /**< of global_State */
	uint16_t main_thread;       /**< global_State: the main lua_State */
	uint16_t registry;          /**< global_State: a value, the table of the registry */
	uint16_t total, debt;       /**< global_State: their sum is what is in use; debt 0 = none */
	uint16_t index, index_size; /**< global_State: hash table of strings */
	uint16_t lists[LUA_LISTS];  /**< global_State: lists of objects, 0 = none */
	uint16_t buffer, buffer_size; /**< global_State: a text buffer; 0 = none */
	struct {
		uint8_t stack, size, last; /**< `size` in slots, or by `last`; 0 = none */
		uint8_t calls;             /**< first of the list of calls, or their array */
		uint8_t call_count, call_bytes, open_upvalues;
		uint8_t list, yields; /**< further words of the collector's; 0 = none */
	} thread;
	struct lua_table table;
	struct {
		uint8_t count, list, proto, lua_bytes, native_bytes;
	} function;
	struct {
		uint8_t metatable, size, list; /**< list 0 = none */
	} userdata;
	struct {
		uint8_t bytes, source, line, list;
		struct lua_part parts[LUA_PARTS];
	} proto;
	uint8_t upvalue_bytes;
};

enum { LUA_VERSIONS = 3 };
extern const struct lua_version lua_versions[LUA_VERSIONS];

/** Tables of redis's 5.1, which can be read-only. */
extern const struct lua_table lua_redis_table;

/** The longest part of an object that is read, from its start. */
enum { LUA_HEAD_BYTES = 200 };

/** An object, as read: bytes that the core lacks are 0. */
struct lua_object {
	uint64_t address, next;
	uint8_t kind_byte;
	enum lua_kind kind;
	uint8_t head[LUA_HEAD_BYTES];
};

/** One interpreter being read. */
struct lua_reader {
	struct hawk_guest_finder *finder;
	struct hawk_guest *guest;
	const struct lua_version *version;
	const struct lua_table *table;
	struct hawk_near strings; /**< beside the finder's, for what objects refer to */
	uint64_t state, global;
	uint64_t *upvalues; /**< 5.3: those of functions, with repetitions */
	size_t upvalue_count, upvalue_capacity;
};

static inline uint64_t lua_word(const struct lua_object *object, unsigned at)
{
	uint64_t word;

	memcpy(&word, object->head + at, sizeof(word));
	return word;
}

static inline uint32_t lua_half(const struct lua_object *object, unsigned at)
{
	uint32_t half;

	memcpy(&half, object->head + at, sizeof(half));
	return half;
}

/** Finds all interpreters, wherever they may be. */
void lua_search(struct hawk_guest_finder *finder);

/** Reads an object; returns false if it is none. */
bool lua_read(struct lua_reader *reader, uint64_t address, struct lua_object *ret);

/** Adds the object and what it owns. Returns false if it cannot be an object. */
bool lua_add(struct lua_reader *reader, const struct lua_object *object);

/** Adds all objects of the interpreter, and its own count of their bytes. */
void lua_add_all(struct lua_reader *reader);

/** Adds a buffer of an object; NULL or empty ones are left out. */
void lua_add_buffer(struct lua_reader *reader, uint64_t address, uint64_t bytes,
		    bool has_references, const char *name);

/** Returns the number of the table's slots. */
uint64_t lua_slot_count(struct lua_reader *reader, const struct lua_object *table);

/** Returns the type of an object. */
uint32_t lua_type_of(struct lua_reader *reader, const struct lua_object *object);

#endif
