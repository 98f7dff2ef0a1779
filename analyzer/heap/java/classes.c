/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Knows classes by the word that objects have: an address, a number of 32 bits, or a part of the
 * mark. Words that are no classes are remembered, too.
 */
#include "java.h"

#include "hawk/base/cleanup.h"

enum {
	ARRAY_HEADER_MAX = 64,
	ELEMENT_LOG2_MAX = 3,
	OBJECT_BYTES_MAX = 1 << 28,
	BAD_MAX = 1 << 20, /* words that are no classes, before the heap is taken for damaged */
};

static struct java_class *slot_of(struct java_class *slots, size_t count, uint64_t id)
{
	size_t at = (size_t)(hawk_guest_mix(0, id) & (count - 1));

	while (slots[at].id && slots[at].id != id)
		at = (at + 1) & (count - 1);
	return &slots[at];
}

static bool grow(struct java *java)
{
	size_t count = java->slot_count ? 2 * java->slot_count : 1024;
	struct java_class *slots;

	if (2 * java->used_slots < java->slot_count)
		return true;
	slots = calloc(count, sizeof(*slots));
	if (!slots) {
		java->failed = true;
		return false;
	}
	for (size_t i = 0; i < java->slot_count; i++)
		if (java->slots[i].id)
			*slot_of(slots, count, java->slots[i].id) = java->slots[i];
	free(java->slots);
	java->slots = slots;
	java->slot_count = count;
	return true;
}

/* Reads the symbol with the class's name. Returns its length, 0 = it is none; at most `room` bytes
 * of it are read. */
static size_t read_class_name(struct java *java, uint64_t class, char *ret, size_t room)
{
	uint64_t symbol;
	uint16_t length;

	if (!hawk_word(&java->near, class + java->names[JAVA_CLASS_NAME], &symbol) || !symbol ||
	    hawk_near_read(&java->near, symbol + java->names[JAVA_SYMBOL_LENGTH], &length,
			   sizeof(length)) != sizeof(length))
		return 0;
	room = length < room ? length : room;
	if (hawk_near_read(&java->near, symbol + java->names[JAVA_SYMBOL_TEXT], ret, room) != room)
		return 0;
	for (size_t i = 0; i < room; i++)
		if ((unsigned char)ret[i] < ' ')
			return 0;
	return room;
}

/* Returns true if `form` (Klass::_layout_helper) can be that of a class with objects. */
static bool is_form(int32_t form)
{
	uint32_t bits = (uint32_t)form;

	if (form > 0)
		return form >= 8 && form <= OBJECT_BYTES_MAX;
	return form < 0 && (bits >> 16 & 255) >= 8 && (bits >> 16 & 255) <= ARRAY_HEADER_MAX &&
	       (bits & 255) <= ELEMENT_LOG2_MAX;
}

static bool add_type(struct java *java, const struct java_type *type)
{
	if (!java->type_count)
		java->type_count = 1;
	if (java->type_count == JAVA_CLASSES_MAX)
		return false;
	if (!hawk_array_reserve(&java->types, java->type_count, &java->type_capacity,
				sizeof(*java->types))) {
		java->failed = true;
		return false;
	}
	java->types[java->type_count++] = *type;
	return true;
}

static void read_class(struct java *java, struct java_class *class)
{
	static const char mirror[] = "java/lang/Class";
	uint64_t address = class->id, loader;
	char name[JAVA_NAME_BYTES];
	int32_t form;
	size_t length;

	if (java->settings.narrow_class)
		address = java->settings.class_base + (class->id << java->settings.class_shift);
	if (address % sizeof(address) ||
	    hawk_near_read(&java->near, address + java->names[JAVA_CLASS_LAYOUT], &form,
			   sizeof(form)) != sizeof(form) ||
	    !is_form(form) ||
	    !hawk_word(&java->near, address + java->names[JAVA_CLASS_LOADER], &loader) ||
	    !hawk_target_mapping_at(java->target, loader))
		return;
	length = read_class_name(java, address, name, sizeof(name));
	class->is_mirror = length == strlen(mirror) && !memcmp(name, mirror, length);
	if (!length || !add_type(java, &(struct java_type){.address = address,
							   .form = form,
							   .is_mirror = class->is_mirror}))
		return;
	class->form = form;
	class->number = java->type_count - 1;
}

const struct java_class *java_class_of(struct java *java, uint64_t id)
{
	struct java_class *class;

	if (!id)
		return NULL;
	if (java->slot_count) {
		class = slot_of(java->slots, java->slot_count, id);
		if (class->id)
			return class->number ? class : NULL;
	}
	if (java->used_slots >= JAVA_CLASSES_MAX + BAD_MAX || !grow(java))
		return NULL;
	class = slot_of(java->slots, java->slot_count, id);
	class->id = id;
	java->used_slots++;
	read_class(java, class);
	return class->number ? class : NULL;
}

static const char *primitive(char letter)
{
	switch (letter) {
	case 'B':
		return "byte";
	case 'C':
		return "char";
	case 'D':
		return "double";
	case 'F':
		return "float";
	case 'I':
		return "int";
	case 'J':
		return "long";
	case 'S':
		return "short";
	case 'Z':
		return "boolean";
	default:
		return NULL;
	}
}

/* Appends "a/b/C" as "a.b.C". A hidden class ends in an address, which says nothing. */
static void append_dotted(struct hawk_text *name, const char *text, size_t length)
{
	static const char hidden[] = "+0x";

	for (size_t i = 0; i < length; i++) {
		char byte = text[i] == '/' ? '.' : text[i];

		if (length - i >= strlen(hidden) && !memcmp(&text[i], hidden, strlen(hidden)))
			return;
		if (byte < 0x20 || byte > 0x7e)
			byte = '?';
		hawk_text_append(name, &byte, 1);
	}
}

void java_append_class(struct java *java, uint64_t address, struct hawk_text *name)
{
	char bytes[JAVA_NAME_BYTES];
	size_t length = read_class_name(java, address, bytes, sizeof(bytes)), depth = 0;
	const char *text = bytes;

	while (depth < length && text[depth] == '[')
		depth++;
	text += depth;
	length -= depth;
	if (depth && length == 1 && primitive(*text)) {
		hawk_text_puts(name, primitive(*text));
	} else {
		if (depth && length && *text == 'L') {
			text++;
			length--;
			length -= length && text[length - 1] == ';';
		}
		append_dotted(name, text, length);
	}
	while (depth--)
		hawk_text_puts(name, "[]");
}
