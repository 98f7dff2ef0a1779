/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * NT_FILE: which file is mapped where. count, unit, count times (start, end, offset in units), then
 * count NUL-terminated names. The kernel's unit is the page, gdb's is 1.
 */
#include "core_parse.h"

#include <inttypes.h>
#include <stdlib.h>

#include "hawk_cursor.h"

enum { ENTRY_BYTES = 24 };

static int compare_start(const void *left, const void *right)
{
	const struct hawk_core_named_range *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

/** Sorts, and drops what overlaps a range before it. */
static void sort_ranges(struct hawk_core_files *files, struct hawk_findings *findings)
{
	uint64_t end = 0;
	size_t kept = 0;

	if (files->count)
		qsort(files->items, files->count, sizeof(*files->items), compare_start);
	for (size_t i = 0; i < files->count; i++) {
		struct hawk_core_named_range range = files->items[i];

		if (range.start < end) {
			hawk_findings_add(findings, HAWK_FINDING_DAMAGE, false, "file-overlap",
					  "the mapped file \"%.200s\" at 0x%" PRIx64
					  " overlaps another and is left out",
					  range.path, range.start);
			continue;
		}
		end = range.end;
		files->items[kept++] = range;
	}
	files->count = kept;
}

struct hawk_error *hawk_core_parse_file_note(const void *bytes, size_t size, bool cut,
					     struct hawk_core_files *ret,
					     struct hawk_findings *findings)
{
	struct hawk_cursor entries = hawk_cursor_over(bytes, size);
	struct hawk_cursor names = entries;
	uint64_t count = hawk_cursor_u64(&entries);
	uint64_t unit = hawk_cursor_u64(&entries);
	uint64_t held = hawk_cursor_left(&entries) / ENTRY_BYTES;
	bool short_note = cut || count > held;

	if (count > held)
		count = held;
	ret->known = true;
	ret->items = calloc(count + 1, sizeof(*ret->items));
	if (!ret->items)
		return &hawk_enomem;
	hawk_cursor_seek(&names, 16 + count * ENTRY_BYTES);
	for (uint64_t i = 0; i < count; i++) {
		struct hawk_core_named_range *range = &ret->items[ret->count];
		uint64_t offset;

		range->start = hawk_cursor_u64(&entries);
		range->end = hawk_cursor_u64(&entries);
		offset = hawk_cursor_u64(&entries);
		range->path = hawk_cursor_string(&names);
		if (!range->path)
			break;
		if (range->start < range->end && range->path[0] &&
		    !__builtin_mul_overflow(offset, unit, &range->offset))
			ret->count++;
	}
	if (names.failed || short_note)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, true, "file-note-truncated",
				  "the list of mapped files is cut off after %zu entries",
				  ret->count);
	sort_ranges(ret, findings);
	return NULL;
}

void hawk_core_files_deinit(struct hawk_core_files *files)
{
	free(files->items);
	*files = (struct hawk_core_files){0};
}
