/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds glibc's malloc stage by stage, and makes a walker of it.
 */
#include "glibc.h"
#include "hawk/heap/arenas.h"
#include "native.h"
#include "thread_words.h"

static void forget(void *state)
{
	struct hawk_glibc *glibc = state;

	free(glibc->arenas);
	free(glibc->runs);
	free(glibc->specials);
	hawk_claims_deinit(&glibc->claims);
}

static struct hawk_error *find(const struct hawk_target *target, const struct hawk_claims *claims,
			       void *state, bool *is_there)
{
	struct hawk_glibc *glibc = state;
	struct hawk_error *err = NULL;

	glibc->target = target;
	glibc->near.target = target;
	for (size_t i = 0; i < claims->count && !err; i++)
		err = hawk_claims_add(&glibc->claims, claims->items[i].start, claims->items[i].end);
	if (!err)
		err = hawk_glibc_find_arenas(glibc);
	if (!err)
		err = hawk_glibc_find_runs(glibc);
	if (err)
		return err;
	hawk_glibc_find_parameters(glibc);
	err = hawk_glibc_find_mapped(glibc);
	*is_there = glibc->run_count;
	return err ? err : hawk_glibc_find_specials(glibc);
}

static struct hawk_error *add(struct hawk_heap_spans *ret, uint64_t start, uint64_t end,
			      uint8_t kind, uint32_t owner)
{
	return hawk_heap_spans_add(
		ret, (struct hawk_heap_span){
			     .start = start, .end = end, .kind = kind, .owner = (uint16_t)owner});
}

/* Other arenas lie in their heaps. */
static struct hawk_error *add_main_arenas(const struct hawk_glibc *glibc,
					  struct hawk_heap_spans *ret)
{
	struct hawk_error *err = NULL;

	for (uint32_t i = 0; i < glibc->arena_count && !err; i++) {
		uint64_t parameters = glibc->arenas[i].parameters;

		if (glibc->arenas[i].is_main)
			err = add(ret, glibc->arenas[i].start, glibc->arenas[i].end,
				  HAWK_SPAN_METADATA, i);
		if (!err && parameters)
			err = add(ret, parameters, parameters + HAWK_GLIBC_PARAMETERS_BYTES,
				  HAWK_SPAN_METADATA, i);
	}
	return err;
}

struct hawk_error *hawk_heap_find_arenas(const struct hawk_target *target,
					 struct hawk_heap_spans *ret)
{
	struct hawk_glibc glibc = {.target = target, .near = {.target = target}};
	struct hawk_error *err = hawk_glibc_find_arenas(&glibc);

	if (!err)
		err = add_main_arenas(&glibc, ret);
	forget(&glibc);
	return err;
}

static struct hawk_error *spans(const void *state, struct hawk_heap_spans *ret)
{
	const struct hawk_glibc *glibc = state;
	struct hawk_error *err = add_main_arenas(glibc, ret);

	for (size_t i = 0; i < glibc->run_count && !err; i++) {
		const struct hawk_glibc_run *run = &glibc->runs[i];

		err = add(ret, run->base, run->start, HAWK_SPAN_METADATA, run->arena);
		if (!err)
			err = add(ret, run->start, run->top ? run->top : run->end, HAWK_SPAN_HEAP,
				  run->arena);
		if (!err && run->top)
			err = add(ret, run->top, run->end, HAWK_SPAN_UNTOUCHED, run->arena);
	}
	return err;
}

static void *begin(const void *state)
{
	struct hawk_glibc_cursor *cursor = malloc(sizeof(*cursor));

	if (cursor)
		hawk_glibc_begin(cursor, state);
	return cursor;
}

static bool next(void *cursor, struct hawk_piece *ret)
{
	const struct hawk_glibc_cursor *at = cursor;
	struct hawk_glibc_chunk chunk;

	if (!hawk_glibc_next(cursor, &chunk))
		return false;
	*ret = (struct hawk_piece){.start = chunk.start,
				   .bytes = chunk.bytes,
				   .state = chunk.state,
				   .found = chunk.word,
				   .neighbour = chunk.neighbour,
				   .arena = at->glibc->runs[at->run].arena,
				   .thread = HAWK_NOT_KNOWN};
	if (ret->state == HAWK_PIECE_CACHED || ret->state == HAWK_PIECE_INTERNAL)
		ret->thread = chunk.owner;
	if (ret->state == HAWK_PIECE_LIVE || ret->state == HAWK_PIECE_INTERNAL) {
		ret->start += HAWK_CHUNK_HEADER_BYTES;
		ret->bytes = chunk.usable;
		ret->overhead = chunk.bytes - chunk.usable;
		ret->before = HAWK_CHUNK_HEADER_BYTES;
	}
	return true;
}

