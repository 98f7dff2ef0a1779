/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Spans: zeroed memory that is mapped once, when it is first needed, and never moves or grows.
 *
 * Near the limit of memory, or the end of a table file, a span is shorter than wanted: it takes
 * half of what is left, so that others get something as well.
 *
 * One thread makes a span and the others wait for it, since memory that is made in vain may be lost
 * for good. That is no lock: the owner of the claim may be the very thread that a signal handler
 * interrupts, may have been jumped out of, or be left behind by a fork. So a thread never waits for
 * itself, and for others about a second. Then two make the same, and one loses what it made.
 */
#ifndef HAWK_TRACER_TABLE_SPAN_H
#define HAWK_TRACER_TABLE_SPAN_H

#include <stddef.h>
#include <stdint.h>

#include "hawk_trace_table.h"

/** Zeros at first: nothing is mapped. */
struct hawk_span {
	uint64_t state; /**< number of its first page << 29 | pages; one word, so that both are of
			   one moment */
	uint32_t claim; /**< thread id of its maker; 0 = none */
};

struct hawk_span_shape {
	size_t bytes; /**< where there is room; whole pages */
	size_t wiped; /**< the front that reads as zeros in a forked child, with a table file */
	/** HAWK_EXTENT_PRIVATE: what only the tracer uses. Others are in the table file, if there
	 * is one. */
	enum hawk_extent_kind kind;
};

enum {
	HAWK_SPAN_PAGE_LOG2 = 12,
	HAWK_SPAN_COUNT_BITS = 29, /**< 2 TiB; the others are enough for 47 bits of address */
};

/** Address of the span if it is mapped and has `bytes` at least, else 0. */
static inline uint64_t hawk_span_find(const struct hawk_span *span, size_t bytes)
{
	const uint64_t count_mask = (UINT64_C(1) << HAWK_SPAN_COUNT_BITS) - 1;
	uint64_t state = __atomic_load_n(&span->state, __ATOMIC_ACQUIRE);

	return (state & count_mask) << HAWK_SPAN_PAGE_LOG2 >= bytes
		       ? state >> HAWK_SPAN_COUNT_BITS << HAWK_SPAN_PAGE_LOG2
		       : 0;
}

/** As above, mapping the span if need be; 0: no memory. A handler that has interrupted its own
 * thread in the middle of this may get 0, too. */
uint64_t hawk_span_reach(struct hawk_span *span, const struct hawk_span_shape *shape, size_t bytes);

/** The span is what lies at `address`; nobody else uses it. */
void hawk_span_set(struct hawk_span *span, uint64_t address, size_t bytes);

#endif
