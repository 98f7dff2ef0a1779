/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Names what leads from an object to the next one: an index, the key of a dict's entry, or the
 * name of an attribute.
 */
#include "python.h"

#include <inttypes.h>
#include <string.h>

#include "hawk/base/cleanup.h"

enum { TUPLE_ITEMS = 24, DIGIT_BITS = 30 };

/* Appends a whole number of one digit, as small ones are. */
static bool append_number(struct python_reader *reader, uint64_t address, struct hawk_text *text)
{
	enum { SIZE = 16, DIGITS = 24, SIGN = 3, COUNT_SHIFT = 3 };
	uint64_t size;
	uint32_t digit;
	bool is_negative;

	if (!hawk_word(&reader->types, address + SIZE, &size) ||
	    !hawk_half(&reader->types, address + DIGITS, &digit) || digit >> DIGIT_BITS)
		return false;
	if (reader->version->number >= 312) { /* 0 = positive, 1 = zero, 2 = negative */
		is_negative = (size & SIGN) == 2;
		size >>= COUNT_SHIFT;
	} else {
		is_negative = size == UINT64_MAX;
		size = is_negative ? 1 : size;
	}
	if (size > 1)
		return false;
	hawk_text_printf(text, "[%s%u]", is_negative ? "-" : "", size ? digit : 0);
	return true;
}

static bool append_key(struct python_reader *reader, uint64_t address, struct hawk_text *text)
{
	enum { NUMBER = 1 << 24, STRING = 1 << 28 };
	CLEANUP(text) struct hawk_text string = {0};
	uint64_t type, flags;

	if (!hawk_word(&reader->types, address + PYTHON_TYPE, &type) ||
	    !hawk_word(&reader->types, type + PYTHON_TYPE_FLAGS, &flags))
		return false;
	if (flags & NUMBER)
		return append_number(reader, address, text);
	if (!(flags & STRING) || !python_append_string(reader, address, &string))
		return false;
	hawk_text_printf(text, "['%s']", hawk_text_string(&string));
	return true;
}

/* Appends the key of the entry whose value is at `at`. */
static bool append_entry(struct python_reader *reader, uint64_t start, uint64_t at,
			 struct hawk_text *text)
{
	struct python_keys keys;
	uint64_t key;

	if (!python_read_keys(reader, start, &keys) || at < keys.entries ||
	    (at - keys.entries) / keys.entry_bytes >= keys.count)
		return false;
	if ((at - keys.entries) % keys.entry_bytes != keys.value)
		return false;
	return hawk_word(&reader->types, at - keys.value + keys.key, &key) &&
	       append_key(reader, key, text);
}

/* Appends ".user": attribute `number` of those that the keys at `keys` name. */
static bool append_attribute(struct python_reader *reader, uint64_t keys, uint64_t number,
			     struct hawk_text *text)
{
	CLEANUP(text) struct hawk_text name = {0};
	struct python_keys found;
	uint64_t key;

	if (!python_read_keys(reader, keys, &found) || number >= found.count ||
	    !hawk_word(&reader->types, found.entries + number * found.entry_bytes + found.key,
		       &key) ||
	    !python_append_string(reader, key, &name))
		return false;
	hawk_text_printf(text, ".%s", hawk_text_string(&name));
	return true;
}

static bool class_keys(struct python_reader *reader, uint64_t class, uint64_t *ret)
{
	return hawk_word(&reader->types, class + reader->version->qualified_name + 8, ret);
}

/* Appends a member of the class or its bases at `offset` of their objects: a slot. */
static bool append_slot(struct python_reader *reader, uint64_t class, uint64_t offset,
			struct hawk_text *text)
{
	enum { BASES_MAX = 16, MEMBERS_MAX = 256, MEMBER_BYTES = 40, MEMBER_OFFSET = 16 };
	CLEANUP(text) struct hawk_text string = {0};
	uint64_t at, name, found;

