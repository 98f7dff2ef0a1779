/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The program's named scopes with their sums.
 */

#include "hawk/base/cleanup.h"
#include "hawk/base/quantity.h"
#include "hawk/report/report.h"
#include "hawk/analysis/scope_groups.h"
#include "hawk/base/utf8.h"

enum { DEFAULT_TOP = 20, NUMBER_COLUMNS = 56 };

static struct hawk_quantity size_text(const struct hawk_screen *screen, uint64_t bytes)
{
	return screen->full ? hawk_quantity_count(bytes) : hawk_quantity_bytes(bytes);
}

/** Prints one line: 56 columns of numbers, and as much of the path's end as fits. */
static void put_group(const struct hawk_report *report, const struct hawk_screen *screen,
		      const struct hawk_scope_group *group)
{
	size_t width = screen->full ? SIZE_MAX : screen->width - NUMBER_COLUMNS;
	CLEANUP(text) struct hawk_text path = {0}, safe = {0};

	hawk_scope_append_path(&path, report->heap->table, group->label);
	if (!group->label)
		hawk_text_puts(&safe, "(outside of scopes)");
	else
		hawk_utf8_append_middle_cut(&safe, hawk_text_string(&path), width);
	hawk_output_printf(screen->output, "%9s %8s %10s %7s %10s %7s ",
			   group->label ? hawk_quantity_count(group->entries).text : "-",
			   group->label ? hawk_quantity_nanoseconds(group->total_ns).text : "-",
			   size_text(screen, group->alloc_bytes).text,
			   hawk_quantity_count(group->alloc_objects).text,
			   size_text(screen, group->inuse_bytes).text,
			   hawk_quantity_count(group->inuse_objects).text);
	hawk_screen_line(screen, &safe);
}

struct hawk_error *hawk_report_scopes(const struct hawk_report *report,
				      const struct hawk_screen *screen)
{
	CLEANUP(free_ptr) struct hawk_scope_group *groups = NULL;
	size_t count, end;
	struct hawk_error *err =
		hawk_scope_groups_make(report->heap, report->list->sites, report->list->count,
				       report->sort, &groups, &count);

	if (err)
		return err;
	end = report->top ? report->top : screen->full ? count : DEFAULT_TOP;
	end = end < count ? end : count;
	if (count == 1) {
		hawk_screen_heading(screen, "Scopes");
		hawk_output_puts(screen->output,
				 "  none: no HAWK_SCOPE was entered, or none was recorded\n");
		return NULL;
	}
	hawk_screen_heading(screen, "Scopes (%s of %s), each with the scopes inside it",
			    hawk_quantity_count(end).text, hawk_quantity_count(count).text);
	hawk_screen_faint(screen, "%9s %8s %10s %7s %10s %7s %s\n", "entries", "time", "allocated",
			  "blocks", "held", "blocks", "scope");
	for (size_t i = 0; i < end; i++)
		put_group(report, screen, &groups[i]);
	return NULL;
}
