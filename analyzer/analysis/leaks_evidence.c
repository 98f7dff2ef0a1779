/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What stands behind a verdict: which pointers to a record's blocks there are, and what is lost
 * through them.
 */
#include <string.h>

#include "hawk_area.h"
#include "hawk_cleanup.h"
#include "hawk_parallel.h"
#include "hawk_prefetch.h"
#include "hawk_progress.h"
#include "leaks_fold.h"

enum {
	EDGES_AHEAD = 32,
	RECORDS_AHEAD = 16,
	CODED_RECORDS_MAX = UINT8_MAX, /**< with 0 for none */
	CODED_EDGES_MIN = 1 << 10,     /**< fewer are not worth it */
};

/** Blocks one after the other, and what their pointers say of records. */
struct share {
	const struct hawk_leak_fold *fold;
	/** By block: 0, or the number of its record and 1. All that pointers ask of a block, close
	 * together. NULL: not made. */
	uint8_t *codes;
	uint64_t *pointed;                /**< a bit for each block that this share has counted */
	uint32_t first, end;              /**< sources */
	unsigned shares;                  /**< that there are */
	struct hawk_leak_record *records; /**< evidence alone */
	uint32_t *last_sources;           /**< by record; all pointers of a source come together */
};

/* The number of the record that `block`, which counts for one, counts for. */
static uint32_t record_of(const struct hawk_leak_fold *fold, uint32_t block)
{
	return fold->record_of[hawk_leak_slot(fold, hawk_block_graph_site(fold->graph, block),
					      hawk_leak_kind(fold, block))];
}

/* Whether a pointer to `block` counts, and for which record. */
static inline bool find_record(const struct share *share, uint32_t block, uint32_t *ret)
{
	if (share->codes) {
		*ret = share->codes[block] - 1u;
		return share->codes[block];
	}
	if (!hawk_leak_bit(share->fold->recorded, block))
		return false;
	*ret = record_of(share->fold, block);
	return true;
}

static void add_pointer(struct share *share, struct hawk_leak_record *record, uint32_t edge,
			unsigned source, bool explained)
{
	if (edge & HAWK_EDGE_INTERIOR)
		record->pointers[source].interior++;
	else
		record->pointers[source].start++;
	record->explained += explained;
	record->pointed_objects += !hawk_leak_set_bit(share->pointed, edge >> 1);
}

static void add_roots(struct share *share)
{
	const struct hawk_leak_fold *fold = share->fold;
	const struct hawk_roots *roots = &fold->graph->roots;

	for (size_t i = 0; i < roots->count; i++) {
		const struct hawk_root *root = &roots->items[i];
		struct hawk_leak_record *record;
		uint32_t number;

		if (!find_record(share, root->edge >> 1, &number))
			continue;
		record = &share->records[number];
		add_pointer(share, record, root->edge, root->kind,
			    hawk_explained_root(fold->explained, i));
		if (record->first_root == UINT32_MAX)
			record->first_root = (uint32_t)i;
	}
}

/* Edge `number`, which leads to a block of `record`. `whole`: the block that `source` is, or is a
 * part of. */
static void add_edge(struct share *share, uint32_t number, uint32_t record, uint32_t source,
		     uint32_t whole)
{
	const struct hawk_leak_fold *fold = share->fold;
	uint32_t edge = fold->graph->edges.edges[number];

	if (hawk_block_index_same(&fold->graph->index, edge >> 1, whole))
		return;
	add_pointer(share, &share->records[record], edge,
		    HAWK_LEAK_FROM_BLOCKS + fold->leaks->reach.kinds[source],
		    hawk_explained_edge(fold->explained, number));
	share->records[record].source_blocks += share->last_sources[record] != whole;
	share->last_sources[record] = whole;
}

/* What later edges will need. */
static inline void prefetch(const struct share *share, const uint32_t *edges, uint32_t left)
{
	const struct hawk_leak_fold *fold = share->fold;
	uint32_t block;

	if (left <= EDGES_AHEAD)
		return;
	if (share->codes) {
		hawk_prefetch(&share->codes[edges[EDGES_AHEAD] >> 1]);
		hawk_prefetch(&share->pointed[edges[EDGES_AHEAD] >> 7]);
		return;
	}
	hawk_prefetch(&fold->recorded[edges[EDGES_AHEAD] >> 7]);
	block = edges[RECORDS_AHEAD] >> 1;
	if (!hawk_leak_bit(fold->recorded, block))
		return;
	hawk_prefetch(&fold->graph->index.traces[block]);
	hawk_prefetch(&fold->leaks->reach.kinds[block]);
}