	for (unsigned i = 0; i < BASES_MAX && class; i++) {
		if (!hawk_word(&reader->types, class + PYTHON_TYPE_MEMBERS, &at))
			return false;
		for (unsigned j = 0; at && j < MEMBERS_MAX; j++, at += MEMBER_BYTES) {
			if (!hawk_word(&reader->types, at, &name) || !name ||
			    !hawk_word(&reader->types, at + MEMBER_OFFSET, &found))
				break;
			if (found != offset)
				continue;
			python_append_text(reader, name, &string);
			if (string.size)
				hawk_text_printf(text, ".%s", hawk_text_string(&string));
			return string.size;
		}
		if (!hawk_word(&reader->types, class + PYTHON_TYPE_BASE, &class))
			return false;
	}
	return false;
}

/* Appends what the word at `offset` of the object is: a slot, the dict, or an attribute that 3.13
 * keeps in the object. */
static bool append_of_object(struct python_reader *reader, uint64_t object, uint64_t offset,
			     struct hawk_text *text)
{
	enum { VALUES_HEADER = 8 };
	uint64_t class, flags, bytes, dict, keys, values;

	if (!hawk_word(&reader->types, object + PYTHON_TYPE, &class) ||
	    !hawk_word(&reader->types, class + PYTHON_TYPE_FLAGS, &flags) ||
	    !hawk_word(&reader->types, class + PYTHON_TYPE_BASIC_BYTES, &bytes) ||
	    !hawk_word(&reader->types, class + PYTHON_TYPE_DICT_OFFSET, &dict))
		return false;
	values = bytes + VALUES_HEADER;
	if ((int64_t)offset < 0 ? flags & PYTHON_FRONT_DICT : dict && offset == dict) {
		hawk_text_puts(text, ".__dict__");
		return true;
	}
	if (reader->version->number >= 313 && flags & PYTHON_INLINE_VALUES &&
	    (int64_t)offset >= (int64_t)values)
		return class_keys(reader, class, &keys) &&
		       append_attribute(reader, keys, (offset - values) / 8, text);
	return append_slot(reader, class, offset, text);
}

/* Finds the keys that name the values in a block, by the object or the dict that holds it. */
static bool holders_keys(struct python_reader *reader, const struct hawk_heap *heap,
			 uint32_t holder, uint64_t *ret)
{
	enum { DICT_KEYS = 32 };
	const struct hawk_guest_type *type = hawk_guests_type(&heap->guests, holder);
	uint64_t object, class;

	if (!type)
		return false;
	object = hawk_block_start(&heap->index, holder) + type->layout.front;
	if (strcmp(type->name, "dict") == 0)
		return hawk_word(&reader->types, object + DICT_KEYS, ret);
	return hawk_word(&reader->types, object + PYTHON_TYPE, &class) &&
	       class_keys(reader, class, ret);
}

/* Appends the attribute at `offset` of a block of values. */
static bool append_value(struct python_reader *reader, const struct hawk_heap *heap,
			 uint32_t holder, unsigned front, uint64_t offset, struct hawk_text *text)
{
	unsigned first = reader->version->number >= 313 ? 8 : (front + 7) & ~7u;
	uint64_t keys;

	return offset >= first && holders_keys(reader, heap, holder, &keys) &&
	       append_attribute(reader, keys, (offset - first) / 8, text);
}

bool hawk_python_append_member(const struct hawk_heap *heap, uint32_t holder, uint32_t block,
			       uint64_t offset, struct hawk_text *text)
{
	const struct hawk_guest_type *type = hawk_guests_type(&heap->guests, block);
	uint64_t start = hawk_block_start(&heap->index, block);
	struct python_reader reader = {.types.target = heap->target};
	unsigned front = type->layout.front;

	if (strcmp(type->name, "list items") == 0) {
		hawk_text_printf(text, "[%" PRIu64 "]", offset / 8);
		return true;
	}
	if (strcmp(type->name, "tuple") == 0 && offset >= front + TUPLE_ITEMS) {
		hawk_text_printf(text, "[%" PRIu64 "]", (offset - front - TUPLE_ITEMS) / 8);
		return true;
	}
	reader.version =
		type->guest ? python_version_named(heap->guests.items[type->guest - 1].name) : NULL;
	if (!reader.version)
		return false;
	if (strcmp(type->name, "dict keys") == 0)
		return append_entry(&reader, start, start + offset, text);
	if (strcmp(type->name, "attributes") == 0 || strcmp(type->name, "dict values") == 0)
		return append_value(&reader, heap, holder, front, offset, text);
	return append_of_object(&reader, start + front, offset - front, text);
}
