/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A flood from each definitely lost block, lowest first, over the indirectly lost blocks that were
 * not met before. Only blocks of a few sites are counted, each site in a row of sums by the
 * leader's site.
 */
#include "hawk_leak_leaders.h"

#include <stdlib.h>
#include <string.h>

#include "hawk_area.h"
#include "hawk_cleanup.h"
#include "hawk_progress.h"

enum {
	ROWS_MAX = 32,
	NO_ROW = UINT8_MAX,
	TELLING_SHARE = 16, /**< who lost less than 1/this of a site does not matter */
};

/** Blocks of one site that are lost through those of another. */
struct sum {
	struct hawk_chosen lost;
	uint32_t leaders;
	uint32_t first, last; /**< leaders; valid if there are any */
};

struct rows {
	const struct hawk_block_graph *graph;
	const uint8_t *kinds;
	bool counts_leaders;
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
	return rows->sums + number * rows->graph->heap->site_count;
}

/* `from`: the leader's site. */
static void count_block(const struct rows *rows, uint32_t leader, uint32_t from, uint32_t block)
{
	const struct hawk_block_graph *graph = rows->graph;
	uint32_t site = hawk_block_graph_site(graph, block);
	struct sum *sum;

	hawk_chosen_add(&rows->led[from], &graph->index, block);
	if (site >= graph->heap->site_count || rows->row_of[site] == NO_ROW)
		return;
	sum = &row(rows, rows->row_of[site])[from];
	hawk_chosen_add(&sum->lost, &graph->index, block);
	if (!sum->leaders)
		sum->first = leader;
	sum->leaders += !sum->leaders || sum->last != leader;
	sum->last = leader;
}

static void flood(const struct rows *rows, uint32_t leader, uint32_t from)
{
	const struct hawk_graph *edges = &rows->graph->edges;
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
			    rows->met[target / 64] & bit)
				continue;
			rows->met[target / 64] |= bit;
			stack[depth++] = target;
			count_block(rows, leader, from, target);
		}
	}
}

static void flood_all(const struct rows *rows)
{
	uint32_t count = rows->graph->index.count;
	struct hawk_progress progress;
	uint64_t told = 0;

	hawk_progress_begin(&progress, "following pointers of lost blocks", count);
	for (uint32_t block = 0; block < count; block++) {
		const uint8_t *next =
			memchr(rows->kinds + block, HAWK_REACH_DEFINITELY_LOST, count - block);
		uint32_t site;

		if (!next)
			break;
		block = (uint32_t)(next - rows->kinds);
		site = hawk_block_graph_site(rows->graph, block);
		hawk_progress_pass(&told, block);
		if (site < rows->graph->heap->site_count)
			flood(rows, block, site);
	}
	hawk_progress_end(&progress);
}

/* A row for each of `sites`. */
static struct hawk_error *make_rows(const struct hawk_block_graph *graph,
				    const struct hawk_reach *reach, const uint32_t *sites,
				    size_t count, bool counts_leaders, struct rows *ret)
{
	size_t all = graph->heap->site_count;
	struct hawk_error *err;

	*ret = (struct rows){
		.graph = graph,
		.kinds = reach->kinds,
		.counts_leaders = counts_leaders,
		.row_of = malloc(all + 1),
		.sums = calloc(count * all + 1, sizeof(*ret->sums)),
		.led = calloc(all + 1, sizeof(*ret->led)),
		.met = calloc((size_t)graph->index.count / 64 + 1, sizeof(*ret->met)),
	};
	err = hawk_area_create(&ret->stack, ((uint64_t)graph->index.count + 1) * sizeof(uint32_t));
	if (!err)
		err = hawk_area_grow(&ret->stack,
				     ((uint64_t)graph->index.count + 1) * sizeof(uint32_t));
	if (err)
		return err;
	if (!ret->row_of || !ret->sums || !ret->led || !ret->met)
		return &hawk_enomem;
	memset(ret->row_of, NO_ROW, all);
	for (size_t i = 0; i < count; i++)
		ret->row_of[sites[i]] = (uint8_t)i;
	flood_all(ret);
	return NULL;
}

static int compare(const void *left, const void *right)
{
	const struct hawk_leak_leader *a = left;
	const struct hawk_leak_leader *b = right;

	if (a->lost.bytes != b->lost.bytes)
		return a->lost.bytes > b->lost.bytes ? -1 : 1;
	return a->site < b->site ? -1 : 1;
}

struct hawk_error *hawk_leak_leaders_of(const struct hawk_block_graph *graph,
					const struct hawk_reach *reach, uint32_t site,
					struct hawk_leak_leader **ret, size_t *count)
{
	CLEANUP(rows) struct rows rows = {0};
	struct hawk_error *err = make_rows(graph, reach, &site, 1, false, &rows);
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

/* Sites that lost enough of one of the rows; as many as there can be rows. */
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

/* By leader: the first one of those with which it loses the same blocks, in the end. */
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

/* The ring that lost most of row `number`. */
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

struct hawk_error *hawk_leak_origins(const struct hawk_block_graph *graph, const uint32_t *sites,
				     size_t count, struct hawk_leak_origin *ret)
{
	CLEANUP(rows) struct rows rows = {0};
	CLEANUP(rows) struct rows rings = {0};
	uint32_t leaders[ROWS_MAX] = {0};
	uint8_t ring[ROWS_MAX];
	size_t leader_count;
	struct hawk_error *err = make_rows(graph, &graph->reach, sites, count, true, &rows);

	if (err)
		return err;
	leader_count = find_leaders(&rows, count, leaders);
	err = make_rows(graph, &graph->reach, leaders, leader_count, true, &rings);
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
