/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * One predicate over all blocks, in shares of them; then what it does not decide, in the order of
 * blocks.
 */
#include "hawk/analysis/block_choice.h"

#include <emmintrin.h>
#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/parallel.h"
#include "hawk/base/progress.h"

static bool header_passes(const struct hawk_heap *heap, struct hawk_near *near,
			  const struct hawk_choice_test *test, uint32_t number)
{
	uint32_t whole = hawk_block_index_whole(&heap->index, number);
	uint64_t size = heap->index.part_count ? hawk_block_index_asked_bytes(&heap->index, whole)
					       : hawk_block_size(&heap->index, whole);

	return size >= test->size_low && size <= test->size_high &&
	       (!test->births_matter ||
		test->births[(uint8_t)hawk_heap_next_head(heap, near, whole)]);
}

static struct hawk_error *type_passes(const struct hawk_heap *heap, struct hawk_near *near,
				      const struct hawk_choice_types *types, uint32_t number,
				      bool *ret)
{
	uint32_t whole = hawk_block_index_whole(&heap->index, number);
	struct hawk_type_words words;

	if (types->named(types->context, heap->index.traces[whole], ret))
		return NULL;
	words = hawk_type_words_of(heap, types->modules, near, whole);
	return types->wanted(types->context, &words, ret);
}

/* All but the filter. */
static inline struct hawk_error *test_block(const struct hawk_heap *heap, struct hawk_near *near,
					    const struct hawk_choice_wish *wish, uint32_t number,
					    bool *ret)
{
	const struct hawk_choice_test *test = wish ? wish->test : NULL;

	*ret = false;
	if (wish && wish->trace && !wish->trace(wish->context, heap->index.traces[number]))
		return NULL;
	if (test && !header_passes(heap, near, test, number))
		return NULL;
	*ret = true;
	return test && test->types ? type_passes(heap, near, test->types, number, ret) : NULL;
}

enum {
	SHARES_MAX = 16,
	RUN_BLOCKS = 4096,     /**< of a share; a multiple of 64 */
	BLOCKS_AHEAD = 16,     /**< their first words are fetched */
	BLOCKS_PER_SITE = 256, /**< fewer are not worth sums of their own for a share */
};

/** Runs of blocks one after the other. */
struct share {
	const struct hawk_heap *heap;
	const struct hawk_choice_wish *wish;
	bool sited;
	uint64_t *bits;
	struct hawk_chosen *sites;
	uint32_t first, end; /**< the first one is a multiple of 64 */
	struct hawk_error *err;
};

/* Into at most `most` shares like the first one; how many. */
static unsigned cut(struct share *shares, unsigned most)
{
	uint32_t count = shares[0].heap->index.count;
	uint32_t runs = count / RUN_BLOCKS + 1;
	unsigned threads = hawk_parallel_threads();

	if (threads > most)
		threads = most;
	if (threads > runs)
		threads = runs;
	for (unsigned i = 0; i < threads; i++) {
		shares[i] = shares[0];
		shares[i].first = (uint32_t)((uint64_t)runs * i / threads) * RUN_BLOCKS;
		shares[i].end = (uint32_t)((uint64_t)runs * (i + 1) / threads) * RUN_BLOCKS;
	}
	shares[threads - 1].end = count;
	return threads;
}

static void test_share(void *context, unsigned part)
{
	struct share *share = (struct share *)context + part;
	const struct hawk_heap *heap = share->heap;
	bool reads = share->wish && share->wish->test && share->wish->test->types;
	struct hawk_near near = {.target = heap->target};

	for (uint32_t i = share->first; i < share->end && !share->err; i++) {
		bool passes = !share->sited || hawk_heap_site_at(heap, i) < heap->site_count;

		if (reads && share->end - i > BLOCKS_AHEAD)
			hawk_near_prefetch(&near, hawk_block_start(&heap->index, i + BLOCKS_AHEAD));
		if (passes)
			share->err = test_block(heap, &near, share->wish, i, &passes);
		share->bits[i / 64] |= (uint64_t)passes << i % 64;
		hawk_progress_tick(i);
	}
}