static bool arena(const void *state, size_t number, struct hawk_allocator_arena *ret)
{
	const struct hawk_glibc *glibc = state;
	const struct hawk_glibc_arena *arena;

	if (number >= glibc->arena_count)
		return false;
	arena = &glibc->arenas[number];
	*ret = (struct hawk_allocator_arena){
		.address = arena->start,
		.system_bytes = arena->system_bytes,
		.is_main = arena->is_main,
		.has_lock = true,
		.is_locked = arena->is_locked,
	};
	return true;
}

/* A variable of the C library leads to the thread's arena, near the one of its cache. */
static void thread_arenas(const void *state, uint32_t *ret)
{
	enum { NEAR_BYTES = 0x100, TLS_BYTES = 0x2000 };
	const struct hawk_glibc *glibc = state;
	uint64_t middle = glibc->cache_distance;

	hawk_thread_words_find(
		&(struct hawk_thread_words){
			.target = glibc->target,
			.first = middle > NEAR_BYTES ? middle - NEAR_BYTES : 8,
			.last = middle ? middle + NEAR_BYTES : TLS_BYTES,
			.arena_at = hawk_glibc_arena_at,
			.context = glibc,
		},
		ret);
}

static void describe(const void *state, struct hawk_allocator *ret)
{
	static const char *const versions[HAWK_GLIBC_LAYOUTS] = {"2.27 to 2.42", "2.17 to 2.26",
								 "2.43 or younger"};
	const struct hawk_glibc *glibc = state;
	const struct hawk_glibc_parameters *parameters = &glibc->parameters;

	memcpy(ret->settings, parameters->settings, sizeof(ret->settings));
	ret->setting_count = parameters->known ? HAWK_ALLOCATOR_SETTINGS : 0;
	ret->arenas = glibc->arena_count;
	ret->incomplete = glibc->main_missing || !parameters->known;
	if (glibc->arena_count)
		ret->version = versions[glibc->arenas[0].layout - hawk_glibc_layouts];
	for (size_t i = 0; i < glibc->arena_count; i++)
		ret->differing += glibc->arenas[i].found_bytes != glibc->arenas[i].system_bytes;
	ret->differing += glibc->lists_cross;
	/* From 2.43 on the count keeps some bytes of freed aligned chunks. */
	ret->differing += parameters->known && (parameters->mapped_count != glibc->mapped_count ||
						(parameters->mapped_bytes != glibc->mapped_bytes &&
						 !glibc->arenas[0].layout->mapped_gap));
}

/* Gives the words before each chunk, and the links of free chunks, which may be mangled. */
static struct hawk_error *keep(const void *state, hawk_keep_function *take, void *context)
{
	struct hawk_glibc_cursor cursor;
	struct hawk_glibc_chunk chunk;
	struct hawk_error *err = NULL;

	hawk_glibc_begin(&cursor, state);
	while (!err && hawk_glibc_next(&cursor, &chunk)) {
		bool live = chunk.state == HAWK_PIECE_LIVE;
		bool cache = chunk.state == HAWK_PIECE_INTERNAL;

		err = take(context, chunk.start,
			   cache ? chunk.start + chunk.bytes
				 : chunk.start + (live ? 1 : 2) * HAWK_CHUNK_HEADER_BYTES);
	}
	return err;
}

const struct hawk_walker hawk_walker_glibc = {
	.name = "glibc",
	.blocks_apart = true,
	.rounds_to_16 = true,
	.state_bytes = sizeof(struct hawk_glibc),
	.find = find,
	.spans = spans,
	.begin = begin,
	.next = next,
	.verify = hawk_glibc_verify,
	.free_bytes = hawk_glibc_free_bytes,
	.describe = describe,
	.arena = arena,
	.thread_arenas = thread_arenas,
	.keep = keep,
	.forget = forget,
};
