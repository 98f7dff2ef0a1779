/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Verdicts on sites, with the numbers that led to them.
 */
#include "hawk/report/growth.h"

#include "hawk/base/cleanup.h"
#include "objects.h"

/** Rounds sums, not parts, so that parts add up to all blocks. */
static void put_bins(struct hawk_json *json, const char *key, bool known, const uint64_t *bins)
{
	uint64_t sum = HAWK_AGE_ONE / 2;
	uint64_t put = 0;

	if (!known) {
		hawk_json_put_null(json, key);
		return;
	}
	hawk_json_put_array(json, key);
	for (unsigned i = 0; i < HAWK_AGE_BINS; i++) {
		sum += bins[i];
		hawk_json_integer(json, sum / HAWK_AGE_ONE - put);
		put = sum / HAWK_AGE_ONE;
	}
	hawk_json_array_end(json);
}

void hawk_report_json_reach(const struct hawk_growth_facts *facts, struct hawk_json *json)
{
	if (!facts->reach_known) {
		hawk_json_put_null(json, "reach_bytes");
		return;
	}
	hawk_json_put_object(json, "reach_bytes");
	for (unsigned kind = 1; kind < HAWK_REACH_KINDS; kind++)
		hawk_json_put_integer(json, hawk_json_reach_key((enum hawk_reach_kind)kind),
				      facts->reach_bytes[kind]);
	hawk_json_object_end(json);
}

void hawk_report_json_growth(const struct hawk_growth *growth,
			     const struct hawk_growth_facts *facts, struct hawk_json *json)
{
	hawk_json_put_string(json, "verdict", hawk_growth_verdict_name(growth->verdict));
	hawk_json_put_string(json, "confidence", hawk_growth_confidence_name(growth->confidence));
	hawk_json_put_array(json, "reasons");
	for (unsigned i = 0; i < growth->reason_count; i++) {
		CLEANUP(text) struct hawk_text text = {0};

		hawk_growth_append_reason(&text, growth, facts, growth->reasons[i]);
		hawk_json_string(json, hawk_text_string(&text));
	}
	hawk_json_array_end(json);
	hawk_json_put_integer_if(json, "bytes_per_hour", growth->is_rate_known,
				 (uint64_t)growth->bytes_per_hour);
}

static void put_site(const struct hawk_growth_report *report, uint32_t index,
		     struct hawk_json *json)
{
	const struct hawk_graph *graph = report->pointers->graph;
	struct hawk_growth_facts facts =
		hawk_site_ages_facts(graph, index, &report->ages[index], report->filtered);
	struct hawk_growth growth = hawk_growth_judge(&facts);

	hawk_json_object(json);
	hawk_json_put_site(json, "site", graph->heap, index);
	hawk_json_put_integer(json, "inuse_objects", facts.inuse_objects);
	hawk_json_put_integer(json, "inuse_bytes", facts.inuse_bytes);
	hawk_json_put_integer_if(json, "alloc_objects", facts.alloc_objects, facts.alloc_objects);
	hawk_report_json_growth(&growth, &facts, json);
	put_bins(json, "born_objects", !facts.no_ages, facts.born_objects);
	put_bins(json, "born_bytes", !facts.no_ages, facts.born_bytes);
	hawk_report_json_reach(&facts, json);
	hawk_report_json_retained(report->retained ? &report->retained[index] : NULL, false, json);
	hawk_report_json_site_stack(report->pointers, index, json);
	hawk_json_object_end(json);
}

static void put_life(const struct hawk_life *life, struct hawk_json *json)
{
	hawk_json_put_object(json, "life");
	hawk_json_put_string(json, "end", hawk_life_end_name(life->end));
	hawk_json_put_seconds(json, "clock_seconds", hawk_life_seconds(life->clock_units));
	hawk_json_put_seconds_if(json, "latest_seconds", life->latest_units,
				 hawk_life_seconds(life->latest_units));
	hawk_json_object_end(json);
}

void hawk_report_growth_json(const struct hawk_growth_report *report, struct hawk_json *json)
{
	const struct hawk_heap *heap = report->pointers->heap;
	size_t end;

	if (!(heap->knows & HAWK_HEAP_AGES)) {
		hawk_json_put_null(json, "life_seconds");
		hawk_json_put_null(json, "life");
	} else {
		hawk_json_put_seconds(json, "life_seconds", hawk_site_ages_life_seconds(heap));
		put_life(&heap->life, json);
	}
	if (!hawk_json_put_known_list(json, "sites", heap, report->list->count, &end))
		return;
	for (size_t i = 0; i < end; i++)
		put_site(report, report->list->sites[i], json);
	hawk_json_array_end(json);
}
