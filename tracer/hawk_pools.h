/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Objects that a pool allocator carves out of memory of its own, stamped with headers so that they
 * are blocks like any other (HAWK_KIND_POOL). Contract and example: hawk_annotate.h.
 *
 * Whatever a pool does wrong, a header that is not a pool's is never written: it is what free()
 * will go by.
 */
#ifndef HAWK_POOLS_H
#define HAWK_POOLS_H

#include <stddef.h>

#include "hawk_unwind.h"

/** Seals the 16 bytes before `pointer`. Ignored where they cannot be a header. */
void hawk_pools_begin(const struct hawk_frame_state *caller, void *pointer, size_t size);

/** Un-seals them. Ignored if they are not a pool object's. */
void hawk_pools_end(void *pointer);

/** Ends every object whose header lies in [start, end), which must be readable and writable. */
void hawk_pools_reset(void *start, void *end);

#endif
