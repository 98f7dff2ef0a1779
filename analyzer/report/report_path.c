/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core path: why one block is alive. A run of blocks of the same site, linked at the same
 * offset (a list, say), is shown by its ends.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "hawk_cleanup.h"
#include "hawk_leaks.h"
#include "hawk_quantity.h"
#include "hawk_report_pointers.h"

enum { INDENT = 4, OFFSET_WIDTH = 9, RUN_MIN = 4, LINES_BEFORE = 2 };

static inline void hawk_cleanup_path(struct hawk_path *path)
{
	hawk_path_deinit(path);
}

static struct hawk_error *find(const struct hawk_pointer_report *report, uint64_t address,
			       uint32_t *block)
{
	bool interior;

	*block = hawk_block_index_find(&report->graph->heap->index, address, &interior);
	if (*block == HAWK_BLOCK_NOWHERE)
		return hawk_report_no_block(report, address);
	*block = hawk_block_index_whole(&report->graph->heap->index, *block);
	return NULL;
}

/** How the step to `path->blocks[i]` is made; i is at least 1. */
static struct hawk_referrer pointer_to(const struct hawk_pointer_report *report,
				       const struct hawk_path *path, uint32_t i)
{
	struct hawk_referrer pointer;

	hawk_referrer_between(report->graph, path->blocks[i - 1], path->blocks[i], &pointer);
	return pointer;
}

static bool same_step(const struct hawk_pointer_report *report, const struct hawk_path *path,
		      uint32_t a, uint32_t b)
{
	return hawk_heap_site_at(report->graph->heap, path->blocks[a]) ==
		       hawk_heap_site_at(report->graph->heap, path->blocks[b]) &&
	       pointer_to(report, path, a).offset == pointer_to(report, path, b).offset;
}

/** One behind the last step from `i` on that is like step `i`. */
static uint32_t end_of_run(const struct hawk_pointer_report *report, const struct hawk_path *path,
			   uint32_t i)
{
	uint32_t end = i + 1;

	while (end < path->count && same_step(report, path, i, end))
		end++;
	return end;
}

/** Whether the step leads behind the first byte of the block, and it is known how far. */
static bool leads_inside(const struct hawk_referrer *pointer)
{
	return pointer->interior && pointer->inside != HAWK_OFFSET_UNKNOWN && pointer->inside;
}

/** The first "+8->+5" of a path in words. */
static void put_legend(const struct hawk_pointer_report *report, const struct hawk_screen *screen,
		       const struct hawk_path *path)
{
	CLEANUP(text) struct hawk_text text = {0};

	for (uint32_t i = 1; i < path->count; i++) {
		struct hawk_referrer pointer = pointer_to(report, path, i);

		if (!leads_inside(&pointer))
			continue;
		hawk_text_printf(&text,
				 "(+%" PRIu64 "->+%" PRIu64 ": byte %" PRIu64
				 " of the block above holds a pointer to byte %" PRIu64
				 " of this one; without -> it points to the first byte)",
				 pointer.offset, pointer.inside, pointer.offset, pointer.inside);
		break;
	}
	if (!text.bytes)
		return;
	hawk_output_puts(screen->output, "  ");
	hawk_screen_wrapped(screen, text.bytes, 2, 2);
}

static struct hawk_error *put_step(const struct hawk_pointer_report *report,
				   const struct hawk_screen *screen, const struct hawk_path *path,
				   uint32_t i)
{
	char text[48] = "";
	unsigned width;

	if (i) {
		struct hawk_referrer pointer = pointer_to(report, path, i);

		if (pointer.offset == HAWK_OFFSET_UNKNOWN)
			snprintf(text, sizeof(text), "+?");
		else
			snprintf(text, sizeof(text), "+%" PRIu64, pointer.offset);
		if (leads_inside(&pointer))
			snprintf(text, sizeof(text), "+%" PRIu64 "->+%" PRIu64, pointer.offset,
				 pointer.inside);
	}
	width = strlen(text) > OFFSET_WIDTH ? (unsigned)strlen(text) : OFFSET_WIDTH;
	hawk_output_fill(screen->output, ' ', INDENT);
	hawk_output_printf(screen->output, "%-*s  ", (int)width, text);
	return hawk_report_put_block(report, screen, path->blocks[i], INDENT + width + 2);
}

static struct hawk_error *put_steps(const struct hawk_pointer_report *report,
				    const struct hawk_screen *screen, const struct hawk_path *path)
{
	struct hawk_error *err = NULL;

	for (uint32_t i = 0; i < path->count && !err; i++) {
		uint32_t end = i && !screen->full ? end_of_run(report, path, i) : i + 1;

		if (end - i < RUN_MIN) {
			err = put_step(report, screen, path, i);
			continue;
		}
		for (uint32_t j = 0; j < LINES_BEFORE && !err; j++)
			err = put_step(report, screen, path, i + j);
		if (err)
			return err;
		hawk_output_fill(screen->output, ' ', INDENT);
		hawk_output_printf(screen->output, "%-*s  %s more in the same way\n", OFFSET_WIDTH,
				   "...", hawk_quantity_count(end - i - LINES_BEFORE - 1).text);
		err = put_step(report, screen, path, end - 1);
		i = end - 1;
	}
	return err;
}

