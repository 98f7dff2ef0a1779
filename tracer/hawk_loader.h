/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The C library's own dl_iterate_phdr(). Programs and libraries before it have one, too, which may
 * allocate, or hold a lock while they do: asked from within their first allocation it would wait
 * for itself.
 */
#ifndef HAWK_LOADER_H
#define HAWK_LOADER_H

#include <link.h>

/** As dl_iterate_phdr(); where the C library's cannot be found, whichever comes first. */
int hawk_loader_iterate(int (*callback)(struct dl_phdr_info *info, size_t size, void *data),
			void *data);

#endif
