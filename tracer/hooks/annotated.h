/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Applies the program's annotations to its blocks (hawk_annotate.h).
 *
 * Types: the header of an existing block gets the id of the same trace marked with the type. The
 * block's allocation counts for that trace from then on.
 *
 * Pools: each object that a pool allocator carves from its own memory gets a header, which makes it
 * a block like any other (HAWK_KIND_POOL). A header of another kind is never overwritten, even by a
 * faulty pool: free() relies on it.
 */
#ifndef HAWK_TRACER_HOOKS_ANNOTATED_H
#define HAWK_TRACER_HOOKS_ANNOTATED_H

#include <stddef.h>

#include "unwind/unwind.h"

/** Sets the type of the traced block that starts at `pointer`; ignores any other pointer. The
 * caller owns the block, so nobody frees it meanwhile. */
void hawk_annotated_set_type(void *pointer, const char *name, size_t length);

/** Seals the 16 bytes before `pointer`. Does nothing if they cannot be a header. */
void hawk_annotated_begin(const struct hawk_frame_state *caller, void *pointer, size_t size);

/** Un-seals the 16 bytes before `pointer`. Does nothing if they are no pool object's header. */
void hawk_annotated_end(void *pointer);

/** Ends every object whose header lies in [start, end), which must be readable and writable. */
void hawk_annotated_reset(void *start, void *end);

#endif
