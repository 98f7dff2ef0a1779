/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * One walk over the tree of a unit: every function and inlined call with code becomes a node, its
 * ranges are cut so that the innermost one wins.
 *
 * The walk visits each entry once: offsets must grow, so a sibling reference that points back ends
 * it. Depth is bounded; deeper entries are part of the enclosing function.
 */
#include "dwarf_units.h"

#include <stdlib.h>

#include <dwarf.h>

#include "hawk/base/array.h"

enum {
	DEPTH_MAX = 256,
	NODES_MAX = 16000000,
	RANGES_MAX = 32000000,
	STEPS_PER_LOOK = 16, /* steps between checks of memory */
};

struct walk {
	struct hawk_dwarf *dwarf;
	struct hawk_dwarf_unit *unit;
	size_t budget; /**< ranges that may still be added */
	size_t depth;
	size_t steps;
	size_t reserved; /**< capacities of the unit's arrays at the last check of memory */
	struct {
		Dwarf_Die die;
		uint32_t node;   /**< the node that children of `die` belong to */
		uint32_t scope;  /**< the scope that `die` opened, or HAWK_DWARF_NO_NODE */
		Dwarf_Off start; /**< of that scope */
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

/** Makes a node of `die` if it has code; `*node` becomes its children's node. */
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
	if (!hawk_array_reserve(&unit->nodes, unit->node_count, &unit->node_capacity,
				sizeof(*unit->nodes)) ||
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

static bool is_scope(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		return true;
	default:
		return false;
	}
}

static uint32_t innermost_scope(const struct walk *walk)
{
	for (size_t depth = walk->depth; depth-- > 0;)
		if (walk->stack[depth].scope != HAWK_DWARF_NO_NODE)
			return walk->stack[depth].scope;
	return HAWK_DWARF_NO_NODE;
}

/** Makes a scope of the top of the stack. */
static struct hawk_error *open_scope(struct walk *walk)
{
	struct hawk_dwarf_unit *unit = walk->unit;

	if (unit->scope_count >= NODES_MAX)
		return NULL;
	if (!hawk_array_reserve(&unit->scopes, unit->scope_count, &unit->scope_capacity,
				sizeof(*unit->scopes)))
		return &hawk_enomem;
	walk->stack[walk->depth].scope = (uint32_t)unit->scope_count;
	walk->stack[walk->depth].start = dwarf_dieoffset(&walk->stack[walk->depth].die);
	unit->scopes[unit->scope_count++] = (struct hawk_dwarf_scope){
		.die = walk->stack[walk->depth].die, .parent = innermost_scope(walk)};
	return NULL;
}

/** Closes the scopes from `depth` on before the entry at `end`. Returns false if memory runs out.
 */
static bool close_scopes(struct walk *walk, size_t depth, size_t deepest, Dwarf_Off end)
{
	for (; depth <= deepest; depth++) {
		uint32_t scope = walk->stack[depth].scope;

		walk->stack[depth].scope = HAWK_DWARF_NO_NODE;
		if (scope != HAWK_DWARF_NO_NODE &&
		    !hawk_ranges_add(&walk->unit->scope_ranges, walk->stack[depth].start, end,
				     (uint32_t)depth, scope))
			return false;
	}
	return true;
}

/** Advances to the next entry: the top's child if `descend`, else its sibling, else an outer one.
 */
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

/** Makes nodes and scopes of the top entry; `*node` becomes its children's node. */
static struct hawk_error *visit(struct walk *walk, uint32_t *node, bool *descend)
{
	Dwarf_Die *die = &walk->stack[walk->depth].die;
	int tag = dwarf_tag(die);
	struct hawk_error *err;

	*node = walk->stack[walk->depth].node;
	err = add_node(walk, die, tag, node);
	*descend = may_hold_code(tag) && dwarf_haschildren(die) == 1;
	if (!err && *descend && is_scope(tag))
		err = open_scope(walk);
	return err;
}

/* Checks memory now and then, and whenever an array has grown. */
static bool has_room(struct walk *walk)
{
	const struct hawk_dwarf_unit *unit = walk->unit;
	size_t reserved = unit->node_capacity + unit->scope_capacity + unit->ranges.capacity +
			  unit->scope_ranges.capacity;

	if (walk->steps++ % STEPS_PER_LOOK && reserved == walk->reserved)
		return true;
	walk->reserved = reserved;
	return hawk_dwarf_has_room();
}

struct hawk_error *hawk_dwarf_read_functions(struct hawk_dwarf *dwarf, struct hawk_dwarf_unit *unit)
{
	struct walk walk = {.dwarf = dwarf, .unit = unit, .budget = RANGES_MAX};
	uint32_t node = HAWK_DWARF_NO_NODE;
	size_t deepest = 0;
	bool descend = true;

	for (size_t i = 0; i < DEPTH_MAX; i++)
		walk.stack[i].scope = HAWK_DWARF_NO_NODE;
	walk.stack[0].die = unit->die;
	walk.stack[0].node = HAWK_DWARF_NO_NODE;
	while (next(&walk, descend, node)) {
		struct hawk_error *err;

		if (!close_scopes(&walk, walk.depth, deepest,
				  dwarf_dieoffset(&walk.stack[walk.depth].die)))
			return &hawk_enomem;
		deepest = walk.depth;
		if (!has_room(&walk))
			return &hawk_enomem;
		err = visit(&walk, &node, &descend);
		if (err)
			return err;
	}
	if (!close_scopes(&walk, 0, deepest, UINT64_MAX) ||
	    !hawk_ranges_freeze(&unit->scope_ranges) || !hawk_ranges_freeze(&unit->ranges))
		return &hawk_enomem;
	return NULL;
}
