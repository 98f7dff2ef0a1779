/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The search: one array serves as queue and order; another records how each block was reached.
 */
#include "hawk/analysis/paths.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/graph/dominators.h"
#include "hawk/base/cleanup.h"
#include "hawk/base/prefetch.h"
#include "hawk/base/progress.h"

enum {
	OFFSETS_AHEAD = 48,
	EDGES_AHEAD = 32,
	FOUND_AHEAD = 16,
	POINTERS_AHEAD = 8, /**< of one block */
	FEW_MAX = 4096,
	SIEVE_LOG2 = 16, /**< bits in the sieve of a few */
};

/** Kinds of roots, the most telling first. */
static const uint8_t kind_order[] = {HAWK_ROOT_MODULE, HAWK_ROOT_TLS, HAWK_ROOT_OTHER,
				     HAWK_ROOT_STACK, HAWK_ROOT_REGISTER};

static void reach(struct hawk_paths *paths, uint32_t block, uint32_t from)
{
	if (hawk_paths_lead_to(paths, block))
		return;
	paths->found[block / 64] |= UINT64_C(1) << block % 64;
	paths->from[paths->count] = from;
	paths->order[paths->count++] = block;
}

static void reach_from_root(struct hawk_paths *paths, const struct hawk_roots *roots, size_t root)
{
	reach(paths, roots->items[root].edge >> 1, HAWK_PATH_FROM_ROOT | (uint32_t)root);
}

static bool has_order(unsigned kind)
{
	for (size_t i = 0; i < sizeof(kind_order); i++)
		if (kind_order[i] == kind)
			return true;
	return false;
}

static void reach_from_roots(const struct hawk_roots *roots, struct hawk_paths *paths)
{
	for (size_t i = 0; i < sizeof(kind_order); i++)
		for (size_t root = 0; root < roots->count; root++)
			if (roots->items[root].kind == kind_order[i])
				reach_from_root(paths, roots, root);
	for (size_t root = 0; root < roots->count; root++)
		if (!has_order(roots->items[root].kind))
			reach_from_root(paths, roots, root);
}

/* Prefetches data of blocks waiting in the queue: the places of their pointers, some way ahead; the
 * pointers; whether their targets were found. */
static void prefetch(const struct hawk_graph *edges, const struct hawk_paths *paths, uint32_t next)
{
	uint32_t waiting = paths->count - next;
	uint32_t block;

	if (waiting > OFFSETS_AHEAD)
		hawk_prefetch(&edges->offsets[paths->order[next + OFFSETS_AHEAD]]);
	if (waiting > EDGES_AHEAD)
		hawk_prefetch(&edges->edges[edges->offsets[paths->order[next + EDGES_AHEAD]]]);
	if (waiting <= FOUND_AHEAD)
		return;
	block = paths->order[next + FOUND_AHEAD];
	for (uint32_t i = edges->offsets[block], left = POINTERS_AHEAD;
	     i < edges->offsets[block + 1] && left; i++, left--)
		hawk_prefetch(&paths->found[edges->edges[i] >> 7]);
}

static void search(const struct hawk_graph *edges, struct hawk_paths *paths)
{
	for (uint32_t next = 0; next < paths->count; next++) {
		uint32_t block = paths->order[next];

		hawk_progress_tick(next);
		prefetch(edges, paths, next);
		for (uint32_t i = edges->offsets[block]; i < edges->offsets[block + 1]; i++)
			reach(paths, edges->edges[i] >> 1, next);
	}
}

static struct hawk_error *make_array(struct hawk_area *area, uint64_t bytes, uint32_t **ret)
{
	struct hawk_error *err = hawk_area_create(area, bytes);

	if (!err)
		err = hawk_area_grow(area, bytes);
	*ret = area->bytes;
	return err;
}

struct hawk_error *hawk_paths_find(const struct hawk_graph *graph, struct hawk_paths *ret)
{
	uint64_t bytes = ((uint64_t)graph->heap->index.count + 1) * sizeof(uint32_t);
	struct hawk_paths paths = {0};
	struct hawk_progress progress;
	struct hawk_error *err;

