/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Pointers to one block. The words of a source are resolved as the graph did it, so that both agree
 * on what a pointer is.
 */
#include "hawk/analysis/referrers.h"

#include <string.h>

#include "hawk/base/array.h"

enum { WORD_BYTES = 8, WINDOW_BYTES = 64 << 10 };

static struct hawk_referrer *append(struct hawk_referrers *list)
{
	if (!hawk_array_reserve(&list->items, list->count, &list->capacity, sizeof(*list->items)))
		return NULL;
	return &list->items[list->count++];
}

static struct hawk_error *add_window(const struct hawk_graph *graph, uint32_t source, uint32_t to,
				     uint64_t at, const uint8_t *bytes, size_t size,
				     struct hawk_referrers *list)
{
	const struct hawk_block_index *index = &graph->heap->index;
	uint32_t whole = hawk_block_index_whole(index, source);

	for (size_t i = 0; i + WORD_BYTES <= size; i += WORD_BYTES) {
		uint64_t address = hawk_block_start(index, source) + at + i;
		struct hawk_referrer *item;
		uint64_t value, inside;
		uint32_t target;
		bool interior;

		memcpy(&value, bytes + i, sizeof(value));
		target = hawk_block_index_find(index, value, &interior);
		if (target == HAWK_BLOCK_NOWHERE ||
		    (to != HAWK_BLOCK_NOWHERE && !hawk_block_index_same(index, target, to)))
			continue;
		/* Blocks carved out of this one have their own pointers. */
		if (hawk_block_index_find(index, address, &interior) != source)
			continue;
		item = append(list);
		if (!item)
			return &hawk_enomem;
		target = hawk_block_index_whole(index, target);
		inside = value - hawk_block_start(index, target);
		*item = (struct hawk_referrer){
			.source = whole,
			.target = target,
			.interior = inside,
			.offset = address - hawk_block_start(index, whole),
			.inside = inside,
		};
	}
	return NULL;
}

/** Appends the pointers that lie in `source` and can be read. */
static struct hawk_error *add_readable(const struct hawk_graph *graph, uint32_t source, uint32_t to,
				       struct hawk_referrers *list)
{
	uint64_t start = hawk_block_start(&graph->heap->index, source);
	uint64_t size = hawk_block_size(&graph->heap->index, source);
	struct hawk_error *err = NULL;
	uint8_t buffer[4096];

	for (uint64_t at = 0; at + WORD_BYTES <= size && !err;) {
		size_t window = size - at < WINDOW_BYTES ? (size_t)(size - at) : WINDOW_BYTES;
		const uint8_t *bytes = hawk_target_view(graph->heap->target, start + at, window);

		if (!bytes) {
			window = window < sizeof(buffer) ? window : sizeof(buffer);
			memset(buffer, 0, sizeof(buffer));
			hawk_target_read_some(graph->heap->target, start + at, buffer, window);
			bytes = buffer;
		}
		err = add_window(graph, source, to, at, bytes, window, list);
		at += window;
	}
	return err;
}

/** What the graph knows without the bytes: that, but not where. */
static struct hawk_error *add_unread(const struct hawk_graph *graph, uint32_t source, uint32_t to,
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
			return &hawk_enomem;
		*item = (struct hawk_referrer){
			.source = hawk_block_index_whole(index, source),
			.target = hawk_block_index_whole(index, target),
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
			return &hawk_enomem;
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
	return NULL;
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

static struct hawk_error *add_blocks(const struct hawk_graph *graph, uint32_t block,
				     struct hawk_referrers *list)
{
	const struct hawk_graph *edges = graph;
	const struct hawk_block_part *part = hawk_block_index_part(&graph->heap->index, block);
	struct hawk_error *err = NULL;
	uint32_t source = 0;

	for (uint32_t i = 0; i < edges->edge_count && !err; i++) {
		if (!is_of(&graph->heap->index, part, block, edges->edges[i] >> 1))
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
	struct hawk_error *err;

	block = hawk_block_index_whole(&graph->heap->index, block);
	err = add_roots(graph, block, &list);
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

bool hawk_referrer_between(const struct hawk_graph *graph, uint32_t from, uint32_t to,
			   struct hawk_referrer *ret)
{
	struct hawk_referrers list = {0};
	struct hawk_error *err = NULL;

	*ret = (struct hawk_referrer){.source = from,
				      .target = to,
				      .offset = HAWK_OFFSET_UNKNOWN,
				      .inside = HAWK_OFFSET_UNKNOWN,
				      .interior = true};
	for (uint32_t part = from; part != HAWK_BLOCK_NOWHERE && !err;
	     part = hawk_block_index_next_part(&graph->heap->index, part))
		err = hawk_referrers_add(graph, part, to, &list);
	for (size_t i = 0; i < list.count && ret->inside; i++) {
		const struct hawk_referrer *item = &list.items[i];

		if (item->offset != HAWK_OFFSET_UNKNOWN &&
		    (ret->offset == HAWK_OFFSET_UNKNOWN || !item->inside))
			*ret = *item;
		else if (ret->offset == HAWK_OFFSET_UNKNOWN)
			ret->interior &= item->interior;
	}
	hawk_error_destroy(err);
	hawk_referrers_deinit(&list);
	return ret->offset != HAWK_OFFSET_UNKNOWN;
}
