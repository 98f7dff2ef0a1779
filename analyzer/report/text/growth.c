/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Sites by live bytes, each with verdict, the bar of its births, and the reasons.
 */
#include "hawk/report/growth.h"

#include <inttypes.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/quantity.h"
#include "site_stacks.h"

enum { DEFAULT_TOP = 10, DEFAULT_DEPTH = 1, INDENT = 6 };

/** 0 .. 1 as "none", "47.6 %", "all" */
static struct hawk_quantity percent(double share)
{
	const double whole = 1e9;

	if (share <= 0)
		return (struct hawk_quantity){{"none"}};
	if (share >= 1)
		return (struct hawk_quantity){{"all"}};
	if (share > 0.9995)
		return (struct hawk_quantity){{">99.9 %"}};
	return hawk_quantity_share((uint64_t)(share * whole), (uint64_t)whole);
}

static struct hawk_quantity time_at(const struct hawk_growth *growth, double share)
{
	if (share <= 0)
		return (struct hawk_quantity){{"0 s"}};
	return hawk_quantity_seconds(share * growth->life_seconds);
}

static void append_window(struct hawk_text *text, const struct hawk_growth *growth)
{
	hawk_text_printf(text, "%s of the blocks were made between %s and %s of its life",
			 percent(growth->share).text, time_at(growth, growth->window_start).text,
			 time_at(growth, growth->window_end).text);
}

static void append_few(struct hawk_text *text, const struct hawk_growth_facts *facts)
{
	hawk_text_printf(text, "only %s block%s %s known", hawk_quantity_count(facts->objects).text,
			 facts->objects == 1 ? "" : "s", facts->objects == 1 ? "is" : "are");
}

/** "none of 40,319 was freed in 22 s" */
static void append_freed(struct hawk_text *text, const struct hawk_growth *growth,
			 const struct hawk_growth_facts *facts)
{
	hawk_text_printf(text, "%s of %s was freed in %s", percent(growth->freed).text,
			 hawk_quantity_count(facts->alloc_objects).text,
			 hawk_quantity_seconds(growth->life_seconds).text);
}

static void append_no_pattern(struct hawk_text *text, const struct hawk_growth *growth,
			      const struct hawk_growth_facts *facts)
{
	if (growth->freed_known) {
		append_freed(text, growth, facts);
		hawk_text_puts(text, ", and the ages of the others fit no pattern");
	} else {
		hawk_text_puts(text, "the ages of its blocks fit no pattern");
	}
}

/** Appends reasons that are patterns in time. */
static void append_pattern(struct hawk_text *text, const struct hawk_growth *growth,
			   enum hawk_growth_reason reason)
{
	if (reason == HAWK_REASON_AT_START)
		hawk_text_printf(text, "%s of the blocks are from the first %s of its life",
				 percent(growth->share).text,
				 time_at(growth, growth->window_end).text);
	else if (reason == HAWK_REASON_YOUNG)
		hawk_text_printf(text, "%s of the blocks are from the last %s",
				 percent(growth->share).text,
				 time_at(growth, 1 - growth->window_start).text);
	else if (reason == HAWK_REASON_SINCE)
		hawk_text_printf(text, "blocks survive from every part of the last %s",
				 time_at(growth, 1 - growth->window_start).text);
	else if (reason == HAWK_REASON_SLOWS)
		hawk_text_printf(text,
				 "births slow down, as in a cache that fills: %s of the blocks are "
				 "from the first quarter of its life, %s from the last",
				 percent(growth->share).text, percent(growth->last_share).text);
	else if (reason == HAWK_REASON_OLD_GONE)
		hawk_text_printf(text,
				 "%s of the blocks are from the younger half of its life, as in a "
				 "full cache or a queue that grows",
				 percent(growth->share).text);
	else
		append_window(text, growth);
}

