/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Prints the path that keeps a block alive. A run of blocks of the same site, linked at the same
 * offset (a list, say), is shown by its ends.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/analysis/leaks.h"
#include "hawk/base/quantity.h"
#include "hawk/report/pointers.h"

enum { INDENT = 4, OFFSET_WIDTH = 9, RUN_MIN = 4, LINES_BEFORE = 2 };

static inline void hawk_cleanup_path(struct hawk_path *path)
{
	hawk_path_deinit(path);
}

/** Returns the pointer to `path->blocks[i]`; i is at least 1. */
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
	return hawk_heap_site_at(report->heap, path->blocks[a]) ==
		       hawk_heap_site_at(report->heap, path->blocks[b]) &&
	       pointer_to(report, path, a).offset == pointer_to(report, path, b).offset;
}

/** Returns the end of the run of steps like step `i`. */
static uint32_t end_of_run(const struct hawk_pointer_report *report, const struct hawk_path *path,
			   uint32_t i)
{
	uint32_t end = i + 1;

	while (end < path->count && same_step(report, path, i, end))
		end++;
	return end;
}

/** Returns true if the step leads behind the first byte of the block, by a known distance. */
static bool leads_inside(const struct hawk_referrer *pointer)
{
	return pointer->interior && pointer->inside != HAWK_OFFSET_UNKNOWN && pointer->inside;
}

/** Explains the first "+8->+5" of a path in words. */
static void put_legend(const struct hawk_pointer_report *report, const struct hawk_screen *screen,
		       const struct hawk_path *path)
{
	CLEANUP(text) struct hawk_text text = {0};
	struct hawk_referrer pointer = {0};
	uint32_t i = 1;

	while (i < path->count && !leads_inside(&pointer))
		pointer = pointer_to(report, path, i++);
	if (!leads_inside(&pointer))
		return;
	hawk_text_printf(&text,
			 "(+%" PRIu64 "->+%" PRIu64 ": byte %" PRIu64
			 " of the block above holds a pointer to byte %" PRIu64
			 " of this one; without -> it points to the first byte)",
			 pointer.offset, pointer.inside, pointer.offset, pointer.inside);
	hawk_screen_paragraph(screen, hawk_text_string(&text), 2, 2);
}

/* Appends the place of the pointer to `path->blocks[i]`: the member, or "+40". */
static void append_place(const struct hawk_pointer_report *report, const struct hawk_path *path,
			 uint32_t i, uint64_t offset, struct hawk_text *text)
{
	uint32_t holder = i > 1 ? path->blocks[i - 2] : HAWK_BLOCK_NOWHERE;

	if (offset == HAWK_OFFSET_UNKNOWN)
		hawk_text_puts(text, "+?");
	else if (!hawk_report_append_member(report, holder, path->blocks[i - 1], offset, text))
		hawk_text_printf(text, "+%" PRIu64, offset);
}

static void put_step(const struct hawk_pointer_report *report, const struct hawk_screen *screen,
		     const struct hawk_path *path, uint32_t i)
{
	CLEANUP(text) struct hawk_text text = {0};
	unsigned width;

	if (i) {
		struct hawk_referrer pointer = pointer_to(report, path, i);

		append_place(report, path, i, pointer.offset, &text);
		if (leads_inside(&pointer))
			hawk_text_printf(&text, "->+%" PRIu64, pointer.inside);
	}
	width = text.size > OFFSET_WIDTH ? (unsigned)text.size : OFFSET_WIDTH;
	hawk_output_printf(screen->output, "%*s", INDENT, "");
	hawk_screen_foreign(screen, hawk_text_string(&text));
	hawk_output_printf(screen->output, "%*s", (int)(width - text.size) + 2, "");
	hawk_report_put_block(report, screen, path->blocks[i], INDENT + width + 2);
}

static void put_steps(const struct hawk_pointer_report *report, const struct hawk_screen *screen,
		      const struct hawk_path *path)
{
	for (uint32_t i = 0; i < path->count; i++) {
		uint32_t end = i && !screen->full ? end_of_run(report, path, i) : i + 1;

		if (end - i >= RUN_MIN) {
			for (uint32_t j = 0; j < LINES_BEFORE; j++)
				put_step(report, screen, path, i + j);
			hawk_output_printf(screen->output, "%*s%-*s  %s more in the same way\n",
					   INDENT, "", OFFSET_WIDTH, "...",
					   hawk_quantity_count(end - i - LINES_BEFORE - 1).text);
			i = end - 1;
		}
		put_step(report, screen, path, i);
	}
}

