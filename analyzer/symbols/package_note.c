/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads the program headers and notes at the start of a module. Everything is hostile: sizes are
 * limited, and only harmless letters of the note's JSON are taken.
 */
#include "package_note.h"

#include <elf.h>
#include <jansson.h>
#include <string.h>

#include "hawk/base/cursor.h"

enum {
	HEADERS_MAX = 64,
	NOTES_BYTES_MAX = 4096,
	VALUE_BYTES_MAX = 100,
};

static const uint32_t PACKAGE_NOTE = 0xcafe1a7e;

/** Returns the JSON of the note, which is not NUL-terminated, or NULL. */
static const char *find_note(const uint8_t *bytes, size_t size, uint32_t *json_bytes)
{
	struct hawk_cursor cursor = hawk_cursor_over(bytes, size);

	while (hawk_cursor_left(&cursor) >= sizeof(Elf64_Nhdr)) {
		uint32_t owner_bytes = hawk_cursor_u32(&cursor);
		uint32_t type, note_bytes = hawk_cursor_u32(&cursor);
		const char *owner, *note;

		type = hawk_cursor_u32(&cursor);
		owner = hawk_cursor_bytes(&cursor, owner_bytes);
		hawk_cursor_align(&cursor, 4);
		note = hawk_cursor_bytes(&cursor, note_bytes);
		hawk_cursor_align(&cursor, 4);
		if (!owner || !note)
			return NULL;
		*json_bytes = note_bytes;
		if (type == PACKAGE_NOTE && owner_bytes == 4 && !memcmp(owner, "FDO", 4))
			return note;
	}
	return NULL;
}

/** Appends the value of `key`; returns false if it is empty or absent. */
static bool append_value(const json_t *note, const char *key, const char *before,
			 struct hawk_text *to)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789.+~:_-";
	const char *value = json_string_value(json_object_get(note, key));
	size_t length = value ? strspn(value, letters) : 0;

	if (!length)
		return false;
	hawk_text_puts(to, before);
	hawk_text_append(to, value, length < VALUE_BYTES_MAX ? length : VALUE_BYTES_MAX);
	return true;
}

static bool append_package(const struct hawk_target *target, uint64_t address, uint64_t size,
			   struct hawk_text *to)
{
	uint8_t bytes[NOTES_BYTES_MAX];
	uint32_t json_bytes;
	const char *json;
	json_t *note;
	bool has_name;

	size = hawk_target_read_some(target, address, bytes,
				     size < sizeof(bytes) ? (size_t)size : sizeof(bytes));
	json = find_note(bytes, size, &json_bytes);
	note = json ? json_loadb(json, strnlen(json, json_bytes), 0, NULL) : NULL;
	has_name = append_value(note, "name", "", to);
	if (has_name)
		append_value(note, "version", " ", to);
	if (has_name && append_value(note, "type", " (", to))
		hawk_text_puts(to, ")");
	json_decref(note);
	return has_name;
}

bool hawk_package_note_append(const struct hawk_target *target,
			      const struct hawk_symbol_module *module, struct hawk_text *to)
{
	Elf64_Ehdr header;
	Elf64_Phdr program;

	if (!target || module->bias == HAWK_SYMBOL_BIAS_UNKNOWN ||
	    hawk_target_read_some(target, module->start, &header, sizeof(header)) !=
		    sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(program))
		return false;
	for (uint16_t i = 0; i < header.e_phnum && i < HEADERS_MAX; i++) {
		uint64_t address = module->start + header.e_phoff + i * sizeof(program);

		if (hawk_target_read_some(target, address, &program, sizeof(program)) !=
		    sizeof(program))
			return false;
		if (program.p_type == PT_NOTE &&
		    append_package(target, module->bias + program.p_vaddr, program.p_memsz, to))
			return true;
	}
	return false;
}
