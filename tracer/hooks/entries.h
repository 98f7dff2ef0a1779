/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Entry points beyond the standard ones (mallocx, tc_malloc, mi_malloc, free_sized ...) of the
 * program's allocators.
 *
 * We do not export them: programs take the presence of `mallocx` for the presence of jemalloc. If a
 * module after us in the search order defines one, we change the loader's view of that module so
 * that the name leads to our function. Existing bindings are rewritten, later lookups find ours.
 * Calls inside the allocator itself stay as they are.
 */
#ifndef HAWK_TRACER_HOOKS_ENTRIES_H
#define HAWK_TRACER_HOOKS_ENTRIES_H

#include "entries_table.h"
#include "hooks.h"
#include "init.h"

/**
 * Finds these entry points and replaces them. Returns false if the system does not allow it: then
 * no block may get a header, since an entry point left alone could meet it.
 */
bool hawk_entries_install(void);

/**
 * Called after the dynamic loader allocated a block. `entry` is the block if it may be a module's
 * entry in the loader's list, else NULL. At this thread's next call that module is mapped but not
 * relocated; if it has its own free(), that gets hooks then.
 */
void hawk_entries_loader_allocated(const void *entry);

/** Called before one of the loader's blocks is freed or moved. */
void hawk_entries_loader_released(const void *entry);

/** True if blocks made by these functions get headers. */
extern bool hawk_entries_produce;

/** Returns true if a new block of `size` bytes gets a header. */
static inline bool hawk_entry_traces(size_t size)
{
	return hawk_tracing() && hawk_entries_produce && size <= HAWK_TRACED_MAX;
}

/** Same for a block at a multiple of `alignment`, which may be any number. */
static inline bool hawk_entry_traces_aligned(size_t size, size_t alignment)
{
	return alignment && !(alignment & (alignment - 1)) && alignment <= HAWK_TRACED_MAX &&
	       hawk_entry_traces(size);
}

/** Returns the distance in bytes from the allocator's pointer to `pointer`; 0 without a header of
 * ours. */
static inline uint64_t hawk_entry_offset(const void *pointer)
{
	if (!pointer || !hawk_header_valid(pointer))
		return 0;
	return (uint64_t)1 << hawk_header_offset_log2(pointer);
}

/** Returns the allocator's pointer for a pointer with or without a header. */
static inline void *hawk_entry_base(const void *pointer)
{
	return (char *)pointer - hawk_entry_offset(pointer);
}

/** A block whose header is off while the allocator resizes it. */
struct hawk_resize {
	struct hawk_block_header old;
	char *pointer;
	unsigned offset_log2;
};

/** Takes the header off `pointer`, which must have one. */
void hawk_resize_begin(struct hawk_resize *self, void *pointer);

/** Writes the header again: for the block now at `base`, or for the old block if `base` is NULL.
 * Returns the user's pointer, or NULL. */
void *hawk_resize_end(const struct hawk_resize *self, const struct hawk_frame_state *caller,
		      void *base, size_t size);

/** Updates the header of a block that was resized in place; the header was never taken off. */
void hawk_resize_in_place(const struct hawk_frame_state *caller, void *pointer, size_t size);

/** Counts a block that could not get a header, and clears any stale header before it. */
void hawk_entry_forget(void *pointer, size_t size);

/** Serves mallctl() and mallctlbymib(): see hooks/entries_control.c. */
uint64_t hawk_entry_control(unsigned row, const uint64_t *arguments);

/** Serves calls that make, delete, destroy or visit a mimalloc heap. */
uint64_t hawk_entry_heap(unsigned row, const uint64_t *arguments);

#endif
