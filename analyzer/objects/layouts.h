/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Where pointers lie in objects of each type, and to what they lead. Containers of the standard
 * library, whose own members have pointers to untyped nodes, lead to typed ones (containers.c).
 * Internal to objects/.
 */
#ifndef HAWK_ANALYZER_OBJECTS_LAYOUTS_H
#define HAWK_ANALYZER_OBJECTS_LAYOUTS_H

#include "hawk/symbols/dwarf_types.h"
#include "hawk/objects/types.h"

enum hawk_link_kind {
	HAWK_LINK_POINTER, /**< at `at[0]`: to an object, or to several */
	HAWK_LINK_INLINE,  /**< `count` objects at `at[0]` */
	HAWK_LINK_IF,      /**< an object at `at[0]`, if the byte at `at[1]` is not 0 */
	HAWK_LINK_SPAN,    /**< pointers: first object, end of objects, end of the buffer */
	HAWK_LINK_TEXT,    /**< pointer to text, its length */
	HAWK_LINK_NODES,   /**< pointer to the first node; `at[1]` has their number if `count` > 1,
			      `at[2]` a hash table's array if `count` > 2 */
	HAWK_LINK_DEQUE, /**< map; first and last used entry of it; first and behind last object */
};

struct hawk_link {
	uint8_t kind;       /**< enum hawk_link_kind */
	bool is_guess;      /**< its targets are: text, or a pointer that may be cast */
	bool is_shortcut;   /**< others lead to its targets, too; paths may use it nevertheless */
	uint32_t target;    /**< number of the layout */
	uint32_t container; /**< number of that whose part the target is; 0 = none */
	uint64_t at[5];     /**< offsets in the object */
	uint64_t count;
};

/** A container's type. */
struct hawk_container {
	const char *name;
	uint32_t node;       /**< layout of its nodes; 0 = not asked */
	uint32_t numbers[2]; /**< of the type: fact or guess; 0 = not asked */
};

struct hawk_layout {
	const char *name;
	uint64_t bytes;
	const struct hawk_dwarf_type *type; /**< of the object at `type_at`; NULL = none */
	uint64_t type_at;                   /**< not 0 in nodes */
	struct hawk_link *links;
	size_t link_count, link_capacity;
	bool has_links;
	bool is_node;        /**< of a container, or part of one */
	bool is_table;       /**< one of a hash table's pointers to nodes */
	bool is_bare;        /**< not a structure, or one with pointers to itself alone: others
				have it as their first member */
	uint32_t numbers[4]; /**< of types: of one object or of several, fact or guess; 0 = not
				asked */
};

struct hawk_layouts {
	struct hawk_symbols *symbols;
	struct hawk_layout *items; /**< item 0 is none; pointers last until the next call */
	size_t count, capacity;
	struct hawk_layout_numbers {
		uint32_t layout;    /**< 0 = not asked */
		uint32_t container; /**< 0 = none, or not asked */
	} * of_type;                /**< by the number of the DWARF type */
	size_t type_capacity;
	struct hawk_container *containers; /**< item 0 is none */
	size_t container_count, container_capacity;
	bool failed; /**< memory ran out */
};

/** Returns the number of the type's layout; 0 = it has no size. */
uint32_t hawk_layouts_of(struct hawk_layouts *layouts, const struct hawk_dwarf_type *type);

/** Returns the layout with its links. */
const struct hawk_layout *hawk_layouts_linked(struct hawk_layouts *layouts, uint32_t number);

/** Returns the numbers of a DWARF type; NULL = out of memory. */
struct hawk_layout_numbers *hawk_layouts_numbers(struct hawk_layouts *layouts,
						 const struct hawk_dwarf_type *type);

/** Adds a layout that no DWARF type has; returns its number. */
uint32_t hawk_layouts_add(struct hawk_layouts *layouts, const struct hawk_layout *layout);
void hawk_layouts_add_link(struct hawk_layouts *layouts, uint32_t layout,
			   const struct hawk_link *link);
/** Returns a type's name as it is shown; NULL = it is too long, or out of memory. */
const char *hawk_layouts_name(struct hawk_layouts *layouts, const struct hawk_text *name);
/** Returns the number of a container's type; 0 = it has no name, or out of memory. */
uint32_t hawk_layouts_container(struct hawk_layouts *layouts, const struct hawk_dwarf_type *type);
/** Adds the links of an object of `type` at `offset` of the layout. */
void hawk_layouts_add_object(struct hawk_layouts *layouts, uint32_t layout,
			     const struct hawk_dwarf_type *type, uint64_t offset);

void hawk_layouts_deinit(struct hawk_layouts *layouts);

/** containers.c: adds the links of a container, or a part of one, at `offset` of the layout; false
 * = `type` is none. */
bool hawk_containers_add(struct hawk_layouts *layouts, uint32_t layout,
			 const struct hawk_dwarf_type *type, uint64_t offset);

#endif
