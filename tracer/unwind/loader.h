/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Questions to the dynamic loader: which modules are loaded, and which one answers to a name.
 *
 * Uses the C library's own dl_iterate_phdr(). Programs and libraries before it may define one too,
 * which may allocate, or hold a lock meanwhile: called within its first allocation, it would wait
 * for itself.
 */
#ifndef HAWK_TRACER_UNWIND_LOADER_H
#define HAWK_TRACER_UNWIND_LOADER_H

#include <link.h>
#include <stdbool.h>

/** Calls the C library's dl_iterate_phdr(), or the first one if that cannot be found. */
int hawk_loader_iterate(int (*callback)(struct dl_phdr_info *info, size_t size, void *data),
			void *data);

/**
 * Returns true if a call of `name` from the program arrives at `ours`. Calls the loader (locks, no
 * allocation): for start-up only.
 */
bool hawk_loader_is_first(const char *name, const void *ours);

#endif
