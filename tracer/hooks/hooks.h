/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What the C and the C++ entry points share. Every hook reads: call the next allocator, find the
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
 * The state of the calling function right after this one returns. Only in functions that are
 * entered from outside; it makes the compiler keep a frame pointer there.
 */
#define HAWK_CALLER()                                                                              \
	((struct hawk_frame_state){                                                                \
		.pc = (uint64_t)__builtin_return_address(0),                                       \
		.sp = (uint64_t)__builtin_frame_address(0) + 16,                                   \
		.bp = *(uint64_t *)__builtin_frame_address(0),                                     \
	})

/** Largest request that is traced, in bytes: what fits a header, alignment included. */
#define HAWK_TRACED_MAX (HAWK_SIZE_MAX / 4)

static inline bool hawk_is_power_of_two(size_t value)
{
	return value && !(value & (value - 1));
}

/** A traced block of at least `size` bytes, or NULL with errno as the next allocator left it. */
void *hawk_allocate(const struct hawk_frame_state *caller, enum hawk_block_kind kind, size_t size);

/** As hawk_allocate(); NULL also if `alignment` is no power of two. */
void *hawk_allocate_aligned(const struct hawk_frame_state *caller, enum hawk_block_kind kind,
			    enum hawk_aligned_call call, size_t alignment, size_t size);

/** Frees a block of ours, or passes a foreign one on untouched. */
void hawk_release(void *pointer);

/** realloc(): of a block of ours, of NULL, or of a foreign one, which is passed on. */
void *hawk_reallocate(const struct hawk_frame_state *caller, void *pointer, size_t size);

/** realloc of a bootstrap block: it stays where it is, a copy goes to the real heap. */
void *hawk_leave_bootstrap(const struct hawk_frame_state *caller, void *pointer, size_t size);

/** What comes before the allocator's free(): takes the header off, if there is one, and returns the
 * pointer to be freed. NULL if there is nothing to free. */
void *hawk_detach(void *pointer);

/**
 * Writes the header into a new block of the allocator: `base` is its pointer, the user's lies
 * 2^`offset_log2` bytes behind and is returned. NULL stays NULL. A block that is not aligned to 16
 * gets no header, and `base` is returned.
 */
void *hawk_finish(void *base, const struct hawk_frame_state *caller, enum hawk_block_kind kind,
		  unsigned offset_log2, size_t size);

/** Finds out which C++ operators the program replaces. From the constructor, or from the first
 * operator called. */
void hawk_hooks_cxx_resolve(void);

/** Says in the table that madvise() is watched, unless the program has its own. From the
 * constructor. */
void hawk_hooks_madvise_resolve(void);

#endif
