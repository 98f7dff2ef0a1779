/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * One test after the other over a run of blocks, whose bits stay near. SSE2 is part of x86-64; its
 * comparisons are of signed numbers.
 */
#include "choice_sieve.h"

#include <emmintrin.h>
#include <stdlib.h>

enum {
	WORD_BLOCKS = 64,
	VECTOR_BYTES = 16,
	BLOCKS_AHEAD = 16,
	FEW = 16, /**< of 64 blocks; fewer are faster looked at one by one */
};

static bool trace_passes(const struct hawk_sieve *sieve, uint32_t trace)
{
	const struct hawk_heap *heap = sieve->graph->heap;
	const struct hawk_choice_wish *wish = sieve->wish;
	uint32_t site = trace < heap->trace_count ? heap->site_of_trace[trace] : heap->lost_site;

	if (sieve->sited && site >= heap->site_count)
		return false;
	return !wish || !wish->trace || wish->trace(wish->context, trace);
}

static const struct hawk_choice_types *types_of(const struct hawk_sieve *sieve)
{
	return sieve->wish && sieve->wish->test ? sieve->wish->test->types : NULL;
}

/** What types say of a trace. */
enum verdict {
	NONE,
	ALL,
	SOME, /**< its blocks have to be read */
};

static enum verdict judge_trace(const struct hawk_sieve *sieve, uint32_t trace)
{
	const struct hawk_choice_types *types = types_of(sieve);
	bool wanted;

	if (!types)
		return ALL;
	if (types->named(types->context, trace, &wanted))
		return wanted ? ALL : NONE;
	return SOME;
}

/* `*all` stays: no block need be looked at for its trace. */
static void judge_traces(struct hawk_sieve *sieve, bool *all)
{
	const struct hawk_heap *heap = sieve->graph->heap;

	for (uint32_t trace = 0; trace < heap->trace_count; trace++) {
		enum verdict verdict = NONE;

		if (trace_passes(sieve, trace))
			verdict = judge_trace(sieve, trace);
		sieve->traces[trace / 64] |= (uint64_t)(verdict != NONE) << trace % 64;
		if (sieve->typed)
			sieve->typed[trace / 64] |= (uint64_t)(verdict == SOME) << trace % 64;
		*all = *all && verdict != NONE;
	}
}

/* Blocks of ids that the table does not have are asked for one by one. */
static struct hawk_error *prepare_traces(struct hawk_sieve *sieve)
{
	const struct hawk_choice_types *types = types_of(sieve);
	size_t words = (size_t)sieve->graph->heap->trace_count / 64 + 1;
	bool all =
		trace_passes(sieve, UINT32_MAX) && !(sieve->wish && sieve->wish->trace) && !types;

	sieve->traces = calloc(words, sizeof(*sieve->traces));
	sieve->typed = types ? calloc(words, sizeof(*sieve->typed)) : NULL;
	if (!sieve->traces || (types && !sieve->typed))
		return &hawk_enomem;
	judge_traces(sieve, &all);
	if (all) {
		free(sieve->traces);
		sieve->traces = NULL;
	}
	return NULL;
}

static void prepare_births(struct hawk_sieve *sieve, const struct hawk_choice_test *test)
{
	unsigned first = 0, last = HAWK_BIRTHS - 1;

	while (first < last && !test->births[first])
		first++;
	while (last > first && !test->births[last])
		last--;
	sieve->births_in_row = true;
	for (unsigned birth = first; birth <= last; birth++)
		sieve->births_in_row = sieve->births_in_row && test->births[birth];
	sieve->births_first = (uint8_t)first;
	sieve->births_last = (uint8_t)last;
}

struct hawk_error *hawk_sieve_init(const struct hawk_block_graph *graph,
				   const struct hawk_choice_wish *wish, bool sited,
				   struct hawk_sieve *ret)
{
	struct hawk_error *err;

	*ret = (struct hawk_sieve){.graph = graph, .wish = wish, .sited = sited};
	if (wish && wish->test && wish->test->births_matter)
		prepare_births(ret, wish->test);
	err = sited || (wish && wish->trace) || types_of(ret) ? prepare_traces(ret) : NULL;
	if (err)
		hawk_sieve_deinit(ret);
	return err;
}

