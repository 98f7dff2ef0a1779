/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Functions, files or modules with their flat and cumulative sums.
 */
#include "hawk/base/cleanup.h"
#include "hawk/names/function_name.h"
#include "hawk/base/quantity.h"
#include "hawk/report/report.h"
#include "hawk/base/utf8.h"

enum { DEFAULT_TOP = 20, NUMBER_COLUMNS = 40 };

/** Puts a sum and its share of the whole heap. */
static void put_value(const struct hawk_report *report, const struct hawk_screen *screen,
		      const int64_t *values)
{
	const struct hawk_heap *heap = report->heap;
	uint32_t column = report->groups->column;
	bool by_count = report->sort == HAWK_SITE_SORT_COUNT;
	bool total = report->sort == HAWK_SITE_SORT_TOTAL;
	uint64_t value = column < report->profile->column_count ? (uint64_t)values[column] : 0;
	uint64_t whole = by_count ? heap->sums.blocks
			 : total  ? heap->totals.alloc_bytes
				  : heap->sums.bytes;
	struct hawk_quantity text =
		by_count || screen->full ? hawk_quantity_count(value) : hawk_quantity_bytes(value);

	hawk_output_printf(screen->output, "%*s %8s ", screen->full ? 19 : 10, text.text,
			   hawk_quantity_share(value, whole).text);
}

/** Fills the rest of the line: the name, shortened, and a function's module if it fits. */
static void put_name(const struct hawk_report *report, const struct hawk_screen *screen,
		     const struct hawk_profile_group *group)
{
	size_t width = screen->full ? SIZE_MAX : screen->width - NUMBER_COLUMNS;
	const char *name = hawk_profile_text(report->profile, group->name);
	const char *path = hawk_profile_text(report->profile, group->module);
	CLEANUP(text) struct hawk_text text = {0}, module = {0};

	hawk_utf8_append_safe(&module, screen->full ? path : hawk_path_base(path));
	if (!group->name)
		hawk_text_puts(&text, "(unknown)");
	else if (report->groups->by == HAWK_PROFILE_BY_FUNCTION)
		hawk_function_name_append(&text, name, width);
	else
		hawk_utf8_append_middle_cut(&text, name, width);
	hawk_output_append(screen->output, text.bytes, text.size);
	if (module.size && text.size && hawk_utf8_width(text.bytes) + 2 + module.size <= width)
		hawk_screen_faint(screen, "  %s", module.bytes);
	hawk_output_puts(screen->output, "\n");
}

void hawk_report_groups(const struct hawk_report *report, const struct hawk_screen *screen)
{
	static const char *const what[] = {
		[HAWK_SITE_SORT_SIZE] = "Live bytes",
		[HAWK_SITE_SORT_COUNT] = "Live blocks",
		[HAWK_SITE_SORT_TOTAL] = "Bytes allocated since start",
	};
	const struct hawk_profile_groups *groups = report->groups;
	const char *by = hawk_profile_by_name(groups->by);
	size_t top = report->top ? report->top : screen->full ? groups->count : DEFAULT_TOP;
	size_t end = top < groups->count ? top : groups->count;
	int width = screen->full ? 19 : 10;

	hawk_screen_heading(screen, "%s by %s%s (%s of %s)", what[report->sort], by,
			    groups->by_cum ? " and what it called" : "",
			    hawk_quantity_count(end).text, hawk_quantity_count(groups->count).text);
	if (!end) {
		hawk_output_puts(screen->output, "  none\n");
		return;
	}
	hawk_screen_faint(screen, "%*s %8s %*s %8s %s\n", width, "flat", "share", width, "cum",
			  "share", by);
	for (size_t i = 0; i < end; i++) {
		put_value(report, screen, groups->items[i].flat);
		put_value(report, screen, groups->items[i].cum);
		put_name(report, screen, &groups->items[i]);
	}
}
