/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core retained: sites and blocks by what would be freed with them. A conservative scan must
 * say how sure it is: with all pointers a block is held more ways, so that others retain less; with
 * start pointers only, fewer. Both figures are given.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "hawk_cleanup.h"
#include "hawk_quantity.h"
#include "hawk_report_pointers.h"

enum { DEFAULT_TOP = 10, DEFAULT_DEPTH = 3, INDENT = 6 };

static size_t limit(const struct hawk_pointer_report *report, size_t count, bool full)
{
	size_t most = report->top ? report->top : full ? count : DEFAULT_TOP;

	return most < count ? most : count;
}

static int compare_sites(const void *left, const void *right, void *context)
{
	const struct hawk_block_graph *graph = context;
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;

	if (graph->retained[a].all_pointers != graph->retained[b].all_pointers)
		return graph->retained[a].all_pointers > graph->retained[b].all_pointers ? -1 : 1;
	if (graph->retained[a].start_pointers != graph->retained[b].start_pointers)
		return graph->retained[a].start_pointers > graph->retained[b].start_pointers ? -1
											     : 1;
	return a < b ? -1 : a > b;
}

/** Sorts; how many have live blocks. */
static size_t sort_sites(const struct hawk_block_graph *graph, struct hawk_site_list *list)
{
	size_t live = 0;

	for (size_t i = 0; i < list->count; i++)
		if (graph->heap->sites[list->sites[i]].inuse_objects)
			list->sites[live++] = list->sites[i];
	if (live)
		qsort_r(list->sites, live, sizeof(*list->sites), compare_sites, (void *)graph);
	return live;
}

static struct hawk_error *put_site(const struct hawk_pointer_report *report,
				   const struct hawk_screen *screen, size_t number, uint32_t index)
{
	const struct hawk_heap *heap = report->graph->heap;
	const struct hawk_site_retained *retained = &report->graph->retained[index];
	const struct hawk_site *site = &heap->sites[index];
	struct hawk_error *err;
	struct hawk_stack stack;

	hawk_output_printf(screen->output, "%4zu %10s %10s %10s %12s  %016" PRIx64 "\n", number,
			   hawk_quantity_bytes(retained->all_pointers).text,
			   hawk_quantity_bytes(retained->start_pointers).text,
			   hawk_quantity_bytes(site->inuse_bytes).text,
			   hawk_quantity_count(site->inuse_objects).text, site->id);
	hawk_stack_init(&stack);
	err = hawk_stack_of_trace(report->symbols, heap->table, site->trace, &stack);
	if (!err && stack.count)
		hawk_screen_stack(screen, &stack, screen->full ? 0 : hawk_stack_first_line(&stack),
				  screen->full    ? 0
				  : report->depth ? report->depth
						  : DEFAULT_DEPTH,
				  INDENT);
	else if (!err)
		hawk_output_puts(screen->output, "      (no stack)\n");
	hawk_stack_deinit(&stack);
	return err;
}

struct hawk_error *hawk_report_retained_sites(const struct hawk_pointer_report *report,
					      struct hawk_site_list *list,
					      const struct hawk_screen *screen)
{
	size_t live = sort_sites(report->graph, list);
	size_t end = limit(report, live, screen->full);
	struct hawk_error *err = NULL;

	hawk_screen_heading(screen, "Sites by retained bytes (%s of %s)",
			    hawk_quantity_count(end).text, hawk_quantity_count(live).text);
	hawk_screen_style(screen, HAWK_STYLE_FAINT);
	hawk_output_printf(screen->output, "   # %10s %10s %10s %12s  %s\n", "retained",
			   "start only", "shallow", "blocks", "site");
	hawk_screen_plain(screen);
	for (size_t i = 0; i < end && !err; i++)
		err = put_site(report, screen, i + 1, list->sites[i]);
	return err;
}

static struct hawk_error *put_json_site(const struct hawk_pointer_report *report, uint32_t index,
					struct hawk_json *json)
{
	const struct hawk_site_retained *retained = &report->graph->retained[index];
	const struct hawk_site *site = &report->graph->heap->sites[index];
	struct hawk_error *err;
	char id[17];

	hawk_report_site_id(report->graph, index, id);
	hawk_json_object(json);
	hawk_json_put_string(json, "site", id);
	hawk_json_put_integer(json, "objects", site->inuse_objects);
	hawk_json_put_integer(json, "shallow_bytes", site->inuse_bytes);
	hawk_json_key(json, "retained_bytes");
	hawk_json_object(json);
	hawk_json_put_integer(json, "all_pointers", retained->all_pointers);
	hawk_json_put_integer(json, "start_pointers", retained->start_pointers);
	hawk_json_object_end(json);
	err = hawk_report_json_site_frames(report, index, json);
	hawk_json_object_end(json);
	return err;
}