	if (graph->roots.count >= HAWK_PATH_FROM_ROOT - 1)
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED, "there are 2^31 roots or more");
	paths.found = calloc(1, hawk_paths_found_bytes(graph->heap->index.count));
	err = paths.found ? make_array(&paths.order_area, bytes, &paths.order) : &hawk_enomem;
	if (!err)
		err = make_array(&paths.from_area, bytes, &paths.from);
	if (err) {
		hawk_paths_deinit(&paths);
		return err;
	}
	paths.index = &graph->heap->index;
	reach_from_roots(&graph->roots, &paths);
	hawk_progress_begin(&progress, "finding shortest paths", graph->heap->index.count);
	search(graph, &paths);
	hawk_progress_end(&progress);
	*ret = paths;
	return NULL;
}

static int compare(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

/* Most blocks are told from all of the few by their lower bits. */
static void place_few(const struct hawk_paths *paths, const uint32_t *few, size_t count,
		      uint32_t *places)
{
	uint64_t sieve[(1 << SIEVE_LOG2) / 64] = {0};
	const uint32_t mask = (1u << SIEVE_LOG2) - 1;

	for (size_t i = 0; i < count; i++)
		sieve[(few[i] & mask) / 64] |= UINT64_C(1) << few[i] % 64;
	for (uint32_t i = 0; i < paths->count; i++) {
		uint32_t block = paths->order[i];

		if (sieve[(block & mask) / 64] >> block % 64 & 1 &&
		    bsearch(&block, few, count, sizeof(*few), compare))
			places[block] = i;
	}
}

static struct hawk_error *place(const struct hawk_paths *paths, const uint32_t *blocks,
				size_t count, uint32_t *places)
{
	CLEANUP(free_ptr) uint32_t *few = NULL;
	struct hawk_progress progress;

	if (count > FEW_MAX) {
		hawk_progress_begin(&progress, "numbering blocks", paths->count);
		for (uint32_t i = 0; i < paths->count; i++) {
			places[paths->order[i]] = i;
			hawk_progress_tick(i);
		}
		hawk_progress_end(&progress);
		return NULL;
	}
	few = malloc((count + 1) * sizeof(*few));
	if (!few)
		return &hawk_enomem;
	for (size_t i = 0; i < count; i++)
		few[i] = blocks[i];
	qsort(few, count, sizeof(*few), compare);
	place_few(paths, few, count, places);
	return NULL;
}

struct hawk_error *hawk_paths_prepare(struct hawk_paths *paths, const uint32_t *blocks,
				      size_t count)
{
	uint64_t bytes = ((uint64_t)paths->index->count + 1) * sizeof(uint32_t);
	struct hawk_area *area = &paths->places_area;
	struct hawk_error *err;

	if (!paths->places) {
		err = count > FEW_MAX ? make_array(area, bytes, &paths->places)
				      : hawk_area_create_sparse(area, bytes);
		if (err) { /* part of it may be there, and the next question finds these paths */
			hawk_area_destroy(area);
			paths->places = NULL;
			return err;
		}
		paths->places = area->bytes;
	}
	return place(paths, blocks, count, paths->places);
}

void hawk_paths_deinit(struct hawk_paths *paths)
{
	hawk_area_destroy(&paths->order_area);
	hawk_area_destroy(&paths->from_area);
	hawk_area_destroy(&paths->places_area);
	free(paths->found);
	*paths = (struct hawk_paths){0};
}

/** Returns the place in `order` of `block`, which was found. */
static uint32_t place_of(const struct hawk_paths *paths, uint32_t block)
{
	uint32_t place = paths->count;

	if (paths->places && paths->order[paths->places[block]] == block)
		return paths->places[block];
	while (paths->order[--place] != block)
		;
	return place;
}

struct hawk_error *hawk_path_to(const struct hawk_paths *paths, uint32_t target,
				struct hawk_path *ret)
{
	struct hawk_path path = {0};
	uint32_t place, at;

	*ret = path;
	if (!hawk_paths_lead_to(paths, target))
		return NULL;
	at = place = place_of(paths, target);
	for (path.count = 1; !(paths->from[at] & HAWK_PATH_FROM_ROOT); path.count++)
		at = paths->from[at];
	path.root = paths->from[at] & ~(uint32_t)HAWK_PATH_FROM_ROOT;
	path.blocks = malloc(path.count * sizeof(*path.blocks));
	if (!path.blocks)
		return &hawk_enomem;
	at = place;
	for (uint32_t i = path.count; i-- > 0; at = paths->from[at])
		path.blocks[i] = paths->order[at];
	*ret = path;
	return NULL;
}

void hawk_path_deinit(struct hawk_path *path)
{
	free(path->blocks);
	*path = (struct hawk_path){0};
}
