/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Counting sorts: count, add up, place. Offsets are moved by one while placing, so that they are
 * right afterwards.
 */
#include "sql_postings.h"

#include <stdlib.h>

#include "hawk_cleanup.h"

/** `offsets` has keys + 2 entries: [key + 2] counts. */
static struct hawk_error *begin(struct sql_postings *postings, uint64_t keys, uint64_t items)
{
	postings->offsets = calloc(keys + 2, sizeof(*postings->offsets));
	postings->items = malloc((items + 1) * sizeof(*postings->items));
	if (postings->offsets && postings->items)
		return NULL;
	free(postings->offsets);
	free(postings->items);
	*postings = (struct sql_postings){0};
	return &hawk_enomem;
}

static void add_up(struct sql_postings *postings, uint64_t keys)
{
	for (uint64_t key = 1; key < keys + 2; key++)
		postings->offsets[key] += postings->offsets[key - 1];
}

static void place(struct sql_postings *postings, uint32_t key, uint32_t item)
{
	postings->items[postings->offsets[key + 1]++] = item;
}

struct hawk_error *hawk_sql_blocks_by_site(struct hawk_sql *sql)
{
	const struct hawk_block_graph *graph = sql->source.graph;
	struct sql_postings *postings = &sql->blocks_by_site;
	uint32_t sites = (uint32_t)sql->source.heap->site_count;
	struct hawk_error *err;

	if (postings->offsets)
		return NULL;
	/* One key more, for blocks that have none. */
	err = begin(postings, (uint64_t)sites + 1, graph->index.count);
	if (err)
		return err;
	for (uint32_t block = 0; block < graph->index.count; block++) {
		uint32_t site = hawk_block_graph_site(graph, block);

		postings->offsets[(site < sites ? site : sites) + 2]++;
	}
	add_up(postings, (uint64_t)sites + 1);
	for (uint32_t block = 0; block < graph->index.count; block++) {
		uint32_t site = hawk_block_graph_site(graph, block);

		place(postings, site < sites ? site : sites, block);
	}
	return NULL;
}

struct hawk_error *hawk_sql_sources_by_block(struct hawk_sql *sql)
{
	const struct hawk_block_index *index = &sql->source.graph->index;
	const struct hawk_graph *edges = &sql->source.graph->edges;
	struct sql_postings *postings = &sql->sources_by_block;
	struct hawk_error *err;

	if (postings->offsets)
		return NULL;
	err = begin(postings, edges->count, edges->edge_count);
	if (err)
		return err;
	for (uint32_t i = 0; i < edges->edge_count; i++)
		postings->offsets[hawk_block_index_whole(index, edges->edges[i] >> 1) + 2]++;
	add_up(postings, edges->count);
	for (uint32_t block = 0; block < edges->count; block++)
		for (uint32_t i = edges->offsets[block]; i < edges->offsets[block + 1]; i++)
			place(postings, hawk_block_index_whole(index, edges->edges[i] >> 1), block);
	return NULL;
}

/** The block that a root points to; of parts of a carved one, that. */
static uint32_t target_of(const struct hawk_block_graph *graph, size_t root)
{
	return hawk_block_index_whole(&graph->index, graph->roots.items[root].edge >> 1);
}

struct hawk_error *hawk_sql_roots_by_block(struct hawk_sql *sql)
{
	const struct hawk_block_graph *graph = sql->source.graph;
	struct sql_postings *postings = &sql->roots_by_block;
	struct hawk_error *err;

	if (postings->offsets)
		return NULL;
	if (graph->roots.count > UINT32_MAX)
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED, "there are 2^32 roots or more");
	err = begin(postings, graph->index.count, graph->roots.count);
	if (err)
		return err;
	for (size_t i = 0; i < graph->roots.count; i++)
		postings->offsets[target_of(graph, i) + 2]++;
	add_up(postings, graph->index.count);
	for (size_t i = 0; i < graph->roots.count; i++)
		place(postings, target_of(graph, i), (uint32_t)i);
	return NULL;
}

void hawk_sql_seek_posting(struct sql_cursor *cursor, const struct sql_postings *postings,
			   uint32_t key)
{
	cursor->at = postings->offsets[key];
	cursor->end = postings->offsets[key + 1];
	cursor->list = postings->items;
}