static struct hawk_error *test_all(struct share *shares)
{
	unsigned count = cut(shares, SHARES_MAX);
	struct hawk_error *err = NULL;

	hawk_parallel_run(count, test_share, shares);
	for (unsigned i = 0; i < count; i++) {
		if (err)
			hawk_error_destroy(shares[i].err);
		else
			err = shares[i].err;
	}
	return err;
}

/* What the test does not decide; filters are not made for several threads. */
static struct hawk_error *filter_all(const struct hawk_heap *heap,
				     const struct hawk_choice_wish *wish, uint64_t *bits)
{
	struct hawk_near near = {.target = heap->target};
	uint32_t count = heap->index.count;
	struct hawk_error *err = NULL;
	uint64_t told = 0;

	if (!wish || (wish->test && wish->test->decides))
		return NULL;
	for (uint32_t i = hawk_block_next_chosen(bits, 0, count); i < count && !err;
	     i = hawk_block_next_chosen(bits, i + 1, count)) {
		struct hawk_block block;
		bool wanted;

		hawk_progress_pass(&told, i);
		hawk_heap_next_block(heap, &near, i, &block);
		err = wish->filter(wish->context, &block, &wanted);
		if (!err && !wanted)
			bits[i / 64] &= ~(UINT64_C(1) << i % 64);
	}
	return err;
}

struct hawk_error *hawk_choice_bits_make(const struct hawk_heap *heap,
					 const struct hawk_choice_wish *wish, bool sited,
					 uint64_t **ret)
{
	CLEANUP(free_ptr)
	uint64_t *bits = calloc((size_t)heap->index.count / 64 + 1, sizeof(*bits));
	struct share shares[SHARES_MAX] = {
		{.heap = heap, .wish = wish, .sited = sited, .bits = bits}};
	struct hawk_progress progress;
	struct hawk_error *err;

	if (!bits)
		return &hawk_enomem;
	hawk_progress_begin(&progress, "choosing blocks", 2 * (uint64_t)heap->index.count);
	err = test_all(shares);
	if (!err)
		err = filter_all(heap, wish, bits);
	hawk_progress_end(&progress);
	if (!err)
		*ret = take_ptr(&bits);
	return err;
}

void hawk_chosen_add(struct hawk_chosen *chosen, const struct hawk_block_index *index,
		     uint32_t number)
{
	chosen->objects += hawk_block_index_counts(index, number);
	chosen->bytes += hawk_block_index_left_bytes(index, number);
}

/* Whether all that counts of 64 blocks from `first` on is in the array of sizes. */
static bool is_plain(const struct hawk_block_index *index, uint32_t first)
{
	const struct hawk_block_part *part =
		index->part_count ? hawk_block_index_part_from(index, first) : NULL;

	if (index->count - first < 64 || (part && part->number - first < 64))
		return false;
	for (unsigned i = 0; i < 64 && index->large_count; i++)
		if (index->sizes[first + i] == UINT32_MAX)
			return false;
	return true;
}

/* Of 64. SSE2 is part of x86-64. */
static uint64_t sum_sizes(const uint32_t *sizes, uint64_t bits)
{
	static const uint32_t masks[16][4] = {
		{0, 0, 0, 0},     {~0u, 0, 0, 0},     {0, ~0u, 0, 0},     {~0u, ~0u, 0, 0},
		{0, 0, ~0u, 0},   {~0u, 0, ~0u, 0},   {0, ~0u, ~0u, 0},   {~0u, ~0u, ~0u, 0},
		{0, 0, 0, ~0u},   {~0u, 0, 0, ~0u},   {0, ~0u, 0, ~0u},   {~0u, ~0u, 0, ~0u},
		{0, 0, ~0u, ~0u}, {~0u, 0, ~0u, ~0u}, {0, ~0u, ~0u, ~0u}, {~0u, ~0u, ~0u, ~0u},
	};
	__m128i sum = _mm_setzero_si128();
	uint64_t halves[2];

	for (; bits; bits >>= 4, sizes += 4) {
		__m128i mask = _mm_loadu_si128((const __m128i *)masks[bits & 15]);
		__m128i size = _mm_and_si128(_mm_loadu_si128((const __m128i *)sizes), mask);

		sum = _mm_add_epi64(sum, _mm_unpacklo_epi32(size, _mm_setzero_si128()));
		sum = _mm_add_epi64(sum, _mm_unpackhi_epi32(size, _mm_setzero_si128()));
	}
	_mm_storeu_si128((__m128i *)halves, sum);
	return halves[0] + halves[1];
}

