/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Shared parts of the documents of verbs that follow pointers.
 */
#include "hawk/base/cleanup.h"
#include "hawk/report/pointers.h"
#include "objects.h"

void hawk_report_json_chosen(const struct hawk_pointer_report *report, struct hawk_json *json)
{
	struct hawk_chosen chosen = hawk_chosen_sum(report->heap, report->chosen);

	if (report->chosen)
		hawk_json_put_sum(json, "chosen", chosen.objects, chosen.bytes);
}

void hawk_report_json_member(const struct hawk_pointer_report *report, uint32_t holder,
			     uint32_t block, uint64_t offset, struct hawk_json *json)
{
	CLEANUP(text) struct hawk_text text = {0};
	bool known = hawk_report_append_member(report, holder, block, offset, &text);

	hawk_json_put_string(json, "member", known ? text.bytes : NULL);
}

void hawk_report_json_block(const struct hawk_pointer_report *report, uint32_t number,
			    struct hawk_json *json)
{
	CLEANUP(text) struct hawk_text type = {0};
	struct hawk_block block;
	const char *name;
	bool is_guess;

	hawk_heap_block(report->heap, number, &block);
	hawk_json_put_address(json, "address", block.start);
	hawk_json_put_integer(json, "size", block.size);
	hawk_json_put_site(json, "site", report->heap, hawk_heap_site_at(report->heap, number));
	name = hawk_report_type(report, number, &block, &is_guess);
	if (name)
		hawk_text_printf(&type, "%s%s", name, is_guess ? "?" : "");
	hawk_json_put_string(json, "type", type.bytes);
}

void hawk_report_json_site_stack(const struct hawk_pointer_report *report, uint32_t site,
				 struct hawk_json *json)
{
	hawk_json_put_site_stack(json, report->symbols, report->heap, site);
}

void hawk_report_json_retained(const uint64_t *retained, bool exact, struct hawk_json *json)
{
	if (!retained) {
		hawk_json_put_null(json, "retained_bytes");
		return;
	}
	hawk_json_put_object(json, "retained_bytes");
	hawk_json_put_integer(json, "all_pointers", *retained);
	hawk_json_put_boolean(json, "exact", exact);
	hawk_json_object_end(json);
}

/** "sampled": the mean, and the blocks that have no site because of it. */
static void put_sampling(const struct hawk_heap *heap, struct hawk_json *json)
{
	const struct hawk_site *others = hawk_report_not_sampled(heap);

	if (!heap->sample_mean)
		return;
	hawk_json_put_object(json, "sampled");
	hawk_json_put_integer(json, "mean_bytes", heap->sample_mean);
	hawk_json_put_integer(json, "other_objects", others ? others->inuse_objects : 0);
	hawk_json_put_integer(json, "other_bytes", others ? others->inuse_bytes : 0);
	hawk_json_object_end(json);
}

void hawk_report_json_begin(const struct hawk_pointer_report *report, struct hawk_json *json,
			    struct hawk_output *output, const char *schema, unsigned lines)
{
	hawk_json_begin(json, output, schema, report->source, lines);
	hawk_json_limit(json, report->top, report->depth);
	hawk_json_put_string(json, "unknown", hawk_heap_unknown_text(report->heap));
	put_sampling(report->heap, json);
}

void hawk_report_json_end(const struct hawk_pointer_report *report, struct hawk_json *json)
{
	hawk_json_end(json, report->next, report->findings,
		      hawk_findings_partial(report->findings));
}
