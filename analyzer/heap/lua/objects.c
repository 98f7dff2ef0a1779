/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Adds Lua's objects with the buffers that they own. Sizes are those that Lua counts.
 */
#include "lua.h"

enum {
	NATIVE_5_1 = 10, /* 5.1: byte that tells functions of C */
	LONG_STRING = 0x10,
	NATIVE = 0x20, /* later: bit of the kind */
	SHORT_LENGTH = 11,
	LENGTH = 16,
	FLAGS = 10,
	SIZE_IS_HINT = 0x80, /* 5.4: bit of a table's flags */
	USER_VALUES = 10,
	USER_VALUES_AT = 40, /* 5.4 */
	NEXT_CALL = 24,
	EXTRA_SLOTS = 5, /* 5.4: behind the end of a stack */
	CALLS_MAX = 1 << 20,
	ARRAY_LOG2_MAX = 31,
};

static bool tell_kind(const struct lua_version *version, uint8_t byte, enum lua_kind *ret)
{
	unsigned kind = byte & 0xf;

	if (kind == version->proto_kind)
		*ret = LUA_PROTO;
	else if (version->upvalue_kind && kind == version->upvalue_kind)
		*ret = LUA_UPVALUE;
	else if (kind >= LUA_STRING && kind <= LUA_THREAD)
		*ret = (enum lua_kind)kind;
	else
		return false;
	return true;
}

bool lua_read(struct lua_reader *reader, uint64_t address, struct lua_object *ret)
{
	size_t got = hawk_near_read(&reader->finder->near, address, ret->head, sizeof(ret->head));

	if (address % 8 || got < LUA_STRING_DATA)
		return false;
	memset(ret->head + got, 0, sizeof(ret->head) - got);
	ret->address = address;
	ret->next = lua_word(ret, 0);
	ret->kind_byte = ret->head[LUA_KIND];
	return tell_kind(reader->version, ret->kind_byte, &ret->kind);
}

static bool add(struct lua_reader *reader, uint64_t start, uint64_t bytes, uint32_t type)
{
	return hawk_guest_add_object(reader->finder, reader->guest, start, bytes, type);
}

void lua_add_buffer(struct lua_reader *reader, uint64_t address, uint64_t bytes,
		    bool has_references, const char *name)
{
	const struct hawk_guest_layout layout = {
		.ignored_words = has_references ? 0 : UINT64_MAX,
		.ignores_rest = !has_references,
	};
	uint64_t key = hawk_guest_mix((uintptr_t)name, has_references);
	uint32_t type;

	if (!address || !bytes)
		return;
	type = hawk_guest_find_type(reader->finder, key);
	if (!type)
		type = hawk_guest_add_type(reader->finder, key, name, &layout);
	(void)add(reader, address, bytes, type);
}

static uint64_t string_bytes(const struct lua_reader *reader, const struct lua_object *object)
{
	uint64_t length = reader->version->number == 501 || object->kind_byte & LONG_STRING
				  ? lua_word(object, LENGTH)
				  : object->head[SHORT_LENGTH];

	return LUA_STRING_DATA + length + 1;
}

/* 5.4 keeps a hint of the array's length; the array has the next power of two of slots. */
static uint64_t array_slots(const struct lua_reader *reader, const struct lua_object *table)
{
	uint64_t size = lua_half(table, reader->table->array_size);
	unsigned log2 = 0;

	if (reader->version->number < 504 || !(table->head[FLAGS] & SIZE_IS_HINT))
		return size;
	while (log2 < ARRAY_LOG2_MAX && UINT64_C(1) << log2 < size)
		log2++;
	return UINT64_C(1) << log2;
}

uint64_t lua_slot_count(struct lua_reader *reader, const struct lua_object *table)
{
	uint64_t nodes = lua_word(table, reader->table->nodes);
	unsigned log2 = table->head[reader->table->slots_log2];

	if (!nodes || log2 > ARRAY_LOG2_MAX)
		return 0;
	/* Tables without slots share a constant one. */
	return log2 || !hawk_target_module_at(reader->finder->target, nodes) ? UINT64_C(1) << log2
									     : 0;
}

