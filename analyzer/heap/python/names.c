/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Names of types. A static type has its name in the module's file, a class as two strings: its
 * qualified name, and that of its module in its dict.
 */
#include "python.h"

#include "hawk/base/cleanup.h"
#include "hawk/symbols/symbols.h"

enum { KEYS_MAX = 1 << 10, INDEX_LOG2_MAX = 20 };

void python_append_text(struct python_reader *reader, uint64_t address, struct hawk_text *name)
{
	char text[HAWK_GUEST_NAME_MAX];
	uint64_t available = hawk_near_read(&reader->types, address, text, sizeof(text));
	const uint8_t *bytes = (const uint8_t *)text;

	if (!available && reader->symbols)
		bytes = hawk_symbols_bytes(reader->symbols, address, &available);
	if (!bytes)
		return;
	available = available < sizeof(text) ? available : sizeof(text);
	hawk_guest_append(name, (const char *)bytes, strnlen((const char *)bytes, available));
}

size_t python_read_string(struct python_reader *reader, uint64_t address, char *text, size_t room)
{
	uint32_t state;
	uint64_t length;

	if (!hawk_word(&reader->types, address + PYTHON_STRING_LENGTH, &length) ||
	    !hawk_half(&reader->types, address + PYTHON_STRING_STATE, &state) ||
	    (state & PYTHON_STRING_IS_ASCII) != PYTHON_STRING_IS_ASCII || !length)
		return 0;
	return hawk_near_read(&reader->types, address + reader->version->string_ascii, text,
			      length < room ? length : room);
}

bool python_append_string(struct python_reader *reader, uint64_t address, struct hawk_text *name)
{
	char text[HAWK_GUEST_NAME_MAX];
	size_t length = python_read_string(reader, address, text, sizeof(text));

	hawk_guest_append(name, text, length);
	return length;
}

/* 3.11 made the words small, and left hashes out if all keys are strings. */
bool python_read_keys(struct python_reader *reader, uint64_t keys, struct python_keys *ret)
{
	enum { SIZE = 8, COUNT_OLD = 32, INDEX_OLD = 40, COUNT = 24, INDEX = 32 };
	uint8_t small[3]; /* log2 of the size, of the index's bytes; the kind */
	uint64_t size, index_bytes;

	*ret = (struct python_keys){.entry_bytes = 24, .key = 8, .value = 16};
	if (reader->version->number >= 311) {
		if (hawk_near_read(&reader->types, keys + SIZE, small, sizeof(small)) !=
			    sizeof(small) ||
		    small[1] > INDEX_LOG2_MAX)
			return false;
		if (small[2])
			*ret = (struct python_keys){.entry_bytes = 16, .key = 0, .value = 8};
		ret->entries = keys + INDEX + (UINT64_C(1) << small[1]);
		return hawk_word(&reader->types, keys + COUNT, &ret->count);
	}
	if (!hawk_word(&reader->types, keys + SIZE, &size) || size >> INDEX_LOG2_MAX)
		return false;
	index_bytes = size <= 0xff ? size : size <= 0xffff ? 2 * size : 4 * size;
	ret->entries = keys + INDEX_OLD + index_bytes;
	return hawk_word(&reader->types, keys + COUNT_OLD, &ret->count);
}

/* Appends the module of the class, whose dict has its name. */
static void append_module(struct python_reader *reader, uint64_t class, struct hawk_text *name)
{
	enum { DICT_KEYS = 32 };
	static const char wanted[] = "__module__";
	uint64_t dict, at;
	struct python_keys keys;

	if (!hawk_word(&reader->types, class + PYTHON_TYPE_DICT, &dict) ||
	    !hawk_word(&reader->types, dict + DICT_KEYS, &at) ||
	    !python_read_keys(reader, at, &keys))
		return;
	for (uint64_t i = 0; i < keys.count && i < KEYS_MAX; i++) {
		uint64_t entry = keys.entries + i * keys.entry_bytes, key, value;
		char text[sizeof(wanted)];

		if (!hawk_word(&reader->types, entry + keys.key, &key) ||
		    !hawk_word(&reader->types, entry + keys.value, &value))
			return;
		if (!key || !value ||
		    hawk_near_read(&reader->types, key + reader->version->string_ascii, text,
				   sizeof(text)) != sizeof(text) ||
		    memcmp(text, wanted, sizeof(wanted)) != 0)
			continue;
		if (python_append_string(reader, value, name) &&
		    strcmp(hawk_text_string(name), "builtins") != 0)
			hawk_text_puts(name, ".");
		else
			hawk_text_clear(name);
		return;
	}
}

/* A type without a name is named by its place. */
static void append_place(struct python_reader *reader, uint64_t address, struct hawk_text *name)
{
	const struct hawk_module *module = hawk_target_module_at(reader->finder->target, address);
	const char *base = module ? strrchr(module->path, '/') : NULL;

	if (!module) {
		hawk_text_puts(name, "Python object");
		return;
	}
	hawk_text_puts(name, "Python object ");
	base = base ? base + 1 : module->path;
	hawk_guest_append(name, base, strlen(base));
	hawk_text_printf(name, "+0x%llx", (unsigned long long)(address - module->bias));
}

void python_append_name(struct python_reader *reader, uint64_t address, uint64_t flags,
			struct hawk_text *name)
{
	uint64_t string;

	if (flags & PYTHON_HEAP_TYPE &&
	    hawk_word(&reader->types, address + reader->version->qualified_name, &string)) {
		append_module(reader, address, name);
		(void)python_append_string(reader, string, name);
	} else if (hawk_word(&reader->types, address + PYTHON_TYPE_NAME, &string)) {
		python_append_text(reader, string, name);
	}
	if (!name->size)
		append_place(reader, address, name);
}
