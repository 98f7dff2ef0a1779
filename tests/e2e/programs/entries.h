/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The entry points of an allocator as a list of functions that make, resize, free and measure
 * blocks. Each one calls the allocator itself, so that its name is the innermost frame.
 */
#ifndef ENTRIES_H
#define ENTRIES_H

#include <stdbool.h>
#include <stddef.h>

enum entries_kind { ENTRIES_MAKE, ENTRIES_RESIZE, ENTRIES_FREE, ENTRIES_QUERY, ENTRIES_KINDS };

enum {
	ALIGNED = 1, /**< heeds the alignment */
	ZEROED = 2,
	IN_PLACE = 4, /**< NULL says: not possible */
};

struct entries_function {
	enum entries_kind kind;
	const char *name; /**< of the frame that calls it */
	union {
		void *(*make)(size_t size, size_t alignment);
		void *(*resize)(void *pointer, size_t size, size_t alignment);
		void (*free)(void *pointer, size_t size);
		size_t (*query)(void *pointer);
	};
	void *there; /**< NULL: this allocator has no such function */
	const char *symbol;
	unsigned flags;
};

struct entries_family {
	const char *name;
	struct entries_function *functions;
	unsigned count;
	void (*at_thread_end)(void);
	/** Checks what is special to the allocator. Returns the name of the wrong function, or
	 * NULL. */
	const char *(*check)(void);
};

extern const struct entries_family entries_jemalloc;
extern const struct entries_family entries_tcmalloc;
extern const struct entries_family entries_mimalloc;

#endif
