/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Functions of interpreters that a thread is in: what the program's author wrote, where the
 * thread's stack has only the interpreter's loop.
 */
#ifndef HAWK_ANALYZER_HEAP_GUEST_FRAMES_H
#define HAWK_ANALYZER_HEAP_GUEST_FRAMES_H

#include "hawk/heap/heap.h"
#include "hawk/symbols/symbols.h"

/** Strings belong to the symbols object; NULL = cannot be read. */
struct hawk_guest_frame {
	const char *function, *file;
	uint32_t line; /**< 0 = not known */
};

struct hawk_guest_frames {
	struct hawk_guest_frame *items; /**< innermost first; owned */
	size_t count, capacity;
	bool is_cut; /**< outer ones cannot be read, or are too many */
};

/** Appends the functions that the thread is in. Reads the target, whose contents must be known. */
struct hawk_error *hawk_guest_frames_read(const struct hawk_heap *heap,
					  struct hawk_symbols *symbols,
					  const struct hawk_thread *thread,
					  struct hawk_guest_frames *ret);
void hawk_guest_frames_deinit(struct hawk_guest_frames *frames);

#endif
