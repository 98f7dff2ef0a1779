/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The types of all blocks: a number for each block, and a table of types. Stages fill it in order
 * of certainty, each in a file of its own: what the heap and the blocks' first words tell
 * (heap_types.c) comes first. Later stages find types for blocks that have none, or a size class.
 *
 * Costs 4 bytes per block and per trace, and nothing until it is made.
 *
 * If only a few blocks are of interest, such as those on a path from a root, types flow among these
 * alone.
 */
#ifndef HAWK_ANALYZER_OBJECTS_TYPES_H
#define HAWK_ANALYZER_OBJECTS_TYPES_H

#include "hawk/base/text.h"
#include "hawk/names/block_type.h"

/** How a type is known, and how its stage ranks: a lower one is kept when both know a block. */
enum hawk_type_origin {
	HAWK_TYPE_ANNOTATION, /**< the program named it (hawk_annotation.h) */
	HAWK_TYPE_GUEST,      /**< an interpreter's object */
	HAWK_TYPE_VTABLE,     /**< the first word points to a virtual table */
	HAWK_TYPE_COROUTINE,  /**< the first words point to a coroutine's functions */
	HAWK_TYPE_DWARF,      /**< typed pointers lead to it */
	HAWK_TYPE_CONTAINER,  /**< a part of a known container */
	HAWK_TYPE_INTERNAL,   /**< the C library's or an allocator's own */
	HAWK_TYPE_SHAPE,      /**< objects whose words look the same */
	HAWK_TYPE_SIZE,       /**< a size class: nothing but the size is known */
	HAWK_TYPE_NONE,       /**< of type 0 */
	HAWK_TYPE_ORIGINS
};

/** Containers of one type. Only what can be believed is counted: empty ones, and those whose
 * pointers lead to blocks. */
struct hawk_type_containers {
	uint64_t count;
	uint64_t empty;
	uint64_t entries; /**< characters of strings */
	uint64_t room;    /**< for entries; of hash tables: buckets. 0 = not known, as of trees */
};

struct hawk_type {
	const char *name; /**< without the "?" of a guess; outlives the types */
	uint64_t id;      /**< the same in every core: of the name, or build-id and offset */
	uint64_t bytes;   /**< of one object; 0 = not known */
	uint8_t origin;   /**< enum hawk_type_origin */
	bool is_guess;    /**< by shape or through a cast, say; a fact otherwise */
	bool several;     /**< blocks hold objects side by side; set if `layout` is */
	uint32_t layout;  /**< number of the objects' layout; 0 = members are not known */
	struct hawk_type_containers containers; /**< of which the blocks are parts */
};

struct hawk_layouts;

struct hawk_types {
	const struct hawk_heap *heap;
	uint32_t *of_block;      /**< by number; 0 = not known */
	struct hawk_type *items; /**< item 0 is "not known" */
	size_t count, capacity;
	uint32_t *slots; /**< hash table of items by id; 0 = free */
	size_t slot_count;
	bool flows;                   /**< types flowed from variables, too */
	bool folds;                   /**< parts of a container have its type, not their own */
	struct hawk_layouts *layouts; /**< NULL = no type flowed */
};

struct hawk_types_wish {
	bool flows;              /**< ask debug information, too */
	bool folds;              /**< give parts of a container its type; needs `flows` */
	const uint64_t *only;    /**< bits by block; NULL = all */
	const uint64_t *threads; /**< bits of those whose locals count; NULL = all */
};

/** Types what the heap, first words and debug information tell. The arguments but the wish must
 * outlive `ret`, which is to be deinitialized after success only. Reads; blocks of a process that
 * runs on stay without a type. */
struct hawk_error *hawk_types_make(const struct hawk_heap *heap, struct hawk_block_types *names,
				   struct hawk_symbols *symbols, const struct hawk_types_wish *wish,
				   struct hawk_types *ret);
/** Accepts zeros. */
void hawk_types_deinit(struct hawk_types *types);

/** Gives the heap's blocks without a stack classes of the types that flowed, or of containers. */
struct hawk_error *hawk_types_name_blocks(const struct hawk_types *types,
					  struct hawk_symbols *symbols, struct hawk_heap *heap);

/** Returns the number of `type` in `*ret`; adds it unless a type with its id and certainty is in
 * the table. */
struct hawk_error *hawk_types_add(struct hawk_types *types, const struct hawk_type *type,
				  uint32_t *ret);

/** Returns the id of a type by its name. */
uint64_t hawk_type_id(const char *name);

/** Returns the number of the block's type, 0 = not known. */
static inline uint32_t hawk_types_of(const struct hawk_types *types, uint32_t block)
{
	return types->of_block[block];
}

/** Returns type `number`; type 0 has origin HAWK_TYPE_NONE. */
static inline const struct hawk_type *hawk_types_at(const struct hawk_types *types, uint32_t number)
{
	return &types->items[number];
}

/** Returns how well a type is known, best = 0: facts by origin, then guesses, then what says
 * nothing but the size. */
static inline unsigned hawk_type_rank(const struct hawk_type *type)
{
	bool is_guess = type->is_guess && type->origin < HAWK_TYPE_SHAPE;

	return type->origin + (is_guess ? HAWK_TYPE_ORIGINS : 0) +
	       (type->origin >= HAWK_TYPE_SHAPE ? 2 * HAWK_TYPE_ORIGINS : 0);
}

/** Gives the block a type, unless it has one that is as well known. */
static inline void hawk_types_set(struct hawk_types *types, uint32_t block, uint32_t number)
{
	uint32_t before = types->of_block[block];

	if (hawk_type_rank(&types->items[number]) < hawk_type_rank(&types->items[before]))
		types->of_block[block] = number;
}

/** Appends the member at `offset` of the block: ".cart", "[3].second.text", "[...]" for what only a
 * container uses; with "?" if the block's type is a guess. The block `holder` leads to it
 * (HAWK_BLOCK_NOWHERE = any). Returns false if the member is not known. */
bool hawk_types_append_member(const struct hawk_types *types, uint32_t holder, uint32_t block,
			      uint64_t offset, struct hawk_text *text);

/** Returns the word for an origin: "vtable". */
const char *hawk_type_origin_name(enum hawk_type_origin origin);

#endif