static void add_edges(struct share *share, uint32_t source, uint32_t whole)
{
	const struct hawk_graph *edges = &share->fold->graph->edges;

	hawk_progress_add(edges->offsets[source + 1] - edges->offsets[source]);
	for (uint32_t i = edges->offsets[source]; i < edges->offsets[source + 1]; i++) {
		uint32_t record;

		prefetch(share, &edges->edges[i], edges->edge_count - i);
		if (find_record(share, edges->edges[i] >> 1, &record))
			add_edge(share, i, record, source, whole);
	}
}

/* Those of all parts of a carved block with its first one, so that it is one source. */
static void add_all_edges(struct share *share, uint32_t block)
{
	const struct hawk_block_index *index = &share->fold->graph->index;

	if (hawk_block_index_whole(index, block) != block)
		return;
	for (uint32_t part = block; part != HAWK_BLOCK_NOWHERE;
	     part = hawk_block_index_next_part(index, part))
		add_edges(share, part, block);
}

/* Where no block was carved up, all edges in a row: who looks for few blocks passes most of them
 * over, and need not know whose they are. */
static void add_row(struct share *share)
{
	const struct hawk_graph *edges = &share->fold->graph->edges;
	uint32_t source = share->first;

	for (uint32_t i = edges->offsets[share->first]; i < edges->offsets[share->end]; i++) {
		uint32_t record;

		hawk_progress_tick(i);
		prefetch(share, &edges->edges[i], edges->edge_count - i);
		if (!find_record(share, edges->edges[i] >> 1, &record))
			continue;
		if (edges->offsets[source + 1] <= i)
			source = hawk_graph_source(edges, i, source);
		add_edge(share, i, record, source, source);
	}
}

/* Codes of the share's blocks; whole words of bits. */
static void code_share(void *context, unsigned part)
{
	const struct share *share = (struct share *)context + part;
	const struct hawk_leak_fold *fold = share->fold;
	uint32_t end =
		part + 1 < share->shares ? share->end / 64 : fold->graph->index.count / 64 + 1;

	for (uint32_t word = share->first / 64; word < end; word++)
		for (uint64_t bits = fold->recorded[word]; bits; bits &= bits - 1) {
			uint32_t block = word * 64 + (uint32_t)__builtin_ctzll(bits);

			share->codes[block] = (uint8_t)(record_of(fold, block) + 1);
		}
}

static void add_share(void *context, unsigned part)
{
	struct share *share = (struct share *)context + part;

	if (!part)
		add_roots(share);
	if (!share->fold->graph->index.part_count) {
		add_row(share);
		return;
	}
	for (uint32_t block = share->first; block < share->end; block++)
		add_all_edges(share, block);
}

static void add_evidence(const struct hawk_leak_record *from, struct hawk_leak_record *to)
{
	to->pointed_objects += from->pointed_objects;
	to->source_blocks += from->source_blocks;
	to->explained += from->explained;
	for (unsigned source = 0; source < HAWK_LEAK_SOURCES; source++) {
		to->pointers[source].start += from->pointers[source].start;
		to->pointers[source].interior += from->pointers[source].interior;
	}
}

/* Blocks that pointers of both lead to were counted twice. */
static void join(const struct share *from, struct share *to)
{
	const struct hawk_leak_fold *fold = to->fold;

	for (size_t i = 0; i < fold->leaks->count; i++)
		add_evidence(&from->records[i], &to->records[i]);
	for (uint32_t first = 0; first < fold->graph->index.count; first += 64) {
		uint64_t both = from->pointed[first / 64] & to->pointed[first / 64];

		to->pointed[first / 64] |= from->pointed[first / 64];
		for (; both; both &= both - 1)
			to->records[record_of(fold, first + (uint32_t)__builtin_ctzll(both))]
				.pointed_objects--;
	}
}

static unsigned count_shares(const struct hawk_leak_fold *fold)
{
	unsigned threads = hawk_block_graph_threads(fold->graph);

	if (fold->graph->edges.edge_count / HAWK_LEAK_PER_RECORD < fold->leaks->count)
		return 1;
	return threads < HAWK_LEAK_SHARES_MAX ? threads : HAWK_LEAK_SHARES_MAX;
}