static const char *kind_text(const struct hawk_pointer_report *report, uint32_t block)
{
	switch (hawk_leaks_kind(report->graph, report->reach, block)) {
	case HAWK_REACH_DEFINITELY_LOST:
		return "definitely lost";
	case HAWK_REACH_INDIRECTLY_LOST:
		return "indirectly lost: only lost blocks point to it";
	default:
		switch (hawk_leaks_doubt(report->graph)) {
		case HAWK_LEAKS_HEAPS_DISCARDED:
			return "perhaps freed by a reset of its arena";
		case HAWK_LEAKS_OVERWRITTEN:
			return "perhaps from a block that was overwritten";
		default:
			return "perhaps from missing memory";
		}
	}
}

/** Prints which lost blocks hold a lost one, as far as its leader or round a cycle. */
static void put_holders(const struct hawk_pointer_report *report,
			const struct hawk_path_targets *targets, uint32_t block,
			const struct hawk_screen *screen)
{
	struct hawk_lost_way way = hawk_lost_way_of(report->graph, targets, block);

	for (uint32_t i = 0; i < way.count; i++) {
		char offset[24] = "+?";

		if (way.steps[i].offset != HAWK_OFFSET_UNKNOWN)
			snprintf(offset, sizeof(offset), "+%" PRIu64, way.steps[i].offset);
		hawk_output_printf(screen->output, "%*sheld at %-*s of ", INDENT, "", 6, offset);
		hawk_report_put_block(report, screen, way.steps[i].source, INDENT + 18);
	}
	if (way.is_cycle)
		hawk_output_puts(screen->output,
				 way.cycle ? "    which a block above holds: a cycle\n"
					   : "    which the block itself holds: a cycle\n");
	if (way.is_cut)
		hawk_output_puts(screen->output, "    ...\n");
}

/* Prints "  work: server->cache_[...].second.text" if all on the path is typed. */
static void put_expression(const struct hawk_pointer_report *report,
			   const struct hawk_screen *screen, const struct hawk_path *path)
{
	CLEANUP(text) struct hawk_text text = {0};

	hawk_text_puts(&text, "  ");
	if (path->count > 1 && hawk_report_append_expression(report, path, &text))
		hawk_screen_line(screen, &text);
}

static struct hawk_error *put_path(const struct hawk_pointer_report *report,
				   const struct hawk_paths *paths,
				   const struct hawk_path_targets *targets, uint32_t block,
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
	hawk_report_put_block(report, screen, block, 8);
	if (!path.count) {
		hawk_output_printf(screen->output, "  no root leads there: %s\n",
				   kind_text(report, block));
		put_holders(report, targets, block, screen);
		return NULL;
	}
	hawk_text_puts(&root, "  ");
	hawk_root_name(report->roots, path.root, &root);
	hawk_screen_line(screen, &root);
	put_expression(report, screen, &path);
	put_steps(report, screen, &path);
	put_legend(report, screen, &path);
	return NULL;
}

static void put_sums(const struct hawk_pointer_report *report,
		     const struct hawk_path_targets *targets, const struct hawk_screen *screen)
{
	hawk_screen_heading(screen, "Paths to chosen blocks, largest first, then oldest (%s of %s)",
			    hawk_quantity_count(targets->count).text,
			    hawk_quantity_count(targets->all.objects).text);
	if (!targets->all.objects) {
		hawk_report_put_none(report, screen);
		return;
	}
	hawk_output_printf(screen->output, "  %s in all",
			   hawk_quantity_bytes(targets->all.bytes).text);
	if (targets->unreached.objects)
		hawk_output_printf(screen->output, "; no root leads to %s of them (%s)",
				   hawk_quantity_count(targets->unreached.objects).text,
				   hawk_quantity_bytes(targets->unreached.bytes).text);
	hawk_output_puts(screen->output, "\n");
}

struct hawk_error *hawk_report_paths(const struct hawk_pointer_report *report,
				     const struct hawk_paths *paths,
				     const struct hawk_path_targets *targets,
				     const struct hawk_screen *screen)
{
	struct hawk_error *err = NULL;

	if (report->filter)
		put_sums(report, targets, screen);
	for (size_t i = 0; i < targets->count && !err; i++) {
		hawk_output_puts(screen->output, i || report->filter ? "\n" : "");
		err = put_path(report, paths, targets, targets->blocks[i], screen);
	}
	if (!err && targets->all.objects > targets->count)
		hawk_output_printf(
			screen->output,
			"\n... %s more; hawk-core merge-paths merges the paths to all of them\n",
			hawk_quantity_count(targets->all.objects - targets->count).text);
	return err;
}
