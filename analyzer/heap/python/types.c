/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Knows types by their own type, which must be "type" or one of its kind.
 */
#include "python.h"

#include "hawk/base/cleanup.h"

#include <stdlib.h>

enum { META_DEPTH_MAX = 4, BASE_DEPTH_MAX = 16, OBJECT_BYTES_MAX = 1 << 28 };

static struct python_type *slot_of(struct python_type *slots, size_t count, uint64_t address)
{
	size_t at = (size_t)(hawk_guest_mix(0, address) & (count - 1));

	while (slots[at].address && slots[at].address != address)
		at = (at + 1) & (count - 1);
	return &slots[at];
}

struct python_type *python_known_type(const struct python_reader *reader, uint64_t address)
{
	struct python_type *slot = reader->slots && address
					   ? slot_of(reader->slots, reader->slot_count, address)
					   : NULL;

	return slot && slot->address ? slot : NULL;
}

static bool grow(struct python_reader *reader)
{
	size_t count = reader->slot_count ? 2 * reader->slot_count : 1024;
	struct python_type *slots;

	if (2 * reader->type_count < reader->slot_count)
		return true;
	slots = calloc(count, sizeof(*slots));
	if (!slots) {
		reader->finder->failed = true;
		return false;
	}
	for (size_t i = 0; i < reader->slot_count; i++)
		if (reader->slots[i].address)
			*slot_of(slots, count, reader->slots[i].address) = reader->slots[i];
	free(reader->slots);
	reader->slots = slots;
	reader->slot_count = count;
	return true;
}

static struct python_type *add(struct python_reader *reader, const struct python_type *type)
{
	struct python_type *slot;

	if (reader->type_count == PYTHON_TYPES_MAX || !grow(reader))
		return NULL;
	slot = slot_of(reader->slots, reader->slot_count, type->address);
	reader->type_count += !slot->address;
	*slot = *type;
	return slot;
}

