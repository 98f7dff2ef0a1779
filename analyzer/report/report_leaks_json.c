/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The JSON document of `hawk-core leaks`. Its prose twin is docs/json.md, its schema
 * docs/schema/leaks-1.json: change them together, and add keys only.
 */
#include "hawk_report.h"
#include "hawk_report_leaks.h"

enum { DOCUMENT_VERSION = 1, DOCUMENT_LINES = 2 };

static const struct {
	const char *key;
	enum hawk_reach_kind kind;
} kinds[] = {
	{"definitely_lost", HAWK_REACH_DEFINITELY_LOST},
	{"indirectly_lost", HAWK_REACH_INDIRECTLY_LOST},
	{"possibly_lost", HAWK_REACH_POSSIBLY},
	{"still_reachable", HAWK_REACH_REACHABLE},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static const char *kind_key(enum hawk_reach_kind kind)
{
	for (unsigned i = 0; i < KINDS; i++)
		if (kinds[i].kind == kind)
			return kinds[i].key;
	return NULL;
}

static void put_sum(struct hawk_json *json, const char *key, const struct hawk_reach_sum *sum)
{
	hawk_json_key(json, key);
	hawk_json_object(json);
	hawk_json_put_integer(json, "objects", sum->objects);
	hawk_json_put_integer(json, "bytes", sum->bytes);
	hawk_json_object_end(json);
}

static void put_site_id(const struct hawk_leaks_report *report, uint32_t site,
			struct hawk_json *json)
{
	const struct hawk_heap *heap = report->graph->heap;
	uint64_t id = site < heap->site_count ? heap->sites[site].id : (uint64_t)HAWK_SITE_LOST;
	char text[17] = "";

	for (int i = 0; i < 16; i++)
		text[i] = "0123456789abcdef"[id >> (60 - 4 * i) & 15];
	hawk_json_put_string(json, "site", text);
}

static void put_pointers(const struct hawk_leak_record *record, struct hawk_json *json)
{
	hawk_json_key(json, "pointers");
	hawk_json_array(json);
	for (unsigned i = 0; i < HAWK_LEAK_SOURCES; i++) {
		const struct hawk_leak_pointers *pointers = &record->pointers[i];

		if (!pointers->start && !pointers->interior)
			continue;
		hawk_json_object(json);
		hawk_json_put_string(
			json, "from",
			i < HAWK_LEAK_FROM_BLOCKS
				? hawk_root_kind_name((enum hawk_root_kind)i)
				: kind_key((enum hawk_reach_kind)(i - HAWK_LEAK_FROM_BLOCKS)));
		hawk_json_put_integer(json, "start", pointers->start);
		hawk_json_put_integer(json, "interior", pointers->interior);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}

static struct hawk_error *put_evidence(const struct hawk_leaks_report *report,
				       const struct hawk_leak_record *record,
				       struct hawk_json *json)
{
	hawk_json_put_integer(json, "pointed_objects", record->pointed_objects);
	hawk_json_put_integer(json, "source_objects", record->source_blocks);
	hawk_json_put_integer(json, "explained_pointers", record->explained);
	put_pointers(record, json);
	hawk_json_key(json, "first_root");
	if (record->first_root != UINT32_MAX)
		return hawk_root_json(report->namer, record->first_root, json);
	hawk_json_null(json);
	return NULL;
}

static struct hawk_error *put_record(const struct hawk_leaks_report *report,
				     const struct hawk_leak_record *record,
				     struct hawk_stack *stack, struct hawk_json *json)
{
	const struct hawk_heap *heap = report->graph->heap;
	struct hawk_error *err = hawk_stack_of_trace(
		report->symbols, heap->table,
		record->site < heap->site_count ? heap->sites[record->site].trace : UINT32_MAX,
		stack);

	if (err)
		return err;
	hawk_json_object(json);
	put_site_id(report, record->site, json);
	hawk_json_put_string(json, "kind", kind_key(record->kind));
	hawk_json_put_integer(json, "objects", record->objects);
	hawk_json_put_integer(json, "bytes", record->bytes);
	hawk_json_put_integer(json, "indirect_objects", record->indirect_objects);
	hawk_json_put_integer(json, "indirect_bytes", record->indirect_bytes);
	hawk_json_put_address(json, "example",
			      hawk_block_start(&report->graph->heap->index, record->example));
	hawk_json_put_integer(json, "example_bytes",
			      hawk_block_size(&report->graph->heap->index, record->example));
	hawk_json_key(json, "oldest_seconds");
	if (record->has_birth)
		hawk_json_seconds(json, hawk_heap_age_seconds(heap, record->oldest_units));
	else
		hawk_json_null(json);
	err = put_evidence(report, record, json);
	hawk_json_key(json, "frames");
	hawk_report_json_stack(stack, json);
	hawk_json_object_end(json);
	return err;
}

static struct hawk_error *put_records(const struct hawk_leaks_report *report,
				      struct hawk_json *json)
{
	size_t end = report->top && report->top < report->shown_count ? report->top
								      : report->shown_count;
	struct hawk_error *err = NULL;
	struct hawk_stack stack;

	hawk_stack_init(&stack);
	hawk_json_key(json, "records");
	hawk_json_array(json);
	for (size_t i = 0; i < end && !err; i++)
		err = put_record(report, report->shown[i], &stack, json);
	hawk_json_array_end(json);
	hawk_stack_deinit(&stack);
	return err;
}

static void put_leaders(const struct hawk_leaks_report *report, struct hawk_json *json)
{
	hawk_json_key(json, "leaders");
	hawk_json_array(json);
	for (size_t i = 0; i < report->leader_count; i++) {
		const struct hawk_leak_leader *leader = &report->leaders[i];

		hawk_json_object(json);
		put_site_id(report, leader->site, json);
		hawk_json_put_integer(json, "leader_objects", leader->leaders);
		hawk_json_put_address(
			json, "example",
			hawk_block_start(&report->graph->heap->index, leader->example));
		hawk_json_put_integer(json, "objects", leader->lost.objects);
		hawk_json_put_integer(json, "bytes", leader->lost.bytes);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}

static void put_suppressions(const struct hawk_leaks_report *report, struct hawk_json *json)
{
	size_t count = report->suppressions ? hawk_suppressions_count(report->suppressions) : 0;

	hawk_json_key(json, "suppressions");
	hawk_json_array(json);
	for (size_t i = 0; i < count; i++) {
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

	hawk_json_key(json, "roots");
	hawk_json_object(json);
	for (unsigned kind = 0; kind < HAWK_ROOT_KINDS; kind++) {
		hawk_json_key(json, hawk_root_kind_name((enum hawk_root_kind)kind));
		hawk_json_object(json);
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
	hawk_json_key(json, "heuristics");
	hawk_json_object(json);
	for (unsigned i = 0; i < HAWK_HEURISTIC_COUNT; i++)
		hawk_json_put_integer(json, hawk_heuristic_names[i], report->leaks->heuristics[i]);
	hawk_json_object_end(json);
}

struct hawk_error *hawk_leaks_report_json(const struct hawk_leaks_report *report,
					  struct hawk_output *output)
{
	struct hawk_json json;
	struct hawk_error *err;

	hawk_json_init(&json, output, DOCUMENT_LINES);
	hawk_json_object(&json);
	hawk_json_put_string(&json, "schema", "hawk-core/leaks");
	hawk_json_put_integer(&json, "version", DOCUMENT_VERSION);
	hawk_json_put_string(&json, "source", report->source);
	for (unsigned i = 0; i < KINDS; i++)
		put_sum(&json, kinds[i].key, &report->sums[kinds[i].kind]);
	put_sum(&json, "suppressed", &report->suppressed);
	put_sum(&json, "downgraded", &report->leaks->downgrade);
	err = put_records(report, &json);
	if (err)
		return err;
	put_leaders(report, &json);
	put_suppressions(report, &json);
	put_heuristics(report, &json);
	put_roots(report, &json);
	hawk_report_json_findings(report->findings, &json);
	hawk_json_put_boolean(&json, "partial", report->partial);
	hawk_json_object_end(&json);
	hawk_json_finish(&json);
	return NULL;
}
