/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Every other free() in the process: the functions that free, resize or measure a block, of each
 * module that defines a free() of its own (the C library, an allocator, a wrapper, the C library of
 * another namespace).
 *
 * Calls reach them past ours: from libraries loaded with RTLD_DEEPBIND, by dlsym() on a handle of
 * the module. Each gets a hook: a block of ours is treated as one; with any other block the hook
 * calls the module's own function. They make no blocks, so the module's malloc stays as it is.
 */
#ifndef HAWK_HEAPS_H
#define HAWK_HEAPS_H

#include <link.h>
#include <stdint.h>

enum {
	HAWK_HEAPS_MAX = 16, /**< glibc has at most 16 namespaces. Further modules get no hooks */
	HAWK_HEAP_FUNCTIONS = 22,
};

/** The names of the functions. */
extern const char *const hawk_heaps_names[HAWK_HEAP_FUNCTIONS];

/** Reserves the hooks of one module until hawk_heaps_forget(); NULL as `map`: for ever. Returns
 * their number, or -1 if all are in use. */
int hawk_heaps_reserve(const struct link_map *map);

/** Returns the hook of one function, which calls `original` for blocks that are not ours. */
void *hawk_heaps_hook(int heap, unsigned function, uint64_t original);

/** Makes the hooks of a module available again, if it has any. The module is being unloaded. */
void hawk_heaps_forget(const void *map);

#endif
