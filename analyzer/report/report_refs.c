/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core refs: the pointers to one block. Roots one by one; pointers in blocks grouped by the
 * site of the block and the offset in it, because a thousand blocks that point here from the same
 * field are one fact.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "hawk_cleanup.h"
#include "hawk_quantity.h"
#include "hawk_report_pointers.h"
#include "hawk_site_stack.h"

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
	const struct hawk_block_graph *graph = context;
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
static bool is_array(const struct hawk_block_graph *graph, const struct hawk_referrer *items,
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
static size_t make_groups(const struct hawk_block_graph *graph, const struct hawk_referrer *items,
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
static struct hawk_error *filter_list(const struct hawk_pointer_report *report, struct refs *refs)
{
	size_t kept = refs->root_count;

	for (size_t i = refs->root_count; report->filter && i < refs->list.count; i++) {
		struct hawk_block block;
		bool wanted;
		struct hawk_error *err;

		hawk_heap_block(report->graph->heap, refs->list.items[i].source, &block);
		err = hawk_block_filter_block(report->filter, &block, &wanted);
		if (err)
			return err;
		if (wanted)
			refs->list.items[kept++] = refs->list.items[i];
	}
	if (report->filter)
		refs->list.count = kept;
	return NULL;
}

static struct hawk_error *find(const struct hawk_pointer_report *report, uint64_t address,
			       struct refs *ret)
{
	const struct hawk_block_graph *graph = report->graph;
	struct hawk_error *err;
	bool interior;

	ret->block = hawk_block_index_find(&graph->heap->index, address, &interior);
	if (ret->block == HAWK_BLOCK_NOWHERE)
		return hawk_report_no_block(report, address);
	ret->block = hawk_block_index_whole(&graph->heap->index, ret->block);
	ret->inside = address - hawk_block_start(&graph->heap->index, ret->block);
	err = hawk_referrers_find(graph, ret->block, &ret->list);
	if (err)
		return err;
	while (ret->root_count < ret->list.count && ret->list.items[ret->root_count].root)
		ret->root_count++;
	err = filter_list(report, ret);
	if (err)
		return err;
	ret->groups = calloc(ret->list.count + 1, sizeof(*ret->groups));
	if (!ret->groups)
		return &hawk_enomem;
	if (ret->list.count > ret->root_count)
		qsort_r(ret->list.items + ret->root_count, ret->list.count - ret->root_count,
			sizeof(*ret->list.items), compare_sources, (void *)graph);
	ret->group_count = make_groups(graph, ret->list.items + ret->root_count,
				       ret->list.count - ret->root_count, ret->groups);
	if (ret->group_count)
		qsort(ret->groups, ret->group_count, sizeof(*ret->groups), compare_groups);
	return NULL;
}

static size_t limit(size_t wish, size_t usual, size_t count, const struct hawk_screen *screen)
{
	size_t most = wish ? wish : screen->full ? count : usual;

	return most < count ? most : count;
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

static struct hawk_error *put_roots(const struct hawk_pointer_report *report,
				    const struct refs *refs, const struct hawk_screen *screen)
{
	size_t end = limit(report->top, DEFAULT_TOP, refs->root_count, screen);

	hawk_screen_heading(screen, "Roots (%s of %s)", hawk_quantity_count(end).text,
			    hawk_quantity_count(refs->root_count).text);
	if (!end)
		hawk_output_puts(screen->output, "  none\n");
	for (size_t i = 0; i < end; i++) {
		CLEANUP(text) struct hawk_text text = {0};
		struct hawk_error *err =
			hawk_root_name(report->roots, refs->list.items[i].source, &text);

		if (err)
			return err;
		hawk_output_puts(screen->output, "  ");
		hawk_output_append(screen->output, text.bytes, text.size);
		put_inside(screen, &refs->list.items[i]);
		hawk_output_puts(screen->output, "\n");
	}
	return NULL;
}

static void put_offset(const struct hawk_screen *screen, uint64_t offset)
{
	char text[24] = "anywhere";

	/* Both special offsets are the same number: in either case no place can be named. */
	if (offset != HAWK_SITE_ANYWHERE)
		snprintf(text, sizeof(text), "+%" PRIu64, offset);
	hawk_output_printf(screen->output, "%9s  ", text);
}

static struct hawk_error *put_group(const struct hawk_pointer_report *report,
				    const struct hawk_screen *screen,
				    struct hawk_site_stacks *stacks, const struct group *group)
{
	char id[17];

	hawk_report_site_id(report->graph, group->site, id);
	hawk_output_printf(screen->output, "%10s ", hawk_quantity_count(group->pointers).text);
	put_offset(screen, group->offset);
	hawk_output_printf(screen->output, "%-8s  0x%-12" PRIx64 "  %16s\n",
			   group->interior == 0                 ? "start"
			   : group->interior == group->pointers ? "interior"
								: "both",
			   hawk_block_start(&report->graph->heap->index, group->example), id);
	return hawk_site_stacks_put(stacks, group->site);
}

/** The stacks of the first `count` groups. */
static struct hawk_error *compare_stacks(const struct hawk_pointer_report *report,
					 const struct refs *refs, size_t count,
					 const struct hawk_screen *screen,
					 struct hawk_site_stacks **ret)
{
	CLEANUP(free_ptr) uint32_t *sites = calloc(count + 1, sizeof(*sites));

	if (!sites)
		return &hawk_enomem;
	for (size_t i = 0; i < count; i++)
		sites[i] = refs->groups[i].site;
	return hawk_site_stacks_create(screen, report->symbols, report->graph->heap, sites, count,
				       screen->full    ? 0
				       : report->depth ? report->depth
						       : DEFAULT_DEPTH,
				       ret);
}

static struct hawk_error *put_groups(const struct hawk_pointer_report *report,
				     const struct refs *refs, const struct hawk_screen *screen)
{
	size_t end = limit(report->top, DEFAULT_TOP, refs->group_count, screen);
	CLEANUP(site_stacks) struct hawk_site_stacks *stacks = NULL;
	struct hawk_error *err;

	hawk_screen_heading(screen, "Blocks, by site and offset (%s of %s)",
			    hawk_quantity_count(end).text,
			    hawk_quantity_count(refs->group_count).text);
	if (!end) {
		hawk_output_puts(screen->output, "  none\n");
		return NULL;
	}
	hawk_screen_style(screen, HAWK_STYLE_FAINT);
	hawk_output_printf(screen->output, "%10s %9s  %-8s  %-14s  %s\n", "pointers", "offset",
			   "to", "for example", "site");
	hawk_screen_plain(screen);
	err = compare_stacks(report, refs, end, screen, &stacks);
	for (size_t i = 0; i < end && !err; i++)
		err = put_group(report, screen, stacks, &refs->groups[i]);
	return err;
}

struct hawk_error *hawk_report_refs(const struct hawk_pointer_report *report, uint64_t address,
				    const struct hawk_screen *screen)
{
	CLEANUP(refs) struct refs refs = {0};
	struct hawk_error *err = find(report, address, &refs);

	if (err)
		return err;
	hawk_screen_style(screen, HAWK_STYLE_HEADING);
	hawk_output_printf(screen->output, "Pointers to ");
	hawk_screen_plain(screen);
	err = hawk_report_put_block(report, screen, refs.block, 12);
	if (!err && refs.inside)
		hawk_output_printf(screen->output, "  (0x%" PRIx64 " is its byte %" PRIu64 ")\n",
				   address, refs.inside);
	if (!err)
		err = put_roots(report, &refs, screen);
	return err ? err : put_groups(report, &refs, screen);
}

static void put_json_pointer(const struct hawk_referrer *pointer, struct hawk_json *json)
{
	hawk_json_put_boolean(json, "interior", pointer->interior);
	hawk_json_key(json, "inside");
	if (pointer->inside == HAWK_OFFSET_UNKNOWN)
		hawk_json_null(json);
	else
		hawk_json_integer(json, pointer->inside);
}

static struct hawk_error *put_json_roots(const struct hawk_pointer_report *report,
					 const struct refs *refs, struct hawk_json *json)
{
	struct hawk_error *err = NULL;

	hawk_json_key(json, "roots");
	hawk_json_array(json);
	for (size_t i = 0; i < refs->root_count && !err; i++) {
		if (report->top && i == report->top)
			break;
		hawk_json_object(json);
		hawk_json_key(json, "root");
		err = hawk_root_json(report->roots, refs->list.items[i].source, json);
		put_json_pointer(&refs->list.items[i], json);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
	return err;
}

static struct hawk_error *put_json_blocks(const struct hawk_pointer_report *report,
					  const struct refs *refs, struct hawk_json *json)
{
	struct hawk_error *err = NULL;

	hawk_json_key(json, "blocks");
	hawk_json_array(json);
	for (size_t i = refs->root_count; i < refs->list.count && !err; i++) {
		const struct hawk_referrer *pointer = &refs->list.items[i];

		if (report->top && i - refs->root_count == report->top)
			break;
		hawk_json_object(json);
		err = hawk_report_json_block(report, pointer->source, json);
		hawk_json_key(json, "offset");
		if (pointer->offset == HAWK_OFFSET_UNKNOWN)
			hawk_json_null(json);
		else
			hawk_json_integer(json, pointer->offset);
		put_json_pointer(pointer, json);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
	return err;
}

static struct hawk_error *put_json_groups(const struct hawk_pointer_report *report,
					  const struct refs *refs, struct hawk_json *json)
{
	struct hawk_error *err = NULL;

	hawk_json_key(json, "groups");
	hawk_json_array(json);
	for (size_t i = 0; i < refs->group_count && !err; i++) {
		const struct group *group = &refs->groups[i];
		char id[17];

		if (report->top && i == report->top)
			break;
		hawk_report_site_id(report->graph, group->site, id);
		hawk_json_object(json);
		hawk_json_put_string(json, "site", id[0] ? id : NULL);
		hawk_json_key(json, "offset");
		if (group->offset == HAWK_SITE_ANYWHERE)
			hawk_json_null(json);
		else
			hawk_json_integer(json, group->offset);
		hawk_json_put_integer(json, "pointers", group->pointers);
		hawk_json_put_integer(json, "interior", group->interior);
		hawk_json_put_address(
			json, "example",
			hawk_block_start(&report->graph->heap->index, group->example));
		err = hawk_report_json_site_frames(report, group->site, json);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
	return err;
}

struct hawk_error *hawk_report_refs_json(const struct hawk_pointer_report *report, uint64_t address,
					 struct hawk_json *json)
{
	CLEANUP(refs) struct refs refs = {0};
	struct hawk_error *err = find(report, address, &refs);

	if (err)
		return err;
	hawk_json_object(json);
	hawk_json_key(json, "block");
	hawk_json_object(json);
	err = hawk_report_json_block(report, refs.block, json);
	hawk_json_put_integer(json, "inside", refs.inside);
	hawk_json_object_end(json);
	if (!err)
		err = put_json_roots(report, &refs, json);
	if (!err)
		err = put_json_blocks(report, &refs, json);
	if (!err)
		err = put_json_groups(report, &refs, json);
	hawk_json_object_end(json);
	return err;
}
