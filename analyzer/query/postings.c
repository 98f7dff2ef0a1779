/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Look-ups made by counting sort when a query first needs them, 4 bytes per entry and key: count,
 * add up, place. Offsets move by one while placing, so that they are right afterwards.
 */
#include <stdlib.h>

#include "state.h"

typedef void take_pair(struct sql_postings *postings, uint32_t key, uint32_t item);
/** Calls `take` for every key and item of a relation. */
typedef void give_pairs(const struct hawk_sql *sql, take_pair *take, struct sql_postings *postings);

/** `offsets` has keys + 2 entries: [key + 2] counts. */
static void count(struct sql_postings *postings, uint32_t key, uint32_t item)
{
	(void)item;
	postings->offsets[key + 2]++;
}

static void place(struct sql_postings *postings, uint32_t key, uint32_t item)
{
	postings->items[postings->offsets[key + 1]++] = item;
}

static struct hawk_error *make(const struct hawk_sql *sql, struct sql_postings *postings,
			       uint64_t keys, uint64_t items, give_pairs *give)
{
	if (postings->offsets)
		return NULL;
	postings->offsets = calloc(keys + 2, sizeof(*postings->offsets));
	postings->items = malloc((items + 1) * sizeof(*postings->items));
	if (!postings->offsets || !postings->items) {
		free(postings->offsets);
		free(postings->items);
		*postings = (struct sql_postings){0};
		return &hawk_enomem;
	}
	give(sql, count, postings);
	for (uint64_t key = 1; key < keys + 2; key++)
		postings->offsets[key] += postings->offsets[key - 1];
	give(sql, place, postings);
	return NULL;
}

static void give_blocks(const struct hawk_sql *sql, take_pair *take, struct sql_postings *postings)
{
	const struct hawk_heap *heap = sql->source.heap;
	uint32_t sites = (uint32_t)sql->source.heap->site_count;

	for (uint32_t block = 0; block < heap->index.count; block++) {
		uint32_t site = hawk_heap_site_at(heap, block);

		take(postings, site < sites ? site : sites, block);
	}
}

struct hawk_error *hawk_sql_blocks_by_site(struct hawk_sql *sql)
{
	/* One key more, for blocks that have none. */
	return make(sql, &sql->blocks_by_site, sql->source.heap->site_count + 1,
		    sql->source.heap->index.count, give_blocks);
}

static void give_sources(const struct hawk_sql *sql, take_pair *take, struct sql_postings *postings)
{
	const struct hawk_graph *edges = sql->source.graph;

	for (uint32_t block = 0; block < edges->count; block++)
		for (uint32_t i = edges->offsets[block]; i < edges->offsets[block + 1]; i++)
			take(postings, edges->edges[i] >> 1, block);
}

struct hawk_error *hawk_sql_sources_by_block(struct hawk_sql *sql)
{
	const struct hawk_graph *edges = sql->source.graph;

	return make(sql, &sql->sources_by_block, edges->count, edges->edge_count, give_sources);
}

static void give_roots(const struct hawk_sql *sql, take_pair *take, struct sql_postings *postings)
{
	const struct hawk_graph *graph = sql->source.graph;

	for (size_t i = 0; i < graph->roots.count; i++)
		take(postings, graph->roots.items[i].edge >> 1, (uint32_t)i);
}

struct hawk_error *hawk_sql_roots_by_block(struct hawk_sql *sql)
{
	const struct hawk_graph *graph = sql->source.graph;

	if (graph->roots.count > UINT32_MAX)
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED, "there are 2^32 roots or more");
	return make(sql, &sql->roots_by_block, graph->heap->index.count, graph->roots.count,
		    give_roots);
}

void hawk_sql_seek_posting(struct sql_cursor *cursor, const struct sql_postings *postings,
			   uint32_t key)
{
	cursor->at = postings->offsets[key];
	cursor->end = postings->offsets[key + 1];
	cursor->list = postings->items;
}
