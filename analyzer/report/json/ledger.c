/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The JSON document of `hawk-core ledger`. Its prose twin is docs/json.md, its schema
 * docs/schema/ledger-3.json.
 */
#include "hawk/report/ledger.h"

#include <math.h>

#include "hawk/names/signal.h"
#include "objects.h"

enum { DOCUMENT_LINES = 2 };

static void put_text(struct hawk_json *json, const char *key, const char *text)
{
	hawk_json_put_string(json, key, text[0] ? text : NULL);
}

/** Puts the functions of the stack, innermost first. */
static void put_functions(struct hawk_json *json, const struct hawk_profile *stacks, uint32_t step)
{
	size_t all = 0, left;

	for (uint32_t at = step; at; at = stacks->steps[at].parent)
		all++;
	left = hawk_json_put_stack_list(json, "functions", all);
	for (; step && left; step = stacks->steps[step].parent, left--) {
		uint32_t function =
			hawk_profile_location_frame(stacks, stacks->steps[step].location, 0)
				->function;

		hawk_json_string(json, function ? hawk_profile_text(stacks, function) : NULL);
	}
	hawk_json_array_end(json);
}

static void put_bug(const struct hawk_ledger *ledger, const struct hawk_ledger_bug *bug,
		    struct hawk_json *json)
{
	const struct hawk_ledger_snapshot *example = &ledger->snapshots[bug->example];

	hawk_json_object(json);
	hawk_json_put_id(json, "signature", bug->signature);
	hawk_json_put_string(json, "holder", bug->holder);
	hawk_json_put_integer(json, "snapshots", bug->count);
	put_text(json, "first_build", ledger->snapshots[bug->first].build_id);
	put_text(json, "last_build", example->build_id);
	hawk_json_put_string(json, "example", example->source);
	hawk_json_put_string(json, "signal", hawk_signal_name(example->signal));
	put_functions(json, ledger->stacks, bug->step);
	hawk_json_object_end(json);
}

static void put_row(const struct hawk_ledger *ledger, const struct hawk_ledger_row *row,
		    struct hawk_json *json)
{
	hawk_json_object(json);
	hawk_json_put_id(json, "signature", row->signature);
	put_text(json, "site", row->site);
	hawk_json_put_integer(json, "snapshots", row->count);
	hawk_json_put_signed_if(json, "median_bytes", true, row->median);
	hawk_json_put_signed_if(json, "maximum_bytes", true, row->maximum);
	hawk_json_put_seconds_if(json, "bytes_per_hour", row->has_slope, row->slope);
	put_text(json, "first_build", ledger->snapshots[row->first].build_id);
	put_text(json, "last_build", ledger->snapshots[row->latest].build_id);
	hawk_json_put_boolean(json, "estimated", row->estimated);
	put_functions(json, ledger->stacks, row->step);
	hawk_json_object_end(json);
}

void hawk_report_ledger_json(const struct hawk_ledger_report *report, struct hawk_output *output)
{
	const struct hawk_ledger *ledger = report->ledger;
	size_t end;
	struct hawk_json json;

	hawk_json_begin(&json, output, "hawk-core/ledger", NULL, DOCUMENT_LINES);
	hawk_json_limit(&json, report->top, report->depth);
	hawk_json_put_integer(&json, "snapshots", ledger->snapshot_count);
	hawk_json_put_integer(&json, "repeated", ledger->repeated);
	end = hawk_json_put_list(&json, "suspects", ledger->bug_count);
	for (size_t i = 0; i < end; i++)
		put_bug(ledger, &ledger->bugs[i], &json);
	hawk_json_array_end(&json);
	end = hawk_json_put_list(&json, "sites", ledger->row_count);
	for (size_t i = 0; i < end; i++)
		put_row(ledger, &ledger->rows[i], &json);
	hawk_json_array_end(&json);
	hawk_json_end(&json, NULL, report->findings, hawk_findings_partial(report->findings));
}
