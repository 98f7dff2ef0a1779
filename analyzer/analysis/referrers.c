/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Pointers to one block. The words of a source are resolved as the graph did it, so that both agree
 * on what a pointer is.
 */
#include "hawk/analysis/referrers.h"

#include "hawk/base/array.h"
#include "hawk/graph/pointers.h"

static struct hawk_referrer *append(struct hawk_referrers *list)
{
	if (!hawk_array_reserve(&list->items, list->count, &list->capacity, sizeof(*list->items)))
		return NULL;
	return &list->items[list->count++];
}

/** Pointers of one block, of which some are wanted. */
struct wanted {
	uint32_t to; /**< HAWK_BLOCK_NOWHERE = all */
	struct hawk_referrers *list;
};

static struct hawk_error *add_pointers(void *context, const struct hawk_pointer *pointers,
				       size_t count)
{
	const struct wanted *wanted = context;

	for (size_t i = 0; i < count; i++) {
		uint32_t target = pointers[i].edge >> 1;
		struct hawk_referrer *item;

		if (wanted->to != HAWK_BLOCK_NOWHERE && target != wanted->to)
			continue;
		item = append(wanted->list);
		if (!item)
			return &hawk_enomem;
		*item = (struct hawk_referrer){
			.source = pointers[i].source,
			.target = target,
			.interior = pointers[i].edge & HAWK_EDGE_INTERIOR,
			.offset = pointers[i].offset,
			.inside = pointers[i].inside,
		};
	}
	return NULL;
}

/** Appends the pointers that lie in `source` and can be read. */
static struct hawk_error *add_readable(const struct hawk_graph *graph, uint32_t source, uint32_t to,
				       struct hawk_referrers *list)
{
	struct wanted wanted = {.to = to, .list = list};

	return hawk_pointers_read(graph, source, source + 1, NULL, add_pointers, &wanted);
}

/** Appends the pointers that the graph knows without their bytes, and so without offsets. */
static struct hawk_error *add_unread(const struct hawk_graph *graph, uint32_t source, uint32_t to,
				     struct hawk_referrers *list)
{
	for (uint32_t i = graph->offsets[source]; i < graph->offsets[source + 1]; i++) {
		uint32_t target = graph->edges[i] >> 1;
		struct hawk_referrer *item;

		if (to != HAWK_BLOCK_NOWHERE && target != to)
			continue;
		item = append(list);
		if (!item)
			return &hawk_enomem;
		*item = (struct hawk_referrer){
			.source = source,
			.target = target,
			.interior = graph->edges[i] & HAWK_EDGE_INTERIOR,
			.offset = HAWK_OFFSET_UNKNOWN,
			.inside = HAWK_OFFSET_UNKNOWN,
		};
	}
	return NULL;
}

struct hawk_error *hawk_referrers_add(const struct hawk_graph *graph, uint32_t source, uint32_t to,
				      struct hawk_referrers *list)
{
	size_t before = list->count;
	struct hawk_error *err = add_readable(graph, source, to, list);

	return err || list->count > before ? err : add_unread(graph, source, to, list);
}

static struct hawk_error *add_roots(const struct hawk_graph *graph, uint32_t block,
				    struct hawk_referrers *list)
{
	for (size_t i = 0; i < graph->roots.count; i++) {
		const struct hawk_root *root = &graph->roots.items[i];
		struct hawk_referrer *item;
		bool interior;

		if (root->edge >> 1 != block)
			continue;
		interior = root->edge != block << 1;
		item = append(list);
		if (!item)
			return &hawk_enomem;
		*item = (struct hawk_referrer){
			.source = (uint32_t)i,
			.target = block,
			.root = true,
			.interior = interior,
			.inside = interior ? hawk_roots_inside(graph->heap, &graph->roots, i, block)
					   : 0,
		};
	}
	return NULL;
}

static struct hawk_error *add_blocks(const struct hawk_graph *graph, uint32_t block,
				     struct hawk_referrers *list)
{
	const struct hawk_graph *edges = graph;
	struct hawk_error *err = NULL;
	uint32_t source = 0;

	for (uint32_t i = 0; i < edges->edge_count && !err; i++) {
		if (edges->edges[i] >> 1 != block)
			continue;
		/* Edges of one source are neighbours: most of the time the search is short. */
		while (edges->offsets[source + 1] <= i)
			source++;
		err = hawk_referrers_add(graph, source, block, list);
		i = edges->offsets[source + 1] - 1;
	}
	return err;
}

struct hawk_error *hawk_referrers_find(const struct hawk_graph *graph, uint32_t block,
				       struct hawk_referrers *ret)
{
	struct hawk_referrers list = {0};
	struct hawk_error *err = add_roots(graph, block, &list);

	if (!err)
		err = add_blocks(graph, block, &list);
	if (err)
		hawk_referrers_deinit(&list);
	else
		*ret = list;
	return err;
}

void hawk_referrers_deinit(struct hawk_referrers *referrers)
{
	free(referrers->items);
	*referrers = (struct hawk_referrers){0};
}

/* Takes the first pointer, or the first one to the start. */
static struct hawk_error *take_best(void *context, const struct hawk_pointer *pointers,
				    size_t count)
{
	struct hawk_referrer *best = context;

	for (size_t i = 0; i < count && best->inside; i++) {
		if (pointers[i].edge >> 1 != best->target ||
		    (best->offset != HAWK_OFFSET_UNKNOWN && pointers[i].inside))
			continue;
		best->offset = pointers[i].offset;
		best->inside = pointers[i].inside;
		best->interior = pointers[i].edge & HAWK_EDGE_INTERIOR;
	}
	return NULL;
}

bool hawk_referrer_between(const struct hawk_graph *graph, uint32_t from, uint32_t to,
			   struct hawk_referrer *ret)
{
	*ret = (struct hawk_referrer){.source = from,
				      .target = to,
				      .offset = HAWK_OFFSET_UNKNOWN,
				      .inside = HAWK_OFFSET_UNKNOWN,
				      .interior = true};
	hawk_error_destroy(hawk_pointers_read(graph, from, from + 1, NULL, take_best, ret));
	for (uint32_t i = graph->offsets[from];
	     i < graph->offsets[from + 1] && ret->offset == HAWK_OFFSET_UNKNOWN; i++)
		if (graph->edges[i] >> 1 == to)
			ret->interior &= graph->edges[i] & HAWK_EDGE_INTERIOR;
	return ret->offset != HAWK_OFFSET_UNKNOWN;
}
