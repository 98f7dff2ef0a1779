/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The program's annotations of its blocks (hawk_annotate.h).
 *
 * Types: the header of a block that exists already gets the id of the same trace with the type as a
 * mark, and its allocation is counted for that one from then on.
 *
 * Pools: objects that a pool allocator carves out of memory of its own are stamped with headers, so
 * that they are blocks like any other (HAWK_KIND_POOL). Even for a faulty pool, a header that is
 * not a pool's is never written: free() relies on it.
 */
#ifndef HAWK_TRACER_HOOKS_ANNOTATED_H
#define HAWK_TRACER_HOOKS_ANNOTATED_H

#include <stddef.h>

#include "unwind/unwind.h"

/** Ignores what is not the start of a traced block. The caller owns the block, so it is not freed
 * meanwhile. */
void hawk_annotated_set_type(void *pointer, const char *name, size_t length);

/** Seals the 16 bytes before `pointer`. Ignored where they cannot be a header. */
void hawk_annotated_begin(const struct hawk_frame_state *caller, void *pointer, size_t size);

/** Un-seals them. Ignored if they are not a pool object's. */
void hawk_annotated_end(void *pointer);

/** Ends every object whose header lies in [start, end), which must be readable and writable. */
void hawk_annotated_reset(void *start, void *end);

#endif
