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
static struct hawk_error *add_extents(const struct hawk_target *target,
				      const struct hawk_table *table, struct hawk_accounting *to)
{
	size_t count;
	const struct hawk_table_extent *extents = hawk_table_extents(table, &count);
	uint64_t done = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t start = extents[i].address > done ? extents[i].address : done;
		uint64_t end = extents[i].address + extents[i].bytes;
		uint64_t touched;
		struct hawk_error *err;

		if (end <= start || extents[i].kind == HAWK_EXTENT_BOOTSTRAP ||
		    is_file(target, extents[i].address))
			continue;
		err = hawk_heap_touched(target, start, end, &touched);
		if (err)
			return err;
		to->tracer_bytes += hawk_target_present_between(target, start, end);
		to->tracer_touched_bytes += touched;
		done = end;
	}
	return NULL;
}

/* Subtracts [start, end), which the walk counted as heap. */
static struct hawk_error *take_away(const struct hawk_target *target, uint64_t start, uint64_t end,
				    struct hawk_accounting *from)
{
	uint64_t bytes = hawk_target_present_between(target, start, end);
	uint64_t touched = 0;
	struct hawk_error *err =
		start < end ? hawk_heap_touched(target, start, end, &touched) : NULL;

	if (err)
		return err;
	from->heap_bytes = minus(from->heap_bytes, bytes);
	from->never_used_bytes = minus(from->never_used_bytes, minus(bytes, touched));
	return NULL;
}

/* Subtracts memory between heaps in mappings with heaps. Metadata was never counted as heap. */
static struct hawk_error *take_outside(const struct hawk_heap *heap,
				       const struct hawk_mapping *mapping,
				       struct hawk_accounting *from)
{
	const struct hawk_heap_spans *spans = &heap->spans;
	size_t first = hawk_heap_spans_from(spans, mapping->start);
	uint64_t at = mapping->start;
	bool has_heap = false;
	struct hawk_error *err = NULL;

	for (size_t i = first; i < spans->count && spans->items[i].start < mapping->end; i++)
		has_heap |= hawk_span_is_heap(spans->items[i].kind);
	if (!has_heap)
		return NULL;
	for (size_t i = first; !err && i < spans->count && spans->items[i].start < mapping->end;
	     i++) {
		const struct hawk_heap_span *span = &spans->items[i];

		if (!hawk_span_is_heap(span->kind) && span->kind != HAWK_SPAN_METADATA)
			continue;
		err = take_away(heap->target, at, span->start, from);
		at = span->end;
	}
	return err ? err : take_away(heap->target, at, mapping->end, from);
}

static struct hawk_error *take_all_outside(const struct hawk_heap *heap,
					   struct hawk_accounting *from)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(heap->target, &count);
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < count && !err; i++)
		err = take_outside(heap, &mappings[i], from);
	return err;
}

/* Returns the heap bytes of sources that did not count them. */
static uint64_t bytes_of_heaps(const struct hawk_heap *heap)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < heap->spans.count; i++)
		if (hawk_span_is_heap(heap->spans.items[i].kind))
			sum += hawk_target_present_between(heap->target, heap->spans.items[i].start,
							   heap->spans.items[i].end);
	return sum;
}

struct hawk_error *hawk_accounting_make(const struct hawk_heap *heap, struct hawk_accounting *ret)
{
	const struct hawk_heap_sums *sums = &heap->sums;
	struct hawk_accounting accounting = {
		.requested_bytes = sums->bytes,
		.header_bytes = sums->header_bytes,
		.heap_bytes = sums->heap_bytes ? sums->heap_bytes : bytes_of_heaps(heap),
		.never_used_bytes = sums->zero_bytes,
		.writable_bytes = writable_bytes(heap->target),
		.measured = sums->touched_bytes,
	};
	struct hawk_error *err =
		heap->table ? add_extents(heap->target, heap->table, &accounting) : NULL;

	if (!err && sums->heap_bytes)
		err = take_all_outside(heap, &accounting);
	if (err)
		return err;
	accounting.overhead_bytes =
		minus(accounting.heap_bytes, accounting.requested_bytes + accounting.header_bytes +
						     accounting.never_used_bytes);
	accounting.other_bytes =
		minus(accounting.writable_bytes, accounting.heap_bytes + accounting.tracer_bytes);
	accounting.touched_bytes = sums->touched_bytes + accounting.tracer_touched_bytes;
	*ret = accounting;
	return NULL;
}