static void add_table_parts(struct lua_reader *reader, const struct lua_object *table)
{
	lua_add_buffer(reader, lua_word(table, reader->table->array),
		       LUA_SLOT_BYTES * array_slots(reader, table), true, "Lua array");
	lua_add_buffer(reader, lua_word(table, reader->table->nodes),
		       reader->table->node_bytes * lua_slot_count(reader, table), true,
		       "Lua slots");
}

/* 5.3: keeps the upvalues of a function in mind: they are no objects, and shared. */
static void take_upvalues(struct lua_reader *reader, const struct lua_object *function)
{
	unsigned count = function->head[reader->version->function.count];
	uint64_t at = function->address + reader->version->function.lua_bytes;

	for (unsigned i = 0; i < count && reader->upvalue_count < reader->finder->objects_max;
	     i++) {
		uint64_t upvalue;

		if (!hawk_word(&reader->strings, at + 8 * (uint64_t)i, &upvalue) || !upvalue)
			continue;
		if (!hawk_array_reserve(&reader->upvalues, reader->upvalue_count,
					&reader->upvalue_capacity, sizeof(*reader->upvalues))) {
			reader->finder->failed = true;
			return;
		}
		reader->upvalues[reader->upvalue_count++] = upvalue;
	}
}

static uint64_t function_bytes(struct lua_reader *reader, const struct lua_object *object)
{
	const struct lua_version *version = reader->version;
	uint64_t count = object->head[version->function.count];
	bool native =
		version->number == 501 ? object->head[NATIVE_5_1] : object->kind_byte & NATIVE;

	if (native)
		return version->function.native_bytes + LUA_SLOT_BYTES * count;
	if (!version->upvalue_kind)
		take_upvalues(reader, object);
	return version->function.lua_bytes + 8 * count;
}

static uint64_t userdata_bytes(const struct lua_reader *reader, const struct lua_object *object)
{
	uint64_t size = lua_word(object, reader->version->userdata.size);
	uint16_t values;

	memcpy(&values, object->head + USER_VALUES, sizeof(values));
	if (reader->version->number < 504)
		return 40 + size;
	return (values ? USER_VALUES_AT + LUA_SLOT_BYTES * (uint64_t)values : 32) + size;
}

static uint64_t add_proto_parts(struct lua_reader *reader, const struct lua_object *proto)
{
	for (unsigned i = 0; i < LUA_PARTS; i++) {
		const struct lua_part *part = &reader->version->proto.parts[i];

		if (part->pointer)
			lua_add_buffer(reader, lua_word(proto, part->pointer),
				       part->item_bytes * (uint64_t)lua_half(proto, part->count),
				       part->has_references, "Lua code");
	}
	return reader->version->proto.bytes;
}

/* Adds the calls of a thread: a list, in 5.1 an array. */
static void add_calls(struct lua_reader *reader, const struct lua_object *thread)
{
	const struct lua_version *version = reader->version;
	uint64_t call = lua_word(thread, version->thread.calls);

	if (version->number == 501) {
		lua_add_buffer(reader, call,
			       version->thread.call_bytes *
				       (uint64_t)lua_half(thread, version->thread.call_count),
			       true, "Lua stack");
		return;
	}
	for (unsigned i = 0; call && i < CALLS_MAX && !hawk_guest_is_full(reader->finder); i++) {
		lua_add_buffer(reader, call, version->thread.call_bytes, true, "Lua stack");
		if (!hawk_word(&reader->strings, call + NEXT_CALL, &call))
			return;
	}
}

/* 5.1: adds the open upvalues, which are on no other list. */
static void add_open_upvalues(struct lua_reader *reader, const struct lua_object *thread)
{
	struct lua_object upvalue;
	uint64_t at = lua_word(thread, reader->version->thread.open_upvalues);

	while (at && lua_read(reader, at, &upvalue) && upvalue.kind == LUA_UPVALUE &&
	       lua_add(reader, &upvalue))
		at = upvalue.next;
}

static uint64_t add_thread_parts(struct lua_reader *reader, const struct lua_object *thread)
{
	const struct lua_version *version = reader->version;
	uint64_t stack = lua_word(thread, version->thread.stack);
	uint64_t bytes =
		version->thread.last
			? lua_word(thread, version->thread.last) - stack +
				  EXTRA_SLOTS * LUA_SLOT_BYTES
			: LUA_SLOT_BYTES * (uint64_t)lua_half(thread, version->thread.size);

	if (stack)
		lua_add_buffer(reader, stack, bytes, true, "Lua stack");
	add_calls(reader, thread);
	if (version->thread.open_upvalues)
		add_open_upvalues(reader, thread);
	return version->extra + version->state_bytes +
	       (thread->address == reader->state ? version->global_bytes : 0);
}

