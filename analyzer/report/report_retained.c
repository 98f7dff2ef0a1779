/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core retained: sites and blocks by what would be freed with them. A conservative scan must
 * say how sure it is: with all pointers a block is held more ways, so that others retain less; with
 * start pointers only, fewer. Both figures are given. Of the sites listed first they are exact, of
 * others at least so much.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

void hawk_report_retained_sort(const struct hawk_pointer_report *report,
			       struct hawk_site_list *list)
{
	size_t live = 0;

	for (size_t i = 0; i < list->count; i++)
		if (hawk_report_blocks_of(report, list->sites[i]).objects)
			list->sites[live++] = list->sites[i];
	if (live)
		qsort_r(list->sites, live, sizeof(*list->sites), compare_sites,
			(void *)(uintptr_t)report->retained);
	list->count = live;
}

static bool is_exact(const struct hawk_pointer_report *report, uint32_t site)
{
	return report->exact && report->exact[site / 64] >> site % 64 & 1;
}

/** "1.0 MiB"; ">=96 B", if it may be more. */
static struct hawk_quantity amount(uint64_t bytes, bool exact)
{
	struct hawk_quantity size = hawk_quantity_bytes(bytes);

	if (exact)
		return size;
	memmove(size.text + 2, size.text, sizeof(size.text) - 2);
	memcpy(size.text, ">=", 2);
	return size;
}

static struct hawk_error *put_site(const struct hawk_pointer_report *report,
				   const struct hawk_screen *screen,
				   struct hawk_site_stacks *stacks, size_t number, uint32_t index)
{
	const struct hawk_heap *heap = report->graph->heap;
	const struct hawk_site_retained *retained = &report->retained[index];
	struct hawk_chosen blocks = hawk_report_blocks_of(report, index);
	bool exact = is_exact(report, index);

	hawk_output_printf(screen->output, "%4zu %12s %12s %10s %12s  %016" PRIx64 "\n", number,
			   amount(retained->all_pointers, exact).text,
			   amount(retained->start_pointers, exact).text,
			   hawk_quantity_bytes(blocks.bytes).text,
			   hawk_quantity_count(blocks.objects).text, heap->sites[index].id);
	return hawk_site_stacks_put(stacks, index);
}

struct hawk_error *hawk_report_retained_sites(const struct hawk_pointer_report *report,
					      const struct hawk_site_list *list,
					      const struct hawk_screen *screen)
{
	bool all_exact = true;
	size_t live = list->count;
	size_t end = limit(report, live, screen->full);
	CLEANUP(site_stacks) struct hawk_site_stacks *stacks = NULL;
	struct hawk_error *err;

	hawk_screen_heading(screen, "Sites by retained bytes (%s of %s)",
			    hawk_quantity_count(end).text, hawk_quantity_count(live).text);
	if (!live) {
		hawk_report_put_none(report, screen);
		return NULL;
	}
	hawk_report_put_sampling(report, screen);
	hawk_report_put_start_only(screen);
	hawk_screen_style(screen, HAWK_STYLE_FAINT);
	hawk_output_printf(screen->output, "   # %12s %12s %10s %12s  %s\n", "retained",
			   "start only", "shallow", "blocks", "site");
	hawk_screen_plain(screen);
	err = hawk_site_stacks_create(screen, report->symbols, report->graph->heap, list->sites,
				      end,
				      screen->full    ? 0
				      : report->depth ? report->depth
						      : DEFAULT_DEPTH,
				      &stacks);
	for (size_t i = 0; i < end && !err; i++) {
		err = put_site(report, screen, stacks, i + 1, list->sites[i]);
		all_exact = all_exact && is_exact(report, list->sites[i]);
	}
	if (!err && !all_exact)
		hawk_output_puts(
			screen->output,
			"\n  >= at least: blocks that only several of a site's blocks hold "
			"together are\n  not counted. To have it exactly: --top=N for the "
			"first N sites, or --site.\n");
	return err;
}

static struct hawk_error *put_json_site(const struct hawk_pointer_report *report, uint32_t index,
					struct hawk_json *json)
{
	const struct hawk_site_retained *retained = &report->retained[index];
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
	hawk_json_put_boolean(json, "exact", is_exact(report, index));
	hawk_json_object_end(json);
	err = hawk_report_json_site_frames(report, index, json);
	hawk_json_object_end(json);
	return err;
}

struct hawk_error *hawk_report_retained_sites_json(const struct hawk_pointer_report *report,
						   const struct hawk_site_list *list,
						   struct hawk_json *json)
{
	size_t end = limit(report, list->count, true);
	struct hawk_error *err = NULL;

	hawk_json_key(json, "sites");
	hawk_json_array(json);
	for (size_t i = 0; i < end && !err; i++)
		err = put_json_site(report, list->sites[i], json);
	hawk_json_array_end(json);
	return err;
}

/** Most retained first; then by address. */
static int compare_blocks(const void *left, const void *right)
{
	const struct hawk_retained_block *a = left;
	const struct hawk_retained_block *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->block < b->block ? -1 : a->block > b->block;
}

static struct hawk_error *offer(const struct hawk_block_graph *graph, uint32_t block,
				struct hawk_ranking *shown)
{
	struct hawk_retained_block item = {
		.block = block,
		.bytes = hawk_block_graph_retained(graph, &graph->dominators, block),
	};

	return hawk_ranking_offer(shown, &item);
}

/** Who retains less does not come into the list. */
static uint64_t least_of(const struct hawk_ranking *shown)
{
	const struct hawk_retained_block *last = hawk_ranking_last(shown);

	return last ? last->bytes : 0;
}

