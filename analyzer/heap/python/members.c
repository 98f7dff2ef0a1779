/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Names what leads from an object to the next one: an index, or the key of a dict's entry.
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

bool hawk_python_append_member(const struct hawk_heap *heap, uint32_t block, uint64_t offset,
			       struct hawk_text *text)
{
	const struct hawk_guest_type *type = hawk_guests_type(&heap->guests, block);
	uint64_t start = hawk_block_start(&heap->index, block);
	struct python_reader reader = {.types.target = heap->target};

	if (strcmp(type->name, "list items") == 0) {
		hawk_text_printf(text, "[%" PRIu64 "]", offset / 8);
		return true;
	}
	if (strcmp(type->name, "tuple") == 0 &&
	    offset >= (unsigned)type->layout.front + TUPLE_ITEMS) {
		hawk_text_printf(text, "[%" PRIu64 "]",
				 (offset - type->layout.front - TUPLE_ITEMS) / 8);
		return true;
	}
	if (strcmp(type->name, "dict keys") != 0 || !type->guest)
		return false;
	reader.version = python_version_named(heap->guests.items[type->guest - 1].name);
	return reader.version && append_entry(&reader, start, start + offset, text);
}
