/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The JSON document of `hawk-core leaks`. Its prose twin is docs/json.md, its schema
 * docs/schema/leaks-3.json: change them together, and add keys only.
 */
#include "objects.h"
#include "hawk/report/leaks.h"

enum { DOCUMENT_LINES = 2 };

static void put_site_id(const struct hawk_leaks_report *report, uint32_t site,
			struct hawk_json *json)
{
	const struct hawk_heap *heap = report->heap;

	hawk_json_put_id(json, "site",
			 site < heap->site_count ? heap->sites[site].id : (uint64_t)HAWK_SITE_LOST);
}

static void put_pointers(const struct hawk_leak_record *record, struct hawk_json *json)
{
	hawk_json_put_array(json, "pointers");
	for (unsigned i = 0; i < HAWK_LEAK_SOURCES; i++) {
		const struct hawk_leak_pointers *pointers = &record->pointers[i];

		if (!pointers->start && !pointers->interior)
			continue;
		hawk_json_object(json);
		hawk_json_put_string(json, "from",
				     i < HAWK_LEAK_FROM_BLOCKS
					     ? hawk_root_kind_name((enum hawk_root_kind)i)
					     : hawk_json_reach_key((enum hawk_reach_kind)(
						       i - HAWK_LEAK_FROM_BLOCKS)));
		hawk_json_put_integer(json, "start", pointers->start);
		hawk_json_put_integer(json, "interior", pointers->interior);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}

static void put_sum_of(const char *key, struct hawk_chosen sum, struct hawk_json *json)
{
	hawk_json_put_sum(json, key, sum.objects, sum.bytes);
}

static void put_step(const struct hawk_leaks_report *report, const struct hawk_leak_step *step,
		     struct hawk_json *json)
{
	struct hawk_block block;

	hawk_heap_block(report->heap, step->block, &block);
	hawk_json_object(json);
	hawk_json_put_address(json, "address", block.start);
	put_site_id(report, hawk_heap_site_at(report->heap, step->block), json);
	hawk_json_put_string(json, "type",
			     hawk_block_type_of_words(report->types, &block, &step->words));
	hawk_json_put_integer(json, "objects", step->blocks);
	if (step->offset == HAWK_OFFSET_UNKNOWN)
		hawk_json_put_null(json, "offset");
	else
		hawk_json_put_integer(json, "offset", step->offset);
	hawk_json_object_end(json);
}

void hawk_leaks_report_json_cycle(const struct hawk_leaks_report *report,
				  const struct hawk_leak_cycle *cycle, struct hawk_json *json)
{
	hawk_json_put_integer(json, "cycles", cycle->cycles);
	hawk_json_put_integer(json, "length", cycle->length);
	put_sum_of("lost", cycle->lost, json);
	hawk_json_put_array(json, "steps");
	for (uint32_t i = 0; i < cycle->step_count; i++)
		put_step(report, cycle->steps + i, json);
	hawk_json_array_end(json);
	if (cycle->cut == UINT32_MAX)
		hawk_json_put_null(json, "cut_step");
	else
		hawk_json_put_integer(json, "cut_step", cycle->cut);
	put_sum_of("freed_by_cut", cycle->freed, json);
}

static void put_cycles(const struct hawk_leaks_report *report, struct hawk_json *json)
{
	size_t end;

	if (!hawk_json_put_known_list(json, "cycles", report->heap, report->cycles->count, &end))
		return;
	for (size_t i = 0; i < end; i++) {
		hawk_json_object(json);
		hawk_leaks_report_json_cycle(report, report->cycles->items + i, json);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}

/* Writes the type of the example, and the cycle that most of the record's blocks lead. */
static void put_type(const struct hawk_leaks_report *report, const struct hawk_leak_record *record,
		     struct hawk_json *json)
{
	const struct hawk_leak_cycle *cycle = NULL;
	struct hawk_block block;
	uint64_t leaders;

	hawk_heap_block(report->heap, record->example, &block);
	hawk_json_put_string(json, "example_type",
			     hawk_block_type_of_words(report->types, &block, &record->words));
	if (record->kind == HAWK_REACH_DEFINITELY_LOST)
		cycle = hawk_leak_cycle_of(report->heap, report->cycles, record->site, &leaders);
	if (cycle)
		hawk_json_put_integer(json, "cycle", (uint64_t)(cycle - report->cycles->items));
	else
		hawk_json_put_null(json, "cycle");
}

static void put_record(const struct hawk_leaks_report *report,
		       const struct hawk_leak_record *record, struct hawk_json *json)
{
	const struct hawk_heap *heap = report->heap;
	const struct hawk_block_index *index = &report->heap->index;

	hawk_json_object(json);
	put_site_id(report, record->site, json);
	hawk_json_put_string(json, "kind", hawk_json_reach_key(record->kind));
	hawk_json_put_integer(json, "objects", record->objects);
	hawk_json_put_integer(json, "bytes", record->bytes);
	hawk_json_put_integer(json, "indirect_objects", record->indirect_objects);
	hawk_json_put_integer(json, "indirect_bytes", record->indirect_bytes);
	hawk_json_put_address(json, "example", hawk_block_start(index, record->example));
	hawk_json_put_integer(json, "example_bytes", hawk_block_size(index, record->example));
	put_type(report, record, json);
	hawk_json_put_seconds_if(json, "oldest_seconds", record->has_birth,
				 hawk_heap_age_seconds(heap, record->oldest_units));
	hawk_json_put_integer(json, "pointed_objects", record->pointed_objects);
	hawk_json_put_integer(json, "source_objects", record->source_blocks);
	hawk_json_put_integer(json, "explained_pointers", record->explained);
	put_pointers(record, json);
	if (record->first_root != UINT32_MAX)
		hawk_json_put_root(json, "first_root", report->namer, record->first_root);
	else
		hawk_json_put_null(json, "first_root");
	hawk_json_put_site_stack(json, report->symbols, heap, record->site);
	hawk_json_object_end(json);
}

static void put_records(const struct hawk_leaks_report *report, struct hawk_json *json)
{
	size_t end;

	if (!hawk_json_put_known_list(json, "records", report->heap, report->selection->count,
				      &end))
		return;
	for (size_t i = 0; i < end; i++)
		put_record(report, report->selection->records[i], json);
	hawk_json_array_end(json);
}

static void put_leaders(const struct hawk_leaks_report *report, struct hawk_json *json)
{
	size_t end;

	if (!hawk_json_put_known_list(json, "leaders", report->heap, report->leader_count, &end))
		return;
	for (size_t i = 0; i < end; i++) {
		const struct hawk_leak_leader *leader = &report->leaders[i];

		hawk_json_object(json);
		put_site_id(report, leader->site, json);
		hawk_json_put_integer(json, "leader_objects", leader->leaders);
		hawk_json_put_address(json, "example",
				      hawk_block_start(&report->heap->index, leader->example));
		hawk_json_put_integer(json, "objects", leader->lost.objects);
		hawk_json_put_integer(json, "bytes", leader->lost.bytes);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}

static void put_suppressions(const struct hawk_leaks_report *report, struct hawk_json *json)
{
	size_t count = report->suppressions ? hawk_suppressions_count(report->suppressions) : 0;
	size_t end = hawk_json_put_list(json, "suppressions", count);

	for (size_t i = 0; i < end; i++) {
		const struct hawk_suppression *item = hawk_suppressions_at(report->suppressions, i);

		hawk_json_object(json);
		hawk_json_put_string(json, "name", item->text);
		hawk_json_put_string(json, "file", item->file);
		hawk_json_put_integer(json, "line", item->line);
		hawk_json_put_integer(json, "records", item->records);
		hawk_json_put_integer(json, "objects", item->objects);
		hawk_json_put_integer(json, "bytes", item->bytes);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}

static void put_roots(const struct hawk_leaks_report *report, struct hawk_json *json)
{
	const struct hawk_roots *roots = &report->graph->roots;

	hawk_json_put_object(json, "roots");
	for (unsigned kind = 0; kind < HAWK_ROOT_KINDS; kind++) {
		hawk_json_put_object(json, hawk_root_kind_name((enum hawk_root_kind)kind));
		hawk_json_put_integer(json, "scanned_bytes", roots->scanned_bytes[kind]);
		hawk_json_put_integer(json, "missing_bytes", roots->missing_bytes[kind]);
		hawk_json_object_end(json);
	}
	hawk_json_put_integer(json, "heap_missing_bytes", roots->heap_missing_bytes);
	hawk_json_put_integer(json, "threads_without_stack", roots->threads_without_stack);
	hawk_json_object_end(json);
}

static void put_heuristics(const struct hawk_leaks_report *report, struct hawk_json *json)
{
	if (!report->heap->knows) {
		hawk_json_put_null(json, "heuristics");
		return;
	}
	hawk_json_put_object(json, "heuristics");
	for (unsigned i = 0; i < HAWK_HEURISTIC_COUNT; i++)
		hawk_json_put_integer(json, hawk_heuristic_names[i], report->leaks->heuristics[i]);
	hawk_json_object_end(json);
}

static void put_sum(const struct hawk_leaks_report *report, const char *key,
		    struct hawk_reach_sum sum, struct hawk_json *json)
{
	if (report && report->heap->knows)
		hawk_json_put_sum(json, key, sum.objects, sum.bytes);
	else
		hawk_json_put_null(json, key);
}

void hawk_leaks_report_json_sums(const struct hawk_leaks_report *report, struct hawk_json *json)
{
	static const struct hawk_reach_sum none[HAWK_REACH_KINDS];
	static const enum hawk_reach_kind kinds[] = {
		HAWK_REACH_DEFINITELY_LOST,
		HAWK_REACH_INDIRECTLY_LOST,
		HAWK_REACH_POSSIBLY,
	};
	const struct hawk_reach_sum *sums = report ? report->selection->sums : none;

	put_sum(report, "lost", hawk_reach_lost(sums), json);
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		put_sum(report, hawk_json_reach_key(kinds[i]), sums[kinds[i]], json);
}

void hawk_leaks_report_json(const struct hawk_leaks_report *report, struct hawk_output *output)
{
	struct hawk_json json;

	hawk_json_begin(&json, output, "hawk-core/leaks", report->source, DOCUMENT_LINES);
	hawk_json_limit(&json, report->top, report->depth);
	hawk_json_put_string(&json, "unknown", hawk_heap_unknown_text(report->heap));
	hawk_leaks_report_json_sums(report, &json);
	put_sum(report, hawk_json_reach_key(HAWK_REACH_REACHABLE),
		report->selection->sums[HAWK_REACH_REACHABLE], &json);
	put_sum(report, "suppressed", report->selection->suppressed, &json);
	put_sum(report, "downgraded", report->leaks->downgrade, &json);
	put_records(report, &json);
	put_cycles(report, &json);
	put_leaders(report, &json);
	put_suppressions(report, &json);
	put_heuristics(report, &json);
	put_roots(report, &json);
	hawk_json_end(&json, report->next, report->findings, report->partial);
}
