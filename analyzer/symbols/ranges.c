/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A sweep over the sorted ranges with a stack of open ones. The range that started last is on top;
 * an ended range is dropped when it reaches the top.
 */
#include "ranges.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/array.h"

struct sweep {
	struct hawk_range *stack;
	size_t depth;
	struct hawk_range *segments;
	size_t count;
	uint64_t position; /**< addresses below have their segment */
};

void hawk_ranges_deinit(struct hawk_ranges *ranges)
{
	free(ranges->items);
	memset(ranges, 0, sizeof(*ranges));
}

bool hawk_ranges_add(struct hawk_ranges *ranges, uint64_t start, uint64_t end, uint32_t rank,
		     uint32_t id)
{
	if (start >= end)
		return true;
	if (!hawk_array_reserve(&ranges->items, ranges->count, &ranges->capacity,
				sizeof(*ranges->items)))
		return false;
	ranges->items[ranges->count++] = (struct hawk_range){start, end, rank, id};
	return true;
}

static int compare_starts(const void *left, const void *right)
{
	const struct hawk_range *a = left;
	const struct hawk_range *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->end != b->end) /* the longer one is outside */
		return a->end > b->end ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

static void emit(struct sweep *sweep, const struct hawk_range *range, uint64_t end)
{
	struct hawk_range *last = sweep->count ? &sweep->segments[sweep->count - 1] : NULL;

	if (sweep->position >= end)
		return;
	if (last && last->end == sweep->position && last->id == range->id) {
		last->end = end;
	} else {
		struct hawk_range segment = *range;

		segment.start = sweep->position;
		segment.end = end;
		sweep->segments[sweep->count++] = segment;
	}
	sweep->position = end;
}

/** Adds segments for the open ranges, up to `limit`. */
static void advance(struct sweep *sweep, uint64_t limit)
{
	while (sweep->depth && sweep->position < limit) {
		const struct hawk_range *top = &sweep->stack[sweep->depth - 1];

		if (top->end > limit) {
			emit(sweep, top, limit);
			return;
		}
		emit(sweep, top, top->end);
		sweep->depth--;
	}
	sweep->position = limit;
}

bool hawk_ranges_freeze(struct hawk_ranges *ranges)
{
	struct sweep sweep = {0};

	if (!ranges->count)
		return true;
	qsort(ranges->items, ranges->count, sizeof(*ranges->items), compare_starts);
	sweep.stack = calloc(ranges->count, sizeof(*sweep.stack));
	sweep.segments = reallocarray(NULL, ranges->count, 2 * sizeof(*sweep.segments));
	if (!sweep.stack || !sweep.segments) {
		free(sweep.stack);
		free(sweep.segments);
		return false;
	}
	for (size_t i = 0; i < ranges->count; i++) {
		advance(&sweep, ranges->items[i].start);
		sweep.stack[sweep.depth++] = ranges->items[i];
	}
	advance(&sweep, UINT64_MAX);
	free(sweep.stack);
	free(ranges->items);
	ranges->items = sweep.segments;
	ranges->capacity = 2 * ranges->count;
	ranges->count = sweep.count;
	return true;
}

/** Returns the first segment that ends above `address`, or the number of segments. */
static size_t first_above(const struct hawk_ranges *ranges, uint64_t address)
{
	return hawk_array_first_above(ranges->items, ranges->count, sizeof(*ranges->items),
				      offsetof(struct hawk_range, end), address);
}

const struct hawk_range *hawk_ranges_find(const struct hawk_ranges *ranges, uint64_t address)
{
	size_t at = first_above(ranges, address);

	return at < ranges->count && address >= ranges->items[at].start ? &ranges->items[at] : NULL;
}

bool hawk_ranges_around(const struct hawk_ranges *ranges, uint64_t address, struct hawk_range *ret)
{
	size_t at = first_above(ranges, address);

	if (at < ranges->count && address >= ranges->items[at].start) {
		*ret = ranges->items[at];
		return true;
	}
	*ret = (struct hawk_range){
		.start = at ? ranges->items[at - 1].end : 0,
		.end = at < ranges->count ? ranges->items[at].start : UINT64_MAX,
	};
	return false;
}