void hawk_sieve_deinit(struct hawk_sieve *sieve)
{
	free(sieve->traces);
	free(sieve->typed);
	*sieve = (struct hawk_sieve){0};
}

static bool size_fits(const struct hawk_choice_test *test, uint64_t size)
{
	return size >= test->size_low && size <= test->size_high;
}

bool hawk_choice_test_block(const struct hawk_block_graph *graph, struct hawk_near *near,
			    const struct hawk_choice_test *test, uint32_t number)
{
	uint32_t whole = hawk_block_index_whole(&graph->index, number);
	uint64_t size = graph->index.part_count ? hawk_block_index_asked_bytes(&graph->index, whole)
						: hawk_block_size(&graph->index, whole);

	return size_fits(test, size) &&
	       (!test->births_matter ||
		test->births[(uint8_t)hawk_block_graph_next_head(graph, near, whole)]);
}

/* Of a block whose trace has no type by name. */
static struct hawk_error *test_words(const struct hawk_block_graph *graph, struct hawk_near *near,
				     const struct hawk_choice_types *types, uint32_t number,
				     bool *ret)
{
	struct hawk_type_words words = hawk_type_words_of(graph, types->modules, near, number);

	return types->wanted(types->context, &words, ret);
}

struct hawk_error *hawk_choice_test_type(const struct hawk_block_graph *graph,
					 struct hawk_near *near,
					 const struct hawk_choice_types *types, uint32_t number,
					 bool *ret)
{
	uint32_t whole = hawk_block_index_whole(&graph->index, number);

	if (types->named(types->context, graph->index.traces[whole], ret))
		return NULL;
	return test_words(graph, near, types, whole, ret);
}

static unsigned to_bits(__m128i a, __m128i b, __m128i c, __m128i d)
{
	return (unsigned)_mm_movemask_epi8(
		_mm_packs_epi16(_mm_packs_epi32(a, b), _mm_packs_epi32(c, d)));
}

/* All ones where a size, taken as far above `low`, is above `span`, which is biased. */
static __m128i above(const uint32_t *sizes, __m128i low, __m128i span)
{
	__m128i size = _mm_sub_epi32(_mm_loadu_si128((const __m128i *)sizes), low);

	return _mm_cmpgt_epi32(_mm_xor_si128(size, _mm_set1_epi32(INT32_MIN)), span);
}

/* Of 64 blocks those whose size is from `low` to `high`. */
static uint64_t sizes_within(const uint32_t *sizes, uint32_t low, uint32_t high)
{
	__m128i lows = _mm_set1_epi32((int)low);
	__m128i span = _mm_set1_epi32((int)((high - low) ^ UINT32_C(0x80000000)));
	uint64_t out = 0;

	for (unsigned i = 0; i < WORD_BLOCKS; i += VECTOR_BYTES)
		out |= (uint64_t)to_bits(
			       above(sizes + i, lows, span), above(sizes + i + 4, lows, span),
			       above(sizes + i + 8, lows, span), above(sizes + i + 12, lows, span))
		       << i;
	return ~out;
}

/* Sizes of 4 GiB and more are not in the array; who has such a block tests it again. */
static void test_sizes(const struct hawk_sieve *sieve, uint32_t first, uint32_t count,
		       uint64_t *bits)
{
	const struct hawk_choice_test *test = sieve->wish->test;
	const uint32_t *sizes = sieve->graph->index.sizes + first;
	uint64_t most = UINT32_MAX - 1;
	uint64_t high = test->size_high < most ? test->size_high : most;
	uint32_t i = 0;

	if (!test->size_low && high == most)
		return;
	for (; count - i >= WORD_BLOCKS; i += WORD_BLOCKS)
		bits[i / 64] &=
			test->size_low > high
				? 0
				: sizes_within(sizes + i, (uint32_t)test->size_low, (uint32_t)high);
	for (; i < count; i++)
		if (!size_fits(test, sizes[i]))
			bits[i / 64] &= ~(UINT64_C(1) << i % 64);
}

/* All ones where a birth, taken as far above `first`, is at most `span`. */
static __m128i births_at_most(const uint16_t *heads, __m128i first, __m128i span)
{
	__m128i births = _mm_and_si128(_mm_loadu_si128((const __m128i *)heads),
				       _mm_set1_epi16(HAWK_BIRTHS - 1));

	return _mm_cmpeq_epi16(_mm_subs_epu16(_mm_sub_epi16(births, first), span),
			       _mm_setzero_si128());
}