static struct hawk_error *offer_number(const struct hawk_block_graph *graph, uint32_t number,
				       struct hawk_ranking *shown)
{
	const struct hawk_retained_block item = {
		.block = graph->dominators.blocks[number],
		.bytes = graph->dominators.retained[number],
	};

	if (graph->heap->index.part_count && hawk_block_index_part(&graph->heap->index, item.block))
		return NULL;
	return hawk_ranking_offer(shown, &item);
}

static struct hawk_error *rank_all(const struct hawk_block_graph *graph, struct hawk_ranking *shown)
{
	const uint64_t *retained = graph->dominators.retained;
	uint64_t least = least_of(shown);
	struct hawk_error *err = NULL;

	for (uint32_t i = 1; i <= graph->dominators.count && !err; i++) {
		if (retained[i] < least)
			continue;
		err = offer_number(graph, i, shown);
		least = least_of(shown);
	}
	return err;
}

/** The bits of `count` blocks, 64 at most: no branch depends on one. */
static uint64_t gather(const uint64_t *chosen, const uint32_t *blocks, uint32_t count)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < count; i++)
		bits |= (chosen[blocks[i] / 64] >> blocks[i] % 64 & 1) << i;
	return bits;
}

static struct hawk_error *rank_chosen(const struct hawk_block_graph *graph, const uint64_t *chosen,
				      struct hawk_ranking *shown)
{
	const struct hawk_dominators *dominators = &graph->dominators;
	uint64_t least = least_of(shown);
	struct hawk_error *err = NULL;

	for (uint64_t first = 1; first <= dominators->count; first += 64) {
		uint64_t left = dominators->count - first + 1;
		uint64_t bits =
			gather(chosen, dominators->blocks + first, left < 64 ? (uint32_t)left : 64);

		for (; bits && !err; bits &= bits - 1) {
			uint32_t number = (uint32_t)first + (uint32_t)__builtin_ctzll(bits);

			if (dominators->retained[number] < least)
				continue;
			err = offer_number(graph, number, shown);
			least = least_of(shown);
		}
		if (err)
			break;
	}
	return err;
}

/** In the order of their numbers among dominators, which is that of memory; nearly all of them
 * retain too little to be looked at. */
static struct hawk_error *rank(const struct hawk_block_graph *graph, const uint64_t *chosen,
			       struct hawk_ranking *shown)
{
	const struct hawk_block_index *index = &graph->heap->index;
	struct hawk_error *err =
		chosen ? rank_chosen(graph, chosen, shown) : rank_all(graph, shown);

	/* Of carved blocks several numbers count. */
	for (size_t i = 0; i < index->part_count && !err; i++)
		if (index->parts[i].previous == HAWK_BLOCK_NOWHERE &&
		    hawk_block_is_chosen(chosen, index->parts[i].number))
			err = offer(graph, index->parts[i].number, shown);
	return err;
}

struct hawk_error *hawk_retained_blocks_choose(const struct hawk_pointer_report *report, bool full,
					       struct hawk_retained_blocks *ret)
{
	const struct hawk_block_graph *graph = report->graph;
	struct hawk_choice_wish wish = hawk_block_filter_choice(report->filter);
	struct hawk_block_choice choice = {0};
	struct hawk_error *err = NULL;

	*ret = (struct hawk_retained_blocks){0};
	hawk_ranking_init(&ret->shown,
			  limit(report, hawk_block_index_block_count(&graph->heap->index), full),
			  sizeof(struct hawk_retained_block), compare_blocks);
	if (report->filter)
		err = hawk_block_choice_make(graph, &wish, &choice);
	else
		ret->count = hawk_block_index_block_count(&graph->heap->index);
	for (size_t i = 0; choice.sites && i < graph->heap->site_count; i++)
		ret->count += choice.sites[i].objects;
	if (!err)
		err = rank(graph, choice.blocks, &ret->shown);
	hawk_block_choice_deinit(&choice);
	hawk_ranking_sort(&ret->shown);
	return err;
}

void hawk_retained_blocks_deinit(struct hawk_retained_blocks *blocks)
{
	hawk_ranking_deinit(&blocks->shown);
}

struct hawk_error *hawk_report_retained_blocks(const struct hawk_pointer_report *report,
					       const struct hawk_retained_blocks *blocks,
					       const struct hawk_dominators *start,
					       const struct hawk_screen *screen)
{
	const struct hawk_block_graph *graph = report->graph;
	const struct hawk_retained_block *items = blocks->shown.items;
	struct hawk_error *err = NULL;

	hawk_screen_heading(screen, "Blocks by retained bytes (%s of %s)",
			    hawk_quantity_count(blocks->shown.count).text,
			    hawk_quantity_count(blocks->count).text);
	if (!blocks->count) {
		hawk_report_put_none(report, screen);
		return NULL;
	}
	hawk_report_put_start_only(screen);
	hawk_screen_style(screen, HAWK_STYLE_FAINT);
	hawk_output_printf(screen->output, "%10s %10s  %s\n", "retained", "start only", "block");
	hawk_screen_plain(screen);
	for (size_t i = 0; i < blocks->shown.count && !err; i++) {
		const struct hawk_retained_block *item = &items[i];

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
	const struct hawk_retained_block *items = blocks->shown.items;
	struct hawk_error *err = NULL;

	hawk_json_key(json, "blocks");
	hawk_json_array(json);
	for (size_t i = 0; i < blocks->shown.count && !err; i++) {
		const struct hawk_retained_block *item = &items[i];

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
