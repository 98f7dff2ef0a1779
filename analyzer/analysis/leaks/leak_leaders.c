/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Floods from each definitely lost block, lowest first, over the indirectly lost blocks not met
 * before. Only blocks of a few sites are counted, each site in a row of sums by the leader's site.
 */
#include "hawk/analysis/leak_leaders.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/area.h"
#include "hawk/base/cleanup.h"
#include "hawk/base/progress.h"

enum {
	ROWS_MAX = 32,
	NO_ROW = UINT8_MAX,
	TELLING_SHARE = 16, /**< a leader that lost less than 1/this of a site is ignored */
};

/** Blocks of one site lost through those of another. */
struct sum {
	struct hawk_chosen lost;
	uint32_t leaders;
	uint32_t first, last; /**< leaders; valid if there are any */
};

struct rows {
	const struct hawk_graph *graph;
	const uint8_t *kinds;
	bool ends;               /**< as in struct hawk_reach */
	const uint64_t *counted; /**< a bit for each leader that counts; NULL = all */
	bool counts_leaders;     /**< count leaders among the blocks that they lost */
	uint32_t width;          /**< sites, the last one: none */
	uint8_t *row_of;         /**< by site, or NO_ROW */
	struct sum *sums;        /**< row after row, by the leader's site */
	struct hawk_chosen *led; /**< by the leader's site: blocks of any site */
	uint64_t *met;           /**< a bit for each block */
	struct hawk_area stack;
};

static void hawk_cleanup_rows(struct rows *rows)
{
	free(rows->row_of);
	free(rows->sums);
	free(rows->led);
	free(rows->met);
	hawk_area_destroy(&rows->stack);
}

static struct sum *row(const struct rows *rows, size_t number)
{
	return rows->sums + number * rows->width;
}

static uint32_t site_of(const struct rows *rows, uint32_t block)
{
	uint32_t site = hawk_heap_site_at(rows->graph->heap, block);

	return site < rows->width ? site : rows->width - 1;
}

/* `from`: the leader's site. */
static void count_block(const struct rows *rows, uint32_t leader, uint32_t from, uint32_t block)
{
	const struct hawk_block_index *index = &rows->graph->heap->index;
	uint32_t site = site_of(rows, block);
	struct sum *sum;

	hawk_chosen_add(&rows->led[from], index, block);
	if (rows->row_of[site] == NO_ROW)
		return;
	sum = &row(rows, rows->row_of[site])[from];
	hawk_chosen_add(&sum->lost, index, block);
	if (!sum->leaders)
		sum->first = leader;
	sum->leaders += !sum->leaders || sum->last != leader;
	sum->last = leader;
}

static void flood(const struct rows *rows, uint32_t leader)
{
	const struct hawk_graph *edges = rows->graph;
	bool counts = hawk_block_is_chosen(rows->counted, leader);
	uint32_t from = site_of(rows, leader);
	uint32_t *stack = rows->stack.bytes;
	size_t depth = 0;

	if (rows->counts_leaders)
		count_block(rows, leader, from, leader);
	stack[depth++] = leader;
	while (depth) {
		uint32_t block = stack[--depth];

		for (uint32_t i = edges->offsets[block]; i < edges->offsets[block + 1]; i++) {
			uint32_t target = edges->edges[i] >> 1;
			uint64_t bit = UINT64_C(1) << target % 64;

			if (rows->kinds[target] != HAWK_REACH_INDIRECTLY_LOST ||
			    rows->met[target / 64] & bit ||
			    hawk_graph_ignores_edge(edges, rows->ends, i))
				continue;
			rows->met[target / 64] |= bit;
			stack[depth++] = target;
			if (counts)
				count_block(rows, leader, from, target);
		}
	}
}

static void flood_all(const struct rows *rows)
{
	uint32_t count = rows->graph->heap->index.count;
	struct hawk_progress progress;
	uint64_t reported = 0;

	hawk_progress_begin(&progress, "following pointers of lost blocks", count);
	for (uint32_t block = 0; block < count; block++) {
		const uint8_t *next =
			memchr(rows->kinds + block, HAWK_REACH_DEFINITELY_LOST, count - block);

		if (!next)
			break;
		block = (uint32_t)(next - rows->kinds);
		hawk_progress_pass(&reported, block);
		flood(rows, block);
	}
	hawk_progress_end(&progress);
}

/* Makes a row for each of `sites`. `rows` holds the caller's settings for leaders. */
static struct hawk_error *make_rows(const struct hawk_graph *graph, const struct hawk_reach *reach,
				    const uint32_t *sites, size_t count, struct rows *rows)
{
	uint64_t stack_bytes = ((uint64_t)graph->heap->index.count + 1) * sizeof(uint32_t);
	struct hawk_error *err = hawk_area_create_sparse(&rows->stack, stack_bytes);

	if (err)
		return err;
	rows->graph = graph;
	rows->kinds = reach->kinds;
	rows->ends = reach->ends;
	rows->width = (uint32_t)graph->heap->site_count + 1;
	rows->row_of = malloc(rows->width);
	rows->sums = calloc(count * rows->width + 1, sizeof(*rows->sums));
	rows->led = calloc(rows->width, sizeof(*rows->led));
	rows->met = calloc((size_t)graph->heap->index.count / 64 + 1, sizeof(*rows->met));
	if (!rows->row_of || !rows->sums || !rows->led || !rows->met)
		return &hawk_enomem;
	memset(rows->row_of, NO_ROW, rows->width);
	for (size_t i = 0; i < count; i++)
		rows->row_of[sites[i]] = (uint8_t)i;
	flood_all(rows);
	return NULL;
}

