/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Sorts spans and resolves overlaps with a stack of open spans.
 */
#include "hawk/heap/spans.h"

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"

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

/** Open spans, innermost last. */
struct open_spans {
	struct hawk_heap_span *items;
	size_t count;
	uint64_t at; /**< memory below has been put out */
	struct hawk_heap_spans out;
};

/* Puts out the innermost open span up to `end`. */
static struct hawk_error *put_out(struct open_spans *open, uint64_t end)
{
	struct hawk_heap_span span = open->items[open->count - 1];

	if (end <= open->at)
		return NULL;
	span.start = open->at;
	span.end = open->at = end;
	return hawk_heap_spans_add(&open->out, span);
}

static struct hawk_error *close_until(struct open_spans *open, uint64_t address)
{
	while (open->count && open->items[open->count - 1].end <= address) {
		struct hawk_error *err = put_out(open, open->items[open->count - 1].end);

		if (err)
			return err;
		open->count--;
	}
	return open->count ? put_out(open, address) : NULL;
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
	CLEANUP(free_ptr) struct hawk_heap_span *begun = NULL;
	struct open_spans open = {0};
	struct hawk_error *err = NULL;

	if (is_sorted(spans))
		return NULL;
	qsort(spans->items, spans->count, sizeof(*spans->items), compare);
	if (is_sorted(spans))
		return NULL;
	open.items = begun = calloc(spans->count, sizeof(*begun));
	if (!begun)
		return &hawk_enomem;
	for (size_t i = 0; !err && i < spans->count; i++) {
		err = close_until(&open, spans->items[i].start);
		open.items[open.count++] = spans->items[i];
		open.at = spans->items[i].start;
	}
	if (!err)
		err = close_until(&open, UINT64_MAX);
	hawk_heap_spans_deinit(spans);
	*spans = open.out;
	return err;
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
