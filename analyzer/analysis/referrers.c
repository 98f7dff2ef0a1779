/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Pointers to one block. The words of a source are resolved as the graph did it, so that both agree
 * on what a pointer is.
 */
#include "hawk_referrers.h"

#include <string.h>

#include "hawk_cleanup.h"

enum { WORD_BYTES = 8, WINDOW_BYTES = 64 << 10 };

/** Called for every pointer that a block holds. False ends the reading. */
typedef bool visit_function(void *context, uint64_t offset, uint32_t target, uint64_t value);

static bool visit_window(const struct hawk_graph *graph, uint32_t from, uint32_t to, uint64_t at,
			 const uint8_t *bytes, size_t size, visit_function *visit, void *context)
{
	for (size_t i = 0; i + WORD_BYTES <= size; i += WORD_BYTES) {
		uint64_t value;
		uint32_t target;
		bool interior;

		memcpy(&value, bytes + i, sizeof(value));
		target = hawk_block_index_find(&graph->heap->index, value, &interior);
		if (target == HAWK_BLOCK_NOWHERE ||
		    (to != HAWK_BLOCK_NOWHERE &&
		     !hawk_block_index_same(&graph->heap->index, target, to)))
			continue;
		/* Blocks carved out of this one have their own pointers. */
		if (hawk_block_index_find(&graph->heap->index,
					  hawk_block_start(&graph->heap->index, from) + at + i,
					  &interior) != from)
			continue;
		if (!visit(context, at + i, target, value))
			return false;
	}
	return true;
}

/** Visits the pointers to block `to`, or to any, that lie in block `from` and can be read. */
static void visit_pointers(const struct hawk_graph *graph, uint32_t from, uint32_t to,
			   visit_function *visit, void *context)
{
	uint64_t start = hawk_block_start(&graph->heap->index, from);
	uint64_t size = hawk_block_size(&graph->heap->index, from);
	uint8_t buffer[4096];

	for (uint64_t at = 0; at + WORD_BYTES <= size;) {
		size_t window = size - at < WINDOW_BYTES ? (size_t)(size - at) : WINDOW_BYTES;
		const uint8_t *bytes = hawk_target_view(graph->heap->target, start + at, window);

		if (!bytes) {
			window = window < sizeof(buffer) ? window : sizeof(buffer);
			memset(buffer, 0, sizeof(buffer));
			hawk_target_read_some(graph->heap->target, start + at, buffer, window);
			bytes = buffer;
		}
		if (!visit_window(graph, from, to, at, bytes, window, visit, context))
			return;
		at += window;
	}
}

static struct hawk_referrer *append(struct hawk_referrers *list)
{
	if (list->count == list->capacity) {
		size_t capacity = list->capacity ? 2 * list->capacity : 64;
		struct hawk_referrer *items =
			reallocarray(list->items, capacity, sizeof(*list->items));

		if (!items)
			return NULL;
		list->items = items;
		list->capacity = capacity;
	}
	return &list->items[list->count++];
}

/** Of the pointers that one source has. */
struct collection {
	const struct hawk_graph *graph;
	struct hawk_referrers *list;
	uint32_t source;
	size_t found;
	bool failed;
};

static bool collect(void *context, uint64_t offset, uint32_t target, uint64_t value)
{
	struct collection *collection = context;
	const struct hawk_block_index *index = &collection->graph->heap->index;
	struct hawk_referrer *item = append(collection->list);
	uint32_t source = hawk_block_index_whole(index, collection->source);
	uint64_t inside;

	target = hawk_block_index_whole(index, target);
	inside = value - hawk_block_start(index, target);
	if (!item) {
		collection->failed = true;
		return false;
	}
	*item = (struct hawk_referrer){
		.source = source,
		.target = target,
		.interior = inside,
		.offset = offset + hawk_block_start(index, collection->source) -
			  hawk_block_start(index, source),
		.inside = inside,
	};
	collection->found++;
	return true;
}

/** What the graph knows without the bytes: that, but not where. */
static bool collect_unread(const struct hawk_graph *graph, uint32_t source, uint32_t to,
			   struct hawk_referrers *list)
{
	const struct hawk_block_index *index = &graph->heap->index;
	bool part = hawk_block_index_part(index, source);

	for (uint32_t i = graph->offsets[source]; i < graph->offsets[source + 1]; i++) {
		uint32_t target = graph->edges[i] >> 1;
		struct hawk_referrer *item;

		if (to != HAWK_BLOCK_NOWHERE && !hawk_block_index_same(index, target, to))
			continue;
		/* That parts hold each other is not written anywhere. */
		if (part && hawk_block_index_same(index, target, source))
			continue;
		item = append(list);
		if (!item)
			return false;
		*item = (struct hawk_referrer){
			.source = hawk_block_index_whole(index, source),
			.target = hawk_block_index_whole(index, target),
			.interior = graph->edges[i] & HAWK_EDGE_INTERIOR,
			.offset = HAWK_OFFSET_UNKNOWN,
			.inside = HAWK_OFFSET_UNKNOWN,
		};
	}
	return true;
}