void hawk_growth_append_reason(struct hawk_text *text, const struct hawk_growth *growth,
			       const struct hawk_growth_facts *facts,
			       enum hawk_growth_reason reason)
{
	switch (reason) {
	case HAWK_REASON_YOUNG_PROCESS:
		hawk_text_printf(text, "its life of %s is too short to tell",
				 hawk_quantity_seconds(growth->life_seconds).text);
		return;
	case HAWK_REASON_NO_AGES:
		hawk_text_puts(text, "ages of blocks need the tracer");
		return;
	case HAWK_REASON_FEW_BLOCKS:
		append_few(text, facts);
		return;
	case HAWK_REASON_NO_PATTERN:
		append_no_pattern(text, growth, facts);
		return;
	case HAWK_REASON_NONE_FREED:
		append_freed(text, growth, facts);
		return;
	case HAWK_REASON_EVERY_PART:
		hawk_text_puts(text, "blocks survive from every part of its life");
		return;
	case HAWK_REASON_STILL_GOING:
		hawk_text_puts(text, "it may go on: perhaps the beginning of a leak");
		return;
	case HAWK_REASON_FREED:
		hawk_text_printf(text, "%s of what it allocated was freed",
				 percent(growth->freed).text);
		return;
	case HAWK_REASON_RATE:
		hawk_text_printf(text, "it grows by %s per hour",
				 hawk_quantity_bytes((uint64_t)growth->bytes_per_hour).text);
		return;
	case HAWK_REASON_LOST:
		hawk_text_printf(text, "%s of it is lost: no root leads there",
				 percent(growth->lost).text);
		return;
	case HAWK_REASON_HELD:
		hawk_text_puts(text, "something holds it: a container without a limit?");
		return;
	case HAWK_REASON_BESIDE:
		hawk_text_printf(text, "besides, %s blocks survive from all of the later parts",
				 hawk_quantity_count(growth->beside_objects).text);
		return;
	case HAWK_REASON_SAMPLED:
		hawk_text_puts(text, "stacks were sampled, so that counts are estimates");
		return;
	case HAWK_REASON_NO_COUNTERS:
		hawk_text_puts(text, "how many were freed is not known");
		if (facts->alloc_objects && facts->missing_objects)
			hawk_text_puts(text, ", because blocks are missing");
		return;
	case HAWK_REASON_NO_RATE:
		hawk_text_printf(text, "its life of %s is too short for a rate",
				 hawk_quantity_seconds(growth->life_seconds).text);
		return;
	case HAWK_REASON_NONE:
		return;
	default:
		append_pattern(text, growth, reason);
	}
}

void hawk_growth_append_reasons(struct hawk_text *text, const struct hawk_growth *growth,
				const struct hawk_growth_facts *facts)
{
	for (unsigned i = 0; i < growth->reason_count; i++) {
		if (i)
			hawk_text_puts(text, "; ");
		hawk_growth_append_reason(text, growth, facts, growth->reasons[i]);
	}
}

void hawk_growth_append_verdict(struct hawk_text *text, const struct hawk_growth *growth)
{
	hawk_text_puts(text, hawk_growth_verdict_name(growth->verdict));
	if (hawk_growth_is_judged(growth))
		hawk_text_printf(text, " (%s confidence)",
				 hawk_growth_confidence_name(growth->confidence));
}

void hawk_growth_bar(const struct hawk_growth_facts *facts, char bar[HAWK_AGE_BINS + 1])
{
	static const char levels[] = " .:-=+*#", too_short[] = "(too short)";
	const unsigned top = sizeof(levels) - 2;
	uint64_t most = 0;

	memset(bar, ' ', HAWK_AGE_BINS);
	bar[HAWK_AGE_BINS] = '\0';
	if (facts->life_seconds < 1) { // parts would be shorter than the unit of births
		memcpy(bar + 3, too_short, sizeof(too_short) - 1);
		return;
	}
	for (unsigned i = 0; i < HAWK_AGE_BINS; i++)
		if (facts->born_objects[i] > most)
			most = facts->born_objects[i];
	for (unsigned i = 0; most && i < HAWK_AGE_BINS; i++) {
		double height = (double)facts->born_objects[i] / (double)most * top;
		unsigned level = (unsigned)(height + 0.5);

		if (!level && facts->born_objects[i])
			level = 1;
		bar[i] = levels[level];
	}
}

/** Appends the end of the process's life if it is later than the last allocations. */
static void append_life(const struct hawk_growth_report *report, struct hawk_text *text)
{
	static const char *const sources[] = {
		[HAWK_LIFE_CLOCK] = "",
		[HAWK_LIFE_NOW] = ".",
		[HAWK_LIFE_ATTRIBUTE] = ": systemd-coredump noted the time of its death.",
		[HAWK_LIFE_NAME] = ": the time of its death is in the core's name.",
	};
	const struct hawk_life *life = &report->pointers->heap->life;
	double clock = hawk_life_seconds(life->clock_units);
	double most = hawk_life_seconds(life->latest_units ? life->latest_units : life->end_units);

	if (!hawk_life_may_have_idled(life))
		return;
	hawk_text_printf(text, "It allocated last %s after its start",
			 hawk_quantity_seconds(clock).text);
	if (life->end != HAWK_LIFE_CLOCK)
		hawk_text_printf(text, ", and idled for %s%s",
				 hawk_quantity_seconds(most - clock).text, sources[life->end]);
	else
		hawk_text_printf(text,
				 ". When it died is not known. The core's file is %s younger, but "
				 "copying a core changes its time, so verdicts ignore it.",
				 hawk_quantity_seconds(most - clock).text);
}

