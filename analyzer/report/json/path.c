/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Shortest paths to blocks.
 */
#include "hawk/base/cleanup.h"
#include "hawk/analysis/leaks.h"
#include "hawk/report/pointers.h"
#include "objects.h"

static inline void hawk_cleanup_path(struct hawk_path *path)
{
	hawk_path_deinit(path);
}

static void put_pointer(const struct hawk_pointer_report *report, uint32_t holder,
			const struct hawk_referrer *pointer, struct hawk_json *json)
{
	hawk_json_put_integer_if(json, "offset", pointer->offset != HAWK_OFFSET_UNKNOWN,
				 pointer->offset);
	hawk_report_json_member(report, holder, pointer->source, pointer->offset, json);
	hawk_json_put_boolean(json, "interior", pointer->interior);
}

static void put_step(const struct hawk_pointer_report *report, const struct hawk_path *path,
		     uint32_t i, struct hawk_json *json)
{
	hawk_json_object(json);
	hawk_report_json_block(report, path->blocks[i], json);
	if (i) {
		struct hawk_referrer pointer;

		hawk_referrer_between(report->graph, path->blocks[i - 1], path->blocks[i],
				      &pointer);
		put_pointer(report, i > 1 ? path->blocks[i - 2] : HAWK_BLOCK_NOWHERE, &pointer,
			    json);
	}
	hawk_report_json_site_stack(report, hawk_heap_site_at(report->heap, path->blocks[i]), json);
	hawk_json_object_end(json);
}

/* Writes which lost blocks hold a lost one, and the cycle that they are in. */
static void put_holders(const struct hawk_pointer_report *report,
			const struct hawk_path_targets *targets, uint32_t block,
			struct hawk_json *json)
{
	struct hawk_lost_way way = hawk_lost_way_of(report->graph, targets, block);

	hawk_json_put_array(json, "holders");
	for (uint32_t i = 0; i < way.count; i++) {
		const struct hawk_referrer *pointer = &way.steps[i];

		hawk_json_object(json);
		hawk_report_json_block(report, pointer->source, json);
		put_pointer(report, HAWK_BLOCK_NOWHERE, pointer, json);
		hawk_report_json_site_stack(report,
					    hawk_heap_site_at(report->heap, pointer->source), json);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
	hawk_json_put_integer_if(json, "cycle_holder", way.is_cycle, way.cycle);
	hawk_json_put_boolean(json, "holders_cut", way.is_cut);
}

static struct hawk_error *put_path(const struct hawk_pointer_report *report,
				   const struct hawk_paths *paths,
				   const struct hawk_path_targets *targets, uint32_t block,
				   struct hawk_json *json)
{
	CLEANUP(path) struct hawk_path path = {0};
	CLEANUP(text) struct hawk_text expression = {0};
	struct hawk_error *err = hawk_path_to(paths, block, &path);
	uint32_t end;

	if (err)
		return err;
	hawk_json_object(json);
	hawk_json_put_object(json, "block");
	hawk_report_json_block(report, block, json);
	hawk_json_put_string(
		json, "reach",
		hawk_json_reach_key(hawk_leaks_kind(report->graph, report->reach, block)));
	hawk_json_object_end(json);
	if (path.count)
		hawk_json_put_root(json, "root", report->roots, path.root);
	else
		hawk_json_put_null(json, "root");
	hawk_json_put_string(json, "expression",
			     path.count && hawk_report_append_expression(report, &path, &expression)
				     ? expression.bytes
				     : NULL);
	end = (uint32_t)hawk_json_put_path_list(json, "steps", path.count);
	for (uint32_t i = 0; i < end; i++)
		put_step(report, &path, i, json);
	hawk_json_array_end(json);
	if (!path.count)
		put_holders(report, targets, block, json);
	hawk_json_object_end(json);
	return NULL;
}

static void put_chosen(const struct hawk_path_targets *targets, struct hawk_json *json)
{
	hawk_json_put_object(json, "chosen");
	hawk_json_put_integer(json, "objects", targets->all.objects);
	hawk_json_put_integer(json, "bytes", targets->all.bytes);
	hawk_json_put_integer(json, "unreached_objects", targets->unreached.objects);
	hawk_json_put_integer(json, "unreached_bytes", targets->unreached.bytes);
	hawk_json_object_end(json);
}

struct hawk_error *hawk_report_paths_json(const struct hawk_pointer_report *report,
					  const struct hawk_paths *paths,
					  const struct hawk_path_targets *targets,
					  struct hawk_json *json)
{
	struct hawk_error *err = NULL;

	if (report->filter)
		put_chosen(targets, json);
	hawk_json_put_cut_list(json, "addresses", targets->count,
			       report->filter ? targets->all.objects : targets->count);
	for (size_t i = 0; i < targets->count && !err; i++)
		err = put_path(report, paths, targets, targets->blocks[i], json);
	hawk_json_array_end(json);
	return err;
}