struct hawk_error *hawk_referrers_add(const struct hawk_graph *graph, uint32_t source, uint32_t to,
				      struct hawk_referrers *list)
{
	struct collection collection = {.graph = graph, .list = list, .source = source};

	visit_pointers(graph, source, to, collect, &collection);
	if (collection.failed)
		return &hawk_enomem;
	if (collection.found)
		return NULL;
	return collect_unread(graph, source, to, list) ? NULL : &hawk_enomem;
}

static bool add_roots(const struct hawk_graph *graph, uint32_t block, struct hawk_referrers *list)
{
	uint64_t start = hawk_block_start(&graph->heap->index, block);

	for (size_t i = 0; i < graph->roots.count; i++) {
		const struct hawk_root *root = &graph->roots.items[i];
		struct hawk_referrer *item;
		uint64_t value;

		bool interior;

		if (!hawk_block_index_same(&graph->heap->index, root->edge >> 1, block))
			continue;
		interior = root->edge != block << 1;
		item = append(list);
		if (!item)
			return false;
		*item = (struct hawk_referrer){
			.source = (uint32_t)i,
			.target = block,
			.root = true,
			.interior = interior,
			.inside = interior ? HAWK_OFFSET_UNKNOWN : 0,
		};
		if (item->interior && root->kind != HAWK_ROOT_REGISTER &&
		    hawk_target_read_some(graph->heap->target, root->address, &value,
					  sizeof(value)) == sizeof(value) &&
		    value - start < hawk_block_index_asked_bytes(&graph->heap->index, block))
			item->inside = value - start;
	}
	return true;
}

/** Whether `target` is `block`, or a part of it; `part` is what the index says of `block`. */
static bool is_of(const struct hawk_block_index *index, const struct hawk_block_part *part,
		  uint32_t block, uint32_t target)
{
	if (!part || target <= block)
		return target == block;
	return hawk_block_start(index, target) < part->end &&
	       hawk_block_index_whole(index, target) == block;
}

static bool add_blocks(const struct hawk_graph *graph, uint32_t block, struct hawk_referrers *list)
{
	const struct hawk_graph *edges = graph;
	const struct hawk_block_part *part = hawk_block_index_part(&graph->heap->index, block);
	uint32_t source = 0;

	for (uint32_t i = 0; i < edges->edge_count; i++) {
		if (!is_of(&graph->heap->index, part, block, edges->edges[i] >> 1))
			continue;
		/* Edges of one source are neighbours: most of the time the search is short. */
		while (edges->offsets[source + 1] <= i)
			source++;
		if (hawk_referrers_add(graph, source, block, list))
			return false;
		i = edges->offsets[source + 1] - 1;
	}
	return true;
}

struct hawk_error *hawk_referrers_find(const struct hawk_graph *graph, uint32_t block,
				       struct hawk_referrers *ret)
{
	struct hawk_referrers list = {0};

	block = hawk_block_index_whole(&graph->heap->index, block);
	if (!add_roots(graph, block, &list) || !add_blocks(graph, block, &list)) {
		hawk_referrers_deinit(&list);
		return &hawk_enomem;
	}
	*ret = list;
	return NULL;
}

void hawk_referrers_deinit(struct hawk_referrers *referrers)
{
	free(referrers->items);
	*referrers = (struct hawk_referrers){0};
}

/** The first pointer, and the first that is a start pointer. */
struct first {
	uint64_t start; /**< of the block pointed to */
	uint64_t part;  /**< where the part that is read begins in its block */
	bool found;
	uint64_t offset;
	uint64_t inside;
};

static bool note_first(void *context, uint64_t offset, uint32_t target, uint64_t value)
{
	struct first *first = context;
	uint64_t inside = value - first->start;

	(void)target;
	if (!first->found || !inside) {
		first->found = true;
		first->offset = first->part + offset;
		first->inside = inside;
	}
	return inside;
}

static bool has_start_edge(const struct hawk_graph *edges, uint32_t from, uint32_t to)
{
	for (uint32_t i = edges->offsets[from]; i < edges->offsets[from + 1]; i++)
		if (edges->edges[i] == to << 1)
			return true;
	return false;
}

bool hawk_referrer_between(const struct hawk_graph *graph, uint32_t from, uint32_t to,
			   struct hawk_referrer *ret)
{
	const struct hawk_block_index *index = &graph->heap->index;
	struct first first = {.start = hawk_block_start(index, to)};

	*ret = (struct hawk_referrer){.source = from,
				      .target = to,
				      .offset = HAWK_OFFSET_UNKNOWN,
				      .inside = HAWK_OFFSET_UNKNOWN,
				      .interior = true};
	for (uint32_t part = from; part != HAWK_BLOCK_NOWHERE;
	     part = hawk_block_index_next_part(index, part)) {
		first.part = hawk_block_start(index, part) - hawk_block_start(index, from);
		visit_pointers(graph, part, to, note_first, &first);
		if (first.found && !first.inside)
			break;
		if (has_start_edge(graph, part, to))
			ret->interior = false;
	}
	if (!first.found)
		return false;
	ret->offset = first.offset;
	ret->inside = first.inside;
	ret->interior = first.inside;
	return true;
}
