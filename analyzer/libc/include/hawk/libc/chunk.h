/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The heap around a chunk of glibc's malloc. The kernel joins adjacent anonymous mappings, so the
 * mapping around an allocator's memory may hold other memory.
 */
#ifndef HAWK_ANALYZER_LIBC_CHUNK_H
#define HAWK_ANALYZER_LIBC_CHUNK_H

#include "hawk/base/span.h"
#include "hawk/target/target.h"

/**
 * Finds the heap of the chunk that malloc() returned as `pointer`: its own mapping, or its arena
 * unless that is the main one. Returns false for neither, and for a heap that ends below `end`.
 */
bool hawk_chunk_heap(const struct hawk_target *target, uint64_t pointer, uint64_t end,
		     struct hawk_span *ret);

enum { HAWK_CHUNK_NUMBERS = 2 };

/** Fills `ret` with the numbers that hawk_chunk_heap() reads, for a copy of the core that must keep
 * them. Returns their number. */
size_t hawk_chunk_numbers(const struct hawk_target *target, uint64_t pointer,
			  struct hawk_span ret[HAWK_CHUNK_NUMBERS]);

#endif
