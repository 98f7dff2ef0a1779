/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Counts memory that may hold roots but is not in the core, without memory that was never written.
 */
#include "roots_ranges.h"

enum { BSS_BEFORE_MAX = 64 /* mappings of a module between its .bss and its other data */ };

/* Returns true if each range that the program keeps out of cores is still where the tracer noted
 * it. Otherwise it was unmapped, or mremap() moved it to an unknown place. */
static bool undumped_stayed(const struct hawk_heap *heap)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(heap->target, &count);

	for (size_t i = 0; i < heap->spans.count; i++) {
		const struct hawk_heap_span *span = &heap->spans.items[i];
		bool stayed = span->kind != HAWK_SPAN_UNDUMPED;

		for (size_t j = 0; j < count && !stayed; j++)
			stayed = !mappings[j].dumped_bytes && mappings[j].start < span->end &&
				 span->start < mappings[j].end;
		if (!stayed)
			return false;
	}
	return true;
}

/* Returns true if anonymous memory that was not dumped was never written. A kernel dumps private
 * anonymous memory that was ever written, all of it or (coredump_filter) none. File names tell such
 * memory from other memory. */
bool hawk_roots_knows_unwritten(const struct hawk_heap *heap)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(heap->target, &count);
	bool anonymous = false;
	bool named = false;

	for (size_t i = 0; i < count; i++) {
		if (mappings[i].path)
			named = true;
		else if (mappings[i].flags & HAWK_MAPPING_WRITE && mappings[i].dumped_bytes)
			anonymous = true;
	}
	return anonymous && named && heap->undumped_known && undumped_stayed(heap);
}

/* Returns the bytes of [start, end) that are not the tracer's own (its table file, say). */
static uint64_t bytes_outside(const struct hawk_heap_spans *spans, uint64_t start, uint64_t end)
{
	uint64_t bytes = end - start;

	for (size_t i = hawk_heap_spans_from(spans, start);
	     i < spans->count && spans->items[i].start < end; i++) {
		const struct hawk_heap_span *span = &spans->items[i];

		if (span->kind == HAWK_SPAN_METADATA)
			bytes -= (span->end < end ? span->end : end) -
				 (span->start > start ? span->start : start);
	}
	return bytes;
}

static bool is_undumped(const struct hawk_heap_spans *spans, const struct hawk_mapping *mapping)
{
	for (size_t i = hawk_heap_spans_from(spans, mapping->start);
	     i < spans->count && spans->items[i].start < mapping->end; i++)
		if (spans->items[i].kind == HAWK_SPAN_UNDUMPED)
			return true;
	return false;
}

/* Returns true for the .bss of a module whose other writable or relocated memory was dumped: no
 * program excludes .bss alone. */
static bool is_bss(const struct hawk_roots_finder *finder, const struct hawk_mapping *mapping,
		   const struct hawk_module *module)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(finder->heap->target, &count);

	for (const struct hawk_mapping *before = mapping - 1;
	     module && before > mappings && before->start >= module->start &&
	     before->end > module->start && mapping - before <= BSS_BEFORE_MAX;
	     before--)
		if (before->dumped_bytes && before->file_offset)
			return true;
	return false;
}

/* The kernel does not dump anonymous memory that was never written: it reads as zeros. */
static bool was_never_written(const struct hawk_roots_finder *finder,
			      const struct hawk_mapping *mapping, const struct hawk_module *module)
{
	return !mapping->dumped_bytes && !(mapping->path && mapping->path[0]) &&
	       !is_undumped(&finder->heap->spans, mapping) &&
	       (finder->unwritten_known || is_bss(finder, mapping, module));
}

void hawk_roots_count_missing(const struct hawk_roots_finder *finder,
			      const struct hawk_mapping *mapping, const struct hawk_module *module,
			      bool heap, uint32_t kind)
{
	struct hawk_root_ranges *ranges = finder->ranges;
	uint64_t bytes = mapping->end - mapping->start;
	uint64_t missing = bytes > mapping->present_bytes ? bytes - mapping->present_bytes : 0;

	if (missing)
		missing = bytes_outside(&finder->heap->spans, mapping->end - missing, mapping->end);
	/* Anonymous memory without rights is a reservation, not data. */
	if (!missing || !(mapping->flags & HAWK_MAPPING_WRITE) ||
	    was_never_written(finder, mapping, module))
		return;
	if (is_undumped(&finder->heap->spans, mapping))
		ranges->undumped_bytes += missing;
	if (heap)
		ranges->heap_missing_bytes += missing;
	else
		ranges->missing_bytes[kind] += missing;
}

/* Returns true for a core of gdb, which leaves such memory out together with its address. gdb
 * writes segments at any offset, the kernel at page boundaries. */
static bool is_of_gdb(const struct hawk_target *target)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);
	uint64_t page_bytes = hawk_target_process(target)->page_bytes;

	for (size_t i = 0; i < count; i++)
		if (mappings[i].core_offset % page_bytes && mappings[i].start % page_bytes == 0)
			return true;
	return false;
}

void hawk_roots_count_undumped(const struct hawk_roots_finder *finder)
{
	const struct hawk_heap_spans *spans = &finder->heap->spans;

	if (!hawk_heap_spans_have(spans, HAWK_SPAN_UNDUMPED) || !is_of_gdb(finder->heap->target))
		return;
	for (size_t i = 0; i < spans->count; i++) {
		const struct hawk_heap_span *span = &spans->items[i];

		if (span->kind != HAWK_SPAN_UNDUMPED ||
		    hawk_target_mapping_at(finder->heap->target, span->start))
			continue;
		finder->ranges->missing_bytes[HAWK_ROOT_OTHER] += span->end - span->start;
		finder->ranges->undumped_bytes += span->end - span->start;
	}
}
