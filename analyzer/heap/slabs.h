/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Rows of objects of equal size, and the state of each object, in two bits. A row is tcmalloc's
 * span, jemalloc's slab, mimalloc's page, or a single large block. Also what the walkers of these
 * allocators have in common. Private to heap/.
 */
#ifndef HAWK_ANALYZER_HEAP_SLABS_H
#define HAWK_ANALYZER_HEAP_SLABS_H

#include "native.h"

enum hawk_object_state {
	HAWK_OBJECT_LIVE = 0,
	HAWK_OBJECT_FREE = 1,
	HAWK_OBJECT_CACHED = 2,   /**< by a thread or a processor: free but looks live */
	HAWK_OBJECT_INTERNAL = 3, /**< live, the allocator's own */
};

struct hawk_slab {
	uint64_t start;
	uint64_t object_bytes;
	uint64_t count;       /**< of objects */
	uint64_t first;       /**< number of its first object, over all slabs */
	uint64_t description; /**< the walker's own */
	uint32_t arena;       /**< number plus 1; 0 = not known */
	bool aligns_within; /**< some objects were handed out by an aligned pointer to the inside */
};

/** Zeros are none. */
struct hawk_slabs {
	struct hawk_slab *items; /**< ascending, disjoint once finished */
	size_t count, capacity;
	uint8_t *states; /**< four objects a byte */
	uint64_t object_count;
	struct hawk_damages damages; /**< of lists and caches */
	size_t overlapping; /**< slabs dropped because they reach into an earlier one, or have more
			       objects than the core can hold */
};

/** Adds a slab without `first`; empty ones and those that wrap around are ignored. */
struct hawk_error *hawk_slabs_add(struct hawk_slabs *slabs, struct hawk_slab slab);

/** Sorts the slabs and makes all objects live. Call once, after all are added. */
struct hawk_error *hawk_slabs_finish(struct hawk_slabs *slabs, const struct hawk_target *target);
void hawk_slabs_deinit(struct hawk_slabs *slabs);

/** Returns the finished slab that holds `address`, or NULL. */
const struct hawk_slab *hawk_slabs_at(const struct hawk_slabs *slabs, uint64_t address);

enum hawk_object_state hawk_slabs_state(const struct hawk_slabs *slabs, uint64_t object);

/**
 * Sets the state of the object that begins at `address`. Returns false and changes nothing if no
 * live object begins there. So a walk over a free list stops at a ring or at another list.
 */
bool hawk_slabs_mark(struct hawk_slabs *slabs, uint64_t address, enum hawk_object_state state);

/** As hawk_slabs_mark(), with the object's number, counted over all slabs. */
void hawk_slabs_set(struct hawk_slabs *slabs, uint64_t object, enum hawk_object_state state);

/** A list of free objects. */
struct hawk_slab_list {
	uint64_t first;        /**< address; 0 = empty */
	uint64_t object_bytes; /**< of all its objects; 0 = any */
	uint64_t length;       /**< as the allocator counts it; 0 = not known, or in flux */
	enum hawk_object_state state;
};

/** Marks all objects of a list in which each begins with the address of the next. Returns their
 * number; stops at the first that is no live object of the list's size, and notes why. */
uint64_t hawk_slabs_mark_list(struct hawk_slabs *slabs, struct hawk_near *near,
			      const struct hawk_slab_list *list);

/** Notes that `address` was freed, though the object there is free already, or no object begins
 * there. */
void hawk_slabs_note_freed(struct hawk_slabs *slabs, uint64_t address);

/** Returns the bytes of the free object at `address`, 0 = none begins there. */
uint64_t hawk_slabs_free_bytes(const struct hawk_slabs *slabs, uint64_t address);

/** What belongs to a thread of the target. */
struct hawk_slab_thread {
	uint64_t pointer; /**< the thread pointer, which is its number to allocators */
	size_t number;
	uint32_t arena;                        /**< that it uses, or HAWK_NOT_KNOWN */
	uint64_t cached_objects, cached_bytes; /**< free, in its cache */
};

/** A heap of slabs: the first member of a walker's state. */
struct hawk_slab_heap {
	const struct hawk_target *target;
	const char *version; /**< NULL = not known */
	struct hawk_slabs slabs;
	struct hawk_claims memory;   /**< all of the allocator's; other walkers leave it */
	struct hawk_claims free;     /**< parts of it: whole free extents or spans; unsorted */
	struct hawk_claims metadata; /**< the parts without blocks */
	uint64_t differing; /**< slabs whose count of free objects differs from their lists */
	bool incomplete;    /**< some blocks may be overlooked */
	struct hawk_slab_thread *threads; /**< by pointer; NULL until hawk_slab_heap_threads() */
	size_t thread_count;
	bool arenas_known, caches_known; /**< those of threads */
	uint64_t *arenas;                /**< addresses by number; 0 = not known */
	size_t arena_count, arena_capacity;
};

/** Adds an arena; its number is the last one. `address` 0 = not known. */
struct hawk_error *hawk_slab_heap_add_arena(struct hawk_slab_heap *heap, uint64_t address);

/** Lists the target's threads. */
struct hawk_error *hawk_slab_heap_threads(struct hawk_slab_heap *heap);

/** Returns the thread with that pointer, or NULL. */
struct hawk_slab_thread *hawk_slab_heap_thread(const struct hawk_slab_heap *heap, uint64_t pointer);

/** Frees the members. */
void hawk_slab_heap_deinit(struct hawk_slab_heap *heap);

/** Functions of a walker; `state` begins with a struct hawk_slab_heap. */
struct hawk_error *hawk_slab_heap_spans(const void *state, struct hawk_heap_spans *ret);
void *hawk_slab_heap_begin(const void *state);
bool hawk_slab_heap_next(void *cursor, struct hawk_piece *ret);
void hawk_slab_heap_verify(const void *state, struct hawk_damages *ret);
uint64_t hawk_slab_heap_free_bytes(const void *state, uint64_t address);
void hawk_slab_heap_describe(const void *state, struct hawk_allocator *ret);
bool hawk_slab_heap_arena(const void *state, size_t number, struct hawk_allocator_arena *ret);
void hawk_slab_heap_thread_arenas(const void *state, uint32_t *ret);
bool hawk_slab_heap_cached(const void *state, size_t thread, uint64_t *objects, uint64_t *bytes);

#endif
