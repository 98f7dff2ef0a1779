/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What the entry points of mimalloc share. They are many, and all come down to three acts: make a
 * block, make an aligned one, resize one; each in a heap that the program names, or in the thread's
 * own (heap NULL).
 *
 * mimalloc aligns a place *behind* the start of a block on demand: so an aligned block needs no
 * more room for its header than any other.
 */
#ifndef HAWK_MIMALLOC_H
#define HAWK_MIMALLOC_H

#include "hawk_entries.h"

struct mi_heap;

/** A new block with its header; NULL if it cannot be traced or there is no memory: then the real
 * function is called with what the program said, and fails in its own way if it must. */
void *hawk_mimalloc_make(const struct hawk_frame_state *caller, struct mi_heap *heap,
			 enum hawk_block_kind kind, size_t size, bool zero);

/** The same, so that (pointer + offset) is a multiple of `alignment`. */
void *hawk_mimalloc_make_aligned(const struct hawk_frame_state *caller, struct mi_heap *heap,
				 enum hawk_block_kind kind, size_t size, size_t alignment,
				 size_t offset, bool zero);

/** How a block is resized. */
struct hawk_mimalloc_change {
	struct mi_heap *heap;
	size_t size;
	size_t alignment; /**< 0: any */
	size_t offset;
	bool zero; /**< what is added */
};

/**
 * Resizes a block of ours, or makes one if `pointer` is NULL. False, and nothing done, if the real
 * function has to be called. `*ret` is NULL if there is no memory; the block is as it was then.
 */
bool hawk_mimalloc_resize(const struct hawk_frame_state *caller, void *pointer,
			  struct hawk_mimalloc_change change, void **ret);

/** Frees a block of ours. False, and nothing done, if it is none. */
bool hawk_mimalloc_release(void *pointer);

/** SIZE_MAX, which nobody can allocate, if the product overflows. */
static inline size_t hawk_mimalloc_bytes(size_t count, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes;
}

/* One function of ours and the pointer to mimalloc's. `bytes` is for the count of what was lost. */

#define HAWK_MIMALLOC_MAKE(name, parameters, arguments, heap, kind, bytes, zero)                   \
	static void *(*next_##name)parameters;                                                     \
	static void *entry_##name parameters                                                       \
	{                                                                                          \
		struct hawk_frame_state caller = HAWK_CALLER();                                    \
		void *made = hawk_mimalloc_make(&caller, heap, kind, bytes, zero);                 \
                                                                                                   \
		return made ? made : hawk_entry_bare(next_##name arguments, bytes);                \
	}

#define HAWK_MIMALLOC_MAKE_ALIGNED(name, parameters, arguments, heap, kind, bytes, alignment,      \
				   offset, zero)                                                   \
	static void *(*next_##name)parameters;                                                     \
	static void *entry_##name parameters                                                       \
	{                                                                                          \
		struct hawk_frame_state caller = HAWK_CALLER();                                    \
		void *made = hawk_mimalloc_make_aligned(&caller, heap, kind, bytes, alignment,     \
							offset, zero);                             \
                                                                                                   \
		return made ? made : hawk_entry_bare(next_##name arguments, bytes);                \
	}

#define HAWK_MIMALLOC_RESIZE(name, parameters, arguments, ...)                                     \
	static void *(*next_##name)parameters;                                                     \
	static void *entry_##name parameters                                                       \
	{                                                                                          \
		struct hawk_frame_state caller = HAWK_CALLER();                                    \
		struct hawk_mimalloc_change change = {__VA_ARGS__};                                \
		void *resized;                                                                     \
                                                                                                   \
		if (hawk_mimalloc_resize(&caller, pointer, change, &resized))                      \
			return resized;                                                            \
		return next_##name arguments;                                                      \
	}

#define HAWK_MIMALLOC_ROW(name, produces)                                                          \
	{                                                                                          \
#name, entry_##name, (void **)&next_##name, produces                               \
	}

#endif
