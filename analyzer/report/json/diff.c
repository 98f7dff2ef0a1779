/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The JSON document of `hawk-core diff`. Its prose twin is docs/json.md, its schema
 * docs/schema/diff-3.json.
 */
#include "hawk/report/diff.h"

#include <math.h>

#include "objects.h"

enum { DOCUMENT_LINES = 2 };

static void put_side(struct hawk_json *json, const char *key, const struct hawk_profile *profile,
		     const struct hawk_diff_side *side)
{
	if (!side->sites) {
		hawk_json_put_null(json, key);
		return;
	}
	hawk_json_put_object(json, key);
	hawk_json_put_string(json, "site",
			     side->site ? hawk_profile_text(profile, side->site) : NULL);
	hawk_json_put_integer(json, "sites", side->sites);
	hawk_json_put_signed_if(json, "objects", true, side->objects);
	hawk_json_put_signed_if(json, "bytes", true, side->bytes);
	hawk_json_put_integer(json, "bytes_error", (uint64_t)llround(side->bytes_error));
	hawk_json_object_end(json);
}

static void put_unknown_change(struct hawk_json *json)
{
	static const char *const keys[] = {"objects", "bytes", "bytes_error", "bytes_per_hour",
					   "significant"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		hawk_json_put_null(json, keys[i]);
}

static void put_change(struct hawk_json *json, const struct hawk_diff_row *row, double hours)
{
	hawk_json_put_signed_if(json, "objects", true, row->objects);
	hawk_json_put_signed_if(json, "bytes", true, row->bytes);
	hawk_json_put_integer(json, "bytes_error", (uint64_t)llround(row->bytes_error));
	hawk_json_put_signed_if(json, "bytes_per_hour", hours > 0,
				hours > 0 ? (int64_t)((double)row->bytes / hours) : 0);
	hawk_json_put_boolean(json, "significant", row->significant);
}

/** Puts the functions of the stack, innermost first, inlined frames included. */
static void put_stack(struct hawk_json *json, const struct hawk_profile *profile, uint32_t step)
{
	size_t all = 0, left;

	for (uint32_t at = step; at; at = profile->steps[at].parent)
		all += profile->locations[profile->steps[at].location].count;
	left = hawk_json_put_stack_list(json, "functions", all);
	for (; step; step = profile->steps[step].parent) {
		uint32_t location = profile->steps[step].location;

		for (uint32_t i = 0; i < profile->locations[location].count && left; i++, left--) {
			const struct hawk_profile_frame *frame =
				hawk_profile_location_frame(profile, location, i);

			hawk_json_string(json, frame->function
						       ? hawk_profile_text(profile, frame->function)
						       : NULL);
		}
	}
	hawk_json_array_end(json);
}

static void put_row(const struct hawk_diff_report *report, const struct hawk_diff_row *row,
		    struct hawk_json *json)
{
	bool gone = row->match == HAWK_DIFF_GONE;

	hawk_json_object(json);
	hawk_json_put_string(json, "match", hawk_diff_match_name(row->match));
	put_change(json, row, report->hours);
	put_side(json, "before", report->diff->before, &row->before);
	put_side(json, "after", report->diff->after, &row->after);
	put_stack(json, gone ? report->diff->before : report->diff->after,
		  gone ? row->before.step : row->after.step);
	hawk_json_object_end(json);
}

/** Returns the objects, which are in the column before bytes, if any. */
static int64_t objects_of(const int64_t *values, uint32_t column)
{
	return column ? values[column - 1] : 0;
}

static void put_groups(const struct hawk_diff_report *report, struct hawk_json *json)
{
	uint32_t column = report->groups->column;

	size_t end = hawk_json_put_list(json, "groups", report->groups->count);

	for (size_t i = 0; i < end; i++) {
		const struct hawk_profile_group *group = &report->groups->items[i];

		hawk_json_object(json);
		hawk_json_put_string(
			json, "name",
			group->name ? hawk_profile_text(report->difference, group->name) : NULL);
		hawk_json_put_signed_if(json, "flat_objects", true,
					objects_of(group->flat, column));
		hawk_json_put_signed_if(json, "flat_bytes", true, group->flat[column]);
		hawk_json_put_signed_if(json, "cum_objects", true, objects_of(group->cum, column));
		hawk_json_put_signed_if(json, "cum_bytes", true, group->cum[column]);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}

static void put_whole(const struct hawk_diff_report *report, struct hawk_json *json)
{
	const struct hawk_diff *diff = report->diff;

	hawk_json_put_object(json, "whole");
	if (hawk_diff_report_is_unknown(report))
		put_unknown_change(json);
	else
		put_change(json, &diff->whole, report->hours);
	if (report->before_unknown)
		hawk_json_put_null(json, "before");
	else
		put_side(json, "before", diff->before, &diff->whole.before);
	if (report->after_unknown)
		hawk_json_put_null(json, "after");
	else
		put_side(json, "after", diff->after, &diff->whole.after);
	hawk_json_object_end(json);
}

static void put_rows(const struct hawk_diff_report *report, struct hawk_json *json)
{
	const struct hawk_diff *diff = report->diff;
	size_t end;

	if (hawk_diff_report_is_unknown(report)) {
		hawk_json_put_no_list(json, "sites");
		if (report->groups)
			hawk_json_put_no_list(json, "groups");
		return;
	}
	end = hawk_json_put_list(json, "sites", diff->count);
	for (size_t i = 0; i < end; i++)
		put_row(report, &diff->rows[i], json);
	hawk_json_array_end(json);
	if (report->groups)
		put_groups(report, json);
}

void hawk_report_diff_json(const struct hawk_diff_report *report, struct hawk_output *output)
{
	struct hawk_json json;

	hawk_json_begin(&json, output, "hawk-core/diff", report->after, DOCUMENT_LINES);
	hawk_json_limit(&json, report->top, report->depth);
	hawk_json_put_string(&json, "before", report->before);
	hawk_json_put_string(&json, "what", report->what);
	hawk_json_put_boolean(&json, "estimated", report->difference->estimated);
	hawk_json_put_boolean(&json, "same_program", !report->other_program);
	hawk_json_put_seconds_if(&json, "seconds", report->hours > 0, report->hours * 3600);
	hawk_json_put_string(&json, "grown", report->growth);
	hawk_json_put_string(&json, "before_unknown", report->before_unknown);
	hawk_json_put_string(&json, "after_unknown", report->after_unknown);
	put_whole(report, &json);
	put_rows(report, &json);
	hawk_json_end(&json, report->next, report->findings,
		      hawk_findings_partial(report->findings));
}
