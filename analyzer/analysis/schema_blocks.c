/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * One pass over what the index says of all blocks, on several threads: none of them is read, unless
 * a filter wants to see more.
 */
#include "schema_blocks.h"

#include <emmintrin.h>
#include <stdlib.h>
#include <string.h>

enum {
	BITS = 64,
	PARTS_EACH = 8,           /**< that a thread takes */
	PART_BYTES_MIN = 1 << 20, /**< of memory that is looked at: less is not worth a thread */
};

/** Numbers one after the other, and what they sum to. */
struct share {
	const struct hawk_heap *heap;
	const struct hawk_schema_wish *wish;
	struct hawk_near near;
	uint32_t trace; /**< of the site, */
	bool has_one_trace;
	uint64_t *bits;
	uint32_t first, end; /**< `first` is a multiple of BITS */
	uint64_t count, objects, bytes, carved;
	struct hawk_schema_sizes sizes;
	struct hawk_error *err;
};

static void count_size(struct hawk_schema_sizes *sizes, uint64_t size, uint64_t count)
{
	size_t at =
		(size_t)(size * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (HAWK_SCHEMA_SIZE_SLOTS - 1);

	while (sizes->slots[at].count && sizes->slots[at].size != size)
		at = (at + 1) & (HAWK_SCHEMA_SIZE_SLOTS - 1);
	if (!sizes->slots[at].count) {
		if (size < sizes->least)
			sizes->least = size;
		if (size > sizes->most)
			sizes->most = size;
		if (sizes->count == HAWK_SCHEMA_SIZES_MAX) {
			sizes->many = true;
			return;
		}
		sizes->count++;
		sizes->slots[at].size = size;
	}
	sizes->slots[at].count += count;
}

static void add_sizes(const struct hawk_schema_sizes *from, struct hawk_schema_sizes *to)
{
	for (size_t i = 0; i < HAWK_SCHEMA_SIZE_SLOTS; i++)
		if (from->slots[i].count)
			count_size(to, from->slots[i].size, from->slots[i].count);
	to->many |= from->many;
	if (from->least < to->least)
		to->least = from->least;
	if (from->most > to->most)
		to->most = from->most;
}

/* Which of 64 are `value`. SSE2 is part of x86-64. */
static uint64_t equal_64(const uint32_t *values, uint32_t value)
{
	__m128i wanted = _mm_set1_epi32((int)value);
	uint64_t bits = 0;

	for (unsigned i = 0; i < BITS; i += 4) {
		__m128i four = _mm_loadu_si128((const __m128i *)(values + i));

		bits |= (uint64_t)(unsigned)_mm_movemask_ps(
				_mm_castsi128_ps(_mm_cmpeq_epi32(four, wanted)))
			<< i;
	}
	return bits;
}

/** Which of up to BITS blocks from `first` on are of the site. */
static uint64_t bits_of_site(const struct share *share, uint32_t first)
{
	uint32_t count = share->end - first < BITS ? share->end - first : BITS;
	uint64_t bits = 0;

	if (share->wish->site == HAWK_SCHEMA_ANY_SITE)
		return count == BITS ? UINT64_MAX : (UINT64_C(1) << count) - 1;
	if (share->has_one_trace && count == BITS)
		return equal_64(share->heap->index.traces + first, share->trace);
	for (uint32_t i = 0; i < count; i++)
		bits |= (uint64_t)(hawk_heap_site_at(share->heap, first + i) == share->wish->site)
			<< i;
	return bits;
}

/** Counts what is of blocks that pools have carved up, and leaves the others. */
static void leave_carved(struct share *share, uint32_t first, uint64_t *bits)
{
	const struct hawk_block_index *index = &share->heap->index;

	for (uint64_t left = *bits; left; left &= left - 1) {
		uint32_t bit = (uint32_t)__builtin_ctzll(left);

		if (!hawk_block_index_part(index, first + bit))
			continue;
		share->bytes += hawk_block_index_left_bytes(index, first + bit);
		share->objects += hawk_block_index_counts(index, first + bit);
		share->carved += hawk_block_index_counts(index, first + bit);
		*bits &= ~(UINT64_C(1) << bit);
	}
}

static void count_sizes(struct share *share, uint64_t size, uint32_t count)
{
	count_size(&share->sizes, size, count);
	share->bytes += size * count;
	share->count += count;
}

/** Those of the size of the first one at once, mostly all of them. */
static void count_bits(struct share *share, uint32_t first, uint64_t bits)
{
	const struct hawk_block_index *index = &share->heap->index;

	if (bits && share->end - first >= BITS) {
		uint32_t size = index->sizes[first + (uint32_t)__builtin_ctzll(bits)];
		uint64_t same = bits & equal_64(index->sizes + first, size);

		if (size != UINT32_MAX) {
			count_sizes(share, size, hawk_popcount(same));
			bits &= ~same;
		}
	}
	for (; bits; bits &= bits - 1)
		count_sizes(share, hawk_block_size(index, first + (uint32_t)__builtin_ctzll(bits)),
			    1);
}

static void collect_share(void *context, unsigned part)
{
	struct share *share = (struct share *)context + part;

	for (uint32_t i = share->first; i < share->end; i += BITS) {
		uint64_t bits = bits_of_site(share, i);

		if (share->wish->chosen)
			bits &= share->wish->chosen[i / BITS];
		if (share->heap->index.part_count)
			leave_carved(share, i, &bits);
		count_bits(share, i, bits);
		share->bits[i / BITS] = bits;
	}
	share->objects += share->count;
}

static unsigned threads_for(const struct hawk_schema_wish *wish)
{
	unsigned threads = wish->parts ? wish->parts : hawk_parallel_threads();

	return threads < HAWK_SCHEMA_PARTS_MAX ? threads : HAWK_SCHEMA_PARTS_MAX;
}

/** Most sites have. */
static void find_trace(struct share *share)
{
	const struct hawk_heap *heap = share->heap;
	unsigned count = heap->lost_site == share->wish->site ? 2 : 0;

	for (uint32_t trace = 0; trace < heap->trace_count && count < 2; trace++)
		if (heap->site_of_trace[trace] == share->wish->site) {
			share->trace = trace;
			count++;
		}
	share->has_one_trace = count == 1;
}

static struct hawk_error *create_sizes(struct hawk_schema_sizes *sizes)
{
	sizes->slots = calloc(HAWK_SCHEMA_SIZE_SLOTS, sizeof(*sizes->slots));
	sizes->least = UINT64_MAX;
	return sizes->slots ? NULL : &hawk_enomem;
}

/** Those of the first one are the sums of all in the end. */
static struct hawk_error *collect_shares(struct share *shares, unsigned count)
{
	struct hawk_error *err = NULL;
	uint64_t words = (shares[0].heap->index.count + UINT64_C(63)) / BITS;

	for (unsigned i = 0; i < count && !err; i++) {
		shares[i] = shares[0];
		shares[i].first = (uint32_t)(words * i / count * BITS);
		shares[i].end = i + 1 < count ? (uint32_t)(words * (i + 1) / count * BITS)
					      : shares[0].heap->index.count;
		err = create_sizes(&shares[i].sizes);
	}
	if (!err)
		hawk_parallel_run(count, collect_share, shares);
	for (unsigned i = 1; i < count; i++) {
		if (!err) {
			add_sizes(&shares[i].sizes, &shares[0].sizes);
			shares[0].count += shares[i].count;
			shares[0].objects += shares[i].objects;
			shares[0].bytes += shares[i].bytes;
			shares[0].carved += shares[i].carved;
		}
		free(shares[i].sizes.slots);
	}
	return err;
}

static unsigned count_parts(const struct hawk_schema_wish *wish, unsigned threads)
{
	unsigned parts = wish->parts || threads == 1 ? threads : threads * PARTS_EACH;

	return parts < HAWK_SCHEMA_PARTS_MAX ? parts : HAWK_SCHEMA_PARTS_MAX;
}

/** Parts of about as many blocks each. */
static void cut(struct hawk_schema_blocks *blocks, unsigned parts)
{
	size_t words = (blocks->heap->index.count + (size_t)63) / BITS;
	uint64_t before = 0;

	blocks->parts = 1;
	for (size_t i = 0; i < words; i++) {
		while (blocks->parts < parts && before >= blocks->count * blocks->parts / parts)
			blocks->bounds[blocks->parts++] = i;
		before += hawk_popcount(blocks->bits[i]);
	}
	blocks->bounds[blocks->parts] = words;
}

static struct hawk_error *create_words(const struct hawk_vtable_oracle *vtables,
				       struct hawk_schema_blocks *blocks)
{
	struct hawk_error *err = hawk_words_create(blocks->heap, vtables, &blocks->words[0]);

	for (unsigned i = 1; i < blocks->parts && !err; i++)
		err = hawk_words_create_beside(blocks->words[0], &blocks->words[i]);
	return err;
}

struct hawk_error *hawk_schema_collect(const struct hawk_heap *heap,
				       const struct hawk_schema_wish *wish,
				       const struct hawk_vtable_oracle *vtables,
				       struct hawk_schema *schema, struct hawk_schema_blocks *ret)
{
	struct hawk_schema_blocks blocks = {
		.heap = heap,
		.bits = calloc((size_t)heap->index.count / BITS + 1, sizeof(*blocks.bits)),
	};
	struct share shares[HAWK_SCHEMA_PARTS_MAX] = {{
		.heap = heap,
		.wish = wish,
		.bits = blocks.bits,
	}};
	unsigned threads = threads_for(wish);
	struct hawk_error *err = &hawk_enomem;

	find_trace(&shares[0]);
	if (blocks.bits)
		err = collect_shares(shares, threads);
	blocks.sizes = shares[0].sizes;
	blocks.count = shares[0].count;
	schema->objects = shares[0].objects;
	schema->bytes = shares[0].bytes;
	schema->carved = shares[0].carved;
	if (!wish->parts && threads > schema->bytes / PART_BYTES_MIN + 1)
		threads = (unsigned)(schema->bytes / PART_BYTES_MIN + 1);
	blocks.threads = threads;
	if (!err) {
		cut(&blocks, count_parts(wish, threads));
		err = create_words(vtables, &blocks);
	}
	if (err)
		hawk_schema_blocks_deinit(&blocks);
	else
		*ret = blocks;
	return err;
}

/** Threads that take parts. */
struct crew {
	hawk_parallel_function *function;
	void *context;
	unsigned parts;
	unsigned taken; /**< of those */
};

static void take_parts(void *context, unsigned thread)
{
	struct crew *crew = context;
	unsigned part;

	(void)thread;
	while ((part = __atomic_fetch_add(&crew->taken, 1, __ATOMIC_RELAXED)) < crew->parts)
		crew->function(crew->context, part);
}

void hawk_schema_run(const struct hawk_schema_blocks *blocks, hawk_parallel_function *function,
		     void *context)
{
	struct crew crew = {.function = function, .context = context, .parts = blocks->parts};

	hawk_parallel_run(blocks->threads, take_parts, &crew);
}

void hawk_schema_blocks_deinit(struct hawk_schema_blocks *blocks)
{
	for (unsigned i = blocks->parts; i > 0; i--)
		hawk_words_destroy(blocks->words[i - 1]);
	free(blocks->sizes.slots);
	free(blocks->bits);
	memset(blocks, 0, sizeof(*blocks));
}
