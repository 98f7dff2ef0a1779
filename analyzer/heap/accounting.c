/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Sums up memory from mappings, the walk's counts, regions and the tracer's extents.
 */
#include "hawk/heap/heap.h"

#include "hawk/heap/touched.h"

/* Damage may make parts larger than their whole. */
static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t writable_bytes(const struct hawk_target *target)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		if (mappings[i].flags & HAWK_MAPPING_WRITE)
			sum += mappings[i].present_bytes;
	return sum;
}

/* Returns true for a table file, which is not the process's writable memory. */
static bool is_file(const struct hawk_target *target, uint64_t address)
{
	const struct hawk_mapping *mapping = hawk_target_mapping_at(target, address);

	return mapping && mapping->path;
}

/* Extents are sorted; a damaged table's may overlap and are counted once. */
static void add_extents(const struct hawk_target *target, const struct hawk_table *table,
			const struct hawk_touched *touched, struct hawk_accounting *to)
{
	size_t count;
	const struct hawk_table_extent *extents = hawk_table_extents(table, &count);
	uint64_t done = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t start = extents[i].address > done ? extents[i].address : done;
		uint64_t end = extents[i].address + extents[i].bytes;

		if (end <= start || extents[i].kind == HAWK_EXTENT_BOOTSTRAP ||
		    is_file(target, extents[i].address))
			continue;
		to->tracer_bytes += hawk_target_present_between(target, start, end);
		to->tracer_touched_bytes += hawk_touched_between(touched, start, end);
		done = end;
	}
}

/* Sums up the heaps; `*touched_bytes` is what of them is not zero. */
static uint64_t bytes_of_heaps(const struct hawk_heap *heap, const struct hawk_touched *touched,
			       uint64_t *touched_bytes)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < heap->spans.count; i++) {
		const struct hawk_heap_span *span = &heap->spans.items[i];

		if (!hawk_span_is_heap(span->kind))
			continue;
		sum += hawk_target_present_between(heap->target, span->start, span->end);
		*touched_bytes += hawk_touched_between(touched, span->start, span->end);
	}
	return sum;
}

struct hawk_accounting hawk_accounting_make(const struct hawk_heap *heap,
					    const struct hawk_touched *touched,
					    uint64_t untouched_bytes)
{
	const struct hawk_heap_sums *sums = &heap->sums;
	uint64_t heap_touched = 0;
	struct hawk_accounting to = {
		.requested_bytes = sums->bytes,
		.untouched_bytes = untouched_bytes < sums->bytes ? untouched_bytes : sums->bytes,
		.header_bytes = sums->header_bytes,
		.heap_bytes = bytes_of_heaps(heap, touched, &heap_touched),
		.writable_bytes = writable_bytes(heap->target),
		.touched_bytes = hawk_touched_between(touched, 0, UINT64_MAX),
		.measured = true,
	};

	if (heap->table)
		add_extents(heap->target, heap->table, touched, &to);
	to.never_used_bytes = minus(to.heap_bytes, heap_touched + untouched_bytes);
	to.overhead_bytes =
		minus(to.heap_bytes, to.requested_bytes + to.header_bytes + to.never_used_bytes);
	to.other_bytes = minus(to.writable_bytes, to.heap_bytes + to.tracer_bytes);
	return to;
}

uint64_t hawk_accounting_other_touched(const struct hawk_accounting *of)
{
	uint64_t requested = minus(of->requested_bytes, of->untouched_bytes);

	return minus(of->touched_bytes,
		     requested + of->header_bytes + of->overhead_bytes + of->tracer_touched_bytes);
}
