/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Describes chosen blocks.
 */
#include "hawk/analysis/object_links.h"

#include <stdlib.h>

#include "hawk/base/cleanup.h"

struct making {
	const struct hawk_graph *graph;
	const struct hawk_dominators *dominators;
	const struct hawk_module_words *modules;
	struct hawk_objects *objects;
	struct hawk_near near;
};

static int compare_blocks(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

/* Returns the object that is `block`, or NULL. */
static struct hawk_object *find(const struct hawk_objects *objects, uint32_t block)
{
	return bsearch(&block, objects->items, objects->count, sizeof(*objects->items),
		       compare_blocks);
}

static struct hawk_type_words words_of(struct making *making, uint32_t block)
{
	const struct hawk_block_index *index = &making->graph->heap->index;

	return hawk_type_words_at(making->modules, &making->near, hawk_block_start(index, block),
				  hawk_block_size(index, block));
}

/* Returns a link to `block`, which is `from` or `to`: the pointer leads from one to the other. */
static struct hawk_object_link link_to(struct making *making, uint32_t block, uint32_t from,
				       uint32_t to)
{
	struct hawk_referrer pointer;

	return (struct hawk_object_link){
		.block = block,
		.offset = hawk_referrer_between(making->graph, from, to, &pointer)
				  ? pointer.offset
				  : HAWK_OFFSET_UNKNOWN,
		.words = words_of(making, block),
	};
}

static struct hawk_error *add_path(struct making *making, const struct hawk_paths *paths,
				   struct hawk_object *object)
{
	struct hawk_path path;
	struct hawk_error *err = hawk_path_to(paths, object->block, &path);
	uint32_t steps;

	if (err || !path.count)
		return err;
	steps = path.count - 1;
	object->has_path = true;
	object->root = path.root;
	object->path_left_out = steps > HAWK_OBJECT_STEPS ? steps - HAWK_OBJECT_STEPS : 0;
	for (uint32_t i = object->path_left_out; i < steps; i++)
		object->path[object->path_count++] =
			link_to(making, path.blocks[i], path.blocks[i], path.blocks[i + 1]);
	hawk_path_deinit(&path);
	return NULL;
}

/* Adds the blocks that the object points to, each once. */
static void add_held(struct making *making, struct hawk_object *object)
{
	const struct hawk_graph *graph = making->graph;
	struct hawk_object_links *links = &object->holds;

	for (uint32_t i = graph->offsets[object->block]; i < graph->offsets[object->block + 1];
	     i++) {
		uint32_t target = graph->edges[i] >> 1;
		uint64_t seen = 0;

		while (seen < links->count && seen < HAWK_OBJECT_LINKS &&
		       links->items[seen].block != target)
			seen++;
		if (seen < links->count && seen < HAWK_OBJECT_LINKS)
			continue;
		if (links->count < HAWK_OBJECT_LINKS)
			links->items[links->count] = link_to(making, target, object->block, target);
		links->count++;
	}
}

/* Adds the blocks that point to objects: one pass over all pointers. */
static struct hawk_error *add_holders(struct making *making)
{
	const struct hawk_graph *graph = making->graph;
	CLEANUP(free_ptr) uint64_t *wanted = calloc(graph->count / 64 + 1, sizeof(*wanted));

	if (!wanted)
		return &hawk_enomem;
	for (size_t i = 0; i < making->objects->count; i++) {
		uint32_t block = making->objects->items[i].block;

		wanted[block / 64] |= UINT64_C(1) << block % 64;
	}
	for (uint32_t block = 0; block < graph->count; block++)
		for (uint32_t i = graph->offsets[block]; i < graph->offsets[block + 1]; i++) {
			uint32_t target = graph->edges[i] >> 1;
			struct hawk_object_links *links;

			if (!(wanted[target / 64] >> target % 64 & 1))
				continue;
			links = &find(making->objects, target)->holders;
			if (links->count && links->count <= HAWK_OBJECT_LINKS &&
			    links->items[links->count - 1].block == block)
				continue;
			if (links->count < HAWK_OBJECT_LINKS)
				links->items[links->count] = link_to(making, block, block, target);
			links->count++;
		}
	return NULL;
}

/* Inserts by retained size. */
static void insert_dominated(const struct hawk_dominators *dominators,
			     struct hawk_object_links *links, uint32_t block)
{
	uint64_t retained = hawk_dominators_retained(dominators, block);
	uint64_t at = links->count < HAWK_OBJECT_LINKS ? links->count : HAWK_OBJECT_LINKS;

	links->count++;
	if (at == HAWK_OBJECT_LINKS &&
	    hawk_dominators_retained(dominators, links->items[at - 1].block) >= retained)
		return;
	if (at == HAWK_OBJECT_LINKS)
		at--;
	for (; at && hawk_dominators_retained(dominators, links->items[at - 1].block) < retained;
	     at--)
		links->items[at] = links->items[at - 1];
	links->items[at] = (struct hawk_object_link){.block = block, .offset = HAWK_OFFSET_UNKNOWN};
}

static void add_dominated(struct making *making)
{
	const struct hawk_dominators *dominators = making->dominators;
	struct hawk_objects *objects = making->objects;

	for (uint32_t number = 1; number <= dominators->count; number++) {
		uint32_t above = dominators->dominators[number];
		struct hawk_object *object =
			above ? find(objects, dominators->blocks[above]) : NULL;

		if (object)
			insert_dominated(dominators, &object->dominates,
					 dominators->blocks[number]);
	}
	for (size_t i = 0; i < objects->count; i++) {
		struct hawk_object_links *links = &objects->items[i].dominates;

		for (uint64_t j = 0; j < links->count && j < HAWK_OBJECT_LINKS; j++)
			links->items[j].words = words_of(making, links->items[j].block);
	}
}

struct hawk_error *hawk_objects_describe(const struct hawk_graph *graph, struct hawk_paths *paths,
					 const struct hawk_dominators *dominators,
					 const struct hawk_module_words *modules, uint32_t *blocks,
					 size_t count, struct hawk_objects *ret)
{
	struct making making = {
		.graph = graph,
		.dominators = dominators,
		.modules = modules,
		.objects = ret,
		.near = {.target = graph->heap->target},
	};
	struct hawk_error *err = hawk_paths_prepare(paths, blocks, count);

	*ret = (struct hawk_objects){.items = calloc(count + 1, sizeof(*ret->items))};
	if (!ret->items && !err)
		err = &hawk_enomem;
	qsort(blocks, count, sizeof(*blocks), compare_blocks);
	for (; ret->count < count && !err; ret->count++) {
		struct hawk_object *object = &ret->items[ret->count];

		object->block = blocks[ret->count];
		object->words = words_of(&making, object->block);
		add_held(&making, object);
		err = add_path(&making, paths, object);
	}
	if (!err)
		err = add_holders(&making);
	if (!err)
		add_dominated(&making);
	return err;
}

void hawk_objects_deinit(struct hawk_objects *objects)
{
	free(objects->items);
	*objects = (struct hawk_objects){0};
}
