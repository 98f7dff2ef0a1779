/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Types of Lua's objects: tables by the names of their fields, functions by the place of their
 * definition, userdata by the __name of its metatable.
 */
#include "lua.h"

#include "hawk/base/cleanup.h"

enum {
	FIELDS_MAX = 16, /* a table with more slots is a map */
	SHAPES_MAX = 1 << 13,
	STRING_MAX = 4096,
	NATIVE_5_1 = 10,
	NATIVE = 0x20,
	LONG_STRING = 0x10,
	METATABLE_SLOTS_MAX = 64,
	NODE_BYTES_MAX = 40,
};

static uint64_t word_bit(unsigned offset)
{
	return UINT64_C(1) << (offset / 8);
}

/* Returns the words of an object that are the collector's, or no references. */
static struct hawk_guest_layout layout_of(const struct lua_reader *reader,
					  const struct lua_object *object)
{
	const struct lua_version *version = reader->version;
	struct hawk_guest_layout ret = {.ignored_words = 1, .is_collected = true};
	unsigned extra = version->extra;

	if (object->kind == LUA_STRING) {
		ret.ignored_words = UINT64_MAX;
		ret.ignores_rest = true;
	} else if (object->kind == LUA_TABLE) {
		ret.ignored_words |= word_bit(reader->table->list);
	} else if (object->kind == LUA_FUNCTION) {
		ret.ignored_words |= word_bit(version->function.list);
	} else if (object->kind == LUA_PROTO) {
		ret.ignored_words |= word_bit(version->proto.list);
	} else if (object->kind == LUA_USERDATA) {
		if (version->userdata.list && lua_half(object, 8) >> 16)
			ret.ignored_words |= word_bit(version->userdata.list);
	} else if (object->kind == LUA_THREAD) {
		ret.front = version->extra;
		ret.ignored_words = word_bit(extra) | word_bit(extra + version->thread.list);
		if (version->thread.yields)
			ret.ignored_words |= word_bit(extra + version->thread.yields);
	}
	return ret;
}

/* The main thread's block ends with the global state: all but the lists of objects that wait to be
 * finalized, or are never freed. */
static void ignore_lists(const struct lua_version *version, struct hawk_guest_layout *layout)
{
	unsigned global = version->extra + version->state_bytes;

	layout->is_collected = false;
	for (unsigned at = global + version->lists[0]; at < global + version->main_thread; at += 8)
		if (at / 8 < 64 &&
		    (version->number == 501 ? at < global + 88
					    : at != global + version->lists[2] &&
						      at != global + version->lists[3]))
			layout->ignored_words |= word_bit(at);
}

/* Appends the text of a string object. */
static void append_string(struct lua_reader *reader, uint64_t address, struct hawk_text *name)
{
	struct hawk_near *near = &reader->strings;
	char text[HAWK_GUEST_NAME_MAX];
	uint8_t head[LUA_STRING_DATA];
	uint64_t length;

	if (hawk_near_read(near, address, head, sizeof(head)) != sizeof(head) ||
	    (head[LUA_KIND] & 0xf) != LUA_STRING)
		return;
	memcpy(&length, head + 16, sizeof(length));
	if (reader->version->number != 501 && !(head[LUA_KIND] & LONG_STRING))
		length = head[11];
	if (length > sizeof(text))
		length = sizeof(text);
	hawk_guest_append(name, text,
			  hawk_near_read(near, address + LUA_STRING_DATA, text, length));
}

/* Reads the string keys of a table's used slots. Returns their number. */
static unsigned read_fields(struct lua_reader *reader, const struct lua_object *table,
			    uint64_t slots, uint64_t *ret)
{
	uint64_t nodes = lua_word(table, reader->table->nodes);
	unsigned count = 0;

	for (uint64_t i = 0; i < slots; i++) {
		uint8_t node[NODE_BYTES_MAX];
		unsigned bytes = reader->table->node_bytes;

		if (hawk_near_read(&reader->strings, nodes + i * bytes, node, bytes) != bytes)
			break;
		/* A slot without a value is free. */
		if (!(node[8] & 0xf) || (node[reader->table->key_kind] & 0xf) != LUA_STRING)
			continue;
		memcpy(&ret[count++], node + reader->table->key, sizeof(*ret));
	}
	return count;
}

