/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What stands behind a verdict: which pointers to a record's blocks there are, and what is lost
 * through them.
 */
#include <stdlib.h>
#include <string.h>

#include "hawk_cleanup.h"
#include "hawk_prefetch.h"
#include "leaks_fold.h"

enum { EDGES_AHEAD = 32 };

struct evidence {
	struct hawk_leak_fold *fold;
	struct hawk_leak_bits pointed;
	uint32_t *last_sources; /* by record; all pointers of a source come together */
};

static void hawk_cleanup_evidence(struct evidence *evidence)
{
	hawk_area_destroy(&evidence->pointed.area);
	free(evidence->last_sources);
}

static void hawk_cleanup_bits(struct hawk_leak_bits *bits)
{
	hawk_area_destroy(&bits->area);
}

/* The record that `block` counts for, NULL = none. */
static struct hawk_leak_record *record_of(const struct hawk_leak_fold *fold, uint32_t block)
{
	if (!hawk_leak_bit(&fold->recorded, block))
		return NULL;
	return &fold->leaks->records[*hawk_leak_slot(fold, block, hawk_leak_kind(fold, block))];
}

static void add_pointer(struct evidence *evidence, struct hawk_leak_record *record, uint32_t edge,
			unsigned source, bool explained)
{
	if (edge & HAWK_EDGE_INTERIOR)
		record->pointers[source].interior++;
	else
		record->pointers[source].start++;
	record->explained += explained;
	record->pointed_objects += !hawk_leak_set_bit(&evidence->pointed, edge >> 1);
}

static void add_roots(struct evidence *evidence)
{
	const struct hawk_roots *roots = &evidence->fold->graph->roots;

	for (size_t i = 0; i < roots->count; i++) {
		const struct hawk_root *root = &roots->items[i];
		struct hawk_leak_record *record = record_of(evidence->fold, root->edge >> 1);

		if (!record)
			continue;
		add_pointer(evidence, record, root->edge, root->kind,
			    hawk_explained_root(evidence->fold->explained, i));
		if (record->first_root == UINT32_MAX)
			record->first_root = (uint32_t)i;
	}
}

/* `whole`: the block that `source` is, or is a part of. */
static void add_edges(struct evidence *evidence, uint32_t source, uint32_t whole)
{
	struct hawk_leak_fold *fold = evidence->fold;
	const struct hawk_graph *edges = &fold->graph->edges;
	unsigned from = HAWK_LEAK_FROM_BLOCKS + fold->leaks->reach.kinds[source];

	for (uint32_t i = edges->offsets[source]; i < edges->offsets[source + 1]; i++) {
		uint32_t edge = edges->edges[i];
		struct hawk_leak_record *record = record_of(fold, edge >> 1);
		uint32_t *last;

		if (edges->edge_count - i > EDGES_AHEAD)
			hawk_prefetch(&fold->recorded.bits[edges->edges[i + EDGES_AHEAD] >> 4]);
		if (!record || hawk_block_index_same(&fold->graph->index, edge >> 1, whole))
			continue;
		add_pointer(evidence, record, edge, from, hawk_explained_edge(fold->explained, i));
		last = &evidence->last_sources[record - fold->leaks->records];
		record->source_blocks += *last != whole;
		*last = whole;
	}
}

/* Those of all parts of a carved block with its first one, so that it is one source. */
static void add_all_edges(struct evidence *evidence, uint32_t block)
{
	const struct hawk_block_index *index = &evidence->fold->graph->index;

	if (hawk_block_index_whole(index, block) != block)
		return;
	for (uint32_t part = block; part != HAWK_BLOCK_NOWHERE;
	     part = hawk_block_index_next_part(index, part))
		add_edges(evidence, part, block);
}

struct hawk_error *hawk_leaks_find_evidence(struct hawk_leak_fold *fold)
{
	CLEANUP(evidence) struct evidence evidence = {.fold = fold};
	size_t bytes = (fold->leaks->count + 1) * sizeof(*evidence.last_sources);
	struct hawk_error *err = hawk_leak_bits_create(&evidence.pointed, fold->graph->index.count);

	if (err)
		return err;
	evidence.last_sources = malloc(bytes);
	if (!evidence.last_sources)
		return &hawk_enomem;
	memset(evidence.last_sources, 0xff, bytes);
	if (!fold->leaks->count)
		return NULL;
	add_roots(&evidence);
	for (uint32_t block = 0; block < fold->graph->edges.count; block++)
		add_all_edges(&evidence, block);
	return NULL;
}

/* All that `leader` leads to and no lower leader does. */
static void flood(const struct hawk_leak_fold *fold, struct hawk_leak_bits *met, uint32_t leader,
		  uint32_t *stack, struct hawk_leak_record *record)
{
	const struct hawk_graph *edges = &fold->graph->edges;
	uint32_t depth = 0;

	stack[depth++] = leader;
	while (depth) {
		uint32_t block = stack[--depth];

		for (uint32_t i = edges->offsets[block]; i < edges->offsets[block + 1]; i++) {
			uint32_t target = edges->edges[i] >> 1;

			if (fold->leaks->reach.kinds[target] != HAWK_REACH_INDIRECTLY_LOST ||
			    hawk_leak_set_bit(met, target))
				continue;
			stack[depth++] = target;
			if (!record)
				continue;
			record->indirect_objects +=
				hawk_block_index_counts(&fold->graph->index, target);
			record->indirect_bytes +=
				hawk_block_index_left_bytes(&fold->graph->index, target);
		}
	}
}

struct hawk_error *hawk_leaks_add_indirect(struct hawk_leak_fold *fold, uint32_t *stack)
{
	CLEANUP(bits) struct hawk_leak_bits met = {0};
	struct hawk_error *err = hawk_leak_bits_create(&met, fold->graph->index.count);
	const uint8_t *kinds, *end, *at;

	if (err || !fold->leaks->count)
		return err;
	kinds = fold->leaks->reach.kinds;
	end = kinds + fold->graph->index.count;
	for (at = kinds; (at = memchr(at, HAWK_REACH_DEFINITELY_LOST, (size_t)(end - at))); at++)
		flood(fold, &met, (uint32_t)(at - kinds), stack,
		      record_of(fold, (uint32_t)(at - kinds)));
	return NULL;
}
