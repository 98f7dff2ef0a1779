/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The sites with the most memory, in text.
 */
#include <stdio.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/quantity.h"
#include "hawk/report/report.h"
#include "site_stacks.h"

enum {
	DEFAULT_TOP = 3,
	DEFAULT_TOP_SORTED = 10,
	DEFAULT_DEPTH = 3,
	DEFAULT_DEPTH_SORTED = 4,
	INDENT = 6,
};

/** The contents of a list. */
struct list_plan {
	enum hawk_site_sort sort;
	size_t top;
	size_t depth;           /**< 0 = all lines */
	const uint32_t *before; /**< sites that another list has shown: left out */
	size_t shown_before;    /**< number of these */
};

enum { FULL_TOTAL_WIDTH = 15 };

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/** Prints allocations since the start: their average size, and the share that is temporary (no
 * longer live). */
static void put_total_row(const struct hawk_report *report, const struct hawk_screen *screen,
			  size_t number, const struct hawk_site *site)
{
	uint64_t objects = site->alloc_objects;
	struct hawk_quantity size = screen->full ? hawk_quantity_count(site->alloc_bytes)
						 : hawk_quantity_bytes(site->alloc_bytes);

	hawk_output_printf(
		screen->output, "%4zu %*s %8s %12s %9s %9s  %016llx", number,
		screen->full ? FULL_TOTAL_WIDTH : 10, size.text,
		hawk_quantity_share(site->alloc_bytes, report->heap->totals.alloc_bytes).text,
		hawk_quantity_count(objects).text,
		objects ? hawk_quantity_bytes(site->alloc_bytes / objects).text : "-",
		hawk_quantity_share(minus(objects, site->inuse_objects), objects).text,
		(unsigned long long)site->id);
}

static const char *oldest_text(const struct hawk_report *report, const struct hawk_site *site,
			       struct hawk_quantity *text)
{
	if (!(hawk_heap_knows_of(report->heap, site->trace) & HAWK_HEAP_AGES))
		return "-";
	if (!site->inuse_objects)
		return site->sample.estimated ? "none sampled" : "all freed";
	*text = hawk_quantity_seconds(hawk_heap_age_seconds(report->heap, site->oldest_units));
	return text->text;
}

static void put_row(const struct hawk_report *report, const struct hawk_screen *screen,
		    const struct list_plan *plan, size_t number, const struct hawk_site *site)
{
	bool by_count = plan->sort == HAWK_SITE_SORT_COUNT;
	uint64_t whole = by_count ? report->heap->sums.blocks : report->heap->sums.bytes;
	struct hawk_quantity size = screen->full ? hawk_quantity_count(site->inuse_bytes)
						 : hawk_quantity_bytes(site->inuse_bytes);
	struct hawk_quantity age;

	if (plan->sort == HAWK_SITE_SORT_TOTAL) {
		put_total_row(report, screen, number, site);
		return;
	}
	hawk_output_printf(
		screen->output, "%4zu %*s %8s %12s  ", number, screen->full ? 18 : 10, size.text,
		hawk_quantity_share(by_count ? site->inuse_objects : site->inuse_bytes, whole).text,
		hawk_quantity_count(site->inuse_objects).text);
	if (report->heap->knows & HAWK_HEAP_AGES)
		hawk_output_printf(screen->output, "%-14s ", oldest_text(report, site, &age));
	hawk_output_printf(screen->output, "%016llx", (unsigned long long)site->id);
}

static void put_heads(const struct hawk_screen *screen, const struct hawk_heap *heap,
		      enum hawk_site_sort sort)
{
	const char *word = hawk_report_group_word(heap, 1);

	if (sort == HAWK_SITE_SORT_TOTAL)
		hawk_screen_faint(screen, "   # %*s %8s %12s %9s %9s  %s\n",
				  screen->full ? FULL_TOTAL_WIDTH : 10, "allocated", "share",
				  "blocks", "average", "temporary", word);
	else
		hawk_screen_faint(screen, "   # %*s %8s %12s  %s%s\n", screen->full ? 18 : 10,
				  "size", "share", "blocks",
				  heap->knows & HAWK_HEAP_AGES ? "oldest         " : "", word);
}

/** Prints the error behind a row of estimates. */
static void put_error(const struct hawk_screen *screen, const struct list_plan *plan,
		      const struct hawk_site_sample *sample)
{
	bool total = plan->sort == HAWK_SITE_SORT_TOTAL;
	uint64_t error = plan->sort == HAWK_SITE_SORT_COUNT ? sample->inuse_objects_error
			 : total                            ? sample->alloc_bytes_error
							    : sample->inuse_bytes_error;
	uint64_t sampled = total ? sample->alloc_objects : sample->inuse_objects;

	hawk_output_puts(screen->output, "\n");
	hawk_output_fill(screen->output, ' ', INDENT);
	hawk_output_printf(screen->output, "estimate +- %s, from %s sampled %s",
			   plan->sort == HAWK_SITE_SORT_COUNT ? hawk_quantity_count(error).text
							      : hawk_quantity_bytes(error).text,
			   hawk_quantity_count(sampled).text, sampled == 1 ? "block" : "blocks");
}

