/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Wraps musl's malloc as a walker.
 */
#include "musl.h"
#include "native.h"

enum { HEADER_BYTES = 8 /* before a block */ };

static struct hawk_error *find(const struct hawk_target *target, const struct hawk_claims *claims,
			       void *state, bool *is_there)
{
	(void)claims;
	return hawk_musl_find(target, state, is_there);
}

static struct hawk_error *spans(const void *state, struct hawk_heap_spans *ret)
{
	const struct hawk_musl *musl = state;
	struct hawk_error *err = hawk_claims_put(&musl->memory, HAWK_SPAN_HEAP, ret);

	return err ? err : hawk_claims_put(&musl->metadata, HAWK_SPAN_METADATA, ret);
}

static void *begin(const void *state)
{
	struct hawk_musl_cursor *cursor = calloc(1, sizeof(*cursor));
	const struct hawk_musl *musl = state;

	if (cursor) {
		cursor->musl = musl;
		cursor->near.target = musl->target;
	}
	return cursor;
}

static bool next(void *cursor, struct hawk_piece *ret)
{
	struct hawk_musl_block block;

	if (!hawk_musl_next(cursor, &block))
		return false;
	*ret = (struct hawk_piece){.start = block.start,
				   .bytes = block.requested,
				   .state = block.is_free ? HAWK_PIECE_FREE : HAWK_PIECE_LIVE,
				   .arena = HAWK_NOT_KNOWN,
				   .thread = HAWK_NOT_KNOWN,
				   .unit = block.group,
				   .unit_bytes = block.group_bytes};
	return true;
}

static void describe(const void *state, struct hawk_allocator *ret)
{
	const struct hawk_musl *musl = state;

	ret->version = "1.2.1 or younger";
	ret->differing = musl->differing;
}

/* Gives the words before slots and blocks, which hold sizes. */
static struct hawk_error *keep(const void *state, hawk_keep_function *take, void *context)
{
	const struct hawk_musl *musl = state;
	struct hawk_musl_cursor cursor = {.musl = musl, .near.target = musl->target};
	struct hawk_musl_block block;
	struct hawk_error *err = NULL;

	for (size_t i = 0; i < musl->group_count; i++) {
		uint64_t slot = musl->groups[i].start + HAWK_MUSL_GROUP_HEADER;

		for (uint32_t j = 0; j <= musl->groups[i].slots && !err; j++)
			err = take(context, slot + j * musl->groups[i].stride - HEADER_BYTES,
				   slot + j * musl->groups[i].stride);
	}
	while (!err && hawk_musl_next(&cursor, &block))
		err = take(context, block.start - HEADER_BYTES, block.start);
	return err;
}

static void forget(void *state)
{
	hawk_musl_deinit(state);
}

const struct hawk_walker hawk_walker_musl = {
	.name = "musl",
	.exact = true,
	.blocks_apart = true,
	.state_bytes = sizeof(struct hawk_musl),
	.find = find,
	.spans = spans,
	.begin = begin,
	.next = next,
	.verify = hawk_musl_verify,
	.free_bytes = hawk_musl_free_bytes,
	.describe = describe,
	.keep = keep,
	.forget = forget,
};
