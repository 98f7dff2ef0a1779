/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core refs: the pointers to one block. Roots one by one; pointers in blocks grouped by the
 * site of the block and the offset in it, because a thousand blocks that point here from the same
 * field are one fact.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "json/objects.h"
#include "hawk/base/quantity.h"
#include "hawk/report/pointers.h"
#include "site_stacks.h"

enum {
	DEFAULT_TOP = 10,
	DEFAULT_DEPTH = 3,
	OFFSETS_MAX = 16, /**< a site with more offsets is an array: one group */
};

struct group {
	uint32_t site;
	uint64_t offset; /**< or HAWK_SITE_ANYWHERE, HAWK_OFFSET_UNKNOWN */
	uint64_t pointers;
	uint64_t interior;
	uint32_t example; /**< the lowest block */
};

struct refs {
	uint32_t block;
	uint64_t inside; /**< of the address asked for */
	struct hawk_referrers list;
	size_t root_count; /**< at the head of the list */
	struct group *groups;
	size_t group_count;
};

static void hawk_cleanup_refs(struct refs *refs)
{
	hawk_referrers_deinit(&refs->list);
	free(refs->groups);
}

static int compare_sources(const void *left, const void *right, void *context)
{
	const struct hawk_graph *graph = context;
	const struct hawk_referrer *a = left;
	const struct hawk_referrer *b = right;
	uint32_t site_a = hawk_heap_site_at(graph->heap, a->source);
	uint32_t site_b = hawk_heap_site_at(graph->heap, b->source);

	if (site_a != site_b)
		return site_a < site_b ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->source < b->source ? -1 : a->source > b->source;
}

