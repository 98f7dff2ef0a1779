/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Sites by live bytes, each with verdict, the bar of its births, and the reasons.
 */
#include "hawk_report_growth.h"

#include <inttypes.h>

#include "hawk_cleanup.h"
#include "hawk_growth_text.h"
#include "hawk_quantity.h"
#include "hawk_site_stack.h"

enum { DEFAULT_TOP = 10, DEFAULT_DEPTH = 1, INDENT = 6 };

/** Keeps sites with blocks, and with the verdict that was asked for; the largest first. */
static size_t choose(const struct hawk_growth_report *report)
{
	const struct hawk_block_graph *graph = report->pointers->graph;
	struct hawk_site_list *list = report->list;
	size_t kept = 0;

	hawk_site_list_sort(list, graph->heap, HAWK_SITE_SORT_SIZE);
	for (size_t i = 0; i < list->count; i++) {
		const struct hawk_site_ages *ages = &report->ages[list->sites[i]];
		struct hawk_growth_facts facts =
			hawk_site_ages_facts(graph, list->sites[i], ages, report->filtered);

		if (ages->objects &&
		    (!report->only || hawk_growth_judge(&facts).verdict == report->only))
			list->sites[kept++] = list->sites[i];
	}
	list->count = kept;
	return kept;
}

/** What is known of the end of its life, where it is not that of the last allocations. */
static void append_life(const struct hawk_growth_report *report, struct hawk_text *text)
{
	static const char *const sources[] = {
		[HAWK_LIFE_CLOCK] = "",
		[HAWK_LIFE_NOW] = ".",
		[HAWK_LIFE_ATTRIBUTE] = ": systemd-coredump noted the time of its death.",
		[HAWK_LIFE_NAME] = ": the time of its death is in the core's name.",
	};
	const struct hawk_life *life = &report->pointers->graph->heap->life;
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
	hawk_output_puts(screen->output, "  ");
	hawk_screen_wrapped(screen, text.bytes, 2, 2);
	hawk_output_puts(screen->output, "\n");
}

/** Short enough for 80 columns. */
static const char *column_word(enum hawk_growth_verdict verdict)
{
	return verdict == HAWK_GROWTH_CACHE ? "cache or queue" : hawk_growth_verdict_name(verdict);
}

static struct hawk_error *put_site(const struct hawk_growth_report *report,
				   const struct hawk_screen *screen,
				   struct hawk_site_stacks *stacks, uint32_t index)
{
	const struct hawk_block_graph *graph = report->pointers->graph;
	struct hawk_growth_facts facts =
		hawk_site_ages_facts(graph, index, &report->ages[index], report->filtered);
	struct hawk_growth growth = hawk_growth_judge(&facts);
	CLEANUP(text) struct hawk_text verdict = {0}, text = {0};
	char bar[HAWK_AGE_BINS + 1];
	struct hawk_error *err;

	hawk_growth_bar(&facts, bar);
	hawk_growth_append_verdict(&verdict, &growth);
	hawk_output_printf(screen->output, "%10s %12s  %016" PRIx64 "  [%s]  ",
			   hawk_quantity_bytes(facts.inuse_bytes).text,
			   hawk_quantity_count(facts.inuse_objects).text,
			   graph->heap->sites[index].id, bar);
	if (growth.verdict == HAWK_GROWTH_LEAK)
		hawk_screen_style(screen, HAWK_STYLE_ALERT);
	hawk_output_puts(screen->output, column_word(growth.verdict));
	hawk_screen_plain(screen);
	hawk_output_puts(screen->output, "\n");
	err = hawk_site_stacks_put(stacks, index);
	if (err)
		return err;
	hawk_growth_append_reasons(&text, &growth, &facts);
	if (growth.verdict != HAWK_GROWTH_UNCLEAR)
		hawk_text_printf(&text, "; %s confidence",
				 hawk_growth_confidence_name(growth.confidence));
	if (report->retained &&
	    hawk_quantity_more_bytes(report->retained[index].all_pointers, facts.inuse_bytes))
		hawk_text_printf(&text, "; retains at least %s",
				 hawk_quantity_bytes(report->retained[index].all_pointers).text);
	hawk_output_puts(screen->output, "      ");
	hawk_screen_wrapped(screen, text.bytes ? text.bytes : "", INDENT, INDENT);
	return NULL;
}

