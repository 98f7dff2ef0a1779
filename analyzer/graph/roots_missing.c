/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * How much memory where roots may lie is not in the core, and which of it was never written.
 */
#include "roots_ranges.h"

enum { BSS_BEFORE_MAX = 64 /* mappings of a module between its .bss and its other data */ };

/* Whether each range that the program kept out of cores is still where the tracer has noted it.
 * Where one is not, it was unmapped, or mremap() has moved it, who knows where to. */
static bool undumped_stayed(const struct hawk_target *target,
			    const struct hawk_heap_regions *regions)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);

	for (size_t i = 0; i < regions->undumped.count; i++) {
		const struct hawk_span *span = &regions->undumped.items[i];
		bool stayed = span->start >= span->end;

		for (size_t j = 0; j < count && !stayed; j++)
			stayed = !mappings[j].dumped_bytes && mappings[j].start < span->end &&
				 span->start < mappings[j].end;
		if (!stayed)
			return false;
	}
	return true;
}

/* A kernel dumps private anonymous memory that was ever written, all of it or (coredump_filter)
 * none; names of files tell it from other memory. */
bool hawk_roots_knows_unwritten(const struct hawk_target *target,
				const struct hawk_heap_regions *regions)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);
	bool anonymous = false;
	bool named = false;

	for (size_t i = 0; i < count; i++) {
		if (mappings[i].path)
			named = true;
		else if (mappings[i].flags & HAWK_MAPPING_WRITE && mappings[i].dumped_bytes)
			anonymous = true;
	}
	return anonymous && named && regions->undumped_known && undumped_stayed(target, regions);
}

/* Of [start, end): what is not the tracer's own (which lies in its table file, say). */
static uint64_t bytes_outside(const struct hawk_heap_regions *regions, uint64_t start, uint64_t end)
{
	uint64_t bytes = end - start;

	for (size_t i = 0; i < regions->metadata.count; i++) {
		uint64_t low = regions->metadata.items[i].start > start
				       ? regions->metadata.items[i].start
				       : start;
		uint64_t high =
			regions->metadata.items[i].end < end ? regions->metadata.items[i].end : end;

		if (low < high)
			bytes -= high - low; /* they are disjoint */
	}
	return bytes;
}

static bool is_undumped(const struct hawk_heap_regions *regions, const struct hawk_mapping *mapping)
{
	for (size_t i = 0; i < regions->undumped.count; i++)
		if (regions->undumped.items[i].start < mapping->end &&
		    mapping->start < regions->undumped.items[i].end)
			return true;
	return false;
}

/* A module's .bss, of which other writable or relocated memory was dumped: nobody keeps that out.
 */
static bool is_bss(const struct hawk_roots_finder *finder, const struct hawk_mapping *mapping,
		   const struct hawk_module *module)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(finder->target, &count);

	for (const struct hawk_mapping *before = mapping - 1;
	     module && before > mappings && before->start >= module->start &&
	     before->end > module->start && mapping - before <= BSS_BEFORE_MAX;
	     before--)
		if (before->dumped_bytes && before->file_offset)
			return true;
	return false;
}

/* The kernel dumps no anonymous memory that was never written: it reads as zeros. */
static bool was_never_written(const struct hawk_roots_finder *finder,
			      const struct hawk_mapping *mapping, const struct hawk_module *module)
{
	return !mapping->dumped_bytes && !(mapping->path && mapping->path[0]) &&
	       !is_undumped(finder->regions, mapping) &&
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
		missing = bytes_outside(finder->regions, mapping->end - missing, mapping->end);
	/* Anonymous memory without rights is a reservation, not data. */
	if (!missing || !(mapping->flags & HAWK_MAPPING_WRITE) ||
	    was_never_written(finder, mapping, module))
		return;
	if (is_undumped(finder->regions, mapping))
		ranges->undumped_bytes += missing;
	if (heap)
		ranges->heap_missing_bytes += missing;
	else
		ranges->missing_bytes[kind] += missing;
}

/* gdb leaves out such memory with its address. It writes segments wherever they come to lie, the
 * kernel on page boundaries. */
static bool is_of_gdb(const struct hawk_target *target)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);

	for (size_t i = 0; i < count; i++)
		if (mappings[i].core_offset % HAWK_ROOTS_PAGE_BYTES &&
		    mappings[i].start % HAWK_ROOTS_PAGE_BYTES == 0)
			return true;
	return false;
}

void hawk_roots_count_undumped(const struct hawk_roots_finder *finder)
{
	const struct hawk_heap_regions *regions = finder->regions;

	if (!regions->undumped.count || !is_of_gdb(finder->target))
		return;
	for (size_t i = 0; i < regions->undumped.count; i++) {
		uint64_t start = regions->undumped.items[i].start;
		uint64_t end = regions->undumped.items[i].end;

		if (start >= end || hawk_target_mapping_at(finder->target, start))
			continue;
		finder->ranges->missing_bytes[HAWK_ROOT_OTHER] += end - start;
		finder->ranges->undumped_bytes += end - start;
	}
}
