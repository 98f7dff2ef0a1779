/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds tcmalloc's heap stage by stage.
 */
#include "tcmalloc.h"

static struct hawk_error *find(const struct hawk_target *target, const struct hawk_claims *claims,
			       void *state, bool *is_there)
{
	struct hawk_tcmalloc *tcmalloc = state;
	struct hawk_error *err;

	(void)claims;
	tcmalloc->heap.target = target;
	if (!hawk_tcmalloc_find_central(tcmalloc))
		return NULL;
	err = hawk_tcmalloc_read_spans(tcmalloc);
	if (!err)
		err = hawk_tcmalloc_read_large(tcmalloc);
	if (err)
		return err;
	hawk_claims_sort(&tcmalloc->heap.memory);
	err = hawk_slabs_finish(&tcmalloc->heap.slabs, target);
	if (err)
		return err;
	tcmalloc->in_flux = hawk_threads_are_inside(target, tcmalloc->central);
	hawk_tcmalloc_mark_free(tcmalloc);
	err = hawk_tcmalloc_mark_cached(tcmalloc);
	hawk_claims_sort(&tcmalloc->heap.metadata);
	*is_there = tcmalloc->heap.slabs.count;
	return err;
}

static const struct hawk_sample *samples(const void *state, size_t *count)
{
	const struct hawk_tcmalloc *tcmalloc = state;

	*count = tcmalloc->sample_count;
	return tcmalloc->samples;
}

static void forget(void *state)
{
	struct hawk_tcmalloc *tcmalloc = state;

	free(tcmalloc->spans);
	for (size_t i = 0; i < tcmalloc->sample_count; i++)
		free(tcmalloc->samples[i].frames);
	free(tcmalloc->samples);
	hawk_slab_heap_deinit(&tcmalloc->heap);
}

const struct hawk_walker hawk_walker_tcmalloc = {
	.name = "tcmalloc",
	.small_granules = true,
	.state_bytes = sizeof(struct hawk_tcmalloc),
	.find = find,
	.spans = hawk_slab_heap_spans,
	.begin = hawk_slab_heap_begin,
	.next = hawk_slab_heap_next,
	.verify = hawk_slab_heap_verify,
	.free_bytes = hawk_slab_heap_free_bytes,
	.describe = hawk_slab_heap_describe,
	.cached = hawk_slab_heap_cached,
	.samples = samples,
	.forget = forget,
};
