/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Spans: zeroed memory, mapped once at first use, that never moves or grows.
 *
 * Near the limit of memory, or the end of a table file, a span is shorter than wanted: it takes
 * half of what is left, so that others get something as well.
 *
 * One thread makes a span and the others wait, since memory mapped in vain may be lost for good.
 * The claim is no lock: its owner may be the thread that a signal handler interrupts, may have been
 * left by a jump, or be left behind by a fork. So a thread never waits for itself, and at most
 * about a second for others. After that two threads make the same span, and one loses its memory.
 */
#ifndef HAWK_TRACER_TABLE_SPAN_H
#define HAWK_TRACER_TABLE_SPAN_H

#include <stddef.h>
#include <stdint.h>

#include "hawk_trace_table.h"

/** A span; all zeros means that nothing is mapped. */
struct hawk_span {
	uint64_t state; /**< number of its first page << 29 | pages; one word, so that both change
			   together */
	uint32_t claim; /**< thread id of its maker; 0 = none */
};

struct hawk_span_shape {
	size_t bytes; /**< wanted size, less when room is short; whole pages */
	size_t wiped; /**< with a table file: bytes at the start that read as zeros in a forked
			 child */
	/** HAWK_EXTENT_PRIVATE for memory that only the tracer uses. Other kinds lie in the table
	 * file, if any. */
	enum hawk_extent_kind kind;
};

enum {
	HAWK_SPAN_PAGE_LOG2 = 12,
	HAWK_SPAN_COUNT_BITS = 29, /**< up to 2 TiB; the other bits suffice for 47-bit addresses */
};

/** Returns the span's address if it is mapped with at least `bytes`, else 0. */
static inline uint64_t hawk_span_find(const struct hawk_span *span, size_t bytes)
{
	const uint64_t count_mask = (UINT64_C(1) << HAWK_SPAN_COUNT_BITS) - 1;
	uint64_t state = __atomic_load_n(&span->state, __ATOMIC_ACQUIRE);

	return (state & count_mask) << HAWK_SPAN_PAGE_LOG2 >= bytes
		       ? state >> HAWK_SPAN_COUNT_BITS << HAWK_SPAN_PAGE_LOG2
		       : 0;
}

/** Same, but maps the span if necessary; 0 without memory. A handler that interrupted its own
 * thread inside this function may get 0 too. */
uint64_t hawk_span_reach(struct hawk_span *span, const struct hawk_span_shape *shape, size_t bytes);

/** Makes the memory at `address` the span; nobody else may use it. */
void hawk_span_set(struct hawk_span *span, uint64_t address, size_t bytes);

#endif
