/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Memory by kind: one list of spans. Sources add the spans that they know; heap/ sorts them, and
 * adds spans of memory around blocks.
 */
#ifndef HAWK_ANALYZER_HEAP_SPANS_H
#define HAWK_ANALYZER_HEAP_SPANS_H

#include <stddef.h>

#include "hawk/base/error.h"

/** Snapshots hold these numbers. */
enum hawk_span_kind {
	HAWK_SPAN_HEAP = 0,     /**< of a heap: free or the allocator's outside of blocks */
	HAWK_SPAN_METADATA = 1, /**< the tracer's or an allocator's own: neither blocks nor roots */
	HAWK_SPAN_FREE = 2,     /**< of a heap: free */
	HAWK_SPAN_UNTOUCHED = 4, /**< of a heap: never used */
	HAWK_SPAN_UNSOUND = 5,   /**< of a heap: may hold live blocks that were not found */
	HAWK_SPAN_UNDUMPED = 8,  /**< kept out of cores by the program (MADV_DONTDUMP) */
	HAWK_SPAN_KINDS
};

struct hawk_heap_span {
	uint64_t start;
	uint64_t end;
	uint8_t kind;   /**< enum hawk_span_kind */
	uint8_t source; /**< index into struct hawk_heap's `origins` */
	uint16_t owner; /**< arena, by the source's numbers */
};

struct hawk_heap_spans {
	struct hawk_heap_span *items;
	size_t count;
	size_t capacity;
};

/** Adds a span in any order; an empty one is left out. */
struct hawk_error *hawk_heap_spans_add(struct hawk_heap_spans *spans, struct hawk_heap_span span);

/** Sorts by address. Overlapping bytes go to the span that begins last. */
struct hawk_error *hawk_heap_spans_sort(struct hawk_heap_spans *spans);

/** Returns the index of the first of sorted spans that ends above `address`, or their count. */
size_t hawk_heap_spans_from(const struct hawk_heap_spans *spans, uint64_t address);

/** Returns the span that contains `address`, or NULL. The spans must be sorted. */
const struct hawk_heap_span *hawk_heap_spans_at(const struct hawk_heap_spans *spans,
						uint64_t address);

/** Returns true if a span of such a kind belongs to a heap. */
static inline bool hawk_span_is_heap(unsigned kind)
{
	return kind == HAWK_SPAN_HEAP || kind == HAWK_SPAN_FREE || kind == HAWK_SPAN_UNTOUCHED ||
	       kind == HAWK_SPAN_UNSOUND;
}

/** Returns true if any span is of `kind`. */
bool hawk_heap_spans_have(const struct hawk_heap_spans *spans, enum hawk_span_kind kind);

/** Accepts zeros. */
void hawk_heap_spans_deinit(struct hawk_heap_spans *spans);

#endif
