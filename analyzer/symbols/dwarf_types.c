/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads entries of types: kinds, sizes, names, members, targets, template arguments.
 */
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "state.h"

enum {
	QUALIFIERS_MAX = 32, /**< typedefs and qualifiers around a type; they may go in circles */
	MEMBERS_MAX = 65536,
	CHILDREN_MAX = 1000000,
	DIMENSIONS_MAX = 16,
	NESTING_MAX = 16, /**< bases and anonymous members around a member */
	SLOTS_MIN = 256,
	POINTER_BYTES = 8,
};

void hawk_dwarf_store_destroy(struct hawk_dwarf_store *store)
{
	free(store->slots); /* entries belong to the strings */
	*store = (struct hawk_dwarf_store){0};
}

static struct hawk_dwarf_slot *find_slot(struct hawk_dwarf_slot *slots, size_t count,
					 const void *key)
{
	uint64_t hash = (uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15);

	for (size_t at = (size_t)(hash >> 20);; at++)
		if (!slots[at & (count - 1)].key || slots[at & (count - 1)].key == key)
			return &slots[at & (count - 1)];
}

static bool make_room(struct hawk_dwarf_store *store)
{
	size_t count = store->slot_count ? 2 * store->slot_count : SLOTS_MIN;
	struct hawk_dwarf_slot *slots;

	if (store->slot_count > 2 * store->count)
		return true;
	slots = calloc(count, sizeof(*slots));
	if (!slots)
		return false;
	for (size_t i = 0; i < store->slot_count; i++)
		if (store->slots[i].key)
			*find_slot(slots, count, store->slots[i].key) = store->slots[i];
	free(store->slots);
	store->slots = slots;
	store->slot_count = count;
	return true;
}

static struct hawk_dwarf_entry *entry_of(const struct hawk_dwarf_type *type)
{
	return (struct hawk_dwarf_entry *)type;
}

static uint64_t number(Dwarf_Die *die, unsigned name, uint64_t otherwise)
{
	Dwarf_Attribute memory;
	Dwarf_Word value;

	return dwarf_formudata(dwarf_attr(die, name, &memory), &value) == 0 ? value : otherwise;
}

static bool refers_to(Dwarf_Die *die, unsigned name, Dwarf_Die *ret)
{
	Dwarf_Attribute memory;

	return dwarf_formref_die(dwarf_attr_integrate(die, name, &memory), ret) != NULL;
}

static bool is_wrapper(int tag)
{
	switch (tag) {
	case DW_TAG_typedef:
	case DW_TAG_template_alias:
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
	case DW_TAG_immutable_type:
	case DW_TAG_packed_type:
		return true;
	default:
		return false;
	}
}

/* Strips typedefs and qualifiers from `die`; false = void, or a circle. `*named` is the last
 * typedef's name, which is all that an unnamed structure of C has. */
static bool strip(Dwarf_Die *die, const char **named)
{
	Dwarf_Attribute memory;

	for (int i = 0; i < QUALIFIERS_MAX; i++) {
		int tag = dwarf_tag(die);
		Dwarf_Die inner;

		if (tag == DW_TAG_typedef)
			*named = dwarf_formstring(dwarf_attr(die, DW_AT_name, &memory));
		if (!is_wrapper(tag) && dwarf_hasattr(die, DW_AT_signature)) {
			if (!dwarf_formref_die(dwarf_attr(die, DW_AT_signature, &memory), &inner))
				return false;
		} else if (!is_wrapper(tag)) {
			return tag != DW_TAG_invalid;
		} else if (!refers_to(die, DW_AT_type, &inner)) {
			return false;
		}
		*die = inner;
	}
	return false;
}

/* Replaces the declaration of a type by its definition. */
static void complete(struct hawk_dwarf *dwarf, Dwarf_Die *die)
{
	const struct hawk_dwarf_index *index;
	const char *name;
	Dwarf_Die found;

	if (!dwarf_hasattr(die, DW_AT_declaration))
		return;
	name = hawk_dwarf_qualified(dwarf, die);
	index = name ? hawk_dwarf_index_of(dwarf) : NULL;
	if (index && hawk_dwarf_index_definition(index, name, &found))
		*die = found;
}