struct hawk_error *hawk_leak_lost(const struct hawk_graph *graph, const struct hawk_reach *reach,
				  const uint64_t *leaders, struct hawk_chosen **ret)
{
	CLEANUP(rows) struct rows rows = {.counted = leaders};
	struct hawk_error *err = make_rows(graph, reach, NULL, 0, &rows);

	if (!err)
		*ret = take_ptr(&rows.led);
	return err;
}

static int compare(const void *left, const void *right)
{
	const struct hawk_leak_leader *a = left;
	const struct hawk_leak_leader *b = right;

	if (a->lost.bytes != b->lost.bytes)
		return a->lost.bytes > b->lost.bytes ? -1 : 1;
	return a->site < b->site ? -1 : 1;
}

struct hawk_error *hawk_leak_leaders_of(const struct hawk_graph *graph,
					const struct hawk_reach *reach, uint32_t site,
					struct hawk_leak_leader **ret, size_t *count)
{
	CLEANUP(rows) struct rows rows = {0};
	struct hawk_error *err = make_rows(graph, reach, &site, 1, &rows);
	size_t found = 0;

	if (err)
		return err;
	for (size_t i = 0; i < graph->heap->site_count; i++)
		found += rows.sums[i].leaders != 0;
	*ret = calloc(found + 1, sizeof(**ret));
	if (!*ret)
		return &hawk_enomem;
	*count = 0;
	for (size_t i = 0; i < graph->heap->site_count; i++)
		if (rows.sums[i].leaders)
			(*ret)[(*count)++] = (struct hawk_leak_leader){
				.site = (uint32_t)i,
				.example = rows.sums[i].first,
				.leaders = rows.sums[i].leaders,
				.lost = rows.sums[i].lost,
			};
	qsort(*ret, found, sizeof(**ret), compare);
	return NULL;
}

static uint64_t row_bytes(const struct rows *rows, size_t number)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < rows->graph->heap->site_count; i++)
		bytes += row(rows, number)[i].lost.bytes;
	return bytes;
}

/* Finds sites that lost enough of one of the rows, at most as many as there can be rows. */
static size_t find_leaders(const struct rows *rows, size_t count, uint32_t *ret)
{
	uint64_t least[ROWS_MAX];
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		least[i] = row_bytes(rows, i) / TELLING_SHARE;
	for (size_t site = 0; site < rows->graph->heap->site_count && found < ROWS_MAX; site++)
		for (size_t i = 0; i < count; i++) {
			uint64_t bytes = row(rows, i)[site].lost.bytes;

			if (bytes && bytes >= least[i]) {
				ret[found++] = (uint32_t)site;
				break;
			}
		}
	return found;
}

/* Sets, for each leader, the first of the leaders that finally lose the same blocks. */
static void join_rings(const struct rows *rows, const uint32_t *leaders, size_t count,
		       uint8_t *ring)
{
	uint64_t bytes[ROWS_MAX];

	for (size_t i = 0; i < count; i++) {
		ring[i] = (uint8_t)i;
		bytes[i] = row_bytes(rows, i);
	}
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++) {
			uint64_t lost = row(rows, i)[leaders[j]].lost.bytes;
			uint64_t loses = row(rows, j)[leaders[i]].lost.bytes;
			uint8_t from = ring[i], to = ring[j];

			if (!lost || lost < bytes[i] / TELLING_SHARE || !loses ||
			    loses < bytes[j] / TELLING_SHARE || from == to)
				continue;
			for (size_t k = 0; k < count; k++)
				if (ring[k] == (from > to ? from : to))
					ring[k] = from < to ? from : to;
		}
}

/* Finds the ring that lost most of row `number`. */
static size_t find_ring(const struct rows *rows, size_t number, const uint32_t *leaders,
			const uint8_t *ring, size_t count, uint64_t *bytes)
{
	uint64_t sums[ROWS_MAX] = {0};
	size_t best = 0;

	for (size_t i = 0; i < count; i++)
		sums[ring[i]] += row(rows, number)[leaders[i]].lost.bytes;
	for (size_t i = 1; i < count; i++)
		if (sums[i] > sums[best])
			best = i;
	*bytes = sums[best];
	return best;
}

struct hawk_error *hawk_leak_origins(const struct hawk_graph *graph, const struct hawk_reach *reach,
				     const uint32_t *sites, size_t count,
				     struct hawk_leak_origin *ret)
{
	CLEANUP(rows) struct rows rows = {.counts_leaders = true};
	CLEANUP(rows) struct rows rings = {.counts_leaders = true};
	uint32_t leaders[ROWS_MAX] = {0};
	uint8_t ring[ROWS_MAX];
	size_t leader_count;
	struct hawk_error *err = make_rows(graph, reach, sites, count, &rows);

	if (err)
		return err;
	leader_count = find_leaders(&rows, count, leaders);
	err = make_rows(graph, reach, leaders, leader_count, &rings);
	if (err)
		return err;
	join_rings(&rings, leaders, leader_count, ring);
	for (size_t i = 0; i < count; i++) {
		uint64_t bytes = 0;
		size_t best =
			leader_count ? find_ring(&rows, i, leaders, ring, leader_count, &bytes) : 0;

		ret[i] = (struct hawk_leak_origin){.site = sites[i]};
		if (!bytes || bytes < row_bytes(&rows, i) / 2)
			continue;
		ret[i].site = leaders[best];
		for (size_t j = 0; j < leader_count; j++)
			if (ring[j] == best) {
				ret[i].lost.objects += rings.led[leaders[j]].objects;
				ret[i].lost.bytes += rings.led[leaders[j]].bytes;
			}
	}
	return NULL;
}
