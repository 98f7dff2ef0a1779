/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Wraps jemalloc as a walker.
 */
#include "jemalloc.h"

static struct hawk_error *find(const struct hawk_target *target, const struct hawk_claims *claims,
			       void *state, bool *is_there)
{
	(void)claims;
	return hawk_jemalloc_find(target, state, is_there);
}

static struct hawk_error *spans(const void *state, struct hawk_heap_spans *ret)
{
	const struct hawk_jemalloc *jemalloc = state;
	struct hawk_error *err = hawk_claims_put(&jemalloc->memory, HAWK_SPAN_HEAP, ret);

	return err ? err : hawk_claims_put(&jemalloc->metadata, HAWK_SPAN_METADATA, ret);
}

static void *begin(const void *state)
{
	const struct hawk_jemalloc *jemalloc = state;

	return hawk_slabs_begin(&jemalloc->slabs);
}

static void describe(const void *state, struct hawk_allocator *ret)
{
	const struct hawk_jemalloc *jemalloc = state;

	ret->version = jemalloc->layout->version;
	ret->differing = jemalloc->differing + jemalloc->slabs.overlapping;
}

static void forget(void *state)
{
	hawk_jemalloc_deinit(state);
}

const struct hawk_walker hawk_walker_jemalloc = {
	.name = "jemalloc",
	.small_granules = true,
	.state_bytes = sizeof(struct hawk_jemalloc),
	.find = find,
	.spans = spans,
	.begin = begin,
	.next = hawk_slabs_next,
	.describe = describe,
	.forget = forget,
};