/* Of 64 blocks. */
static uint64_t births_within(const uint16_t *heads, uint8_t first, uint8_t last)
{
	__m128i firsts = _mm_set1_epi16(first);
	__m128i span = _mm_set1_epi16((short)(last - first));
	uint64_t in = 0;

	for (unsigned i = 0; i < WORD_BLOCKS; i += VECTOR_BYTES) {
		__m128i a = births_at_most(heads + i, firsts, span);
		__m128i b = births_at_most(heads + i + 8, firsts, span);

		in |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_packs_epi16(a, b)) << i;
	}
	return in;
}

static void test_births(const struct hawk_sieve *sieve, uint32_t first, uint32_t count,
			uint64_t *bits)
{
	const uint16_t *heads = sieve->graph->index.heads + first;
	uint32_t i = 0;

	for (; sieve->births_in_row && count - i >= WORD_BLOCKS; i += WORD_BLOCKS)
		bits[i / 64] &= births_within(heads + i, sieve->births_first, sieve->births_last);
	for (; i < count; i++)
		if (!sieve->wish->test->births[(uint8_t)heads[i]])
			bits[i / 64] &= ~(UINT64_C(1) << i % 64);
}

static void test_again(const struct hawk_sieve *sieve, struct hawk_near *near, uint32_t number,
		       uint32_t first, uint64_t *bits)
{
	uint64_t *word = &bits[(number - first) / 64];
	uint64_t bit = UINT64_C(1) << number % 64;

	*word &= ~bit;
	if (hawk_choice_test_block(sieve->graph, near, sieve->wish->test, number))
		*word |= bit;
}

