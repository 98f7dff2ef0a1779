/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Tells which object a block holds, and which buffers the object owns.
 */
#include "python.h"

enum { WORDS = PYTHON_FRONT_MAX / 8 + 2 /* to the type behind the longest front */ };

bool python_is_linked(struct python_reader *reader, uint64_t head, uint64_t next)
{
	uint64_t previous;

	return hawk_word(&reader->links, (next & ~(uint64_t)PYTHON_LINK_BITS) + 8, &previous) &&
	       (previous & ~(uint64_t)PYTHON_LINK_BITS) == head;
}

/* Returns true if the collector's head of two words is sound. */
static bool is_head(struct python_reader *reader, uint64_t address, const uint64_t *head,
		    bool *is_tracked)
{
	*is_tracked = head[0];
	if (!head[0])
		return !(head[1] & ~(uint64_t)PYTHON_LINK_BITS);
	return reader->is_collecting ? head[0] % 8 == 0
				     : python_is_linked(reader, address, head[0]);
}

/* Returns true if an object of that type lies `front` bytes from the block's start. */
static bool is_object(struct python_reader *reader, uint64_t start, const uint64_t *words,
		      unsigned front, const struct python_type *type, enum python_state *state)
{
	uint64_t references = words[front / 8];
	bool is_tracked = false;

	if (type->front != front || references > UINT32_MAX)
		return false;
	if (type->flags & PYTHON_COLLECTED &&
	    !is_head(reader, start + front - PYTHON_HEAD_BYTES, words + front / 8 - 2, &is_tracked))
		return false;
	if (references)
		*state = is_tracked ? PYTHON_TRACKED : PYTHON_UNTRACKED;
	else
		*state = PYTHON_FREE;
	return references || (type->flags & PYTHON_COLLECTED && !is_tracked);
}

bool python_object_in(struct python_reader *reader, uint64_t start, bool reads_types,
		      struct python_object *ret)
{
	uint64_t words[WORDS] = {0};

	*ret = (struct python_object){.start = start};
	hawk_near_read(&reader->blocks, start, words, sizeof(words));
	for (unsigned reads = 0; reads <= reads_types; reads++)
		for (unsigned front = 0; front <= PYTHON_FRONT_MAX; front += PYTHON_HEAD_BYTES) {
			uint64_t address = words[front / 8 + 1];

			ret->address = start + front;
			ret->type = reads ? python_type_at(reader, address)
					  : python_known_type(reader, address);
			if (ret->type &&
			    is_object(reader, start, words, front, ret->type, &ret->state))
				return true;
		}
	return false;
}

/* Adds a buffer, to which pointers lead `front` bytes from its start. */
static void add_buffer(struct python_reader *reader, uint64_t pointer, unsigned front,
		       const char *name, bool has_references)
{
	const struct hawk_guest_layout layout = {
		.front = (uint8_t)front,
		.ignored_words = has_references ? 0 : UINT64_MAX,
		.ignores_rest = !has_references,
	};
	uint64_t key = hawk_guest_mix((uintptr_t)name, front);
	uint32_t type;

	if (!pointer ||
	    (pointer >= reader->home.module->start && pointer < reader->home.module->end))
		return;
	type = hawk_guest_find_type(reader->finder, key);
	if (!type)
		type = hawk_guest_add_type(reader->finder, key, name, &layout);
	(void)hawk_guest_add_block(reader->finder, reader->guest, pointer - front, type);
}

/* Adds the values of a dict, or an object's, that are not in the keys: from 3.11 to 3.12 the byte
 * before them is the number of bytes in front of them. The pointer may be `tag` lower. */
static void add_values(struct python_reader *reader, uint64_t values, unsigned tag,
		       const char *name)
{
	uint8_t front = 0;

	if (!values || (reader->version->number < 313 && reader->version->number >= 311 &&
			(hawk_near_read(&reader->links, values - 1, &front, 1) != 1 || !front)))
		return;
	add_buffer(reader, values - tag, front - tag, name, true);
}

static void add_dict_parts(struct python_reader *reader, uint64_t dict)
{
	enum { KEYS = 32, VALUES = 40 };
	uint64_t keys, values;

	if (!hawk_word(&reader->blocks, dict + KEYS, &keys) ||
	    !hawk_word(&reader->blocks, dict + VALUES, &values))
		return;
	if (values) /* the keys are the class's */
		add_values(reader, values, 0, "dict values");
	else
		add_buffer(reader, keys, 0, "dict keys", true);
}

static void add_set_parts(struct python_reader *reader, uint64_t set)
{
	enum { TABLE = 40, SMALL_TABLE = 64 };
	uint64_t table;

	if (hawk_word(&reader->blocks, set + TABLE, &table) && table != set + SMALL_TABLE)
		add_buffer(reader, table, 0, "set table", true);
}

static void add_part(struct python_reader *reader, uint64_t at, const char *name,
		     bool has_references)
{
	uint64_t pointer;

	if (hawk_word(&reader->blocks, at, &pointer))
		add_buffer(reader, pointer, 0, name, has_references);
}

/* Adds the attributes of an object whose class has their names. */
static void add_attributes(struct python_reader *reader, uint64_t object)
{
	enum { VALUES_3_11 = 32, DICT = 24 };
	bool is_tagged = reader->version->number == 312;
	uint64_t values;

	if (reader->version->number > 312 ||
	    !hawk_word(&reader->blocks, object - (is_tagged ? DICT : VALUES_3_11), &values))
		return;
	if (!is_tagged || values & 1)
		add_values(reader, values + is_tagged, is_tagged, "attributes");
}

void python_add(struct python_reader *reader, const struct python_object *object)
{
	enum { LIST_ITEMS = 24, BYTES = 32 };
	uint64_t address = object->address;
	const struct python_type type = *object->type;
	uint32_t number = python_number(reader, object->type, object->state);

	if (!hawk_guest_add_block(reader->finder, reader->guest, object->start, number))
		return;
	if (object->state == PYTHON_FREE)
		return;
	if (type.flags & PYTHON_FRONT_DICT)
		add_attributes(reader, address);
	switch ((enum python_shape)type.shape) {
	case PYTHON_IS_LIST:
		add_part(reader, address + LIST_ITEMS, "list items", true);
		break;
	case PYTHON_IS_DICT:
		add_dict_parts(reader, address);
		break;
	case PYTHON_IS_SET:
		add_set_parts(reader, address);
		break;
	case PYTHON_IS_BYTES:
		add_part(reader, address + BYTES, "bytearray data", false);
		break;
	case PYTHON_IS_TYPE:
		add_part(reader, address + reader->version->qualified_name + 8, "dict keys", true);
		break;
	case PYTHON_PLAIN:
	case PYTHON_IS_WEAK:
		break;
	}
}
