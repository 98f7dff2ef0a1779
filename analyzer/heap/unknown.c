/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds the reason why a heap is unknown, so that no reader takes it for an empty one.
 *
 * "Not traced" is reported only if all memory of the target was searched.
 */
#include "unknown.h"

#include <inttypes.h>
#include <string.h>

static bool has_finding(const struct hawk_findings *findings, const char *const *keys)
{
	for (size_t i = 0; findings && i < findings->count; i++)
		for (const char *const *key = keys; *key; key++)
			if (!strcmp(findings->items[i].key, *key))
				return true;
	return false;
}

static bool is_cut_off(const struct hawk_findings *findings)
{
	static const char *const keys[] = {"core-truncated", "core-header-count", NULL};

	return has_finding(findings, keys);
}

bool hawk_heap_has_tracer(const struct hawk_target *target)
{
	static const char name[] = "libhawk_tracer.so"; /* " (deleted)" may follow */
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);

	for (size_t i = 0; i < count; i++) {
		const char *path = mappings[i].path ? mappings[i].path : "";
		const char *slash = strrchr(path, '/');

		if (!strncmp(slash ? slash + 1 : path, name, sizeof(name) - 1))
			return true;
	}
	return false;
}

enum hawk_heap_unknown hawk_heap_unknown_why(const struct hawk_target *target,
					     const struct hawk_findings *findings)
{
	static const char *const unreadable[] = {"table-version", "table-flags", "table-damaged",
						 "table-cut", NULL};

	if (has_finding(findings, unreadable))
		return HAWK_HEAP_TABLE_UNREADABLE;
	if (is_cut_off(findings))
		return HAWK_HEAP_CUT_OFF;
	return hawk_heap_has_tracer(target) ? HAWK_HEAP_TABLE_MISSING : HAWK_HEAP_NOT_TRACED;
}

bool hawk_heap_lacks_memory(const struct hawk_target *target, const struct hawk_findings *findings)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);

	for (size_t i = 0; i < count; i++)
		if (mappings[i].flags & HAWK_MAPPING_WRITE &&
		    mappings[i].present_bytes < mappings[i].end - mappings[i].start)
			return true;
	return is_cut_off(findings);
}

const char *hawk_heap_unknown_text(const struct hawk_heap *heap)
{
	static const char *const texts[] = {
		[HAWK_HEAP_NOT_TRACED] = "the process was not traced",
		[HAWK_HEAP_CUT_OFF] = "the core is cut off before any trace table could be found",
		[HAWK_HEAP_TABLE_UNREADABLE] = "the trace table cannot be read",
		[HAWK_HEAP_TABLE_MISSING] = "the trace table is missing",
		[HAWK_HEAP_BLOCKS_MISSING] = "the memory of all blocks is missing",
	};

	if (!heap->knows && heap->unknown == HAWK_HEAP_NOT_TRACED && heap->unread)
		return "the process was not traced, and its allocator cannot be read";
	return heap->knows ? NULL : texts[heap->unknown];
}

struct hawk_error *hawk_heap_find_block(const struct hawk_heap *heap, uint64_t address,
					uint32_t *ret)
{
	bool interior;

	*ret = hawk_block_index_find(&heap->index, address, &interior);
	if (*ret != HAWK_BLOCK_NOWHERE)
		return NULL;
	if (heap->knows)
		return hawk_error_create(HAWK_ERROR_NO_BLOCK, "no live block at 0x%" PRIx64,
					 address);
	return hawk_error_create(HAWK_ERROR_NOT_FOUND, "0x%" PRIx64 ": no block is known: %s",
				 address, hawk_heap_unknown_text(heap));
}
