/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Names functions and types: the linkage name demangled, else the name with enclosing namespaces
 * and classes. Both are often not on the entry itself but on the one that it completes
 * (DW_AT_specification) or copies (DW_AT_abstract_origin).
 */
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>

#include "demangle.h"
#include "dwarf_units.h"

enum {
	ORIGINS_MAX = 16, /**< links followed from one entry; they may go in circles */
	SCOPES_MAX = 64,
	SEARCHES_MAX = 2000,
};

static const char *string_attribute(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute memory;

	return dwarf_formstring(dwarf_attr(die, name, &memory));
}

/** Finds the entry that `die` copies or completes. */
static bool origin_of(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Attribute memory;
	Dwarf_Attribute *attribute = dwarf_attr(die, DW_AT_abstract_origin, &memory);

	if (!attribute)
		attribute = dwarf_attr(die, DW_AT_specification, &memory);
	return attribute && dwarf_formref_die(attribute, ret);
}

struct found {
	const char *linkage;
	const char *name;
	Dwarf_Die named; /**< the entry that has `name`, in its scope */
};

static struct found find_names(const Dwarf_Die *start)
{
	struct found found = {0};
	Dwarf_Die die = *start;

	for (int i = 0; i < ORIGINS_MAX; i++) {
		Dwarf_Die origin;

		if (!found.linkage)
			found.linkage = string_attribute(&die, DW_AT_linkage_name);
		if (!found.linkage)
			found.linkage = string_attribute(&die, DW_AT_MIPS_linkage_name);
		if (!found.name)
			found.name = string_attribute(&die, DW_AT_name);
		found.named = die;
		if ((found.linkage && found.name) || !origin_of(&die, &origin))
			break;
		die = origin;
	}
	return found;
}

static bool has_scopes(Dwarf_Die *die)
{
	Dwarf_Die unit;

	if (!dwarf_diecu(die, &unit, NULL, NULL))
		return false;
	switch (dwarf_srclang(&unit)) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_Go: /* has the package in the name */
	case DW_LANG_Mips_Assembler:
	case -1:
		return false;
	default:
		return true;
	}
}

/** Appends a function around a local class: its whole name if it has a linkage name. */
static void append_function(struct hawk_text *text, Dwarf_Die *scope)
{
	struct found found = find_names(scope);
	struct hawk_text whole;

	hawk_text_init(&whole);
	if (found.linkage && hawk_demangle(found.linkage, &whole)) {
		hawk_text_clear(text);
		found.name = whole.bytes;
	}
	if (found.name) {
		hawk_text_puts(text, found.name);
		hawk_text_puts(text, "::");
	}
	hawk_text_deinit(&whole);
}

static void append_scope(struct hawk_text *text, Dwarf_Die *scope, bool lambda)
{
	const char *name = string_attribute(scope, DW_AT_name);

	switch (dwarf_tag(scope)) {
	case DW_TAG_subprogram:
		append_function(text, scope);
		return;
	case DW_TAG_namespace:
		name = name ? name : "(anonymous namespace)";
		break;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		name = name ? name : lambda ? "{lambda}" : NULL;
		break;
	case DW_TAG_module:
		break;
	default:
		return;
	}
	if (!name)
		return;
	hawk_text_puts(text, name);
	hawk_text_puts(text, "::");
}

/** Appends scopes by the unit's index. */
static void append_indexed(struct hawk_text *text, struct hawk_dwarf_unit *unit, Dwarf_Off offset,
			   bool lambda)
{
	const struct hawk_range *range = hawk_ranges_find(&unit->scope_ranges, offset);
	uint32_t chain[SCOPES_MAX];
	uint32_t scope = range ? range->id : HAWK_DWARF_NO_NODE;
	size_t count = 0;

	for (; scope != HAWK_DWARF_NO_NODE && count < SCOPES_MAX;
	     scope = unit->scopes[scope].parent)
		if (dwarf_dieoffset(&unit->scopes[scope].die) != offset)
			chain[count++] = scope;
	while (count--)
		append_scope(text, &unit->scopes[chain[count]].die, lambda);
}

