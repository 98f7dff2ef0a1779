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
#include "hawk_site_stack.h"

enum { DEFAULT_TOP = 10, DEFAULT_DEPTH = 3 };

static size_t limit(const struct hawk_pointer_report *report, size_t count, bool full)
{
	size_t most = report->top ? report->top : full ? count : DEFAULT_TOP;

	return most < count ? most : count;
}

/** By site: of the blocks that were chosen. */
static const struct hawk_site_retained *retained_by(const struct hawk_pointer_report *report)
{
	return report->retained ? report->retained : report->graph->retained;
}

static int compare_sites(const void *left, const void *right, void *context)
{
	const struct hawk_site_retained *retained = context;
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;

	if (retained[a].all_pointers != retained[b].all_pointers)
		return retained[a].all_pointers > retained[b].all_pointers ? -1 : 1;
	if (retained[a].start_pointers != retained[b].start_pointers)
		return retained[a].start_pointers > retained[b].start_pointers ? -1 : 1;
	return a < b ? -1 : a > b;
}

/** Sorts; how many have live blocks. */
static size_t sort_sites(const struct hawk_pointer_report *report, struct hawk_site_list *list)
{
	size_t live = 0;

	for (size_t i = 0; i < list->count; i++)
		if (hawk_report_blocks_of(report, list->sites[i]).objects)
			list->sites[live++] = list->sites[i];
	if (live)
		qsort_r(list->sites, live, sizeof(*list->sites), compare_sites,
			(void *)retained_by(report));
	return live;
}

static struct hawk_error *put_site(const struct hawk_pointer_report *report,
				   const struct hawk_screen *screen, size_t number, uint32_t index)
{
	const struct hawk_heap *heap = report->graph->heap;
	const struct hawk_site_retained *retained = &retained_by(report)[index];
	struct hawk_chosen blocks = hawk_report_blocks_of(report, index);

	hawk_output_printf(screen->output, "%4zu %10s %10s %10s %12s  %016" PRIx64 "\n", number,
			   hawk_quantity_bytes(retained->all_pointers).text,
			   hawk_quantity_bytes(retained->start_pointers).text,
			   hawk_quantity_bytes(blocks.bytes).text,
			   hawk_quantity_count(blocks.objects).text, heap->sites[index].id);
	return hawk_site_stack_put(screen, report->symbols, heap, index, hawk_stack_telling_line,
				   screen->full    ? 0
				   : report->depth ? report->depth
						   : DEFAULT_DEPTH);
}

struct hawk_error *hawk_report_retained_sites(const struct hawk_pointer_report *report,
					      struct hawk_site_list *list,
					      const struct hawk_screen *screen)
{
	size_t live = sort_sites(report, list);
	size_t end = limit(report, live, screen->full);
	struct hawk_error *err = NULL;

	hawk_screen_heading(screen, "Sites by retained bytes (%s of %s)",
			    hawk_quantity_count(end).text, hawk_quantity_count(live).text);
	hawk_report_put_sampling(report, screen);
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
	const struct hawk_site_retained *retained = &retained_by(report)[index];
	struct hawk_chosen blocks = hawk_report_blocks_of(report, index);
	struct hawk_error *err;
	char id[17];

	hawk_report_site_id(report->graph, index, id);
	hawk_json_object(json);
	hawk_json_put_string(json, "site", id);
	hawk_json_put_integer(json, "objects", blocks.objects);
	hawk_json_put_integer(json, "shallow_bytes", blocks.bytes);
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
	size_t end = limit(report, sort_sites(report, list), true);
	struct hawk_error *err = NULL;

	hawk_json_key(json, "sites");
	hawk_json_array(json);
	for (size_t i = 0; i < end && !err; i++)
		err = put_json_site(report, list->sites[i], json);
	hawk_json_array_end(json);
	return err;
}

/** Whether `a` comes behind `b` in the list: less retained, or higher. */
static bool behind(const struct hawk_retained_block *a, const struct hawk_retained_block *b)
{
	return a->bytes != b->bytes ? a->bytes < b->bytes : a->block > b->block;
}

/** The best blocks found so far: a heap with the last one on top. */
struct best {
	struct hawk_retained_block *items;
	size_t count;
	size_t most;
};

