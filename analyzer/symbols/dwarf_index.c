/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * One pass over the entries of a module: static variables by address, definitions of types by name.
 *
 * Functions and classes are entered only where debug information is small: they make up most of it,
 * and skipping them by their siblings keeps a pass over hundreds of megabytes under a second.
 */
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>
#include <xxhash.h>

#include "dwarf_store.h"
#include "hawk/base/array.h"

enum {
	DEPTH_MAX = 64,
	ENTRIES_MAX = 30000000, /**< of a module; later ones are not looked at */
	SLOTS_MIN = 1024,
	STEPS_PER_LOOK = 64,
};

/** Upper limit on debug information that is read with its functions and classes: 0.3 s. */
static const uint64_t DEEP_BYTES_MAX = UINT64_C(64) << 20;

struct pass {
	struct hawk_dwarf *dwarf;
	struct hawk_dwarf_index *index;
	struct hawk_text name; /**< of the scopes around the entry, each with its "::" */
	size_t left;
	bool failed;
};

void hawk_dwarf_index_destroy(struct hawk_dwarf_index *index)
{
	if (!index)
		return;
	free(index->globals.items);
	free(index->thread_locals.items);
	free(index->definitions);
	free(index);
}

static uint64_t hash_of(const char *name)
{
	uint64_t hash = XXH3_64bits(name, strlen(name));

	return hash ? hash : 1;
}

/* Returns the definition with that name, or the free slot where it belongs. */
static struct hawk_dwarf_definition *find(struct hawk_dwarf_definition *slots, size_t count,
					  uint64_t hash)
{
	for (size_t at = (size_t)hash;; at++)
		if (!slots[at & (count - 1)].hash || slots[at & (count - 1)].hash == hash)
			return &slots[at & (count - 1)];
}

static bool make_room(struct hawk_dwarf_index *index)
{
	size_t count = index->slot_count ? 2 * index->slot_count : SLOTS_MIN;
	struct hawk_dwarf_definition *slots;

	if (index->slot_count > 2 * index->count)
		return true;
	slots = calloc(count, sizeof(*slots));
	if (!slots)
		return false;
	for (size_t i = 0; i < index->slot_count; i++)
		if (index->definitions[i].hash)
			*find(slots, count, index->definitions[i].hash) = index->definitions[i];
	free(index->definitions);
	index->definitions = slots;
	index->slot_count = count;
	return true;
}

/* Types of one name and size are the same in C++; in C, two sizes are two types. */
static void add_definition(struct pass *pass, Dwarf_Die *die, const char *name)
{
	struct hawk_dwarf_definition *slot;
	Dwarf_Attribute memory;
	Dwarf_Word bytes = 0;

	if (dwarf_formudata(dwarf_attr(die, DW_AT_byte_size, &memory), &bytes) != 0)
		return;
	if (!make_room(pass->index)) {
		pass->failed = true;
		return;
	}
	slot = find(pass->index->definitions, pass->index->slot_count, hash_of(name));
	if (!slot->hash) {
		*slot = (struct hawk_dwarf_definition){hash_of(name), bytes, *die};
		pass->index->count++;
	} else if (slot->bytes != bytes) {
		slot->die = (Dwarf_Die){0};
	}
}

bool hawk_dwarf_index_definition(const struct hawk_dwarf_index *index, const char *name,
				 Dwarf_Die *ret)
{
	if (!index->slot_count)
		return false;
	*ret = find(index->definitions, index->slot_count, hash_of(name))->die;
	return ret->addr;
}

static void add_static(struct pass *pass, struct hawk_dwarf_statics *statics, uint64_t address,
		       const Dwarf_Die *die)
{
	if (!hawk_array_reserve(&statics->items, statics->count, &statics->capacity,
				sizeof(*statics->items)))
		pass->failed = true;
	else
		statics->items[statics->count++] =
			(struct hawk_dwarf_static){.address = address, .die = *die};
}

static void visit_variable(struct pass *pass, Dwarf_Die *die)
{
	Dwarf_Attribute memory, address;
	Dwarf_Op *ops;
	size_t count;

	if (!dwarf_attr(die, DW_AT_location, &memory) ||
	    dwarf_whatform(&memory) == DW_FORM_sec_offset ||
	    dwarf_getlocation(&memory, &ops, &count) != 0 || !count)
		return;
	if (count == 2 &&
	    (ops[1].atom == DW_OP_GNU_push_tls_address || ops[1].atom == DW_OP_form_tls_address))
		add_static(pass, &pass->index->thread_locals, ops[0].number, die);
	else if (count == 1 && ops[0].atom == DW_OP_addr && ops[0].number)
		add_static(pass, &pass->index->globals, ops[0].number, die);
	else if (count == 1 && dwarf_getlocation_attr(&memory, ops, &address) == 0 &&
		 dwarf_formaddr(&address, &ops[0].number) == 0 && ops[0].number)
		add_static(pass, &pass->index->globals, ops[0].number, die);
}

