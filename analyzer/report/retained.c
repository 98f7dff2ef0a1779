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

#include "hawk/base/cleanup.h"
#include "json/objects.h"
#include "hawk/base/quantity.h"
#include "hawk/report/pointers.h"
#include "site_stacks.h"

enum { DEFAULT_TOP = 10, DEFAULT_DEPTH = 3 };

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

static void put_site(const struct hawk_pointer_report *report, const struct hawk_screen *screen,
		     struct hawk_site_stacks *stacks, size_t number, uint32_t index)
{
	const struct hawk_site_retained *retained = &report->retained[index];
	struct hawk_chosen blocks = hawk_report_blocks_of(report, index);
	bool exact = is_exact(report, index);

	hawk_output_printf(screen->output, "%4zu %12s %12s %10s %12s  %016" PRIx64 "\n", number,
			   amount(retained->all_pointers, exact).text,
			   amount(retained->start_pointers, exact).text,
			   hawk_quantity_bytes(blocks.bytes).text,
			   hawk_quantity_count(blocks.objects).text, report->heap->sites[index].id);
	hawk_site_stacks_put(stacks, index);
}

void hawk_report_retained_sites(const struct hawk_pointer_report *report,
				const struct hawk_site_list *list, const struct hawk_screen *screen)
{
	bool all_exact = true;
	size_t end = hawk_report_limit(report, DEFAULT_TOP, list->count, screen->full);
	CLEANUP(site_stacks)
	struct hawk_site_stacks stacks =
		hawk_site_stacks_on(screen, report->symbols, report->heap,
				    hawk_report_depth(report, DEFAULT_DEPTH, screen->full));

	hawk_screen_heading(screen, "Sites by retained bytes (%s of %s)",
			    hawk_quantity_count(end).text, hawk_quantity_count(list->count).text);
	if (!list->count) {
		hawk_report_put_none(report, screen);
		return;
	}
	hawk_report_put_sampling(report, screen);
	hawk_report_put_start_only(screen);
	hawk_screen_faint(screen, "   # %12s %12s %10s %12s  %s\n", "retained", "start only",
			  "shallow", "blocks", "site");
	for (size_t i = 0; i < end; i++)
		hawk_site_stacks_add(&stacks, list->sites[i]);
	hawk_site_stacks_compare(&stacks);
	for (size_t i = 0; i < end; i++) {
		put_site(report, screen, &stacks, i + 1, list->sites[i]);
		all_exact = all_exact && is_exact(report, list->sites[i]);
	}
	if (!all_exact)
		hawk_output_puts(
			screen->output,
			"\n  >= at least: blocks that only several of a site's blocks hold "
			"together are\n  not counted. To have it exactly: --top=N for the "
			"first N sites, or --site.\n");
}

