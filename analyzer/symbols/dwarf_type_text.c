/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Text for types, and for places within their objects.
 */
#include <inttypes.h>
#include <string.h>

#include "hawk/symbols/dwarf_types.h"

enum {
	POINTERS_MAX = 8,
	PATH_MAX_PARTS = 32,
	NAME_BYTES_MAX = 128, /**< of a member */
};

static void append_name(struct hawk_symbols *symbols, const struct hawk_dwarf_type *type,
			struct hawk_text *text, int depth)
{
	bool derived = type && (type->kind == HAWK_DWARF_POINTER || type->kind == HAWK_DWARF_ARRAY);

	if (!type || depth > POINTERS_MAX || (!derived && !type->name[0])) {
		hawk_text_puts(text,
			       !type || type->kind == HAWK_DWARF_OTHER ? "void" : "(unnamed)");
		return;
	}
	if (!derived) {
		hawk_text_puts(text, type->name);
		return;
	}
	append_name(symbols, hawk_dwarf_target(symbols, type), text, depth + 1);
	if (type->kind == HAWK_DWARF_POINTER)
		hawk_text_puts(text, "*");
	else
		hawk_text_printf(text, "[%" PRIu64 "]", type->count);
}

void hawk_dwarf_append_name(struct hawk_symbols *symbols, const struct hawk_dwarf_type *type,
			    struct hawk_text *text)
{
	append_name(symbols, type, text, 0);
}

static bool is_of_library(const struct hawk_dwarf_type *type)
{
	return !strncmp(type->name, "std::", strlen("std::"));
}

/* Returns true for a member that only the standard library uses: nobody would know its name. */
static bool is_hidden(const struct hawk_dwarf_type *type, const struct hawk_dwarf_member *member)
{
	return member->name[0] == '_' && is_of_library(type);
}

/* Returns true for a class without members: it shares its place with another one. */
static bool is_empty(struct hawk_symbols *symbols, const struct hawk_dwarf_type *type)
{
	size_t count = 1;

	if (type->kind == HAWK_DWARF_STRUCT && type->bytes == 1)
		(void)hawk_dwarf_members(symbols, type, &count);
	return !count;
}

/* Returns the member that contains `*offset`, which becomes the one within it; appends its name. */
static const struct hawk_dwarf_type *enter_member(struct hawk_symbols *symbols,
						  const struct hawk_dwarf_type *type,
						  uint64_t *offset, bool *hidden,
						  struct hawk_text *text)
{
	size_t count;
	const struct hawk_dwarf_member *members = hawk_dwarf_members(symbols, type, &count);

	for (size_t i = 0; i < count; i++) {
		const struct hawk_dwarf_member *member = &members[i];

		if (*offset < member->offset || *offset - member->offset >= member->type->bytes ||
		    is_empty(symbols, member->type))
			continue;
		*offset -= member->offset;
		*hidden = is_hidden(type, member);
		if (member->name[0] && !*hidden)
			hawk_text_printf(text, ".%.*s", NAME_BYTES_MAX, member->name);
		return member->type;
	}
	return NULL;
}

static const struct hawk_dwarf_type *enter_element(struct hawk_symbols *symbols,
						   const struct hawk_dwarf_type *type,
						   uint64_t *offset, struct hawk_text *text)
{
	const struct hawk_dwarf_type *element = hawk_dwarf_target(symbols, type);

	if (!element || !element->bytes || *offset >= type->bytes)
		return NULL;
	hawk_text_printf(text, "[%" PRIu64 "]", *offset / element->bytes);
	*offset %= element->bytes;
	return element;
}

void hawk_dwarf_append_path(struct hawk_symbols *symbols, const struct hawk_dwarf_type *type,
			    uint64_t offset, struct hawk_text *text)
{
	bool hidden = false;

	for (int i = 0; type && i < PATH_MAX_PARTS; i++) {
		if (type->kind == HAWK_DWARF_ARRAY)
			type = enter_element(symbols, type, &offset, text);
		else if (type->kind == HAWK_DWARF_STRUCT ||
			 (type->kind == HAWK_DWARF_UNION && is_of_library(type)))
			type = enter_member(symbols, type, &offset, &hidden, text);
		else
			break;
	}
	if (offset && !hidden)
		hawk_text_printf(text, "+0x%" PRIx64, offset);
}
