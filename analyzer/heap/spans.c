/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Sorts spans and looks them up.
 */
#include "hawk/heap/spans.h"

#include "hawk/base/array.h"
#include "hawk/base/disjoint.h"

struct hawk_error *hawk_heap_spans_add(struct hawk_heap_spans *spans, struct hawk_heap_span span)
{
	if (span.start >= span.end)
		return NULL;
	if (!hawk_array_reserve(&spans->items, spans->count, &spans->capacity,
				sizeof(*spans->items)))
		return &hawk_enomem;
	spans->items[spans->count++] = span;
	return NULL;
}

static int compare(const void *left, const void *right)
{
	const struct hawk_heap_span *a = left;
	const struct hawk_heap_span *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end) /* the longer one encloses the other */
		return a->end > b->end ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->source < b->source ? -1 : a->source > b->source;
}

static bool is_sorted(const struct hawk_heap_spans *spans)
{
	for (size_t i = 1; i < spans->count; i++)
		if (spans->items[i].start < spans->items[i - 1].end)
			return false;
	return true;
}

struct hawk_error *hawk_heap_spans_sort(struct hawk_heap_spans *spans)
{
	if (is_sorted(spans))
		return NULL;
	qsort(spans->items, spans->count, sizeof(*spans->items), compare);
	return hawk_disjoint_make(&spans->items, &spans->count, &spans->capacity,
				  sizeof(*spans->items))
		       ? NULL
		       : &hawk_enomem;
}

size_t hawk_heap_spans_from(const struct hawk_heap_spans *spans, uint64_t address)
{
	return hawk_array_first_above(spans->items, spans->count, sizeof(*spans->items),
				      offsetof(struct hawk_heap_span, end), address);
}

const struct hawk_heap_span *hawk_heap_spans_at(const struct hawk_heap_spans *spans,
						uint64_t address)
{
	size_t i = hawk_heap_spans_from(spans, address);

	return i < spans->count && spans->items[i].start <= address ? &spans->items[i] : NULL;
}

bool hawk_heap_spans_have(const struct hawk_heap_spans *spans, enum hawk_span_kind kind)
{
	for (size_t i = 0; i < spans->count; i++)
		if (spans->items[i].kind == kind)
			return true;
	return false;
}

void hawk_heap_spans_deinit(struct hawk_heap_spans *spans)
{
	free(spans->items);
	*spans = (struct hawk_heap_spans){0};
}
