/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Asking the dynamic loader: for what is loaded, and for who answers to a name in the program.
 *
 * It is asked by the C library's own dl_iterate_phdr(). Programs and libraries before it have one,
 * too, which may allocate, or hold a lock while they do: asked from within their first allocation
 * it would wait for itself.
 */
#ifndef HAWK_TRACER_UNWIND_LOADER_H
#define HAWK_TRACER_UNWIND_LOADER_H

#include <link.h>
#include <stdbool.h>

/** As dl_iterate_phdr(); where the C library's cannot be found, whichever comes first. */
int hawk_loader_iterate(int (*callback)(struct dl_phdr_info *info, size_t size, void *data),
			void *data);

/**
 * Whether a call of `name` from the program arrives at `ours`. Calls the loader (locks, no
 * allocation): for start-up only.
 */
bool hawk_loader_is_first(const char *name, const void *ours);

#endif
