/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core path with a filter: why the largest and oldest of the blocks that it chooses are alive,
 * and how many of all of them no root leads to.
 */
#include "hawk_block_order.h"
#include "hawk_cleanup.h"
#include "hawk_json_objects.h"
#include "hawk_quantity.h"
#include "hawk_report_pointers.h"

enum { DEFAULT_TOP = 5 };

static void sum(const struct hawk_block_index *index, const struct hawk_paths *paths,
		const uint64_t *chosen, struct hawk_path_targets *targets)
{
	for (uint64_t first = 0; first < index->count; first += 64) {
		uint64_t bits = chosen[first / 64];

		hawk_chosen_add_64(&targets->all, index, (uint32_t)first, bits);
		hawk_chosen_add_64(&targets->unreached, index, (uint32_t)first,
				   bits & ~paths->found[first / 64]);
	}
}

struct hawk_error *hawk_path_targets_choose(const struct hawk_pointer_report *report,
					    const struct hawk_paths *paths, bool full,
					    struct hawk_path_targets *ret)
{
	struct hawk_choice_wish wish = hawk_block_filter_choice(report->filter);
	CLEANUP(free_ptr) uint64_t *chosen = NULL;
	size_t most = report->top ? report->top : full ? SIZE_MAX : DEFAULT_TOP;
	struct hawk_error *err;

	*ret = (struct hawk_path_targets){0};
	err = hawk_choice_bits_make(report->heap, &wish, true, &chosen);
	if (err)
		return err;
	sum(&report->heap->index, paths, chosen, ret);
	return hawk_block_order_first(report->heap, chosen, most, &ret->shown);
}

void hawk_path_targets_deinit(struct hawk_path_targets *targets)
{
	hawk_ranking_deinit(&targets->shown);
}

static void put_sums(const struct hawk_pointer_report *report,
		     const struct hawk_path_targets *targets, const struct hawk_screen *screen)
{
	hawk_screen_heading(screen, "Paths to chosen blocks, largest first, then oldest (%s of %s)",
			    hawk_quantity_count(targets->shown.count).text,
			    hawk_quantity_count(targets->all.objects).text);
	if (!targets->all.objects) {
		hawk_report_put_none(report, screen);
		return;
	}
	hawk_output_printf(screen->output, "  %s in all",
			   hawk_quantity_bytes(targets->all.bytes).text);
	if (targets->unreached.objects)
		hawk_output_printf(screen->output, "; no root leads to %s of them (%s)",
				   hawk_quantity_count(targets->unreached.objects).text,
				   hawk_quantity_bytes(targets->unreached.bytes).text);
	hawk_output_puts(screen->output, "\n");
}

struct hawk_error *hawk_report_paths(const struct hawk_pointer_report *report,
				     const struct hawk_paths *paths,
				     const struct hawk_path_targets *targets,
				     const struct hawk_screen *screen)
{
	const struct hawk_numbered_block *shown = targets->shown.items;
	struct hawk_error *err = NULL;

	put_sums(report, targets, screen);
	for (size_t i = 0; i < targets->shown.count && !err; i++) {
		hawk_output_puts(screen->output, "\n");
		err = hawk_report_path_to(report, paths, shown[i].number, screen);
	}
	if (err)
		return err;
	if (targets->all.objects > targets->shown.count)
		hawk_output_printf(
			screen->output,
			"\n... %s more; hawk-core merge-paths merges the paths to all of them\n",
			hawk_quantity_count(targets->all.objects - targets->shown.count).text);
	return NULL;
}

struct hawk_error *hawk_report_paths_json(const struct hawk_pointer_report *report,
					  const struct hawk_paths *paths,
					  const struct hawk_path_targets *targets,
					  struct hawk_json *json)
{
	const struct hawk_numbered_block *shown = targets->shown.items;
	struct hawk_error *err = NULL;

	hawk_json_put_object(json, "chosen");
	hawk_json_put_integer(json, "objects", targets->all.objects);
	hawk_json_put_integer(json, "bytes", targets->all.bytes);
	hawk_json_put_integer(json, "unreached_objects", targets->unreached.objects);
	hawk_json_put_integer(json, "unreached_bytes", targets->unreached.bytes);
	hawk_json_object_end(json);
	hawk_json_put_array(json, "addresses");
	for (size_t i = 0; i < targets->shown.count && !err; i++)
		err = hawk_report_path_to_json(report, paths, shown[i].number, json);
	hawk_json_array_end(json);
	return err;
}
