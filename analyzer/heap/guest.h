/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What guests give: objects with types. Internal to heap/.
 */
#ifndef HAWK_ANALYZER_HEAP_GUEST_H
#define HAWK_ANALYZER_HEAP_GUEST_H

#include "hawk/base/array.h"
#include "hawk/base/text.h"
#include "hawk/heap/guests.h"
#include "hawk/heap/heap.h"
#include "hawk/heap/vtables.h"

enum {
	HAWK_GUEST_TYPES_MAX = 1 << 16,
	HAWK_GUEST_KEYS_MAX = 1 << 18,
	HAWK_GUEST_NAME_MAX = 96, /**< longer names of types are cut */
};

/** Collects objects. Out of memory sets `failed`, and later calls do nothing. */
struct hawk_guest_finder {
	const struct hawk_target *target;
	struct hawk_near near;
	struct hawk_guests *guests;
	size_t object_capacity, type_capacity;
	/** Hash tables of type numbers; 0 = free. By key of the guest, and by name. */
	struct hawk_guest_key {
		uint64_t key;
		uint32_t type;
	} * keys, *names;
	size_t key_count, key_capacity, name_capacity;
	uint64_t objects_max; /**< more than the memory can hold: the lists lie */
	bool failed;
};

/** Returns the type with this key, 0 = none yet. Keys are any numbers that tell types apart. */
uint32_t hawk_guest_find_type(const struct hawk_guest_finder *finder, uint64_t key);

/** Adds a type under a new key, or the key to the type with that name. Returns its number; 0 if
 * there are too many. */
uint32_t hawk_guest_add_type(struct hawk_guest_finder *finder, uint64_t key, const char *name,
			     const struct hawk_guest_layout *layout);

/** Adds an object of `bytes` in the block that begins at `start`. Returns false if there are more
 * than can exist. */
bool hawk_guest_add_object(struct hawk_guest_finder *finder, struct hawk_guest *guest,
			   uint64_t start, uint64_t bytes, uint32_t type);

/** Adds an object that is counted with its block, if there is one. Returns false as above. */
bool hawk_guest_add_block(struct hawk_guest_finder *finder, uint8_t guest, uint64_t start,
			  uint32_t type);

/** Returns true if there are more objects than can exist. */
static inline bool hawk_guest_is_full(const struct hawk_guest_finder *finder)
{
	return finder->guests->object_count >= finder->objects_max;
}

/** Returns the guest of that name, a new one if need be; NULL = too many. */
struct hawk_guest *hawk_guest_named(struct hawk_guests *guests, const char *name);

/** Appends foreign text of `bytes` bytes to the name of a type: printable characters only. */
void hawk_guest_append(struct hawk_text *name, const char *text, size_t bytes);

/** Mixes a number into a key. */
static inline uint64_t hawk_guest_mix(uint64_t key, uint64_t value)
{
	key = (key ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return key ^ key >> 32;
}

/** The guests: find their states and add objects. Cost next to nothing if there are none. */
void hawk_lua_find(struct hawk_guest_finder *finder, struct hawk_symbols *symbols);
void hawk_python_find(struct hawk_guest_finder *finder, struct hawk_symbols *symbols,
		      const struct hawk_heap *heap);
void hawk_java_find(struct hawk_guest_finder *finder, const struct hawk_heap *heap);

/** As hawk_guests_append_member(), of a block with an object. */
bool hawk_python_append_member(const struct hawk_heap *heap, uint32_t holder, uint32_t block,
			       uint64_t offset, struct hawk_text *text);

struct hawk_guest_frames;

/** As hawk_guest_frames_read(), of a thread of Python. */
struct hawk_error *hawk_python_frames(const struct hawk_heap *heap, struct hawk_symbols *symbols,
				      const struct hawk_guest_thread *thread,
				      struct hawk_guest_frames *ret);

/** Finds all guests that the wish names. Adds classes to the heap if its blocks have no stacks. */
struct hawk_error *hawk_guests_find(const struct hawk_heap_wish *wish,
				    struct hawk_findings *findings, struct hawk_heap *heap);

/** Goes through blocks as they are numbered, in ascending order. */
struct hawk_guests_walk {
	size_t next;
	struct hawk_block *copy;
	size_t capacity;
};

/** Gives the objects' types to the next blocks: `*blocks` may become a copy of the walk's. */
struct hawk_error *hawk_guests_take(struct hawk_guests_walk *walk, struct hawk_heap *heap,
				    const struct hawk_block **blocks, size_t count);
void hawk_guests_end(struct hawk_guests_walk *walk, struct hawk_guests *guests);

void hawk_guests_deinit(struct hawk_guests *guests);

#endif
