/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Collects the blocks of paths, and the threads whose frames these begin in.
 */
#include "hawk/analysis/path_types.h"

#include <stdlib.h>

#include "hawk/base/cleanup.h"

static void set(uint64_t *bits, size_t number)
{
	bits[number / 64] |= UINT64_C(1) << number % 64;
}

static struct hawk_error *add_path(const struct hawk_graph *graph, const struct hawk_paths *paths,
				   uint32_t block, uint64_t *blocks, uint64_t *threads)
{
	struct hawk_path path;
	const struct hawk_root *root;
	struct hawk_error *err = hawk_path_to(paths, block, &path);

	if (err)
		return err;
	set(blocks, block);
	for (uint32_t i = 0; i < path.count; i++)
		set(blocks, path.blocks[i]);
	root = path.count ? &graph->roots.items[path.root] : NULL;
	if (root && (root->kind == HAWK_ROOT_STACK || root->kind == HAWK_ROOT_REGISTER))
		set(threads, root->owner);
	hawk_path_deinit(&path);
	return NULL;
}

struct hawk_error *hawk_path_types_make(const struct hawk_graph *graph,
					const struct hawk_paths *paths, const uint32_t *blocks,
					size_t count, struct hawk_block_types *names,
					struct hawk_symbols *symbols, struct hawk_types *ret)
{
	const struct hawk_heap *heap = graph->heap;
	struct hawk_error *err = NULL;
	size_t thread_count;

	hawk_target_threads(heap->target, &thread_count);
	CLEANUP(free_ptr)
	uint64_t *only = calloc((size_t)heap->index.count / 64 + 1, sizeof(*only));
	CLEANUP(free_ptr) uint64_t *threads = calloc(thread_count / 64 + 1, sizeof(*threads));
	if (!only || !threads)
		return &hawk_enomem;
	for (size_t i = 0; !err && i < count; i++)
		err = add_path(graph, paths, blocks[i], only, threads);
	return err ? err
		   : hawk_types_make(heap, names, symbols,
				     &(struct hawk_types_wish){
					     .flows = true, .only = only, .threads = threads},
				     ret);
}