static enum hawk_dwarf_kind kind_of(int tag)
{
	switch (tag) {
	case DW_TAG_base_type:
	case DW_TAG_enumeration_type:
		return HAWK_DWARF_SCALAR;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		return HAWK_DWARF_POINTER;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
		return HAWK_DWARF_STRUCT;
	case DW_TAG_union_type:
		return HAWK_DWARF_UNION;
	case DW_TAG_array_type:
		return HAWK_DWARF_ARRAY;
	default:
		return HAWK_DWARF_OTHER;
	}
}

/* Returns the number of elements; 0 = not known. */
static uint64_t count_elements(Dwarf_Die *array)
{
	uint64_t count = 1;
	Dwarf_Die die;

	if (dwarf_child(array, &die) != 0)
		return 0;
	for (int i = 0; i < DIMENSIONS_MAX; i++) {
		uint64_t last = number(&die, DW_AT_upper_bound, UINT64_MAX);
		uint64_t here = number(&die, DW_AT_count, last + 1);

		if (dwarf_tag(&die) == DW_TAG_subrange_type &&
		    __builtin_mul_overflow(count, here, &count))
			return 0;
		if (dwarf_siblingof(&die, &die) != 0)
			return count;
	}
	return 0;
}

/* Sets size and name. The target of a pointer is asked for its name on demand: lists are circles.
 */
static void describe(struct hawk_symbols *symbols, struct hawk_dwarf_entry *entry,
		     const char *named)
{
	struct hawk_dwarf_type *type = &entry->type;
	const struct hawk_dwarf_type *element;
	const char *name;

	type->bytes = number(&entry->die, DW_AT_byte_size, 0);
	switch (type->kind) {
	case HAWK_DWARF_POINTER:
		type->bytes = POINTER_BYTES;
		return;
	case HAWK_DWARF_ARRAY:
		element = hawk_dwarf_target(symbols, type);
		type->count = count_elements(&entry->die);
		if (!element || __builtin_mul_overflow(element->bytes, type->count, &type->bytes))
			type->bytes = 0;
		return;
	default:
		name = hawk_dwarf_qualified(entry->dwarf, &entry->die);
		name = name ? name : named ? hawk_symbols_intern(symbols, named) : NULL;
		type->name = name ? name : "";
	}
}

const struct hawk_dwarf_type *hawk_dwarf_type_of(struct hawk_symbols *symbols,
						 struct hawk_dwarf *dwarf, Dwarf_Die *die)
{
	struct hawk_dwarf_store *store = &symbols->types;
	const void *key = die->addr;
	struct hawk_dwarf_entry *entry = NULL;
	struct hawk_dwarf_slot *slot;
	const char *named = NULL;
	Dwarf_Die real = *die;

	if (!key || store->depth > NESTING_MAX || !make_room(store) || !hawk_dwarf_has_room())
		return NULL;
	slot = find_slot(store->slots, store->slot_count, key);
	if (slot->key)
		return &slot->entry->type;
	if (!strip(&real, &named))
		return NULL;
	complete(dwarf, &real);
	if (real.addr != key) /* not a wrapper any more */
		entry = entry_of(hawk_dwarf_type_of(symbols, dwarf, &real));
	if (!entry) {
		entry = hawk_strings_alloc(&symbols->strings, sizeof(*entry));
		if (!entry)
			return NULL;
		entry->type.number = store->next_number++;
		entry->type.kind = (uint8_t)kind_of(dwarf_tag(&real));
		entry->type.name = "";
		entry->die = real;
		entry->dwarf = dwarf;
	}
	slot = make_room(store) ? find_slot(store->slots, store->slot_count, key) : NULL;
	if (!slot || slot->key)
		return slot ? &slot->entry->type : NULL;
	*slot = (struct hawk_dwarf_slot){key, entry};
	store->count++;
	store->depth++;
	if (real.addr == key)
		describe(symbols, entry, named);
	else if (!entry->type.name[0] && named && entry->type.kind == HAWK_DWARF_STRUCT)
		entry->type.name = hawk_symbols_intern(symbols, named);
	store->depth--;
	return &entry->type;
}