bool lua_add(struct lua_reader *reader, const struct lua_object *object)
{
	uint64_t start = object->address, bytes = 0;

	switch (object->kind) {
	case LUA_STRING:
		bytes = string_bytes(reader, object);
		break;
	case LUA_TABLE:
		add_table_parts(reader, object);
		bytes = reader->table->bytes;
		break;
	case LUA_FUNCTION:
		bytes = function_bytes(reader, object);
		break;
	case LUA_USERDATA:
		bytes = userdata_bytes(reader, object);
		break;
	case LUA_THREAD:
		bytes = add_thread_parts(reader, object);
		start -= reader->version->extra;
		break;
	case LUA_PROTO:
		bytes = add_proto_parts(reader, object);
		break;
	case LUA_UPVALUE:
		bytes = reader->version->upvalue_bytes;
		break;
	}
	return add(reader, start, bytes, lua_type_of(reader, object));
}

static int by_address(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static void add_upvalues(struct lua_reader *reader)
{
	if (reader->upvalue_count)
		qsort(reader->upvalues, reader->upvalue_count, sizeof(*reader->upvalues),
		      by_address);
	for (size_t i = 0; i < reader->upvalue_count; i++)
		if (!i || reader->upvalues[i] != reader->upvalues[i - 1])
			lua_add_buffer(reader, reader->upvalues[i], reader->version->upvalue_bytes,
				       true, "Lua upvalue");
}

/* Adds a list of objects, of which the main thread is left out. A loop ends at the limit of
 * objects, or where it closes. */
static void add_list(struct lua_reader *reader, uint64_t at)
{
	uint64_t mark = 0, count = 0;
	struct lua_object object;

	for (; at && at != mark; at = object.next) {
		if (!(count & (count + 1)))
			mark = at;
		count++;
		if (!lua_read(reader, at, &object)) {
			reader->guest->incomplete = true;
			return;
		}
		if (at != reader->state && !lua_add(reader, &object))
			return;
	}
	if (at)
		reader->guest->incomplete = true;
}

/* Adds the hash table of strings; in 5.1 no other list has the strings. */
static void add_strings(struct lua_reader *reader)
{
	const struct lua_version *version = reader->version;
	struct hawk_near *near = &reader->strings;
	uint64_t index, chain;
	uint32_t size;

	if (!hawk_word(near, reader->global + version->index, &index) ||
	    !hawk_half(near, reader->global + version->index_size, &size))
		return;
	lua_add_buffer(reader, index, 8 * (uint64_t)size, false, "Lua strings' index");
	for (uint32_t i = 0; version->number == 501 && i < size; i++) {
		if (!hawk_word(near, index + 8 * (uint64_t)i, &chain))
			break;
		add_list(reader, chain);
	}
}

void lua_add_all(struct lua_reader *reader)
{
	const struct lua_version *version = reader->version;
	struct hawk_near *near = &reader->strings;
	uint64_t total = 0, debt = 0, word;
	struct lua_object state;

	if (!lua_read(reader, reader->state, &state) || state.kind != LUA_THREAD)
		return;
	reader->guest->states++;
	(void)lua_add(reader, &state);
	for (unsigned i = 0; i < LUA_LISTS; i++)
		if (version->lists[i] && hawk_word(near, reader->global + version->lists[i], &word))
			add_list(reader, word);
	add_strings(reader);
	add_upvalues(reader);
	if (version->buffer && hawk_word(near, reader->global + version->buffer, &word) &&
	    hawk_word(near, reader->global + version->buffer_size, &total))
		lua_add_buffer(reader, word, total, false, "Lua text buffer");
	(void)hawk_word(near, reader->global + version->total, &total);
	if (version->debt)
		(void)hawk_word(near, reader->global + version->debt, &debt);
	reader->guest->is_counted = true;
	reader->guest->counted_bytes += total + debt;
}