void hawk_chosen_add_64(struct hawk_chosen *chosen, const struct hawk_block_index *index,
			uint32_t first, uint64_t bits)
{
	if (bits && is_plain(index, first)) {
		chosen->objects += hawk_popcount(bits);
		chosen->bytes += sum_sizes(index->sizes + first, bits);
		return;
	}
	for (; bits; bits &= bits - 1)
		hawk_chosen_add(chosen, index, first + (uint32_t)__builtin_ctzll(bits));
}

static void sum_share(void *context, unsigned part)
{
	const struct share *share = (const struct share *)context + part;
	const struct hawk_block_index *index = &share->heap->index;
	uint64_t told = share->first;

	for (uint32_t first = share->first; first < share->end; first += 64) {
		uint64_t bits = share->bits[first / 64];
		bool plain = bits && is_plain(index, first);

		hawk_progress_pass(&told, first);
		for (; bits; bits &= bits - 1) {
			uint32_t i = first + (uint32_t)__builtin_ctzll(bits);
			struct hawk_chosen *site = &share->sites[hawk_heap_site_at(share->heap, i)];

			if (plain) {
				site->objects++;
				site->bytes += index->sizes[i];
			} else {
				hawk_chosen_add(site, index, i);
			}
		}
	}
}

/* By site, into `sites`, which are zeros. */
static struct hawk_error *sum_sites(const struct hawk_heap *heap, uint64_t *bits,
				    struct hawk_chosen *sites)
{
	size_t count = heap->site_count;
	bool many = heap->index.count / BLOCKS_PER_SITE < count;
	struct share shares[SHARES_MAX] = {{.heap = heap, .bits = bits}};
	unsigned share_count = cut(shares, many ? 1 : SHARES_MAX);
	CLEANUP(free_ptr)
	struct hawk_chosen *others = calloc(share_count * (count + 1), sizeof(*others));
	struct hawk_progress progress;

	if (!others)
		return &hawk_enomem;
	shares[0].sites = sites;
	for (unsigned i = 1; i < share_count; i++)
		shares[i].sites = others + i * count;
	hawk_progress_begin(&progress, "adding up chosen blocks", heap->index.count);
	hawk_parallel_run(share_count, sum_share, shares);
	hawk_progress_end(&progress);
	for (size_t i = count; i < share_count * count; i++) {
		sites[i % count].objects += others[i].objects;
		sites[i % count].bytes += others[i].bytes;
	}
	return NULL;
}

struct hawk_error *hawk_block_choice_make(const struct hawk_heap *heap,
					  const struct hawk_choice_wish *wish,
					  struct hawk_block_choice *ret)
{
	struct hawk_block_choice choice = {
		.sites = calloc(heap->site_count + 1, sizeof(*choice.sites)),
	};
	struct hawk_error *err = choice.sites
					 ? hawk_choice_bits_make(heap, wish, true, &choice.blocks)
					 : &hawk_enomem;

	if (!err)
		err = sum_sites(heap, choice.blocks, choice.sites);
	if (err)
		hawk_block_choice_deinit(&choice);
	else
		*ret = choice;
	return err;
}

void hawk_block_choice_deinit(struct hawk_block_choice *choice)
{
	free(choice->blocks);
	free(choice->sites);
	*choice = (struct hawk_block_choice){0};
}
