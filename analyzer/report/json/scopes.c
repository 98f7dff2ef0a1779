/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The program's named scopes with their sums.
 */
#include "hawk/base/cleanup.h"
#include "hawk/analysis/scope_groups.h"
#include "hawk/report/report.h"
#include "objects.h"

static void put_group(const struct hawk_report *report, const struct hawk_scope_group *group,
		      struct hawk_json *json)
{
	bool counted = report->heap->knows & HAWK_HEAP_COUNTERS;

	hawk_json_object(json);
	hawk_json_put_scope_path(json, "path", report->heap->table, group->label);
	hawk_json_put_integer(json, "entries", group->entries);
	hawk_json_put_integer(json, "total_ns", group->total_ns);
	hawk_json_put_integer(json, "sites", group->sites);
	hawk_json_put_integer(json, "inuse_objects", group->inuse_objects);
	hawk_json_put_integer(json, "inuse_bytes", group->inuse_bytes);
	hawk_json_put_integer_if(json, "alloc_objects", counted, group->alloc_objects);
	hawk_json_put_integer_if(json, "alloc_bytes", counted, group->alloc_bytes);
	hawk_json_object_end(json);
}

struct hawk_error *hawk_report_json_scopes(const struct hawk_report *report, struct hawk_json *json)
{
	CLEANUP(free_ptr) struct hawk_scope_group *groups = NULL;
	size_t count, end;
	struct hawk_error *err =
		hawk_scope_groups_make(report->heap, report->list->sites, report->list->count,
				       report->sort, &groups, &count);

	if (err)
		return err;
	end = hawk_json_put_list(json, "scopes", count);
	for (size_t i = 0; i < end; i++)
		put_group(report, &groups[i], json);
	hawk_json_array_end(json);
	return NULL;
}
