/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds jemalloc's heap stage by stage.
 */
#include "jemalloc.h"

static struct hawk_error *find(const struct hawk_target *target, const struct hawk_claims *claims,
			       void *state, bool *is_there)
{
	struct hawk_jemalloc *jemalloc = state;
	struct hawk_error *err;

	(void)claims;
	jemalloc->heap.target = target;
	err = hawk_jemalloc_find_roots(jemalloc);
	for (size_t i = 0; !err && i < jemalloc->root_count; i++)
		err = hawk_jemalloc_read_extents(jemalloc, &jemalloc->roots[i]);
	if (!err && jemalloc->root_count)
		err = hawk_jemalloc_finish_extents(jemalloc);
	if (!err && jemalloc->root_count)
		err = hawk_jemalloc_read_caches(jemalloc);
	*is_there = jemalloc->heap.slabs.count;
	return err;
}

static void forget(void *state)
{
	struct hawk_jemalloc *jemalloc = state;

	free(jemalloc->roots);
	hawk_claims_deinit(&jemalloc->bases);
	hawk_slab_heap_deinit(&jemalloc->heap);
}

const struct hawk_walker hawk_walker_jemalloc = {
	.name = "jemalloc",
	.small_granules = true,
	.state_bytes = sizeof(struct hawk_jemalloc),
	.find = find,
	.spans = hawk_slab_heap_spans,
	.begin = hawk_slab_heap_begin,
	.next = hawk_slab_heap_next,
	.verify = hawk_slab_heap_verify,
	.free_bytes = hawk_slab_heap_free_bytes,
	.describe = hawk_jemalloc_describe,
	.arena = hawk_slab_heap_arena,
	.thread_arenas = hawk_slab_heap_thread_arenas,
	.cached = hawk_slab_heap_cached,
	.forget = forget,
};