static int compare_groups(const void *left, const void *right)
{
	const struct group *a = left;
	const struct group *b = right;

	if (a->pointers != b->pointers)
		return a->pointers > b->pointers ? -1 : 1;
	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/** Whether the pointers from `start` on that have the same site lie at too many offsets. */
static bool is_array(const struct hawk_graph *graph, const struct hawk_referrer *items,
		     size_t count)
{
	uint32_t site = hawk_heap_site_at(graph->heap, items[0].source);
	size_t offsets = 1;

	for (size_t i = 1; i < count && hawk_heap_site_at(graph->heap, items[i].source) == site;
	     i++)
		offsets += items[i].offset != items[i - 1].offset;
	return offsets > OFFSETS_MAX;
}

static void add_to_group(struct group *group, const struct hawk_referrer *item)
{
	group->pointers++;
	group->interior += item->interior;
	if (item->source < group->example)
		group->example = item->source;
}

/** The items are in the order of compare_sources(). Returns the number of groups. */
static size_t make_groups(const struct hawk_graph *graph, const struct hawk_referrer *items,
			  size_t count, struct group *groups)
{
	size_t used = 0;
	bool array = false;

	for (size_t i = 0; i < count; i++) {
		uint32_t site = hawk_heap_site_at(graph->heap, items[i].source);
		bool same_site = used && groups[used - 1].site == site;

		if (!same_site)
			array = is_array(graph, items + i, count - i);
		if (!same_site || (!array && groups[used - 1].offset != items[i].offset)) {
			groups[used++] = (struct group){
				.site = site,
				.offset = array ? HAWK_SITE_ANYWHERE : items[i].offset,
				.example = HAWK_BLOCK_NOWHERE,
			};
		}
		add_to_group(&groups[used - 1], &items[i]);
	}
	return used;
}

/** Keeps the pointers from blocks that were asked for. */
static void filter_list(const struct hawk_pointer_report *report, struct refs *refs)
{
	size_t kept = refs->root_count;

	if (!report->filter)
		return;
	for (size_t i = refs->root_count; i < refs->list.count; i++) {
		struct hawk_block block;

		hawk_heap_block(report->heap, refs->list.items[i].source, &block);
		if (hawk_block_filter_block(report->filter, &block))
			refs->list.items[kept++] = refs->list.items[i];
	}
	refs->list.count = kept;
}

static struct hawk_error *find(const struct hawk_pointer_report *report, uint64_t address,
			       struct refs *ret)
{
	const struct hawk_graph *graph = report->graph;
	struct hawk_error *err = hawk_report_find_block(report, address, &ret->block);
	struct hawk_referrer *items;
	size_t count;

	if (!err)
		err = hawk_referrers_find(graph, ret->block, &ret->list);
	if (err)
		return err;
	ret->inside = address - hawk_block_start(&graph->heap->index, ret->block);
	while (ret->root_count < ret->list.count && ret->list.items[ret->root_count].root)
		ret->root_count++;
	filter_list(report, ret);
	ret->groups = calloc(ret->list.count + 1, sizeof(*ret->groups));
	if (!ret->groups)
		return &hawk_enomem;
	count = ret->list.count - ret->root_count;
	if (!count)
		return NULL;
	items = ret->list.items + ret->root_count;
	qsort_r(items, count, sizeof(*items), compare_sources, (void *)graph);
	ret->group_count = make_groups(graph, items, count, ret->groups);
	qsort(ret->groups, ret->group_count, sizeof(*ret->groups), compare_groups);
	return NULL;
}

/** " -> +24" for pointers into the middle. */
static void put_inside(const struct hawk_screen *screen, const struct hawk_referrer *pointer)
{
	if (!pointer->interior)
		return;
	if (pointer->inside == HAWK_OFFSET_UNKNOWN)
		hawk_output_puts(screen->output, "  (interior)");
	else
		hawk_output_printf(screen->output, "  -> +%" PRIu64, pointer->inside);
}

static void put_roots(const struct hawk_pointer_report *report, const struct refs *refs,
		      const struct hawk_screen *screen)
{
	size_t end = hawk_report_limit(report, DEFAULT_TOP, refs->root_count, screen->full);

	hawk_screen_heading(screen, "Roots (%s of %s)", hawk_quantity_count(end).text,
			    hawk_quantity_count(refs->root_count).text);
	if (!end)
		hawk_output_puts(screen->output, "  none\n");
	for (size_t i = 0; i < end; i++) {
		CLEANUP(text) struct hawk_text text = {0};

		hawk_root_name(report->roots, refs->list.items[i].source, &text);
		hawk_output_printf(screen->output, "  %s", hawk_text_string(&text));
		put_inside(screen, &refs->list.items[i]);
		hawk_output_puts(screen->output, "\n");
	}
}

static void put_group(const struct hawk_pointer_report *report, const struct hawk_screen *screen,
		      struct hawk_site_stacks *stacks, const struct group *group)
{
	const struct hawk_heap *heap = report->heap;
	char offset[24] = "anywhere", id[17] = "";

	/* Both special offsets are the same number: in either case no place can be named. */
	if (group->offset != HAWK_SITE_ANYWHERE)
		snprintf(offset, sizeof(offset), "+%" PRIu64, group->offset);
	if (group->site < heap->site_count)
		snprintf(id, sizeof(id), "%016" PRIx64, heap->sites[group->site].id);
	hawk_output_printf(screen->output, "%10s %9s  %-8s  0x%-12" PRIx64 "  %16s\n",
			   hawk_quantity_count(group->pointers).text, offset,
			   group->interior == 0                 ? "start"
			   : group->interior == group->pointers ? "interior"
								: "both",
			   hawk_block_start(&report->heap->index, group->example), id);
	hawk_site_stacks_put(stacks, group->site);
}

static void put_groups(const struct hawk_pointer_report *report, const struct refs *refs,
		       const struct hawk_screen *screen)
{
	size_t end = hawk_report_limit(report, DEFAULT_TOP, refs->group_count, screen->full);
	CLEANUP(site_stacks)
	struct hawk_site_stacks stacks =
		hawk_site_stacks_on(screen, report->symbols, report->heap,
				    hawk_report_depth(report, DEFAULT_DEPTH, screen->full));

	hawk_screen_heading(screen, "Blocks, by site and offset (%s of %s)",
			    hawk_quantity_count(end).text,
			    hawk_quantity_count(refs->group_count).text);
	if (!end) {
		hawk_output_puts(screen->output, "  none\n");
		return;
	}
	hawk_screen_faint(screen, "%10s %9s  %-8s  %-14s  %s\n", "pointers", "offset", "to",
			  "for example", "site");
	for (size_t i = 0; i < end; i++)
		hawk_site_stacks_add(&stacks, refs->groups[i].site);
	hawk_site_stacks_compare(&stacks);
	for (size_t i = 0; i < end; i++)
		put_group(report, screen, &stacks, &refs->groups[i]);
}

struct hawk_error *hawk_report_refs(const struct hawk_pointer_report *report, uint64_t address,
				    const struct hawk_screen *screen)
{
	CLEANUP(refs) struct refs refs = {0};
	struct hawk_error *err = find(report, address, &refs);

	if (err)
		return err;
	hawk_screen_style(screen, HAWK_STYLE_HEADING);
	hawk_output_puts(screen->output, "Pointers to ");
	hawk_screen_plain(screen);
	hawk_report_put_block(report, screen, refs.block, 12);
	if (refs.inside)
		hawk_output_printf(screen->output, "  (0x%" PRIx64 " is its byte %" PRIu64 ")\n",
				   address, refs.inside);
	put_roots(report, &refs, screen);
	put_groups(report, &refs, screen);
	return NULL;
}

static void put_json_pointer(const struct hawk_referrer *pointer, struct hawk_json *json)
{
	hawk_json_put_boolean(json, "interior", pointer->interior);
	hawk_json_put_integer_if(json, "inside", pointer->inside != HAWK_OFFSET_UNKNOWN,
				 pointer->inside);
}

static void put_json_roots(const struct hawk_pointer_report *report, const struct refs *refs,
			   struct hawk_json *json)
{
	size_t end = hawk_report_limit(report, 0, refs->root_count, true);

	hawk_json_put_array(json, "roots");
	for (size_t i = 0; i < end; i++) {
		hawk_json_object(json);
		hawk_json_put_root(json, "root", report->roots, refs->list.items[i].source);
		put_json_pointer(&refs->list.items[i], json);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}

static void put_json_blocks(const struct hawk_pointer_report *report, const struct refs *refs,
			    struct hawk_json *json)
{
	const struct hawk_referrer *pointers = refs->list.items + refs->root_count;
	size_t end = hawk_report_limit(report, 0, refs->list.count - refs->root_count, true);

	hawk_json_put_array(json, "blocks");
	for (size_t i = 0; i < end; i++) {
		hawk_json_object(json);
		hawk_report_json_block(report, pointers[i].source, json);
		hawk_json_put_integer_if(json, "offset", pointers[i].offset != HAWK_OFFSET_UNKNOWN,
					 pointers[i].offset);
		put_json_pointer(&pointers[i], json);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}

static void put_json_groups(const struct hawk_pointer_report *report, const struct refs *refs,
			    struct hawk_json *json)
{
	size_t end = hawk_report_limit(report, 0, refs->group_count, true);

	hawk_json_put_array(json, "groups");
	for (size_t i = 0; i < end; i++) {
		const struct group *group = &refs->groups[i];

		hawk_json_object(json);
		hawk_json_put_site(json, "site", report->heap, group->site);
		hawk_json_put_integer_if(json, "offset", group->offset != HAWK_SITE_ANYWHERE,
					 group->offset);
		hawk_json_put_integer(json, "pointers", group->pointers);
		hawk_json_put_integer(json, "interior", group->interior);
		hawk_json_put_address(json, "example",
				      hawk_block_start(&report->heap->index, group->example));
		hawk_report_json_site_frames(report, group->site, json);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}

struct hawk_error *hawk_report_refs_json(const struct hawk_pointer_report *report, uint64_t address,
					 struct hawk_json *json)
{
	CLEANUP(refs) struct refs refs = {0};
	struct hawk_error *err = find(report, address, &refs);

	if (err)
		return err;
	hawk_json_object(json);
	hawk_json_put_object(json, "block");
	hawk_report_json_block(report, refs.block, json);
	hawk_json_put_integer(json, "inside", refs.inside);
	hawk_json_object_end(json);
	put_json_roots(report, &refs, json);
	put_json_blocks(report, &refs, json);
	put_json_groups(report, &refs, json);
	hawk_json_object_end(json);
	return NULL;
}
