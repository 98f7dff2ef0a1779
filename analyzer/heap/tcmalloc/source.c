/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Wraps gperftools' tcmalloc as a walker.
 */
#include "tcmalloc.h"

static struct hawk_error *find(const struct hawk_target *target, const struct hawk_claims *claims,
			       void *state, bool *is_there)
{
	(void)claims;
	return hawk_tcmalloc_find(target, state, is_there);
}

static struct hawk_error *spans(const void *state, struct hawk_heap_spans *ret)
{
	const struct hawk_tcmalloc *tcmalloc = state;
	struct hawk_error *err = hawk_claims_put(&tcmalloc->pages, HAWK_SPAN_HEAP, ret);

	return err ? err : hawk_claims_put(&tcmalloc->metadata, HAWK_SPAN_METADATA, ret);
}

static void *begin(const void *state)
{
	const struct hawk_tcmalloc *tcmalloc = state;

	return hawk_slabs_begin(&tcmalloc->slabs);
}

static void describe(const void *state, struct hawk_allocator *ret)
{
	const struct hawk_tcmalloc *tcmalloc = state;

	ret->version = tcmalloc->wide_sizes ? "2.0 to 2.5" : "2.6 to 2.18";
	ret->incomplete = tcmalloc->large_missing;
	ret->differing = tcmalloc->differing + tcmalloc->slabs.overlapping;
}

static void forget(void *state)
{
	hawk_tcmalloc_deinit(state);
}

const struct hawk_walker hawk_walker_tcmalloc = {
	.name = "tcmalloc",
	.small_granules = true,
	.state_bytes = sizeof(struct hawk_tcmalloc),
	.find = find,
	.spans = spans,
	.begin = begin,
	.next = hawk_slabs_next,
	.describe = describe,
	.forget = forget,
};