/** Appends scopes of an entry in another unit. The search is linear in that unit, so its number is
 * limited. */
static void append_searched(struct hawk_text *text, struct hawk_dwarf *dwarf, Dwarf_Die *die,
			    bool lambda)
{
	Dwarf_Die *scopes = NULL;
	int count;

	if (dwarf->scope_searches++ >= SEARCHES_MAX)
		return;
	count = dwarf_getscopes_die(die, &scopes);
	if (count > SCOPES_MAX)
		count = SCOPES_MAX;
	for (int i = count - 1; i > 0; i--)
		append_scope(text, &scopes[i], lambda);
	free(scopes);
}

/** Returns "space::Class::name". */
static const char *qualify(struct hawk_dwarf *dwarf, struct hawk_dwarf_unit *unit,
			   struct found *found)
{
	bool lambda = strcmp(found->name, "operator()") == 0;
	struct hawk_text text;
	const char *result;

	if (!has_scopes(&found->named))
		return hawk_dwarf_intern(dwarf, found->name);
	hawk_text_init(&text);
	if (unit && found->named.cu == unit->die.cu)
		append_indexed(&text, unit, dwarf_dieoffset(&found->named), lambda);
	else
		append_searched(&text, dwarf, &found->named, lambda);
	hawk_text_puts(&text, found->name);
	if (!text.failed)
		hawk_dwarf_spell_integers(&text, 0);
	result = text.failed ? NULL : hawk_dwarf_intern(dwarf, text.bytes);
	hawk_text_deinit(&text);
	return result;
}

void hawk_dwarf_spell_integers(struct hawk_text *text, size_t from)
{
	static const char *const spellings[][2] = {
		{"long long unsigned int", "unsigned long long"},
		{"long unsigned int", "unsigned long"},
		{"short unsigned int", "unsigned short"},
		{"long long int", "long long"},
		{"long int", "long"},
		{"short int", "short"},
	};

	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
		const char *gcc = spellings[i][0], *usual = spellings[i][1];
		size_t more = strlen(gcc) - strlen(usual);

		for (char *at = text->bytes + from; (at = strstr(at, gcc)); at += strlen(usual)) {
			char *behind = at + strlen(gcc);

			memcpy(at, usual, strlen(usual));
			memmove(behind - more, behind, strlen(behind) + 1);
			text->size -= more;
		}
	}
}

const char *hawk_dwarf_qualified(struct hawk_dwarf *dwarf, Dwarf_Die *die)
{
	Dwarf_Attribute memory;
	Dwarf_Die first = *die;
	struct found found;

	/* The declaration lies in the scopes; the entry that completes it may be named, too. */
	dwarf_formref_die(dwarf_attr(die, DW_AT_specification, &memory), &first);
	found = find_names(&first);
	return found.name ? qualify(dwarf, hawk_dwarf_unit_of(dwarf, &found.named), &found) : NULL;
}

void hawk_dwarf_name(struct hawk_dwarf *dwarf, struct hawk_dwarf_unit *unit,
		     struct hawk_dwarf_node *node)
{
	struct found found;
	struct hawk_text text;

	if (node->named)
		return;
	node->named = true;
	if (!hawk_dwarf_has_room()) {
		hawk_enomem_swallow();
		return;
	}
	found = find_names(&node->die);
	node->symbol = hawk_dwarf_intern(dwarf, found.linkage ? found.linkage : found.name);
	node->plain = found.name ? hawk_dwarf_intern(dwarf, found.name) : NULL;
	hawk_text_init(&text);
	/* A linkage name that is not mangled ("__GI_raise") says less than the plain one. */
	if (found.linkage && hawk_demangle(found.linkage, &text))
		node->function = hawk_strings_intern(dwarf->strings, text.bytes, text.size);
	else if (found.linkage && found.name)
		node->function = hawk_dwarf_intern(dwarf, found.name);
	else if (found.name)
		node->function = qualify(dwarf, unit, &found);
	else
		node->function = node->symbol;
	hawk_text_deinit(&text);
}