/* Appends a name to those of the scopes. */
static void append_name(struct pass *pass, const char *name)
{
	size_t before = pass->name.size;

	hawk_text_puts(&pass->name, name);
	if (!pass->name.failed && strstr(name, " int"))
		hawk_dwarf_spell_integers(&pass->name, before);
}

/* Returns the entry's name with those of its scopes, in `pass->name`; NULL = it has none. A
 * definition outside of its class completes the declaration there. */
static const char *full_name(struct pass *pass, Dwarf_Die *die)
{
	Dwarf_Attribute memory;
	const char *name = dwarf_formstring(dwarf_attr(die, DW_AT_name, &memory));

	if (dwarf_hasattr(die, DW_AT_specification))
		return hawk_dwarf_qualified(pass->dwarf, die);
	if (!name)
		return NULL;
	append_name(pass, name);
	return hawk_text_string(&pass->name);
}

static void visit_type(struct pass *pass, Dwarf_Die *die)
{
	size_t before = pass->name.size;
	const char *name;

	if (dwarf_hasattr(die, DW_AT_declaration))
		return;
	name = full_name(pass, die);
	if (name)
		add_definition(pass, die, name);
	hawk_text_cut(&pass->name, before);
}

static void visit_children(struct pass *pass, Dwarf_Die *parent, int depth);

static void visit_inside(struct pass *pass, Dwarf_Die *die, const char *unnamed, int depth)
{
	Dwarf_Attribute memory;
	size_t before = pass->name.size;
	const char *name = dwarf_formstring(dwarf_attr(die, DW_AT_name, &memory));

	name = name ? name : unnamed;
	if (name) {
		append_name(pass, name);
		hawk_text_puts(&pass->name, "::");
	}
	visit_children(pass, die, depth + 1);
	hawk_text_cut(&pass->name, before);
}

static void visit(struct pass *pass, Dwarf_Die *die, int depth)
{
	bool deep = pass->index->deep;

	switch (dwarf_tag(die)) {
	case DW_TAG_variable:
		visit_variable(pass, die);
		break;
	case DW_TAG_namespace:
	case DW_TAG_module:
		visit_inside(pass, die, "(anonymous namespace)", depth);
		break;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		visit_type(pass, die);
		if (deep)
			visit_inside(pass, die, NULL, depth);
		break;
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
		if (deep)
			visit_inside(pass, die, NULL, depth);
		break;
	default:
		break;
	}
}

/* Offsets must grow: a sibling reference that points back ends the list. */
static void visit_children(struct pass *pass, Dwarf_Die *parent, int depth)
{
	Dwarf_Die die;

	if (depth > DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return;
	for (Dwarf_Off last = 0; dwarf_dieoffset(&die) > last && pass->left && !pass->failed;
	     pass->left--) {
		last = dwarf_dieoffset(&die);
		if (pass->left % STEPS_PER_LOOK == 0 && !hawk_dwarf_has_room())
			pass->failed = true;
		visit(pass, &die, depth);
		if (dwarf_siblingof(&die, &die) != 0)
			break;
	}
}

static int by_address(const void *left, const void *right)
{
	const struct hawk_dwarf_static *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->die.addr < b->die.addr ? -1 : a->die.addr > b->die.addr;
}

static void sort(struct hawk_dwarf_statics *statics)
{
	if (statics->count)
		qsort(statics->items, statics->count, sizeof(*statics->items), by_address);
}

const struct hawk_dwarf_static *hawk_dwarf_statics_find(const struct hawk_dwarf_statics *statics,
							uint64_t address)
{
	size_t above =
		hawk_array_first_above(statics->items, statics->count, sizeof(*statics->items),
				       offsetof(struct hawk_dwarf_static, address), address);

	return above ? &statics->items[above - 1] : NULL;
}

static bool fill(struct hawk_dwarf *dwarf, struct hawk_dwarf_index *index)
{
	struct pass pass = {.dwarf = dwarf, .index = index, .left = ENTRIES_MAX};
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	uint8_t type;

	hawk_text_init(&pass.name);
	while (pass.left && !pass.failed &&
	       dwarf_get_units(dwarf->dwarf, unit, &unit, NULL, &type, &die, NULL) == 0) {
		struct hawk_dwarf_unit *split =
			type == DW_UT_skeleton ? hawk_dwarf_unit_of(dwarf, &die) : NULL;

		if (split)
			die = split->die;
		if (die.addr)
			visit_children(&pass, &die, 0);
		pass.left -= pass.left > 0;
	}
	pass.failed |= pass.name.failed;
	hawk_text_deinit(&pass.name);
	sort(&index->globals);
	sort(&index->thread_locals);
	return !pass.failed;
}

const struct hawk_dwarf_index *hawk_dwarf_index_of(struct hawk_dwarf *dwarf)
{
	if (!dwarf->index && hawk_dwarf_has_room()) {
		dwarf->index = calloc(1, sizeof(*dwarf->index));
		if (dwarf->index) {
			dwarf->index->deep = dwarf->info_bytes <= DEEP_BYTES_MAX;
			if (!fill(dwarf, dwarf->index))
				hawk_enomem_swallow();
		}
	}
	return dwarf->index;
}