static int by_number(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static int by_text(const void *left, const void *right)
{
	const struct hawk_text *a = left, *b = right;

	return strcmp(hawk_text_string(a), hawk_text_string(b));
}

static void append_fields(struct lua_reader *reader, const uint64_t *fields, unsigned count,
			  struct hawk_text *name)
{
	struct hawk_text texts[FIELDS_MAX] = {{0}};

	for (unsigned i = 0; i < count; i++)
		append_string(reader, fields[i], &texts[i]);
	qsort(texts, count, sizeof(*texts), by_text);
	hawk_text_puts(name, " {");
	for (unsigned i = 0; i < count; i++) {
		if (name->size >= HAWK_GUEST_NAME_MAX) {
			hawk_text_puts(name, "...");
			break;
		}
		hawk_text_puts(name, i ? "," : "");
		hawk_guest_append(name, hawk_text_string(&texts[i]), texts[i].size);
	}
	hawk_text_puts(name, "}");
	for (unsigned i = 0; i < count; i++)
		hawk_text_deinit(&texts[i]);
}

/* Appends the file and line at which a function is defined: the source is "@FILE", "=NAME" or the
 * text itself. */
static void append_place(struct lua_reader *reader, uint64_t proto, struct hawk_text *name)
{
	CLEANUP(text) struct hawk_text source = {0};
	const char *from, *slash;
	uint64_t string;
	uint32_t line;

	if (!hawk_word(&reader->strings, proto + reader->version->proto.source, &string) ||
	    !hawk_half(&reader->strings, proto + reader->version->proto.line, &line))
		return;
	append_string(reader, string, &source);
	from = hawk_text_string(&source);
	slash = strrchr(from, '/');
	if (*from != '@' && *from != '=')
		from = "[string]";
	else
		from = *from == '@' && slash ? slash + 1 : from + 1;
	hawk_text_printf(name, " %s:%u", from, line);
}

/* Returns the string that metatable has as __name, 0 = none. */
static uint64_t name_of_metatable(struct lua_reader *reader, uint64_t metatable)
{
	uint64_t nodes, name;
	struct lua_object table;
	uint64_t slots;

	if (!metatable || !lua_read(reader, metatable, &table) || table.kind != LUA_TABLE)
		return 0;
	nodes = lua_word(&table, reader->table->nodes);
	slots = lua_slot_count(reader, &table);
	if (slots > METATABLE_SLOTS_MAX)
		return 0;
	for (uint64_t i = 0; i < slots; i++) {
		static const char wanted[] = "__name";
		char text[sizeof(wanted)];
		uint64_t key;

		if (hawk_word(&reader->strings,
			      nodes + i * reader->table->node_bytes + reader->table->key, &key) &&
		    hawk_near_read(&reader->strings, key + LUA_STRING_DATA, text, sizeof(text)) ==
			    sizeof(text) &&
		    !memcmp(text, wanted, sizeof(wanted)) &&
		    hawk_word(&reader->strings, nodes + i * reader->table->node_bytes, &name))
			return name;
	}
	return 0;
}

static uint64_t fields_key(const uint64_t *fields, unsigned count)
{
	uint64_t key = LUA_TABLE;

	for (unsigned i = 0; i < count; i++)
		key = hawk_guest_mix(key, fields[i]);
	return key;
}

/* Returns the number that tells types apart, without their names. Fills the fields of a record. */
static uint64_t key_of(struct lua_reader *reader, const struct lua_object *object, uint64_t *fields,
		       unsigned *count)
{
	const struct lua_version *version = reader->version;
	uint64_t key = hawk_guest_mix(version->number, object->kind), slots;
	bool native;

	*count = 0;
	if (object->kind == LUA_TABLE) {
		slots = lua_slot_count(reader, object);
		if (slots && slots <= FIELDS_MAX)
			*count = read_fields(reader, object, slots, fields);
		qsort(fields, *count, sizeof(*fields), by_number);
		return *count ? fields_key(fields, *count) : key;
	}
	if (object->kind == LUA_PROTO)
		return hawk_guest_mix(key, object->address);
	native = version->number == 501 ? object->head[NATIVE_5_1] : object->kind_byte & NATIVE;
	if (object->kind == LUA_FUNCTION && !native)
		return hawk_guest_mix(key, lua_word(object, version->function.proto));
	if (object->kind == LUA_USERDATA)
		return hawk_guest_mix(
			hawk_guest_mix(key, lua_word(object, version->userdata.metatable)),
			lua_half(object, 8) >> 16 != 0);
	if (object->kind == LUA_THREAD && object->address == reader->state)
		return hawk_guest_mix(key, 1);
	return object->kind == LUA_FUNCTION ? hawk_guest_mix(key, native) : key;
}

static uint32_t make_type(struct lua_reader *reader, const struct lua_object *object, uint64_t key,
			  const uint64_t *fields, unsigned count)
{
	static const char *const names[] = {
		[LUA_STRING] = "Lua string",     [LUA_TABLE] = "Lua table",
		[LUA_FUNCTION] = "Lua function", [LUA_USERDATA] = "Lua userdata",
		[LUA_THREAD] = "Lua thread",     [LUA_PROTO] = "Lua prototype",
		[LUA_UPVALUE] = "Lua upvalue",
	};
	struct hawk_guest_layout layout = layout_of(reader, object);
	CLEANUP(text) struct hawk_text name = {0};
	uint64_t proto = lua_word(object, reader->version->function.proto), string;

	hawk_text_puts(&name, names[object->kind]);
	if (object->address == reader->state) {
		ignore_lists(reader->version, &layout);
		hawk_text_clear(&name);
		hawk_text_puts(&name, "Lua state");
	} else if (count && reader->finder->key_count < SHAPES_MAX) {
		append_fields(reader, fields, count, &name);
	} else if (object->kind == LUA_PROTO) {
		append_place(reader, object->address, &name);
	} else if (object->kind == LUA_FUNCTION) {
		append_place(reader, proto, &name);
	} else if (object->kind == LUA_USERDATA) {
		string = name_of_metatable(reader,
					   lua_word(object, reader->version->userdata.metatable));
		hawk_text_puts(&name, string ? " " : "");
		append_string(reader, string, &name);
	}
	if (name.failed)
		reader->finder->failed = true;
	return hawk_guest_add_type(reader->finder, key, hawk_text_string(&name), &layout);
}

uint32_t lua_type_of(struct lua_reader *reader, const struct lua_object *object)
{
	uint64_t fields[FIELDS_MAX], key;
	unsigned count;
	uint32_t type;

	key = key_of(reader, object, fields, &count);
	type = hawk_guest_find_type(reader->finder, key);
	return type ? type : make_type(reader, object, key, fields, count);
}