struct hawk_error *hawk_report_growth(const struct hawk_growth_report *report,
				      const struct hawk_screen *screen)
{
	const struct hawk_pointer_report *pointers = report->pointers;
	size_t count = choose(report);
	size_t most = pointers->top ? pointers->top : screen->full ? count : DEFAULT_TOP;
	size_t end = most < count ? most : count;
	CLEANUP(site_stacks) struct hawk_site_stacks *stacks = NULL;
	struct hawk_error *err;

	if (!pointers->graph->heap->table) {
		hawk_report_put_unknown(pointers->graph->heap->target, screen, "Growth",
					"see which sites grow");
		return NULL;
	}
	hawk_screen_heading(
		screen, "Growth of sites in %s (%s of %s)",
		hawk_quantity_seconds(hawk_site_ages_life_seconds(pointers->graph->heap)).text,
		hawk_quantity_count(end).text, hawk_quantity_count(count).text);
	put_life(report, screen);
	if (!count) {
		hawk_report_put_none(pointers, screen);
		return NULL;
	}
	hawk_screen_style(screen, HAWK_STYLE_FAINT);
	hawk_output_printf(screen->output, "%10s %12s  %-16s  %-18s  %s\n", "size", "blocks",
			   "site", "born  then ... now", "verdict");
	hawk_screen_plain(screen);
	err = hawk_site_stacks_create(screen, pointers->symbols, pointers->graph->heap,
				      report->list->sites, end,
				      screen->full      ? 0
				      : pointers->depth ? pointers->depth
							: DEFAULT_DEPTH,
				      &stacks);
	for (size_t i = 0; i < end && !err; i++)
		err = put_site(report, screen, stacks, report->list->sites[i]);
	return err;
}

/** Sums are rounded and not the parts, so that these add up to all blocks. */
static void put_bins(struct hawk_json *json, const char *key, const uint64_t *bins)
{
	uint64_t sum = HAWK_AGE_ONE / 2;
	uint64_t put = 0;

	hawk_json_key(json, key);
	hawk_json_array(json);
	for (unsigned i = 0; i < HAWK_AGE_BINS; i++) {
		sum += bins[i];
		hawk_json_integer(json, sum / HAWK_AGE_ONE - put);
		put = sum / HAWK_AGE_ONE;
	}
	hawk_json_array_end(json);
}

void hawk_report_json_reach(const struct hawk_growth_facts *facts, struct hawk_json *json)
{
	static const char *const names[HAWK_REACH_KINDS] = {
		[HAWK_REACH_REACHABLE] = "still_reachable",
		[HAWK_REACH_POSSIBLY] = "possibly_lost",
		[HAWK_REACH_DEFINITELY_LOST] = "definitely_lost",
		[HAWK_REACH_INDIRECTLY_LOST] = "indirectly_lost",
	};

	hawk_json_key(json, "reach_bytes");
	if (!facts->reach_known) {
		hawk_json_null(json);
		return;
	}
	hawk_json_object(json);
	for (unsigned kind = 1; kind < HAWK_REACH_KINDS; kind++)
		hawk_json_put_integer(json, names[kind], facts->reach_bytes[kind]);
	hawk_json_object_end(json);
}