struct hawk_error *hawk_report_retained_sites_json(const struct hawk_pointer_report *report,
						   struct hawk_site_list *list,
						   struct hawk_json *json)
{
	size_t end = limit(report, sort_sites(report->graph, list), true);
	struct hawk_error *err = NULL;

	hawk_json_key(json, "sites");
	hawk_json_array(json);
	for (size_t i = 0; i < end && !err; i++)
		err = put_json_site(report, list->sites[i], json);
	hawk_json_array_end(json);
	return err;
}

static uint64_t retained_of(const struct hawk_block_graph *graph, uint32_t block)
{
	return graph->dominators.retained[graph->dominators.numbers[block]];
}

/** Whether `a` comes behind `b` in the list: less retained, or higher. */
static bool behind(const struct hawk_block_graph *graph, uint32_t a, uint32_t b)
{
	uint64_t of_a = retained_of(graph, a);
	uint64_t of_b = retained_of(graph, b);

	return of_a != of_b ? of_a < of_b : a > b;
}

/** The best blocks found so far: a heap with the last one on top. */
struct best {
	const struct hawk_block_graph *graph;
	uint32_t *blocks;
	size_t count;
	size_t most;
};

static void sift_down(struct best *best, size_t at)
{
	for (;;) {
		size_t child = 2 * at + 1;
		uint32_t swap = best->blocks[at];

		if (child >= best->count)
			return;
		if (child + 1 < best->count &&
		    behind(best->graph, best->blocks[child + 1], best->blocks[child]))
			child++;
		if (!behind(best->graph, best->blocks[child], swap))
			return;
		best->blocks[at] = best->blocks[child];
		best->blocks[child] = swap;
		at = child;
	}
}

static void offer(struct best *best, uint32_t block)
{
	if (best->count < best->most) {
		best->blocks[best->count++] = block;
		if (best->count == best->most)
			for (size_t i = best->count / 2 + 1; i-- > 0;)
				sift_down(best, i);
		return;
	}
	if (!best->most || !behind(best->graph, best->blocks[0], block))
		return;
	best->blocks[0] = block;
	sift_down(best, 0);
}

static int compare_blocks(const void *left, const void *right, void *context)
{
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;

	if (a == b)
		return 0;
	return behind(context, a, b) ? 1 : -1;
}

static struct hawk_error *find_best(const struct hawk_pointer_report *report, size_t most,
				    struct best *best)
{
	const struct hawk_block_graph *graph = report->graph;

	*best = (struct best){.graph = graph, .most = most};
	best->blocks = malloc((most + 1) * sizeof(*best->blocks));
	if (!best->blocks)
		return &hawk_enomem;
	for (uint32_t number = 0; number < graph->index.count; number++) {
		struct hawk_block block;
		bool wanted = true;
		struct hawk_error *err = NULL;

		if (report->filter) {
			hawk_block_graph_block(graph, number, &block);
			err = hawk_block_filter_block(report->filter, &block, &wanted);
		}
		if (err)
			return err;
		if (wanted)
			offer(best, number);
	}
	if (best->count)
		qsort_r(best->blocks, best->count, sizeof(*best->blocks), compare_blocks,
			(void *)graph);
	return NULL;
}

static inline void hawk_cleanup_best(struct best *best)
{
	free(best->blocks);
}

struct hawk_error *hawk_report_retained_blocks(const struct hawk_pointer_report *report,
					       const struct hawk_screen *screen)
{
	CLEANUP(best) struct best best = {0};
	size_t most = limit(report, report->graph->index.count, screen->full);
	struct hawk_error *err = find_best(report, most, &best);

	if (err)
		return err;
	hawk_screen_heading(screen, "Blocks by retained bytes (%s of %s)",
			    hawk_quantity_count(best.count).text,
			    hawk_quantity_count(report->graph->index.count).text);
	hawk_screen_style(screen, HAWK_STYLE_FAINT);
	hawk_output_printf(screen->output, "%10s  %s\n", "retained", "block");
	hawk_screen_plain(screen);
	for (size_t i = 0; i < best.count && !err; i++) {
		hawk_output_printf(
			screen->output, "%10s  ",
			hawk_quantity_bytes(retained_of(report->graph, best.blocks[i])).text);
		err = hawk_report_put_block(report, screen, best.blocks[i], 12);
	}
	return err;
}

struct hawk_error *hawk_report_retained_blocks_json(const struct hawk_pointer_report *report,
						    struct hawk_json *json)
{
	CLEANUP(best) struct best best = {0};
	size_t most = limit(report, report->graph->index.count, true);
	struct hawk_error *err = find_best(report, most, &best);

	if (err)
		return err;
	hawk_json_key(json, "blocks");
	hawk_json_array(json);
	for (size_t i = 0; i < best.count && !err; i++) {
		hawk_json_object(json);
		err = hawk_report_json_block(report, best.blocks[i], json);
		hawk_json_put_integer(json, "retained_bytes",
				      retained_of(report->graph, best.blocks[i]));
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
	return err;
}
