/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Pointers come in the order of edges when they are read, so that each finds its edge; told again,
 * edges are looked through 64 at a time for those that lead to wanted blocks.
 */
#include "hawk_pointer_places.h"

#include <stdlib.h>

#include "hawk_cleanup.h"
#include "hawk_parallel.h"
#include "hawk_progress.h"

enum {
	WORD_BYTES = 8,
	TOLD_AT_ONCE = 512,
	EDGES_AT_ONCE = 64,
	SHARES_MAX = 16,
};

/** Blocks whose pointers one thread reads. */
struct share {
	const struct hawk_target *target;
	const struct hawk_block_index *index;
	const struct hawk_graph *graph;
	uint8_t *words;
	uint32_t first, end;
	uint32_t block; /**< that the latest pointer is of */
	uint32_t edge;  /**< the next one of it */
	struct hawk_error *err;
};

static struct hawk_error *note_words(void *context, const struct hawk_pointer *pointers,
				     size_t count)
{
	struct share *share = context;

	for (size_t i = 0; i < count; i++) {
		uint64_t word = pointers[i].offset / WORD_BYTES + 1;

		if (pointers[i].source != share->block) {
			share->block = pointers[i].source;
			share->edge = share->graph->offsets[share->block];
		}
		share->words[share->edge++] =
			(uint8_t)(word < HAWK_PLACE_LAST ? word : HAWK_PLACE_LAST);
	}
	return NULL;
}

static void read_share(void *context, unsigned part)
{
	struct share *share = (struct share *)context + part;

	share->err = hawk_pointers_read(share->target, share->index, share->graph, share->first,
					share->end, NULL, note_words, share);
}

static struct hawk_error *find_words(struct share *all, unsigned threads)
{
	struct share shares[SHARES_MAX];
	struct hawk_progress progress;
	struct hawk_error *err = NULL;
	uint64_t count = all->graph->count;

	if (threads > SHARES_MAX)
		threads = SHARES_MAX;
	for (unsigned i = 0; i < threads; i++) {
		shares[i] = *all;
		shares[i].first = (uint32_t)(count * i / threads);
		shares[i].end = (uint32_t)(count * (i + 1) / threads);
		shares[i].block = HAWK_BLOCK_NOWHERE;
	}
	hawk_progress_begin(&progress, "finding places of pointers", count);
	hawk_parallel_run(threads, read_share, shares);
	hawk_progress_end(&progress);
	for (unsigned i = 0; i < threads; i++) {
		if (err)
			hawk_error_destroy(shares[i].err);
		else
			err = shares[i].err;
	}
	return err;
}

/** Those who are met, and those who are met again. */
static void meet(uint64_t *met, uint64_t *shared, uint32_t block)
{
	uint64_t bit = UINT64_C(1) << block % 64;

	shared[block / 64] |= met[block / 64] & bit;
	met[block / 64] |= bit;
}

static struct hawk_error *find_shared(const struct hawk_graph *graph,
				      const struct hawk_roots *roots, uint64_t *shared)
{
	CLEANUP(free_ptr) uint64_t *met = calloc((size_t)graph->count / 64 + 1, sizeof(*met));

	if (!met)
		return &hawk_enomem;
	for (uint32_t i = 0; i < graph->edge_count; i++)
		meet(met, shared, graph->edges[i] >> 1);
	for (size_t i = 0; i < roots->count; i++)
		meet(met, shared, roots->items[i].edge >> 1);
	return NULL;
}

static struct hawk_error *create(struct hawk_area *area, uint64_t bytes)
{
	struct hawk_error *err = hawk_area_create(area, bytes);

	return err ? err : hawk_area_grow(area, bytes);
}

struct hawk_error *hawk_pointer_places_make(const struct hawk_target *target,
					    const struct hawk_block_index *index,
					    const struct hawk_graph *graph,
					    const struct hawk_roots *roots, unsigned threads,
					    struct hawk_pointer_places *ret)
{
	struct hawk_pointer_places places = {0};
	struct hawk_error *err = create(&places.words_area, (uint64_t)graph->edge_count + 1);

	if (!err)
		err = create(&places.shared_area, hawk_pointer_places_shared_bytes(graph->count));
	places.words = places.words_area.bytes;
	places.shared = places.shared_area.bytes;
	if (!err) {
		struct share all = {.target = target,
				    .index = index,
				    .graph = graph,
				    .words = places.words_area.bytes};

		err = find_words(&all, threads);
	}
	if (!err)
		err = find_shared(graph, roots, places.shared_area.bytes);
	if (err)
		hawk_pointer_places_deinit(&places);
	else
		*ret = places;
	return err;
}

void hawk_pointer_places_deinit(struct hawk_pointer_places *places)
{
	hawk_area_destroy(&places->words_area);
	hawk_area_destroy(&places->shared_area);
	*places = (struct hawk_pointer_places){0};
}

/** Pointers on their way to who asked. */
struct telling {
	const struct hawk_pointer_places *places;
	const struct hawk_graph *graph;
	hawk_pointers_function *function;
	void *context;
	uint32_t block; /**< that the latest edge is of */
	size_t count;
	struct hawk_pointer pointers[TOLD_AT_ONCE];
};

/* Which of up to 64 edges lead to wanted blocks. */
static uint64_t wanted_edges(const uint32_t *edges, uint32_t count, const uint64_t *wanted)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < count; i++)
		bits |= (wanted[edges[i] >> 7] >> (edges[i] >> 1) % 64 & 1) << i;
	return bits;
}

/* The edges from `first` on that have a bit. */
static struct hawk_error *tell_edges(struct telling *telling, uint32_t first, uint64_t bits)
{
	const struct hawk_graph *graph = telling->graph;
	struct hawk_error *err = NULL;

	if (telling->count + EDGES_AT_ONCE > TOLD_AT_ONCE) {
		err = telling->function(telling->context, telling->pointers, telling->count);
		telling->count = 0;
	}
	for (; bits; bits &= bits - 1) {
		uint32_t edge = first + (uint32_t)__builtin_ctzll(bits);
		uint32_t word = telling->places->words[edge];

		while (graph->offsets[telling->block + 1] <= edge)
			telling->block++;
		if (word)
			telling->pointers[telling->count++] = (struct hawk_pointer){
				.offset = (word - 1) * WORD_BYTES,
				.source = telling->block,
				.edge = graph->edges[edge],
			};
	}
	return err;
}

struct hawk_error *hawk_pointer_places_tell(const struct hawk_pointer_places *places,
					    const struct hawk_graph *graph, uint32_t first,
					    uint32_t end, const uint64_t *wanted,
					    hawk_pointers_function *function, void *context)
{
	struct telling telling = {
		.places = places,
		.graph = graph,
		.function = function,
		.context = context,
		.block = first,
	};
	uint32_t edges_end = graph->offsets[end];
	struct hawk_error *err = NULL;
	uint64_t told = first;

	for (uint32_t edge = graph->offsets[first], count; edge < edges_end && !err;
	     edge += count) {
		uint64_t bits;

		count = edges_end - edge < EDGES_AT_ONCE ? edges_end - edge : EDGES_AT_ONCE;
		bits = wanted_edges(graph->edges + edge, count, wanted);
		if (bits)
			err = tell_edges(&telling, edge, bits);
		hawk_progress_pass(&told, telling.block);
	}
	return err || !telling.count ? err : function(context, telling.pointers, telling.count);
}