void hawk_report_json_retained(const struct hawk_site_retained *retained, bool exact,
			       struct hawk_json *json)
{
	hawk_json_key(json, "retained_bytes");
	if (!retained) {
		hawk_json_null(json);
		return;
	}
	hawk_json_object(json);
	hawk_json_put_integer(json, "all_pointers", retained->all_pointers);
	hawk_json_put_integer(json, "start_pointers", retained->start_pointers);
	hawk_json_put_boolean(json, "exact", exact);
	hawk_json_object_end(json);
}

void hawk_report_json_growth(const struct hawk_growth *growth,
			     const struct hawk_growth_facts *facts, struct hawk_json *json)
{
	hawk_json_put_string(json, "verdict", hawk_growth_verdict_name(growth->verdict));
	hawk_json_put_string(json, "confidence", hawk_growth_confidence_name(growth->confidence));
	hawk_json_key(json, "reasons");
	hawk_json_array(json);
	for (unsigned i = 0; i < growth->reason_count; i++) {
		CLEANUP(text) struct hawk_text text = {0};

		hawk_growth_append_reason(&text, growth, facts, growth->reasons[i]);
		hawk_json_string(json, text.bytes ? text.bytes : "");
	}
	hawk_json_array_end(json);
	hawk_json_key(json, "bytes_per_hour");
	if (growth->is_rate_known)
		hawk_json_integer(json, (uint64_t)growth->bytes_per_hour);
	else
		hawk_json_null(json);
}

static struct hawk_error *put_json_site(const struct hawk_growth_report *report, uint32_t index,
					struct hawk_json *json)
{
	struct hawk_growth_facts facts = hawk_site_ages_facts(
		report->pointers->graph, index, &report->ages[index], report->filtered);
	struct hawk_growth growth = hawk_growth_judge(&facts);
	struct hawk_error *err;
	char id[17];

	hawk_report_site_id(report->pointers->graph, index, id);
	hawk_json_object(json);
	hawk_json_put_string(json, "site", id);
	hawk_json_put_integer(json, "inuse_objects", facts.inuse_objects);
	hawk_json_put_integer(json, "inuse_bytes", facts.inuse_bytes);
	hawk_json_key(json, "alloc_objects");
	if (facts.alloc_objects)
		hawk_json_integer(json, facts.alloc_objects);
	else
		hawk_json_null(json);
	hawk_report_json_growth(&growth, &facts, json);
	put_bins(json, "born_objects", facts.born_objects);
	put_bins(json, "born_bytes", facts.born_bytes);
	hawk_report_json_reach(&facts, json);
	hawk_report_json_retained(report->retained ? &report->retained[index] : NULL, false, json);
	err = hawk_report_json_site_frames(report->pointers, index, json);
	hawk_json_object_end(json);
	return err;
}

static void put_json_life(const struct hawk_life *life, struct hawk_json *json)
{
	hawk_json_key(json, "life");
	hawk_json_object(json);
	hawk_json_put_string(json, "end", hawk_life_end_name(life->end));
	hawk_json_key(json, "clock_seconds");
	hawk_json_seconds(json, hawk_life_seconds(life->clock_units));
	hawk_json_key(json, "latest_seconds");
	if (life->latest_units)
		hawk_json_seconds(json, hawk_life_seconds(life->latest_units));
	else
		hawk_json_null(json);
	hawk_json_object_end(json);
}

struct hawk_error *hawk_report_growth_json(const struct hawk_growth_report *report,
					   struct hawk_json *json)
{
	size_t count = choose(report);
	size_t end = report->pointers->top && report->pointers->top < count ? report->pointers->top
									    : count;
	struct hawk_error *err = NULL;

	hawk_json_key(json, "life_seconds");
	hawk_json_seconds(json, hawk_site_ages_life_seconds(report->pointers->graph->heap));
	put_json_life(&report->pointers->graph->heap->life, json);
	hawk_json_key(json, "sites");
	hawk_json_array(json);
	for (size_t i = 0; i < end && !err; i++)
		err = put_json_site(report, report->list->sites[i], json);
	hawk_json_array_end(json);
	return err;
}
