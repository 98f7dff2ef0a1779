/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Code shared by the C and C++ entry points. Every hook reads: call the next allocator, find the
 * trace id, seal.
 *
 * Budget on the usual path: one call of the next allocator, the verification of the previous stack,
 * two stores.
 */
#ifndef HAWK_TRACER_HOOKS_HOOKS_H
#define HAWK_TRACER_HOOKS_HOOKS_H

#include "next.h"
#include "record.h"

#define HAWK_EXPORT __attribute__((visibility("default")))

/**
 * The caller's state right after this function returns. Use it only in functions entered from
 * outside: it makes the compiler keep a frame pointer there.
 */
#define HAWK_CALLER()                                                                              \
	((struct hawk_frame_state){                                                                \
		.pc = (uint64_t)__builtin_return_address(0),                                       \
		.sp = (uint64_t)__builtin_frame_address(0) + 16,                                   \
		.bp = *(uint64_t *)__builtin_frame_address(0),                                     \
	})

/** Largest traced request in bytes; with alignment it still fits a header. */
#define HAWK_TRACED_MAX (HAWK_SIZE_MAX / 4)

static inline bool hawk_is_power_of_two(size_t value)
{
	return value && !(value & (value - 1));
}

/** Returns a traced block of at least `size` bytes, or NULL with errno as the next allocator set
 * it. */
void *hawk_allocate(const struct hawk_frame_state *caller, enum hawk_block_kind kind, size_t size);

/** Like hawk_allocate(); also returns NULL if `alignment` is no power of two. */
void *hawk_allocate_aligned(const struct hawk_frame_state *caller, enum hawk_block_kind kind,
			    enum hawk_aligned_call call, size_t alignment, size_t size);

/** Frees a block of ours, or passes a foreign one on untouched. */
void hawk_release(void *pointer);

/** Serves realloc() for a block of ours, for NULL, and for a foreign block, which is passed on. */
void *hawk_reallocate(const struct hawk_frame_state *caller, void *pointer, size_t size);

/** Serves realloc() for a bootstrap block: copies it to the real heap and leaves the original. */
void *hawk_leave_bootstrap(const struct hawk_frame_state *caller, void *pointer, size_t size);

/** Prepares the allocator's free(): takes off the header, if any, and returns the pointer to free.
 * Returns NULL if there is nothing to free. */
void *hawk_detach(void *pointer);

/**
 * Writes the header into a new block at the allocator's pointer `base`. Returns the user's pointer,
 * 2^`offset_log2` bytes behind `base`; NULL for NULL. A block not aligned to 16 gets no header, and
 * `base` is returned.
 */
void *hawk_finish(void *base, const struct hawk_frame_state *caller, enum hawk_block_kind kind,
		  unsigned offset_log2, size_t size);

/** Finds out which C++ operators the program replaces. Called by the constructor, or by the first
 * operator called. */
void hawk_hooks_cxx_resolve(void);

/** Notes in the table that madvise() is watched, unless the program has its own. Called by the
 * constructor. */
void hawk_hooks_madvise_resolve(void);

#endif
