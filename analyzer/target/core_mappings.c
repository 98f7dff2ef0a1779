/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Mappings of a core: its segments, with the paths of NT_FILE. Each source alone is incomplete:
 * anonymous memory has no path, and gcore writes no segment for what it does not dump.
 */
#include "core_parse.h"

#include <stdlib.h>
#include <string.h>

#include "hawk_cleanup.h"

struct merger {
	struct hawk_target *target;
	size_t capacity;
	const char *last_path; /* in the core, and its copy */
	const char *last_copy;
};

/** One copy for the neighbouring ranges of a file. */
static const char *copy_path(struct merger *merger, const char *path)
{
	if (!merger->last_path || strcmp(merger->last_path, path)) {
		merger->last_copy = hawk_target_string(merger->target, path, strlen(path));
		merger->last_path = merger->last_copy ? path : NULL;
	}
	return merger->last_copy;
}

/** Adds [start, end) of `load` and `file`; either may be NULL. */
static struct hawk_error *add_piece(struct merger *merger, uint64_t start, uint64_t end,
				    const struct hawk_mapping *load,
				    const struct hawk_core_named_range *file)
{
	struct hawk_target *target = merger->target;
	struct hawk_mapping piece = {.start = start, .end = end};

	if (load) {
		uint64_t skip = start - load->start;
		uint64_t bytes = end - start;

		piece.flags = load->flags;
		piece.core_offset = load->core_offset + skip;
		piece.dumped_bytes = load->dumped_bytes > skip ? load->dumped_bytes - skip : 0;
		piece.present_bytes = load->present_bytes > skip ? load->present_bytes - skip : 0;
		if (piece.dumped_bytes > bytes)
			piece.dumped_bytes = bytes;
		if (piece.present_bytes > bytes)
			piece.present_bytes = bytes;
	}
	if (file) {
		piece.file_offset = file->offset + (start - file->start);
		piece.path = copy_path(merger, file->path);
		if (!piece.path)
			return &hawk_enomem;
	}
	if (target->mapping_count == merger->capacity) {
		size_t capacity = merger->capacity ? 2 * merger->capacity : 64;
		void *moved = reallocarray(target->mappings, capacity, sizeof(piece));

		if (!moved)
			return &hawk_enomem;
		target->mappings = moved;
		merger->capacity = capacity;
	}
	target->mappings[target->mapping_count++] = piece;
	return NULL;
}

struct hawk_error *hawk_core_merge_mappings(const struct hawk_core_segments *segments,
					    const struct hawk_core_files *files,
					    struct hawk_target *target)
{
	struct merger merger = {.target = target};
	size_t loads = 0, names = 0;
	uint64_t at = 0; /* everything below is done */

	while (loads < segments->load_count || names < files->count) {
		const struct hawk_mapping *load =
			loads < segments->load_count ? &segments->loads[loads] : NULL;
		const struct hawk_core_named_range *file =
			names < files->count ? &files->items[names] : NULL;
		uint64_t load_start = load ? (load->start > at ? load->start : at) : UINT64_MAX;
		uint64_t file_start = file ? (file->start > at ? file->start : at) : UINT64_MAX;
		uint64_t start = load_start < file_start ? load_start : file_start;
		bool in_load = load && load_start == start;
		bool in_file = file && file_start == start;
		uint64_t end = in_load ? load->end : file->end;
		struct hawk_error *error;

		if (in_load && in_file && file->end < end)
			end = file->end;
		if (!in_load && load && load_start < end)
			end = load_start;
		if (!in_file && file && file_start < end)
			end = file_start;
		error = add_piece(&merger, start, end, in_load ? load : NULL,
				  in_file ? file : NULL);
		if (error)
			return error;
		at = end;
		loads += load && load->end <= at;
		names += file && file->end <= at;
	}
	return NULL;
}
