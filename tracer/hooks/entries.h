/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Entry points beyond the standard ones (mallocx, tc_malloc, mi_malloc, free_sized ...), of the
 * allocators that the program has.
 *
 * They are not exported: programs take the presence of `mallocx` for the presence of jemalloc.
 * Where a module after us in the search order defines one, the loader's view of that module is
 * changed, so that the same name leads to our function: what is bound already is bound anew, what
 * is looked up later finds ours. Calls inside of the allocator itself stay as they are.
 */
#ifndef HAWK_TRACER_HOOKS_ENTRIES_H
#define HAWK_TRACER_HOOKS_ENTRIES_H

#include "entries_table.h"
#include "hooks.h"
#include "init.h"

/**
 * Finds them and puts ours in their place. False if the system does not allow that: then no block
 * may get a header, since such a function could meet it.
 */
bool hawk_entries_install(void);

/**
 * Called when the dynamic loader has allocated a block: `entry` if it may be a module's entry in
 * the loader's list, else NULL. When this thread's next call comes, that module is mapped, but not
 * relocated: if it has a free() of its own, that gets hooks now.
 */
void hawk_entries_loader_allocated(const void *entry);

/** Called before such a block is freed or moved. */
void hawk_entries_loader_released(const void *entry);

/** Whether blocks made by these functions get headers. */
extern bool hawk_entries_produce;

/** Whether a new block of `size` bytes gets a header. */
static inline bool hawk_entry_traces(size_t size)
{
	return hawk_tracing() && hawk_entries_produce && size <= HAWK_TRACED_MAX;
}

/** The same at a multiple of `alignment`, which may be any number. */
static inline bool hawk_entry_traces_aligned(size_t size, size_t alignment)
{
	return alignment && !(alignment & (alignment - 1)) && alignment <= HAWK_TRACED_MAX &&
	       hawk_entry_traces(size);
}

/** Distance in bytes from the allocator's pointer to `pointer`: 0 if it has no header of ours. */
static inline uint64_t hawk_entry_offset(const void *pointer)
{
	if (!pointer || !hawk_header_valid(pointer))
		return 0;
	return (uint64_t)1 << hawk_header_offset_log2(pointer);
}

/** The allocator's pointer of any pointer. */
static inline void *hawk_entry_base(const void *pointer)
{
	return (char *)pointer - hawk_entry_offset(pointer);
}

/** A block that is about to be resized, while its header is taken off. */
struct hawk_resize {
	struct hawk_block_header old;
	char *pointer;
	unsigned offset_log2;
};

/** Takes the header off `pointer`, which has one. */
void hawk_resize_begin(struct hawk_resize *self, void *pointer);

/** The header again: of the block at `base` now, or of the old one if `base` is NULL. Returns the
 * user's pointer, or NULL. */
void *hawk_resize_end(const struct hawk_resize *self, const struct hawk_frame_state *caller,
		      void *base, size_t size);

/** The same for a block that stayed where it was and may have another size now. The header was not
 * taken off. */
void hawk_resize_in_place(const struct hawk_frame_state *caller, void *pointer, size_t size);

/** Counts a block that could not get a header; makes sure that it seems to have none. */
void hawk_entry_forget(void *pointer, size_t size);

/** Calls of mallctl() and mallctlbymib(): see hooks/entries_control.c. */
uint64_t hawk_entry_control(unsigned row, const uint64_t *arguments);

/** Calls that make, delete, destroy or visit a heap of mimalloc. */
uint64_t hawk_entry_heap(unsigned row, const uint64_t *arguments);

#endif