static bool was_shown(const struct list_plan *plan, uint32_t site)
{
	for (size_t i = 0; i < plan->shown_before; i++)
		if (plan->before[i] == site)
			return true;
	return false;
}

static void put_list(const struct hawk_report *report, const struct hawk_screen *screen,
		     const struct list_plan *plan, const uint32_t *sites, size_t end)
{
	CLEANUP(site_stacks)
	struct hawk_site_stacks stacks =
		hawk_site_stacks_on(screen, report->symbols, report->heap, plan->depth);

	for (size_t i = 0; i < end; i++)
		hawk_site_stacks_add(&stacks, sites[i]);
	hawk_site_stacks_compare(&stacks);
	put_heads(screen, report->heap, plan->sort);
	for (size_t i = 0; i < end; i++) {
		const struct hawk_site *site = &report->heap->sites[sites[i]];

		put_row(report, screen, plan, i + 1, site);
		if (site->sample.estimated)
			put_error(screen, plan, &site->sample);
		hawk_output_puts(screen->output, "\n");
		hawk_site_stacks_put(&stacks, sites[i]);
	}
}

/** " that match: 4.2 MiB" */
static struct hawk_quantity matching_text(const struct hawk_report *report)
{
	struct hawk_quantity text;

	snprintf(text.text, sizeof(text.text), " that match: %.16s",
		 hawk_quantity_bytes(report->list->inuse_bytes).text);
	return text;
}

/** Prints a list; nothing if all of its sites were shown before. */
static struct hawk_error *put_section(const struct hawk_report *report,
				      const struct hawk_screen *screen,
				      const struct list_plan *plan)
{
	static const char *const titles[] = {
		[HAWK_SITE_SORT_SIZE] = "live bytes",
		[HAWK_SITE_SORT_COUNT] = "live blocks",
		[HAWK_SITE_SORT_TOTAL] = "bytes allocated since start",
	};
	CLEANUP(free_ptr) uint32_t *sites = calloc(report->list->count + 1, sizeof(*sites));
	size_t all, end, count = 0;

	if (!sites)
		return &hawk_enomem;
	hawk_site_list_sort(report->list, report->heap, plan->sort);
	all = hawk_site_list_nonzero(report->list, report->heap, plan->sort);
	for (size_t i = 0; i < all; i++)
		if (!was_shown(plan, report->list->sites[i]))
			sites[count++] = report->list->sites[i];
	if (plan->before && !count)
		return NULL;
	end = plan->top && plan->top < count ? plan->top : count;
	hawk_screen_heading(screen, "%s %s by %s (%s of %s%s)", plan->before ? "Next" : "Top",
			    hawk_report_group_word(report->heap, 0), titles[plan->sort],
			    hawk_quantity_count(end).text, hawk_quantity_count(count).text,
			    report->filtered ? matching_text(report).text : "");
	if (end)
		put_list(report, screen, plan, sites, end);
	else
		hawk_output_puts(screen->output, "  none\n");
	return NULL;
}

/** Prints sites by size with stacks, then others by count. */
static struct hawk_error *put_both_sections(const struct hawk_report *report,
					    const struct hawk_screen *screen)
{
	size_t top = report->top ? report->top : DEFAULT_TOP;
	size_t shown = top < report->list->count ? top : report->list->count;
	struct list_plan plan = {
		.sort = HAWK_SITE_SORT_SIZE,
		.top = top,
		.depth = report->depth ? report->depth : DEFAULT_DEPTH,
	};
	CLEANUP(free_ptr) uint32_t *before = calloc(shown + 1, sizeof(*before));
	struct hawk_error *err;

	if (!before)
		return &hawk_enomem;
	err = put_section(report, screen, &plan);
	if (err)
		return err;
	memcpy(before, report->list->sites, shown * sizeof(*before));
	plan.sort = HAWK_SITE_SORT_COUNT;
	plan.before = before;
	plan.shown_before = shown;
	plan.depth = report->depth ? report->depth : 1;
	return put_section(report, screen, &plan);
}

struct hawk_error *hawk_report_sites(const struct hawk_report *report,
				     const struct hawk_screen *screen)
{
	struct list_plan plan = {.sort = report->sort, .top = report->top, .depth = report->depth};

	if (!report->sorted && !screen->full)
		return put_both_sections(report, screen);
	if (!screen->full) {
		plan.top = plan.top ? plan.top : DEFAULT_TOP_SORTED;
		plan.depth = plan.depth ? plan.depth : DEFAULT_DEPTH_SORTED;
	}
	return put_section(report, screen, &plan);
}