const struct hawk_dwarf_type *hawk_dwarf_type_attribute(struct hawk_symbols *symbols,
							struct hawk_dwarf *dwarf, Dwarf_Die *die)
{
	Dwarf_Die type;

	return refers_to(die, DW_AT_type, &type) ? hawk_dwarf_type_of(symbols, dwarf, &type) : NULL;
}

const struct hawk_dwarf_type *hawk_dwarf_target(struct hawk_symbols *symbols,
						const struct hawk_dwarf_type *type)
{
	struct hawk_dwarf_entry *entry = entry_of(type);

	if (!entry->has_target) {
		entry->has_target = true;
		if (type->kind == HAWK_DWARF_POINTER || type->kind == HAWK_DWARF_ARRAY)
			entry->target =
				hawk_dwarf_type_attribute(symbols, entry->dwarf, &entry->die);
	}
	return entry->target;
}

static bool read_member(struct hawk_symbols *symbols, struct hawk_dwarf_entry *entry,
			Dwarf_Die *die, struct hawk_dwarf_member *ret)
{
	int tag = dwarf_tag(die);
	Dwarf_Attribute memory;
	const char *name = dwarf_formstring(dwarf_attr(die, DW_AT_name, &memory));
	uint64_t end;

	if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
	    dwarf_hasattr(die, DW_AT_external) || dwarf_hasattr(die, DW_AT_bit_size) ||
	    (tag == DW_TAG_inheritance && number(die, DW_AT_virtuality, 0)))
		return false;
	ret->offset = number(die, DW_AT_data_member_location,
			     dwarf_hasattr(die, DW_AT_data_member_location) ? UINT64_MAX : 0);
	ret->type = hawk_dwarf_type_attribute(symbols, entry->dwarf, die);
	ret->name = name ? hawk_symbols_intern(symbols, name) : "";
	ret->base = tag == DW_TAG_inheritance;
	if (ret->base)
		ret->name = "";
	return ret->type && ret->name &&
	       !__builtin_add_overflow(ret->offset, ret->type->bytes, &end) &&
	       end <= entry->type.bytes;
}

/* Copies the members found to the strings' memory. */
static void keep_members(struct hawk_symbols *symbols, struct hawk_dwarf_entry *entry,
			 const struct hawk_dwarf_member *members, size_t count)
{
	entry->members =
		count ? hawk_strings_alloc(&symbols->strings, count * sizeof(*members)) : NULL;
	if (entry->members) {
		memcpy(entry->members, members, count * sizeof(*members));
		entry->member_count = count;
	}
}

static void read_members(struct hawk_symbols *symbols, struct hawk_dwarf_entry *entry)
{
	CLEANUP(free_ptr) struct hawk_dwarf_member *members = NULL;
	size_t count = 0, capacity = 0;
	Dwarf_Die die;

	if (dwarf_child(&entry->die, &die) != 0)
		return;
	for (int i = 0; i < CHILDREN_MAX && count < MEMBERS_MAX; i++) {
		if (!hawk_array_reserve(&members, count, &capacity, sizeof(*members)))
			break;
		count += read_member(symbols, entry, &die, &members[count]);
		if (dwarf_siblingof(&die, &die) != 0)
			break;
	}
	keep_members(symbols, entry, members, count);
}

const struct hawk_dwarf_member *
hawk_dwarf_members(struct hawk_symbols *symbols, const struct hawk_dwarf_type *type, size_t *count)
{
	struct hawk_dwarf_entry *entry = entry_of(type);

	if (!entry->has_members) {
		entry->has_members = true;
		if (type->kind == HAWK_DWARF_STRUCT || type->kind == HAWK_DWARF_UNION)
			read_members(symbols, entry);
	}
	*count = entry->member_count;
	return entry->members;
}