void hawk_report_retained_sites_json(const struct hawk_pointer_report *report,
				     const struct hawk_site_list *list, struct hawk_json *json)
{
	size_t end = hawk_report_limit(report, DEFAULT_TOP, list->count, true);

	hawk_json_put_array(json, "sites");
	for (size_t i = 0; i < end; i++) {
		uint32_t site = list->sites[i];
		struct hawk_chosen blocks = hawk_report_blocks_of(report, site);

		hawk_json_object(json);
		hawk_json_put_site(json, "site", report->heap, site);
		hawk_json_put_integer(json, "objects", blocks.objects);
		hawk_json_put_integer(json, "shallow_bytes", blocks.bytes);
		hawk_report_json_retained(&report->retained[site], is_exact(report, site), json);
		hawk_report_json_site_frames(report, site, json);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
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

static struct hawk_error *offer(const struct hawk_pointer_report *report, uint32_t block,
				struct hawk_ranking *shown)
{
	struct hawk_retained_block item = {
		.block = block,
		.bytes = hawk_dominators_retained(report->dominators, &report->heap->index, block),
	};

	return hawk_ranking_offer(shown, &item);
}

/** Whole blocks by their numbers among dominators; nearly all retain too little to be looked at. */
static struct hawk_error *rank(const struct hawk_pointer_report *report, const uint64_t *chosen,
			       struct hawk_ranking *shown)
{
	const struct hawk_dominators *dominators = report->dominators;
	const struct hawk_block_index *index = &report->heap->index;
	const struct hawk_retained_block *last;
	struct hawk_error *err = NULL;
	uint64_t least = 0;

	for (uint32_t i = 1; i <= dominators->count && !err; i++) {
		struct hawk_retained_block item = {dominators->blocks[i], dominators->retained[i]};

		if (item.bytes < least || !hawk_block_is_chosen(chosen, item.block) ||
		    (index->part_count && hawk_block_index_part(index, item.block)))
			continue;
		err = hawk_ranking_offer(shown, &item);
		last = hawk_ranking_last(shown);
		least = last ? last->bytes : 0;
	}
	/* Of carved blocks several numbers count. */
	for (size_t i = 0; i < index->part_count && !err; i++)
		if (index->parts[i].previous == HAWK_BLOCK_NOWHERE &&
		    hawk_block_is_chosen(chosen, index->parts[i].number))
			err = offer(report, index->parts[i].number, shown);
	return err;
}

struct hawk_error *hawk_retained_blocks_choose(const struct hawk_pointer_report *report, bool full,
					       struct hawk_retained_blocks *ret)
{
	struct hawk_choice_wish wish = hawk_block_filter_choice(report->filter);
	struct hawk_block_choice choice = {0};
	struct hawk_error *err = NULL;

	*ret = (struct hawk_retained_blocks){0};
	hawk_ranking_init(&ret->shown,
			  hawk_report_limit(report, DEFAULT_TOP,
					    hawk_block_index_block_count(&report->heap->index),
					    full),
			  sizeof(struct hawk_retained_block), compare_blocks);
	if (report->filter)
		err = hawk_block_choice_make(report->heap, &wish, &choice);
	else
		ret->count = hawk_block_index_block_count(&report->heap->index);
	for (size_t i = 0; choice.sites && i < report->heap->site_count; i++)
		ret->count += choice.sites[i].objects;
	if (!err)
		err = rank(report, choice.blocks, &ret->shown);
	hawk_block_choice_deinit(&choice);
	hawk_ranking_sort(&ret->shown);
	return err;
}

void hawk_retained_blocks_deinit(struct hawk_retained_blocks *blocks)
{
	hawk_ranking_deinit(&blocks->shown);
}

void hawk_report_retained_blocks(const struct hawk_pointer_report *report,
				 const struct hawk_retained_blocks *blocks,
				 const struct hawk_dominators *start,
				 const struct hawk_screen *screen)
{
	const struct hawk_retained_block *items = blocks->shown.items;

	hawk_screen_heading(screen, "Blocks by retained bytes (%s of %s)",
			    hawk_quantity_count(blocks->shown.count).text,
			    hawk_quantity_count(blocks->count).text);
	if (!blocks->count) {
		hawk_report_put_none(report, screen);
		return;
	}
	hawk_report_put_start_only(screen);
	hawk_screen_faint(screen, "%10s %10s  %s\n", "retained", "start only", "block");
	for (size_t i = 0; i < blocks->shown.count; i++) {
		uint64_t by_starts =
			hawk_dominators_retained(start, &report->heap->index, items[i].block);

		hawk_output_printf(screen->output, "%10s %10s  ",
				   hawk_quantity_bytes(items[i].bytes).text,
				   hawk_quantity_bytes(by_starts).text);
		hawk_report_put_block(report, screen, items[i].block, 23);
	}
}

void hawk_report_retained_blocks_json(const struct hawk_pointer_report *report,
				      const struct hawk_retained_blocks *blocks,
				      const struct hawk_dominators *start, struct hawk_json *json)
{
	const struct hawk_retained_block *items = blocks->shown.items;

	hawk_json_put_array(json, "blocks");
	for (size_t i = 0; i < blocks->shown.count; i++) {
		hawk_json_object(json);
		hawk_report_json_block(report, items[i].block, json);
		hawk_json_put_integer(json, "retained_bytes", items[i].bytes);
		hawk_json_put_object(json, "start_pointers");
		hawk_json_put_integer(
			json, "retained_bytes",
			hawk_dominators_retained(start, &report->heap->index, items[i].block));
		hawk_json_object_end(json);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}
