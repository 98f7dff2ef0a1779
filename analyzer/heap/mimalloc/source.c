/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Wraps mimalloc as a walker.
 */
#include "mimalloc.h"

static struct hawk_error *find(const struct hawk_target *target, const struct hawk_claims *claims,
			       void *state, bool *is_there)
{
	(void)claims;
	return hawk_mimalloc_find(target, state, is_there);
}

static struct hawk_error *spans(const void *state, struct hawk_heap_spans *ret)
{
	const struct hawk_mimalloc *mimalloc = state;
	struct hawk_error *err = hawk_claims_put(&mimalloc->memory, HAWK_SPAN_HEAP, ret);

	return err ? err : hawk_claims_put(&mimalloc->metadata, HAWK_SPAN_METADATA, ret);
}

static void *begin(const void *state)
{
	const struct hawk_mimalloc *mimalloc = state;

	return hawk_slabs_begin(&mimalloc->slabs);
}

static void describe(const void *state, struct hawk_allocator *ret)
{
	const struct hawk_mimalloc *mimalloc = state;

	ret->version = mimalloc->version;
	ret->incomplete = mimalloc->layout_unknown;
	ret->differing = mimalloc->differing + mimalloc->slabs.overlapping;
}

static bool aligns_within(const void *state, uint64_t address)
{
	const struct hawk_mimalloc *mimalloc = state;
	const struct hawk_slab *slab = hawk_slabs_at(&mimalloc->slabs, address);

	return slab && slab->aligns_within;
}

static void forget(void *state)
{
	hawk_mimalloc_deinit(state);
}

const struct hawk_walker hawk_walker_mimalloc = {
	.name = "mimalloc",
	.small_granules = true,
	.state_bytes = sizeof(struct hawk_mimalloc),
	.find = find,
	.spans = spans,
	.begin = begin,
	.next = hawk_slabs_next,
	.describe = describe,
	.aligns_within = aligns_within,
	.forget = forget,
};
