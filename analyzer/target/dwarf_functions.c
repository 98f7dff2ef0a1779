/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * One walk over the tree of a unit: every function and inlined call with code becomes a node, its
 * ranges are cut so that the innermost one wins.
 *
 * The walk visits each entry once: offsets must grow, so that a sibling reference that points back
 * ends it. Depth is bounded; what lies deeper is part of the function around it.
 */
#include "dwarf_units.h"

#include <stdlib.h>

#include <dwarf.h>

enum {
	DEPTH_MAX = 256,
	NODES_MAX = 16000000,
	RANGES_MAX = 32000000,
};

struct walk {
	struct hawk_dwarf *dwarf;
	struct hawk_dwarf_unit *unit;
	size_t budget; /**< ranges that may still be added */
	size_t depth;
	struct {
		Dwarf_Die die;
		uint32_t node; /**< the node that children of `die` belong to */
	} stack[DEPTH_MAX];
};

static bool may_hold_code(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_interface_type:
		return true;
	default:
		return false;
	}
}

static uint64_t unsigned_attribute(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute memory;
	Dwarf_Word value;

	if (dwarf_formudata(dwarf_attr(die, name, &memory), &value) != 0)
		return 0;
	return value;
}

static bool reserve_node(struct hawk_dwarf_unit *unit)
{
	size_t capacity = unit->node_capacity ? 2 * unit->node_capacity : 32;
	struct hawk_dwarf_node *nodes;

	if (unit->node_count < unit->node_capacity)
		return true;
	nodes = reallocarray(unit->nodes, capacity, sizeof(*nodes));
	if (!nodes)
		return false;
	unit->nodes = nodes;
	unit->node_capacity = capacity;
	return true;
}

/** Makes a node of `die` if it has code; `*node` becomes what its children belong to. */
static struct hawk_error *add_node(struct walk *walk, Dwarf_Die *die, int tag, uint32_t *node)
{
	struct hawk_dwarf_unit *unit = walk->unit;
	struct hawk_dwarf_node *added;
	size_t before = unit->ranges.count;
	uint32_t id = (uint32_t)unit->node_count;
	uint64_t lowest;

	if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine)
		return NULL;
	if (unit->node_count >= NODES_MAX)
		return NULL;
	if (!reserve_node(unit) ||
	    !hawk_dwarf_add_ranges(walk->dwarf, die, (uint32_t)walk->depth, id, &unit->ranges,
				   &lowest, &walk->budget))
		return &hawk_enomem;
	if (unit->ranges.count == before)
		return NULL;
	added = &unit->nodes[unit->node_count++];
	*added = (struct hawk_dwarf_node){.die = *die,
					  .parent = HAWK_DWARF_NO_NODE,
					  .start = lowest,
					  .inlined = tag == DW_TAG_inlined_subroutine};
	if (added->inlined) {
		added->parent = *node;
		added->call_line = (uint32_t)unsigned_attribute(die, DW_AT_call_line);
		added->call_file = unsigned_attribute(die, DW_AT_call_file);
	}
	*node = id;
	return NULL;
}

/** On to the next entry: into the top's children if `descend`, else beside it, else further out. */
static bool next(struct walk *walk, bool descend, uint32_t node)
{
	Dwarf_Off last = dwarf_dieoffset(&walk->stack[walk->depth].die);

	if (descend && walk->depth + 1 < DEPTH_MAX) {
		Dwarf_Die *child = &walk->stack[walk->depth + 1].die;

		if (dwarf_child(&walk->stack[walk->depth].die, child) == 0) {
			walk->depth++;
			walk->stack[walk->depth].node = node;
			return dwarf_dieoffset(child) > last;
		}
	}
	for (; walk->depth > 0; walk->depth--) {
		Dwarf_Die *die = &walk->stack[walk->depth].die;

		if (dwarf_siblingof(die, die) == 0)
			return dwarf_dieoffset(die) > last;
	}
	return false;
}

struct hawk_error *hawk_dwarf_read_functions(struct hawk_dwarf *dwarf, struct hawk_dwarf_unit *unit)
{
	struct walk walk = {.dwarf = dwarf, .unit = unit, .budget = RANGES_MAX};
	bool descend = true;
	uint32_t node = HAWK_DWARF_NO_NODE;

	walk.stack[0].die = unit->die;
	walk.stack[0].node = HAWK_DWARF_NO_NODE;
	while (next(&walk, descend, node)) {
		Dwarf_Die *die = &walk.stack[walk.depth].die;
		int tag = dwarf_tag(die);
		struct hawk_error *err;

		node = walk.stack[walk.depth].node;
		err = add_node(&walk, die, tag, &node);
		if (err)
			return err;
		descend = may_hold_code(tag) && dwarf_haschildren(die) == 1;
	}
	return hawk_ranges_freeze(&unit->ranges) ? NULL : &hawk_enomem;
}
