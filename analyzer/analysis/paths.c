/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The search: one array of parents, one that is queue and order in one.
 */
#include "hawk_paths.h"

#include <string.h>

#include "hawk_cleanup.h"
#include "hawk_prefetch.h"

enum {
	OFFSETS_AHEAD = 48,
	EDGES_AHEAD = 32,
	PARENTS_AHEAD = 16,
	POINTERS_AHEAD = 8, /**< of one block */
};

/** What explains best comes first. */
static const uint8_t kind_order[] = {HAWK_ROOT_MODULE, HAWK_ROOT_TLS, HAWK_ROOT_OTHER,
				     HAWK_ROOT_STACK, HAWK_ROOT_REGISTER};

/* `from`: where the parent is in `order`, or the root. */
static void reach(struct hawk_paths *paths, uint32_t block, uint32_t parent, uint32_t from)
{
	if (paths->parents[block] != HAWK_PATH_NONE)
		return;
	paths->parents[block] = parent;
	if (paths->from)
		paths->from[paths->count] = from;
	paths->order[paths->count++] = block;
}

static void reach_from_root(struct hawk_paths *paths, const struct hawk_roots *roots, size_t root)
{
	uint32_t from = HAWK_PATH_FROM_ROOT | (uint32_t)root;

	reach(paths, roots->items[root].edge >> 1, from, from);
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

/* What the search will need of blocks that wait in the queue: where their pointers are, some way
 * ahead; the pointers; what is known of the blocks that those lead to. */
static void prefetch(const struct hawk_graph *edges, const struct hawk_paths *paths, uint32_t next)
{
	uint32_t waiting = paths->count - next;
	uint32_t block;

	if (waiting > OFFSETS_AHEAD)
		hawk_prefetch(&edges->offsets[paths->order[next + OFFSETS_AHEAD]]);
	if (waiting > EDGES_AHEAD)
		hawk_prefetch(&edges->edges[edges->offsets[paths->order[next + EDGES_AHEAD]]]);
	if (waiting <= PARENTS_AHEAD)
		return;
	block = paths->order[next + PARENTS_AHEAD];
	for (uint32_t i = edges->offsets[block], left = POINTERS_AHEAD;
	     i < edges->offsets[block + 1] && left; i++, left--)
		hawk_prefetch(&paths->parents[edges->edges[i] >> 1]);
}

static void search(const struct hawk_graph *edges, uint32_t target, struct hawk_paths *paths)
{
	for (uint32_t next = 0; next < paths->count; next++) {
		uint32_t block = paths->order[next];

		prefetch(edges, paths, next);
		if (target != HAWK_BLOCK_NOWHERE && paths->parents[target] != HAWK_PATH_NONE)
			return;
		for (uint32_t i = edges->offsets[block]; i < edges->offsets[block + 1]; i++)
			reach(paths, edges->edges[i] >> 1, block, next);
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

struct hawk_error *hawk_paths_find(const struct hawk_block_graph *graph, uint32_t target,
				   struct hawk_paths *ret)
{
	uint64_t bytes = ((uint64_t)graph->index.count + 1) * sizeof(uint32_t);
	struct hawk_paths paths = {0};
	struct hawk_error *err;

	if (graph->roots.count >= HAWK_PATH_FROM_ROOT - 1)
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED, "there are 2^31 roots or more");
	err = make_array(&paths.parents_area, bytes, &paths.parents);
	if (!err)
		err = make_array(&paths.order_area, bytes, &paths.order);
	if (!err && target == HAWK_BLOCK_NOWHERE)
		err = make_array(&paths.from_area, bytes, &paths.from);
	if (err) {
		hawk_paths_deinit(&paths);
		return err;
	}
	paths.index = &graph->index;
	memset(paths.parents, 0xff, bytes);
	reach_from_roots(&graph->roots, &paths);
	search(&graph->edges, target, &paths);
	*ret = paths;
	return NULL;
}

void hawk_paths_deinit(struct hawk_paths *paths)
{
	hawk_area_destroy(&paths->parents_area);
	hawk_area_destroy(&paths->order_area);
	hawk_area_destroy(&paths->from_area);
	*paths = (struct hawk_paths){0};
}

/** Steps from one part of a carved block to another are none. */
static void join_parts(const struct hawk_block_index *index, struct hawk_path *path)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < path->count; i++) {
		uint32_t block = hawk_block_index_whole(index, path->blocks[i]);

		if (!used || path->blocks[used - 1] != block)
			path->blocks[used++] = block;
	}
	path->count = used;
}

struct hawk_error *hawk_path_to(const struct hawk_paths *paths, uint32_t target,
				struct hawk_path *ret)
{
	struct hawk_path path = {0};
	uint32_t at = target;

	*ret = path;
	if (paths->parents[target] == HAWK_PATH_NONE)
		return NULL;
	for (path.count = 1; !(paths->parents[at] & HAWK_PATH_FROM_ROOT); path.count++)
		at = paths->parents[at];
	path.root = paths->parents[at] & ~(uint32_t)HAWK_PATH_FROM_ROOT;
	path.blocks = malloc(path.count * sizeof(*path.blocks));
	if (!path.blocks)
		return &hawk_enomem;
	at = target;
	for (uint32_t i = path.count; i-- > 0; at = paths->parents[at])
		path.blocks[i] = at;
	join_parts(paths->index, &path);
	*ret = path;
	return NULL;
}

void hawk_path_deinit(struct hawk_path *path)
{
	free(path->blocks);
	*path = (struct hawk_path){0};
}
