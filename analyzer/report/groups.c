/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Functions, files or modules with their flat and cumulative sums, as text and as JSON.
 */
#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "hawk/names/function_name.h"
#include "json/objects.h"
#include "hawk/base/quantity.h"
#include "hawk/report/report.h"
#include "hawk/base/utf8.h"

enum { DEFAULT_TOP = 20, NUMBER_COLUMNS = 40 };

/** Every chosen site, folded; the groups in their order. */
static struct hawk_error *make_groups(const struct hawk_report *report, struct hawk_groups **ret,
				      const struct hawk_group **sorted, size_t *count)
{
	struct hawk_error *err =
		hawk_groups_of_sites(report->heap, report->symbols, report->list, report->by, ret);

	if (err)
		return err;
	err = hawk_groups_sorted(*ret, report->sort, report->by_cum, sorted, count);
	if (err)
		hawk_groups_destroy(*ret);
	return err;
}

/** A sum and its share of the whole heap. */
static void put_value(const struct hawk_report *report, const struct hawk_screen *screen,
		      const struct hawk_group_counts *counts)
{
	const struct hawk_heap *heap = report->heap;
	bool by_count = report->sort == HAWK_SITE_SORT_COUNT;
	bool total = report->sort == HAWK_SITE_SORT_TOTAL;
	uint64_t value = by_count ? counts->inuse_objects
			 : total  ? counts->alloc_bytes
				  : counts->inuse_bytes;
	uint64_t whole = by_count ? heap->sums.blocks
			 : total  ? heap->totals.alloc_bytes
				  : heap->sums.bytes;
	struct hawk_quantity text =
		by_count || screen->full ? hawk_quantity_count(value) : hawk_quantity_bytes(value);

	hawk_output_printf(screen->output, "%*s %8s ", screen->full ? 19 : 10, text.text,
			   hawk_quantity_share(value, whole).text);
}

/** What is left of the line: the name, shortened, and of functions the module if it fits. */
static void put_name(const struct hawk_report *report, const struct hawk_screen *screen,
		     const struct hawk_group *group)
{
	size_t width = screen->full ? SIZE_MAX : screen->width - NUMBER_COLUMNS;
	CLEANUP(text) struct hawk_text text = {0}, module = {0};

	if (group->module)
		hawk_utf8_append_safe(&module,
				      screen->full ? group->module : hawk_path_base(group->module));
	if (!group->name)
		hawk_text_puts(&text, module.size || !(report->heap->knows & HAWK_HEAP_STACKS)
					      ? "(unknown)"
					      : "(no stack, or no module)");
	else if (report->by == HAWK_GROUP_BY_FUNCTION)
		hawk_function_name_append(&text, group->name, width);
	else
		hawk_utf8_append_middle_cut(&text, group->name, width);
	hawk_output_append(screen->output, text.bytes, text.size);
	if (module.size && text.size && hawk_utf8_width(text.bytes) + 2 + module.size <= width)
		hawk_screen_faint(screen, "  %s", module.bytes);
	hawk_output_puts(screen->output, "\n");
}

static const char *by_name(enum hawk_group_by by)
{
	return by == HAWK_GROUP_BY_FUNCTION ? "function"
	       : by == HAWK_GROUP_BY_FILE   ? "file"
					    : "module";
}

/** Wrappers of allocators and standard libraries are nobody's answer to who owns the memory. */
static size_t count_shown(const struct hawk_screen *screen, const struct hawk_group *groups,
			  size_t count)
{
	size_t shown = 0;

	for (size_t i = 0; i < count; i++)
		shown += screen->full || groups[i].own;
	return shown;
}

static void put_groups(const struct hawk_report *report, const struct hawk_screen *screen,
		       const struct hawk_group *groups, size_t group_count)
{
	static const char *const what[] = {
		[HAWK_SITE_SORT_SIZE] = "Live bytes",
		[HAWK_SITE_SORT_COUNT] = "Live blocks",
		[HAWK_SITE_SORT_TOTAL] = "Bytes allocated since start",
	};
	size_t count = count_shown(screen, groups, group_count);
	size_t top = report->top ? report->top : screen->full ? count : DEFAULT_TOP;
	size_t end = top < count ? top : count;
	int width = screen->full ? 19 : 10;

	hawk_screen_heading(screen, "%s by %s%s (%s of %s)", what[report->sort],
			    by_name(report->by), report->by_cum ? " and what it called" : "",
			    hawk_quantity_count(end).text, hawk_quantity_count(count).text);
	if (!end) {
		hawk_output_puts(screen->output, "  none\n");
		return;
	}
	hawk_screen_faint(screen, "%*s %8s %*s %8s %s\n", width, "flat", "share", width, "cum",
			  "share", by_name(report->by));
	for (size_t i = 0, shown = 0; shown < end; i++) {
		if (!screen->full && !groups[i].own)
			continue;
		shown++;
		put_value(report, screen, &groups[i].flat);
		put_value(report, screen, &groups[i].cum);
		put_name(report, screen, &groups[i]);
	}
}

struct hawk_error *hawk_report_groups(const struct hawk_report *report,
				      const struct hawk_screen *screen)
{
	const struct hawk_group *sorted;
	struct hawk_groups *groups;
	size_t count;
	struct hawk_error *err = make_groups(report, &groups, &sorted, &count);

	if (err)
		return err;
	put_groups(report, screen, sorted, count);
	hawk_groups_destroy(groups);
	return NULL;
}

static void put_json_counts(const struct hawk_report *report, const char *key,
			    const struct hawk_group_counts *counts, struct hawk_json *json)
{
	hawk_json_put_object(json, key);
	hawk_json_put_counts(json, report->heap, counts);
	hawk_json_object_end(json);
}

struct hawk_error *hawk_report_json_groups(const struct hawk_report *report, struct hawk_json *json)
{
	const struct hawk_group *sorted;
	struct hawk_groups *groups;
	size_t count;
	struct hawk_error *err = make_groups(report, &groups, &sorted, &count);

	if (err)
		return err;
	if (report->limited && report->top < count)
		count = report->top;
	hawk_json_put_string(json, "by", by_name(report->by));
	hawk_json_put_array(json, "groups");
	for (size_t i = 0; i < count; i++) {
		hawk_json_object(json);
		hawk_json_put_string(json, "name", sorted[i].name);
		hawk_json_put_string(json, "module", sorted[i].module);
		put_json_counts(report, "flat", &sorted[i].flat, json);
		put_json_counts(report, "cum", &sorted[i].cum, json);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
	hawk_groups_destroy(groups);
	return NULL;
}
