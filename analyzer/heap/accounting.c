/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Sums over mappings, what the walk counted, regions and the tracer's extents.
 */
#include "hawk/heap/heap.h"

#include "sealed/sweep.h"

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

/* As much of it as can be read: of a core that was cut off not all. */
static uint64_t present_between(const struct hawk_target *target, uint64_t start, uint64_t end)
{
	uint64_t sum = 0;

	while (start < end) {
		const struct hawk_mapping *mapping = hawk_target_mapping_at(target, start);
		uint64_t present_end;

		if (!mapping)
			break;
		present_end = mapping->start + mapping->present_bytes;
		if (present_end > end)
			present_end = end;
		if (present_end > start)
			sum += present_end - start;
		start = mapping->end;
	}
	return sum;
}

/* Of a table file: not the process's writable memory. */
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
		err = hawk_sweep_touched(target, start, end, &touched);
		if (err)
			return err;
		to->tracer_bytes += present_between(target, start, end);
		to->tracer_touched_bytes += touched;
		done = end;
	}
	return NULL;
}

/* Takes [start, end), which the walk counted as heap, away. */
static struct hawk_error *take_away(const struct hawk_target *target, uint64_t start, uint64_t end,
				    struct hawk_accounting *from)
{
	uint64_t bytes = present_between(target, start, end);
	uint64_t touched = 0;
	struct hawk_error *err =
		start < end ? hawk_sweep_touched(target, start, end, &touched) : NULL;

	if (err)
		return err;
	from->heap_bytes = minus(from->heap_bytes, bytes);
	from->never_used_bytes = minus(from->never_used_bytes, minus(bytes, touched));
	return NULL;
}

/* Metadata never counted as heap. */
static struct hawk_error *take_outside(const struct hawk_heap *heap, struct hawk_accounting *from)
{
	const struct hawk_spans *outside = &heap->regions.outside;
	const struct hawk_spans *metadata = &heap->regions.metadata;
	struct hawk_error *err = NULL;
	size_t next = 0;

	for (size_t i = 0; i < outside->count && !err; i++) {
		uint64_t at = outside->items[i].start, end = outside->items[i].end;

		while (next < metadata->count && metadata->items[next].end <= at)
			next++;
		for (size_t j = next; j < metadata->count && metadata->items[j].start < end && !err;
		     j++) {
			err = take_away(heap->target, at, metadata->items[j].start, from);
			at = metadata->items[j].end;
		}
		if (!err)
			err = take_away(heap->target, at, end, from);
	}
	return err;
}

/* Of a source that did not count them: the mappings that blocks begin in. */
static uint64_t bytes_with_blocks(const struct hawk_heap *heap)
{
	const struct hawk_block_index *index = &heap->index;
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(heap->target, &count);
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t first = hawk_block_index_first(index, mappings[i].start);

		if (first < index->count && hawk_block_start(index, first) < mappings[i].end)
			sum += mappings[i].present_bytes;
	}
	return sum;
}

struct hawk_error *hawk_accounting_make(const struct hawk_heap *heap, struct hawk_accounting *ret)
{
	const struct hawk_heap_sums *sums = &heap->sums;
	struct hawk_accounting accounting = {
		.requested_bytes = sums->bytes,
		.header_bytes = sums->header_bytes,
		.heap_bytes = sums->heap_bytes ? sums->heap_bytes : bytes_with_blocks(heap),
		.never_used_bytes = sums->zero_bytes,
		.writable_bytes = writable_bytes(heap->target),
		.measured = sums->touched_bytes,
	};
	struct hawk_error *err =
		heap->table ? add_extents(heap->target, heap->table, &accounting) : NULL;

	if (!err)
		err = take_outside(heap, &accounting);
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