/* The first large block from `number` on: an index into them. */
static size_t first_large(const struct hawk_block_index *index, uint32_t number)
{
	size_t low = 0;
	size_t high = index->large_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (index->large[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Those that the arrays do not say all about. */
static void test_odd(const struct hawk_sieve *sieve, struct hawk_near *near, uint32_t first,
		     uint32_t count, uint64_t *bits)
{
	const struct hawk_block_index *index = &sieve->graph->index;
	const struct hawk_block_part *part =
		index->part_count ? hawk_block_index_part_from(index, first) : NULL;

	for (size_t i = first_large(index, first);
	     i < index->large_count && index->large[i].number - first < count; i++)
		test_again(sieve, near, index->large[i].number, first, bits);
	if (!part)
		return;
	for (const struct hawk_block_part *end = index->parts + index->part_count;
	     part < end && part->number - first < count; part++)
		test_again(sieve, near, part->number, first, bits);
}

/* Those that are still in; `passes` says whether a block stays. */
static void test_each(const struct hawk_sieve *sieve, struct hawk_near *near, uint32_t first,
		      uint32_t count, uint64_t *bits,
		      bool (*passes)(const struct hawk_sieve *sieve, struct hawk_near *near,
				     uint32_t number))
{
	for (uint32_t i = 0; i < count; i += WORD_BLOCKS)
		for (uint64_t left = bits[i / 64]; left; left &= left - 1) {
			uint32_t bit = (uint32_t)__builtin_ctzll(left);

			if (!passes(sieve, near, first + i + bit))
				bits[i / 64] &= ~(UINT64_C(1) << bit);
		}
}

static bool header_passes(const struct hawk_sieve *sieve, struct hawk_near *near, uint32_t number)
{
	return hawk_choice_test_block(sieve->graph, near, sieve->wish->test, number);
}

static bool trace_is_in(const struct hawk_sieve *sieve, struct hawk_near *near, uint32_t number)
{
	uint32_t trace = sieve->graph->index.traces[number];

	(void)near;
	return trace < sieve->graph->heap->trace_count ? sieve->traces[trace / 64] >> trace % 64 & 1
						       : trace_passes(sieve, trace);
}

/* Of 64 blocks those whose trace is in. False: there are ids among them that the table does not
 * have, and they have to be looked at one by one. */
static bool traces_within(const struct hawk_sieve *sieve, const uint32_t *traces, uint64_t *ret)
{
	uint32_t count = sieve->graph->heap->trace_count;
	uint64_t in = 0;
	bool strange = false;

	for (unsigned i = 0; i < WORD_BLOCKS; i++) {
		/* There is a bit for that one, too. */
		uint32_t trace = traces[i] < count ? traces[i] : count;

		strange |= trace == count;
		in |= (sieve->traces[trace / 64] >> trace % 64 & 1) << i;
	}
	*ret = in;
	return !strange;
}

static void test_traces(const struct hawk_sieve *sieve, struct hawk_near *near, uint32_t first,
			uint32_t count, uint64_t *bits)
{
	const uint32_t *traces = sieve->graph->index.traces + first;

	for (uint32_t i = 0; i < count; i += WORD_BLOCKS) {
		uint32_t left = count - i < WORD_BLOCKS ? count - i : WORD_BLOCKS;
		uint64_t in;

		if (left == WORD_BLOCKS && hawk_popcount(bits[i / 64]) >= FEW &&
		    traces_within(sieve, traces + i, &in))
			bits[i / 64] &= in;
		else
			test_each(sieve, near, first + i, left, bits + i / 64, trace_is_in);
	}
}

static void test_all(const struct hawk_sieve *sieve, struct hawk_near *near, uint32_t first,
		     uint32_t count, uint64_t *bits)
{
	bool births = sieve->wish->test->births_matter;

	test_sizes(sieve, first, count, bits);
	if (births && sieve->graph->index.heads)
		test_births(sieve, first, count, bits);
	test_odd(sieve, near, first, count, bits);
	if (births && !sieve->graph->index.heads)
		test_each(sieve, near, first, count, bits, header_passes);
}

/* Whether the block's trace says nothing of its type. */
static bool is_typed(const struct hawk_sieve *sieve, uint32_t number)
{
	uint32_t trace = sieve->graph->index.traces[number];

	return trace >= sieve->graph->heap->trace_count ||
	       (sieve->typed[trace / 64] >> trace % 64 & 1);
}

/* Those of `bits` that have to be read: how many. */
static uint32_t list_typed(const struct hawk_sieve *sieve, uint32_t first, uint32_t count,
			   const uint64_t *bits, uint32_t numbers[HAWK_SIEVE_BLOCKS])
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < count; i += WORD_BLOCKS)
		for (uint64_t left = bits[i / 64]; left; left &= left - 1) {
			uint32_t number = first + i + (uint32_t)__builtin_ctzll(left);

			numbers[found] = number;
			found += is_typed(sieve, number);
		}
	return found;
}

/* Those that are still in, in the order of addresses. */
static struct hawk_error *test_types(const struct hawk_sieve *sieve, struct hawk_near *near,
				     uint32_t first, uint32_t count, uint64_t *bits)
{
	const struct hawk_block_graph *graph = sieve->graph;
	uint32_t numbers[HAWK_SIEVE_BLOCKS];
	uint32_t found = list_typed(sieve, first, count, bits, numbers);
	struct hawk_error *err = NULL;

	for (uint32_t i = 0; i < found && !err; i++) {
		uint64_t *word = &bits[(numbers[i] - first) / 64];
		bool wanted;

		if (found - i > BLOCKS_AHEAD)
			hawk_near_prefetch(
				near, hawk_block_start(&graph->index, numbers[i + BLOCKS_AHEAD]));
		err = graph->index.traces[numbers[i]] < graph->heap->trace_count
			      ? test_words(graph, near, types_of(sieve), numbers[i], &wanted)
			      : hawk_choice_test_type(graph, near, types_of(sieve), numbers[i],
						      &wanted);
		*word &= ~((uint64_t)(err || !wanted) << numbers[i] % 64);
	}
	return err;
}

struct hawk_error *hawk_sieve_run(const struct hawk_sieve *sieve, struct hawk_near *near,
				  uint32_t first, uint32_t count, uint64_t *bits)
{
	for (uint32_t i = 0; i < count; i += WORD_BLOCKS)
		bits[i / 64] =
			count - i >= WORD_BLOCKS ? UINT64_MAX : (UINT64_C(1) << (count - i)) - 1;
	if (sieve->wish && sieve->wish->test)
		test_all(sieve, near, first, count, bits);
	if (sieve->traces)
		test_traces(sieve, near, first, count, bits);
	return sieve->typed ? test_types(sieve, near, first, count, bits) : NULL;
}
