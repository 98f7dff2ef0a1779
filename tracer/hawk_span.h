/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Spans: zeroed memory of a known size that never moves, of which the front is mapped, and more
 * when it is needed.
 *
 * Where there is room, all of a span is mapped at once. Where the limit of memory, or the end of a
 * table file, is near, it is mapped in pieces, each a share of what is left: so several spans that
 * grow side by side use up all of the room, and none of them takes what it will not need.
 *
 * Making a span is a race that one thread wins, or where memory that is made in vain would be lost
 * for good, the work of one for which others wait (hawk_claim.h), as they do for a span that grows.
 */
#ifndef HAWK_SPAN_H
#define HAWK_SPAN_H

#include <stddef.h>
#include <stdint.h>

#include "hawk_trace_table.h"

/** Zeros at first: nothing is mapped. */
struct hawk_span {
	uint64_t state; /**< number of its first page << 29 | pages mapped; one word, so that both
			   are of one moment */
	uint32_t claim;
};

struct hawk_span_shape {
	size_t bytes; /**< when all of it is mapped; whole pages */
	size_t wiped; /**< the front that reads as zeros in a forked child, with a table file */
	/** HAWK_EXTENT_PRIVATE: made by one thread at a time. Others are in the table file, if
	 * there is one. */
	enum hawk_extent_kind kind;
};

enum {
	HAWK_SPAN_PAGE_LOG2 = 12,
	HAWK_SPAN_COUNT_BITS = 29, /**< 2 TiB; the others are enough for 47 bits of address */
};

static inline uint64_t hawk_span_address(uint64_t state)
{
	return state >> HAWK_SPAN_COUNT_BITS << HAWK_SPAN_PAGE_LOG2;
}

static inline uint64_t hawk_span_bytes(uint64_t state)
{
	return (state & ((UINT64_C(1) << HAWK_SPAN_COUNT_BITS) - 1)) << HAWK_SPAN_PAGE_LOG2;
}

/** Address of the span if its first `bytes` are mapped, else 0. */
static inline uint64_t hawk_span_find(const struct hawk_span *span, size_t bytes)
{
	uint64_t state = __atomic_load_n(&span->state, __ATOMIC_ACQUIRE);

	return hawk_span_bytes(state) >= bytes ? hawk_span_address(state) : 0;
}

/** As above, mapping them if need be; 0: no memory. A handler that has interrupted its own thread
 * in the middle of this may get 0, too. */
uint64_t hawk_span_reach(struct hawk_span *span, const struct hawk_span_shape *shape, size_t bytes);

/** The span is what lies at `address`; nobody else uses it. */
void hawk_span_set(struct hawk_span *span, uint64_t address, size_t bytes);

#endif