static uint64_t word_at(const uint8_t *bytes, unsigned offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

/* Returns the shape of the objects of a static type that has no flag of its own. */
static enum python_shape shape_by_name(struct python_reader *reader, uint64_t address,
				       uint64_t flags)
{
	CLEANUP(text) struct hawk_text name = {0};
	const char *string;

	if (flags & PYTHON_HEAP_TYPE)
		return PYTHON_PLAIN;
	python_append_name(reader, address, flags, &name);
	string = hawk_text_string(&name);
	if (!strcmp(string, "set") || !strcmp(string, "frozenset"))
		return PYTHON_IS_SET;
	if (!strcmp(string, "bytearray"))
		return PYTHON_IS_BYTES;
	return strncmp(string, "weak", strlen("weak")) ? PYTHON_PLAIN : PYTHON_IS_WEAK;
}

/* Returns the shape of the objects: that of the first base which has one. */
static enum python_shape shape_of(struct python_reader *reader, uint64_t address, uint64_t flags)
{
	if (flags & PYTHON_LIST)
		return PYTHON_IS_LIST;
	if (flags & PYTHON_DICT)
		return PYTHON_IS_DICT;
	if (flags & PYTHON_TYPE_OF_TYPES)
		return PYTHON_IS_TYPE;
	for (unsigned i = 0; i < BASE_DEPTH_MAX && address; i++) {
		const struct python_type *known = python_known_type(reader, address);
		enum python_shape shape = known ? (enum python_shape)known->shape
						: shape_by_name(reader, address, flags);

		if (known || shape != PYTHON_PLAIN)
			return shape;
		if (!hawk_word(&reader->types, address + PYTHON_TYPE_BASE, &address) ||
		    !hawk_word(&reader->types, address + PYTHON_TYPE_FLAGS, &flags))
			break;
	}
	return PYTHON_PLAIN;
}

/* Numbers, strings and bytes have no references. */
static bool is_text(uint64_t flags)
{
	enum { NUMBER = 1 << 24, BYTES = 1 << 27, STRING = 1 << 28 };

	return !(flags & PYTHON_HEAP_TYPE) && flags & (NUMBER | BYTES | STRING);
}

static uint8_t front_of(uint64_t flags)
{
	unsigned front = flags & PYTHON_COLLECTED ? PYTHON_HEAD_BYTES : 0;

	if (flags & (PYTHON_FRONT_DICT | PYTHON_FRONT_WEAK_LIST))
		front += PYTHON_HEAD_BYTES;
	return (uint8_t)front;
}

static struct python_type *read_type(struct python_reader *reader, uint64_t address, unsigned depth)
{
	uint8_t bytes[PYTHON_TYPE_BYTES];
	struct python_type type = {.address = address}, *known;
	uint64_t meta, weak_list;

	known = python_known_type(reader, address);
	if (known)
		return known;
	/* The type's type first: it refuses nearly all pointers that lead elsewhere. */
	if (!depth || address % 8 || !hawk_word(&reader->types, address + PYTHON_TYPE, &meta))
		return NULL;
	known = meta == address ? NULL : read_type(reader, meta, depth - 1);
	if (!known || !(known->flags & PYTHON_TYPE_OF_TYPES) ||
	    hawk_near_read(&reader->types, address, bytes, sizeof(bytes)) != sizeof(bytes))
		return NULL;
	type.flags = word_at(bytes, PYTHON_TYPE_FLAGS);
	weak_list = word_at(bytes, PYTHON_TYPE_WEAK_LIST);
	if (!word_at(bytes, 0) || word_at(bytes, PYTHON_TYPE_BASIC_BYTES) < PYTHON_HEAD_BYTES ||
	    word_at(bytes, PYTHON_TYPE_BASIC_BYTES) > OBJECT_BYTES_MAX ||
	    word_at(bytes, PYTHON_TYPE_ITEM_BYTES) > OBJECT_BYTES_MAX ||
	    !(type.flags & PYTHON_READY))
		return NULL;
	type.weak_list = weak_list < OBJECT_BYTES_MAX ? (uint32_t)weak_list : 0;
	type.front = front_of(type.flags);
	type.is_text = is_text(type.flags);
	type.shape = (uint8_t)shape_of(reader, address, type.flags);
	return add(reader, &type);
}

struct python_type *python_type_at(struct python_reader *reader, uint64_t address)
{
	if (!reader->slot_count) { /* "type" is its own type */
		struct python_type type = {.address = reader->home.type,
					   .front = PYTHON_HEAD_BYTES,
					   .shape = PYTHON_IS_TYPE};

		if (!hawk_word(&reader->types, type.address + PYTHON_TYPE_FLAGS, &type.flags) ||
		    !add(reader, &type))
			return NULL;
	}
	return read_type(reader, address, META_DEPTH_MAX);
}

static uint64_t word_bit(unsigned offset)
{
	return offset / 8 < 64 ? UINT64_C(1) << (offset / 8) : 0;
}

static uint64_t words_from(unsigned offset)
{
	return -word_bit(offset);
}

/* The collector's links and all that is weak are no references. */
static struct hawk_guest_layout layout_of(const struct python_reader *reader,
					  const struct python_type *type, enum python_state state)
{
	enum { REFERENT = 16, PREVIOUS = 40, NEXT = 48 };
	unsigned front = type->front;
	struct hawk_guest_layout ret = {.front = type->front,
					.is_collected = state == PYTHON_TRACKED};

	if (type->flags & PYTHON_COLLECTED)
		ret.ignored_words |= word_bit(front - 16) | word_bit(front - 8);
	if (type->flags & PYTHON_FRONT_WEAK_LIST)
		ret.ignored_words |= word_bit(0);
	if (type->weak_list)
		ret.ignored_words |= word_bit(front + type->weak_list);
	if (type->shape == PYTHON_IS_WEAK)
		ret.ignored_words |= word_bit(front + REFERENT) | word_bit(front + PREVIOUS) |
				     word_bit(front + NEXT);
	if (type->is_text) {
		ret.ignored_words |= words_from(reader->version->string_bytes);
		ret.ignores_rest = true;
	}
	return ret;
}

uint32_t python_number(struct python_reader *reader, struct python_type *type,
		       enum python_state state)
{
	struct hawk_guest_layout layout = layout_of(reader, type, state);
	CLEANUP(text) struct hawk_text name = {0};

	if (type->numbers[state])
		return type->numbers[state];
	python_append_name(reader, type->address, type->flags, &name);
	if (state == PYTHON_FREE)
		hawk_text_puts(&name, " (free)");
	if (name.failed)
		reader->finder->failed = true;
	type->numbers[state] =
		hawk_guest_add_type(reader->finder, hawk_guest_mix(type->address, state + 1u),
				    hawk_text_string(&name), &layout);
	return type->numbers[state];
}
