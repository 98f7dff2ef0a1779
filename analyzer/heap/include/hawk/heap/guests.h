/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Guests: interpreters whose objects are blocks of the heap. A guest tells what blocks are, by the
 * collector's own lists. It finds no blocks; only Java's heap is a source as well. A block with an
 * object keeps its stack; without a stack the object's type is its class.
 */
#ifndef HAWK_ANALYZER_HEAP_GUESTS_H
#define HAWK_ANALYZER_HEAP_GUESTS_H

#include "hawk/heap/block_index.h"

/** Bits of hawk_heap_wish.guests. */
enum hawk_guest_kind {
	HAWK_GUEST_LUA = 1u << 0,
	HAWK_GUEST_PYTHON = 1u << 1,
	HAWK_GUEST_JAVA = 1u << 2,
	HAWK_GUESTS_ALL = HAWK_GUEST_LUA | HAWK_GUEST_PYTHON | HAWK_GUEST_JAVA,
};

/** How objects lie in their blocks, and which words refer to others. */
struct hawk_guest_layout {
	/** Words that refer to nothing, by number in the block: the collector's lists, and text. */
	uint64_t ignored_words;
	bool ignores_rest; /**< likewise all words from the 64th on */
	uint8_t front;     /**< bytes of the block before the object, to which pointers lead */
	bool is_collected; /**< the collector frees it: never lost */
	/** Halves of words that are compressed references, by number, lower ones first; and whether
	 * all from the 128th on are. One leads to base + (itself << shift), 0 to nothing. */
	uint64_t narrow[2];
	bool narrow_rest;
	uint8_t narrow_shift;
	uint64_t narrow_base;
};

struct hawk_guest_type {
	const char *name; /**< "Lua table {id,name}"; printable */
	struct hawk_guest_layout layout;
	uint8_t guest; /**< whose objects are counted as their blocks are met: its index + 1; else 0
			*/
};

enum { HAWK_GUESTS_MAX = 8 };

/** All interpreters of one version in the process. */
struct hawk_guest {
	const char *name;       /**< "Lua 5.4" */
	uint64_t states;        /**< interpreters */
	uint64_t objects;       /**< with the buffers that they own */
	uint64_t bytes;         /**< as the guest asked for them */
	uint64_t counted_bytes; /**< by its own count; 0 = it has none */
	bool is_counted;
	bool has_heap;   /**< its objects lie in no allocator's memory */
	bool incomplete; /**< a list ended at something that is no object */
	bool is_unknown; /**< no layout of its version is known: no objects */
};

/** An object or a buffer of one. */
struct hawk_guest_object {
	uint64_t start; /**< of its block */
	uint32_t type;
};

/** What an interpreter knows of a thread. */
struct hawk_guest_thread {
	uint64_t pointer; /**< the thread's thread pointer */
	uint64_t state;   /**< address of the interpreter's state of it */
	uint8_t guest;    /**< its index */
};

/** Tells what blocks hold that no list has. */
struct hawk_guest_probe {
	/** Returns the type of the object in the block that begins at `start`, 0 = none. NULL = no
	 * probe. */
	uint32_t (*type_of)(void *context, uint64_t start);
	void (*forget)(void *context);
	void *context;
};

struct hawk_guests {
	struct hawk_guest items[HAWK_GUESTS_MAX];
	unsigned count;
	struct hawk_guest_type *types; /**< type 0 is "none" */
	uint32_t type_count;
	uint32_t class_first; /**< the heap's number of type 1's class; 0 = blocks keep theirs */
	struct hawk_guest_thread *threads;
	size_t thread_count;
	/** Only while a heap is loaded: ascending. */
	struct hawk_guest_object *objects;
	size_t object_count;
	struct hawk_guest_probe probe; /**< likewise */
	/** Likewise: types of a source's classes, which begin with the heap's `source_first`. */
	uint32_t *source_types;
	uint32_t source_first, source_type_count;
	uint32_t *of_block; /**< type by number of block; NULL = no guests */
	size_t of_block_count, of_block_capacity;
};

/** Returns "agrees", "differs" or, without a count of the guest's own, "unknown". */
static inline const char *hawk_guest_checksum(const struct hawk_guest *guest)
{
	if (!guest->is_counted)
		return "unknown";
	return guest->bytes == guest->counted_bytes ? "agrees" : "differs";
}

/** Returns the type of the object in block `block`, or NULL. */
static inline const struct hawk_guest_type *hawk_guests_type(const struct hawk_guests *guests,
							     uint32_t block)
{
	return block < guests->of_block_count && guests->of_block[block]
		       ? &guests->types[guests->of_block[block]]
		       : NULL;
}

/** Returns true if word `number` of a block is no reference. */
static inline bool hawk_guest_ignores(const struct hawk_guest_layout *layout, uint64_t number)
{
	return number < 64 ? layout->ignored_words >> number & 1 : layout->ignores_rest;
}

/** Returns true if some words hold compressed references. */
static inline bool hawk_guest_is_narrow(const struct hawk_guest_layout *layout)
{
	return layout->narrow[0] | layout->narrow[1] | layout->narrow_rest;
}

/** Returns true if a half of a word, by number, is a compressed reference. */
static inline bool hawk_guest_refers(const struct hawk_guest_layout *layout, uint64_t half)
{
	return half < 128 ? layout->narrow[half / 64] >> half % 64 & 1 : layout->narrow_rest;
}

/** The values that a word can be: two compressed references, and the word itself. */
enum { HAWK_GUEST_VALUES = 3 };

/** Returns true if value `which` of word `number` can refer to something, and fills it. `layout`
 * may be NULL: of no object. */
static inline bool hawk_guest_value(const struct hawk_guest_layout *layout, uint64_t number,
				    unsigned which, uint64_t word, uint64_t *ret)
{
	uint32_t narrow;

	*ret = word;
	if (which == HAWK_GUEST_VALUES - 1) /* the lower half may be the same */
		return !layout || (!hawk_guest_ignores(layout, number) &&
				   (word >> 32 || !hawk_guest_refers(layout, 2 * number)));
	if (!layout || !hawk_guest_refers(layout, 2 * number + which))
		return false;
	narrow = (uint32_t)(word >> 32 * which);
	*ret = layout->narrow_base + ((uint64_t)narrow << layout->narrow_shift);
	return narrow;
}

/** Returns true if `value` is a link of the collector's lists: it leads to the collector's words in
 * front of an object in the block, where no reference leads. */
static inline bool hawk_guests_is_link(const struct hawk_guests *guests,
				       const struct hawk_block_index *index, uint64_t value,
				       uint32_t block)
{
	enum { COLLECTOR_BYTES = 16 };
	const struct hawk_guest_type *type = hawk_guests_type(guests, block);

	return type && type->layout.is_collected && type->layout.front >= COLLECTOR_BYTES &&
	       value == hawk_block_start(index, block) + type->layout.front - COLLECTOR_BYTES;
}

/** Returns `edge`, to which `value` leads, without its interior bit if the object begins there. */
static inline uint32_t hawk_guests_edge(const struct hawk_guests *guests,
					const struct hawk_block_index *index, uint64_t value,
					uint32_t edge)
{
	const struct hawk_guest_type *type;

	if (!guests->of_block || !(edge & 1) || edge == HAWK_BLOCK_NOWHERE)
		return edge;
	type = hawk_guests_type(guests, edge >> 1);
	if (!type || value - hawk_block_start(index, edge >> 1) != type->layout.front)
		return edge;
	return edge & ~UINT32_C(1);
}

#endif