/* The first share counts in the records themselves. */
static struct hawk_error *init_share(const struct hawk_leak_fold *fold, unsigned number,
				     unsigned count, struct share *ret)
{
	size_t records = fold->leaks->count;

	*ret = (struct share){
		.fold = fold,
		.pointed = hawk_leak_bits(fold->graph),
		.first = (uint32_t)((uint64_t)fold->graph->edges.count * number / count),
		.end = (uint32_t)((uint64_t)fold->graph->edges.count * (number + 1) / count),
		.shares = count,
		.records = number ? calloc(records, sizeof(*ret->records)) : fold->leaks->records,
		.last_sources = malloc(records * sizeof(*ret->last_sources)),
	};
	if (!ret->pointed || !ret->records || !ret->last_sources)
		return &hawk_enomem;
	memset(ret->last_sources, 0xff, records * sizeof(*ret->last_sources));
	return NULL;
}

static void deinit_share(const struct share *share)
{
	free(share->pointed);
	free(share->last_sources);
	if (share->fold && share->records != share->fold->leaks->records)
		free(share->records);
}

/* Where there is no memory for codes, it goes without them. */
static void add_codes(struct share *shares, unsigned count, struct hawk_area *codes)
{
	const struct hawk_leak_fold *fold = shares[0].fold;
	struct hawk_error *err;

	if (fold->leaks->count >= CODED_RECORDS_MAX ||
	    fold->graph->edges.edge_count < CODED_EDGES_MIN)
		return;
	err = hawk_area_create(codes, fold->graph->index.count);
	if (!err && codes->size >= fold->graph->index.count) {
		for (unsigned i = 0; i < count; i++)
			shares[i].codes = codes->bytes;
		hawk_parallel_run(count, code_share, shares);
	}
	hawk_error_destroy(err);
}

struct hawk_error *hawk_leaks_find_evidence(struct hawk_leak_fold *fold)
{
	struct hawk_area codes = {0};
	struct share shares[HAWK_LEAK_SHARES_MAX] = {{0}};
	unsigned count = count_shares(fold);
	struct hawk_error *err = NULL;
	struct hawk_progress progress;

	if (!fold->leaks->count)
		return NULL;
	for (unsigned i = 0; i < count && !err; i++)
		err = init_share(fold, i, count, &shares[i]);
	if (!err) {
		hawk_progress_begin(&progress, "looking for pointers to lost blocks",
				    fold->graph->edges.edge_count);
		add_codes(shares, count, &codes);
		hawk_parallel_run(count, add_share, shares);
		hawk_progress_end(&progress);
	}
	for (unsigned i = 1; i < count && !err; i++)
		join(&shares[i], &shares[0]);
	for (unsigned i = 0; i < HAWK_LEAK_SHARES_MAX; i++)
		deinit_share(&shares[i]);
	hawk_area_destroy(&codes);
	return err;
}

uint32_t hawk_leak_next_leader(const struct hawk_leak_fold *fold, uint32_t block)
{
	const uint8_t *kinds = fold->leaks->reach.kinds;
	uint32_t count = fold->graph->index.count;
	const uint8_t *at =
		block < count ? memchr(kinds + block, HAWK_REACH_DEFINITELY_LOST, count - block)
			      : NULL;

	return at ? (uint32_t)(at - kinds) : count;
}

void hawk_leaks_flood(const struct hawk_leak_fold *fold, uint64_t *met, uint32_t leader,
		      uint32_t *stack, struct hawk_chosen *lost, uint64_t *met_count)
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
			hawk_progress_tick((*met_count)++);
			if (lost)
				hawk_chosen_add(lost, &fold->graph->index, target);
		}
	}
}

struct hawk_error *hawk_leaks_add_indirect(struct hawk_leak_fold *fold, uint32_t *stack)
{
	CLEANUP(free_ptr) uint64_t *met = NULL;
	const struct hawk_reach *reach = &fold->leaks->reach;
	struct hawk_progress progress;
	uint64_t met_count = 0;

	if (!fold->leaks->count)
		return NULL;
	met = hawk_leak_bits(fold->graph);
	if (!met)
		return &hawk_enomem;
	/* Each part of a carved block is met, and one counts. */
	hawk_progress_begin(&progress, "following pointers of lost blocks",
			    reach->sums[HAWK_REACH_INDIRECTLY_LOST].objects +
				    fold->graph->index.part_count);
	for (uint32_t block = hawk_leak_next_leader(fold, 0); block < fold->graph->index.count;
	     block = hawk_leak_next_leader(fold, block + 1)) {
		bool counts = hawk_leak_bit(fold->recorded, block);
		struct hawk_chosen lost = {0};
		struct hawk_leak_record *record;

		hawk_leaks_flood(fold, met, block, stack, counts ? &lost : NULL, &met_count);
		if (!counts)
			continue;
		record = &fold->leaks->records[record_of(fold, block)];
		record->indirect_objects += lost.objects;
		record->indirect_bytes += lost.bytes;
	}
	hawk_progress_end(&progress);
	return NULL;
}
