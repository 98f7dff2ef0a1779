/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Cuts overlapping items with a stack of those that have begun.
 */
#include "hawk/base/disjoint.h"

#include "hawk/base/array.h"
#include "hawk/base/span.h"

struct cut {
	size_t item_bytes;
	const char **open; /**< items that have begun, innermost last */
	size_t open_count;
	uint64_t at; /**< bytes below have been put out */
	char *out;
	size_t count, capacity;
};

static struct hawk_span span_of(const char *item)
{
	struct hawk_span span;

	memcpy(&span, item, sizeof(span));
	return span;
}

/* Puts out the innermost open item up to `end`. */
static bool put_out(struct cut *cut, uint64_t end)
{
	struct hawk_span span = {cut->at, end};
	char *to;

	if (end <= cut->at)
		return true;
	if (!hawk_array_reserve(&cut->out, cut->count, &cut->capacity, cut->item_bytes))
		return false;
	to = cut->out + cut->count++ * cut->item_bytes;
	memcpy(to, cut->open[cut->open_count - 1], cut->item_bytes);
	memcpy(to, &span, sizeof(span));
	cut->at = end;
	return true;
}

static bool close_until(struct cut *cut, uint64_t address)
{
	for (; cut->open_count; cut->open_count--) {
		uint64_t end = span_of(cut->open[cut->open_count - 1]).end;

		if (end > address)
			return put_out(cut, address);
		if (!put_out(cut, end))
			return false;
	}
	return true;
}

bool hawk_disjoint_make(void *array, size_t *count, size_t *capacity, size_t item_bytes)
{
	struct cut cut = {.item_bytes = item_bytes, .open = calloc(*count + 1, sizeof(*cut.open))};
	bool ok = cut.open;
	char *items;

	memcpy(&items, array, sizeof(items));
	for (size_t i = 0; ok && i < *count; i++) {
		const char *item = items + i * item_bytes;

		ok = close_until(&cut, span_of(item).start);
		cut.open[cut.open_count++] = item;
		cut.at = span_of(item).start;
	}
	ok = ok && close_until(&cut, UINT64_MAX);
	free(cut.open);
	free(ok ? items : cut.out);
	if (!ok)
		return false;
	memcpy(array, &cut.out, sizeof(cut.out));
	*count = cut.count;
	*capacity = cut.capacity;
	return true;
}
