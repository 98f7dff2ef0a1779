/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Keeps SIGBUS in a mapped file from killing the analyzer: the page that cannot be read becomes a
 * page of zeros and is counted.
 *
 * This is the one place where the library changes a signal's disposition: SIGBUS, when a
 * guard is added. A SIGBUS anywhere else is passed on to whatever was there before.
 */
#ifndef HAWK_CORE_GUARD_H
#define HAWK_CORE_GUARD_H

#include <stddef.h>
#include <stdint.h>

enum { HAWK_CORE_GUARDS_MAX = 16 };

/**
 * Guards [start, start + bytes), a page-aligned mapping of `fd` from its beginning; `fd` stays open
 * until the guard is removed. The slot, or -1 if all are in use.
 */
int hawk_core_guard_add(const void *start, size_t bytes, int fd);

/** Accepts -1. To be called before the range is unmapped. */
void hawk_core_guard_remove(int slot);

/** Pages replaced so far; 0 for -1. */
uint64_t hawk_core_guard_pages(int slot);

#endif