static void put_life(const struct hawk_growth_report *report, const struct hawk_screen *screen)
{
	CLEANUP(text) struct hawk_text text = {0};

	append_life(report, &text);
	if (!text.bytes)
		return;
	hawk_screen_paragraph(screen, text.bytes, 2, 2);
	hawk_output_puts(screen->output, "\n");
}

/** Returns a word short enough for 80 columns. */
static const char *column_word(enum hawk_growth_verdict verdict)
{
	return verdict == HAWK_GROWTH_CACHE ? "cache or queue" : hawk_growth_verdict_name(verdict);
}

static void put_site(const struct hawk_growth_report *report, const struct hawk_screen *screen,
		     struct hawk_site_stacks *stacks, uint32_t index)
{
	const struct hawk_graph *graph = report->pointers->graph;
	struct hawk_growth_facts facts =
		hawk_site_ages_facts(graph, index, &report->ages[index], report->filtered);
	struct hawk_growth growth = hawk_growth_judge(&facts);
	CLEANUP(text) struct hawk_text text = {0};
	char bar[HAWK_AGE_BINS + 1];

	hawk_growth_bar(&facts, bar);
	hawk_output_printf(screen->output, "%10s %12s  %016" PRIx64 "  [%s]  ",
			   hawk_quantity_bytes(facts.inuse_bytes).text,
			   hawk_quantity_count(facts.inuse_objects).text,
			   graph->heap->sites[index].id, bar);
	if (growth.verdict == HAWK_GROWTH_LEAK)
		hawk_screen_style(screen, HAWK_STYLE_ALERT);
	hawk_output_puts(screen->output, column_word(growth.verdict));
	hawk_screen_plain(screen);
	hawk_output_puts(screen->output, "\n");
	hawk_site_stacks_put(stacks, index);
	hawk_growth_append_reasons(&text, &growth, &facts);
	if (hawk_growth_is_judged(&growth))
		hawk_text_printf(&text, "; %s confidence",
				 hawk_growth_confidence_name(growth.confidence));
	if (report->retained &&
	    hawk_quantity_more_bytes(report->retained[index], facts.inuse_bytes))
		hawk_text_printf(&text, "; retains at least %s",
				 hawk_quantity_bytes(report->retained[index]).text);
	hawk_screen_paragraph(screen, hawk_text_string(&text), INDENT, INDENT);
}

void hawk_report_growth(const struct hawk_growth_report *report, const struct hawk_screen *screen)
{
	const struct hawk_pointer_report *pointers = report->pointers;
	const struct hawk_heap *heap = pointers->heap;
	size_t count = report->list->count;
	size_t end = hawk_report_limit(pointers, DEFAULT_TOP, count, screen->full);
	const uint32_t *sites = report->list->sites;
	CLEANUP(site_stacks)
	struct hawk_site_stacks stacks =
		hawk_site_stacks_on(screen, pointers->symbols, heap,
				    hawk_report_depth(pointers, DEFAULT_DEPTH, screen->full));

	if (!heap->knows) {
		hawk_report_put_unknown(pointers->heap, screen, "Growth", "see which sites grow");
		return;
	}
	if (!(heap->knows & HAWK_HEAP_AGES)) {
		hawk_screen_heading(screen, "Growth: unknown, ages of blocks need the tracer: "
					    "hawk-core run -- PROGRAM");
		return;
	}
	hawk_screen_heading(screen, "Growth of sites in %s (%s of %s)",
			    hawk_quantity_seconds(hawk_site_ages_life_seconds(heap)).text,
			    hawk_quantity_count(end).text, hawk_quantity_count(count).text);
	put_life(report, screen);
	if (!count) {
		hawk_report_put_none(pointers, screen);
		return;
	}
	hawk_screen_faint(screen, "%10s %12s  %-16s  %-18s  %s\n", "size", "blocks", "site",
			  "born  then ... now", "verdict");
	for (size_t i = 0; i < end; i++)
		hawk_site_stacks_add(&stacks, sites[i]);
	hawk_site_stacks_compare(&stacks);
	for (size_t i = 0; i < end; i++)
		put_site(report, screen, &stacks, sites[i]);
}