const struct hawk_dwarf_type *hawk_dwarf_argument(struct hawk_symbols *symbols,
						  const struct hawk_dwarf_type *type,
						  const char *name)
{
	struct hawk_dwarf_entry *entry = entry_of(type);
	Dwarf_Die die;

	if (dwarf_child(&entry->die, &die) != 0)
		return NULL;
	for (int i = 0; i < CHILDREN_MAX; i++) {
		const char *found = dwarf_diename(&die);

		if (dwarf_tag(&die) == DW_TAG_template_type_parameter &&
		    (!name || (found && !strcmp(found, name))))
			return hawk_dwarf_type_attribute(symbols, entry->dwarf, &die);
		if (dwarf_siblingof(&die, &die) != 0)
			break;
	}
	return NULL;
}

/* Finds the member called [name, name + size) in `type`, its bases and anonymous members. */
static bool find_member(struct hawk_symbols *symbols, const struct hawk_dwarf_type *type,
			const char *name, size_t size, int depth, struct hawk_dwarf_member *ret)
{
	size_t count;
	const struct hawk_dwarf_member *members = hawk_dwarf_members(symbols, type, &count);

	for (size_t i = 0; i < count; i++) {
		if (strlen(members[i].name) == size && !memcmp(members[i].name, name, size)) {
			*ret = members[i];
			return true;
		}
	}
	for (size_t i = 0; i < count && depth < NESTING_MAX; i++) {
		if (members[i].name[0] || members[i].type == type ||
		    !find_member(symbols, members[i].type, name, size, depth + 1, ret))
			continue;
		ret->offset += members[i].offset;
		return true;
	}
	return false;
}

bool hawk_dwarf_member_at(struct hawk_symbols *symbols, const struct hawk_dwarf_type *type,
			  const char *path, struct hawk_dwarf_member *ret)
{
	struct hawk_dwarf_member found = {.type = type};

	for (; *path; path += *path == '.') {
		size_t size = strcspn(path, ".");
		uint64_t offset = found.offset;

		if (!find_member(symbols, found.type, path, size, 0, &found))
			return false;
		found.offset += offset;
		path += size;
	}
	*ret = found;
	return true;
}

static uint64_t alignment_of(struct hawk_symbols *symbols, const struct hawk_dwarf_type *type,
			     int depth);

static uint64_t strictest_member(struct hawk_symbols *symbols, const struct hawk_dwarf_type *type,
				 int depth)
{
	uint64_t most = number(&entry_of(type)->die, DW_AT_alignment, 1);
	size_t count;
	const struct hawk_dwarf_member *members = hawk_dwarf_members(symbols, type, &count);

	most = most ? most : 1;
	for (size_t i = 0; i < count; i++) {
		uint64_t here = alignment_of(symbols, members[i].type, depth + 1);

		most = here > most ? here : most;
	}
	return most;
}

static uint64_t alignment_of(struct hawk_symbols *symbols, const struct hawk_dwarf_type *type,
			     int depth)
{
	struct hawk_dwarf_entry *entry = entry_of(type);
	const struct hawk_dwarf_type *element;

	if (entry->alignment || depth > NESTING_MAX)
		return entry->alignment ? entry->alignment : 1;
	entry->alignment = 1; /* a type within itself adds nothing */
	switch (type->kind) {
	case HAWK_DWARF_ARRAY:
		element = hawk_dwarf_target(symbols, type);
		if (element)
			entry->alignment = alignment_of(symbols, element, depth + 1);
		break;
	case HAWK_DWARF_STRUCT:
	case HAWK_DWARF_UNION:
		entry->alignment = strictest_member(symbols, type, depth);
		break;
	default:
		entry->alignment = type->bytes ? type->bytes : 1;
	}
	return entry->alignment;
}

uint64_t hawk_dwarf_alignment(struct hawk_symbols *symbols, const struct hawk_dwarf_type *type)
{
	return alignment_of(symbols, type, 0);
}