static const char *kind_text(const struct hawk_block_graph *graph, uint32_t block)
{
	switch (hawk_leaks_kind(graph, block)) {
	case HAWK_REACH_DEFINITELY_LOST:
		return "definitely lost";
	case HAWK_REACH_INDIRECTLY_LOST:
		return "indirectly lost: only lost blocks point to it";
	default:
		switch (hawk_leaks_doubt(graph)) {
		case HAWK_LEAKS_HEAPS_DISCARDED:
			return "perhaps its arena was reset, and it is gone";
		case HAWK_LEAKS_OVERWRITTEN:
			return "perhaps from a block that was overwritten";
		default:
			return "perhaps from memory that is not there";
		}
	}
}

struct hawk_error *hawk_report_path_to(const struct hawk_pointer_report *report,
				       const struct hawk_paths *paths, uint32_t block,
				       const struct hawk_screen *screen)
{
	CLEANUP(path) struct hawk_path path = {0};
	CLEANUP(text) struct hawk_text root = {0};
	struct hawk_error *err = hawk_path_to(paths, block, &path);

	if (err)
		return err;
	hawk_screen_style(screen, HAWK_STYLE_HEADING);
	hawk_output_puts(screen->output, "Path to ");
	hawk_screen_plain(screen);
	err = hawk_report_put_block(report, screen, block, 8);
	if (err)
		return err;
	if (!path.count) {
		hawk_output_printf(screen->output, "  no root leads there: %s\n",
				   kind_text(report->graph, block));
		return NULL;
	}
	err = hawk_root_name(report->roots, path.root, &root);
	if (err)
		return err;
	hawk_output_puts(screen->output, "  ");
	hawk_output_append(screen->output, root.bytes, root.size);
	hawk_output_puts(screen->output, "\n");
	err = put_steps(report, screen, &path);
	if (!err)
		put_legend(report, screen, &path);
	return err;
}

struct hawk_error *hawk_report_path(const struct hawk_pointer_report *report,
				    const struct hawk_paths *paths, uint64_t address,
				    const struct hawk_screen *screen)
{
	struct hawk_error *err;
	uint32_t block;

	err = find(report, address, &block);
	if (!err)
		err = hawk_report_path_to(report, paths, block, screen);
	return err;
}

static struct hawk_error *put_json_step(const struct hawk_pointer_report *report,
					const struct hawk_path *path, uint32_t i,
					struct hawk_json *json)
{
	struct hawk_error *err;

	hawk_json_object(json);
	err = hawk_report_json_block(report, path->blocks[i], json);
	if (i) {
		struct hawk_referrer pointer = pointer_to(report, path, i);

		hawk_json_key(json, "offset");
		if (pointer.offset == HAWK_OFFSET_UNKNOWN)
			hawk_json_null(json);
		else
			hawk_json_integer(json, pointer.offset);
		hawk_json_put_boolean(json, "interior", pointer.interior);
	}
	if (!err)
		err = hawk_report_json_site_frames(
			report, hawk_heap_site_at(report->graph->heap, path->blocks[i]), json);
	hawk_json_object_end(json);
	return err;
}

static const char *json_kind(enum hawk_reach_kind kind)
{
	static const char *const names[HAWK_REACH_KINDS] = {
		[HAWK_REACH_REACHABLE] = "still_reachable",
		[HAWK_REACH_POSSIBLY] = "possibly_lost",
		[HAWK_REACH_DEFINITELY_LOST] = "definitely_lost",
		[HAWK_REACH_INDIRECTLY_LOST] = "indirectly_lost",
	};

	return kind < HAWK_REACH_KINDS ? names[kind] : NULL;
}

struct hawk_error *hawk_report_path_to_json(const struct hawk_pointer_report *report,
					    const struct hawk_paths *paths, uint32_t block,
					    struct hawk_json *json)
{
	CLEANUP(path) struct hawk_path path = {0};
	struct hawk_error *err = hawk_path_to(paths, block, &path);

	if (err)
		return err;
	hawk_json_object(json);
	hawk_json_key(json, "block");
	hawk_json_object(json);
	err = hawk_report_json_block(report, block, json);
	hawk_json_put_string(json, "reach", json_kind(hawk_leaks_kind(report->graph, block)));
	hawk_json_object_end(json);
	hawk_json_key(json, "root");
	if (err || !path.count)
		hawk_json_null(json);
	else
		err = hawk_root_json(report->roots, path.root, json);
	hawk_json_key(json, "steps");
	hawk_json_array(json);
	for (uint32_t i = 0; i < path.count && !err; i++)
		err = put_json_step(report, &path, i, json);
	hawk_json_array_end(json);
	hawk_json_object_end(json);
	return err;
}

struct hawk_error *hawk_report_path_json(const struct hawk_pointer_report *report,
					 const struct hawk_paths *paths, uint64_t address,
					 struct hawk_json *json)
{
	uint32_t block;
	struct hawk_error *err = find(report, address, &block);

	return err ? err : hawk_report_path_to_json(report, paths, block, json);
}