static void sift_down(struct best *best, size_t at)
{
	for (;;) {
		size_t child = 2 * at + 1;
		struct hawk_retained_block swap = best->items[at];

		if (child >= best->count)
			return;
		if (child + 1 < best->count && behind(&best->items[child + 1], &best->items[child]))
			child++;
		if (!behind(&best->items[child], &swap))
			return;
		best->items[at] = best->items[child];
		best->items[child] = swap;
		at = child;
	}
}

static void offer(struct best *best, struct hawk_retained_block found)
{
	if (best->count < best->most) {
		best->items[best->count++] = found;
		if (best->count == best->most)
			for (size_t i = best->count / 2 + 1; i-- > 0;)
				sift_down(best, i);
		return;
	}
	if (!best->most || !behind(&best->items[0], &found))
		return;
	best->items[0] = found;
	sift_down(best, 0);
}

static int compare_found(const void *left, const void *right)
{
	const struct hawk_retained_block *a = left;
	const struct hawk_retained_block *b = right;

	if (a->block == b->block)
		return 0;
	return behind(a, b) ? 1 : -1;
}

struct hawk_error *hawk_retained_blocks_choose(const struct hawk_pointer_report *report, bool full,
					       struct hawk_retained_blocks *ret)
{
	const struct hawk_block_graph *graph = report->graph;
	struct best best = {
		.most = limit(report, hawk_block_index_block_count(&graph->index), full),
	};

	*ret = (struct hawk_retained_blocks){0};
	best.items = malloc((best.most + 1) * sizeof(*best.items));
	if (!best.items)
		return &hawk_enomem;
	ret->items = best.items;
	for (uint32_t number = 0; number < graph->index.count; number++) {
		struct hawk_block block;
		bool wanted = hawk_block_index_counts(&graph->index, number);
		struct hawk_error *err = NULL;

		if (wanted && report->filter) {
			hawk_block_graph_block(graph, number, &block);
			err = hawk_block_filter_block(report->filter, &block, &wanted);
		}
		if (err)
			return err;
		if (wanted)
			offer(&best, (struct hawk_retained_block){
					     number, hawk_block_graph_retained(
							     graph, &graph->dominators, number)});
	}
	if (best.count)
		qsort(best.items, best.count, sizeof(*best.items), compare_found);
	ret->count = best.count;
	return NULL;
}

void hawk_retained_blocks_deinit(struct hawk_retained_blocks *blocks)
{
	free(blocks->items);
	*blocks = (struct hawk_retained_blocks){0};
}

struct hawk_error *hawk_report_retained_blocks(const struct hawk_pointer_report *report,
					       const struct hawk_retained_blocks *blocks,
					       const struct hawk_dominators *start,
					       const struct hawk_screen *screen)
{
	const struct hawk_block_graph *graph = report->graph;
	struct hawk_error *err = NULL;

	hawk_screen_heading(screen, "Blocks by retained bytes (%s of %s)",
			    hawk_quantity_count(blocks->count).text,
			    hawk_quantity_count(hawk_block_index_block_count(&graph->index)).text);
	hawk_screen_style(screen, HAWK_STYLE_FAINT);
	hawk_output_printf(screen->output, "%10s %10s  %s\n", "retained", "start only", "block");
	hawk_screen_plain(screen);
	for (size_t i = 0; i < blocks->count && !err; i++) {
		const struct hawk_retained_block *item = &blocks->items[i];

		hawk_output_printf(
			screen->output, "%10s %10s  ", hawk_quantity_bytes(item->bytes).text,
			hawk_quantity_bytes(hawk_block_graph_retained(graph, start, item->block))
				.text);
		err = hawk_report_put_block(report, screen, item->block, 23);
	}
	return err;
}

struct hawk_error *hawk_report_retained_blocks_json(const struct hawk_pointer_report *report,
						    const struct hawk_retained_blocks *blocks,
						    const struct hawk_dominators *start,
						    struct hawk_json *json)
{
	struct hawk_error *err = NULL;

	hawk_json_key(json, "blocks");
	hawk_json_array(json);
	for (size_t i = 0; i < blocks->count && !err; i++) {
		const struct hawk_retained_block *item = &blocks->items[i];

		hawk_json_object(json);
		err = hawk_report_json_block(report, item->block, json);
		hawk_json_put_integer(json, "retained_bytes", item->bytes);
		hawk_json_key(json, "start_pointers");
		hawk_json_object(json);
		hawk_json_put_integer(json, "retained_bytes",
				      hawk_block_graph_retained(report->graph, start, item->block));
		hawk_json_object_end(json);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
	return err;
}
