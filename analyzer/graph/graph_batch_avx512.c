/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Batches with vectors of eight words. Compiled for x86-64-v4; see hawk_cpu.h.
 */
#include "graph_batch.h"

#include <immintrin.h>

/** Words in [base, base + span) are candidates. */
struct range {
	__m512i base;
	__m512i span;
};

static inline struct range range_of(const struct hawk_block_index *index)
{
	return (struct range){
		.base = _mm512_set1_epi64((long long)(index->first_chunk << HAWK_CHUNK_LOG2)),
		.span = _mm512_set1_epi64((long long)(index->chunk_span << HAWK_CHUNK_LOG2)),
	};
}

/* The first `words` of eight words at `bytes`, the first of which is number `place`. Returns the
 * number of candidates. */
static inline uint32_t pick_vector(struct hawk_batch *batch, struct range range,
				   const uint8_t *bytes, size_t words, uint32_t place,
				   uint32_t count)
{
	const __m512i first = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
	__mmask8 there = words < HAWK_BATCH_VECTOR ? (__mmask8)((1u << words) - 1) : 0xff;
	__m512i value = _mm512_maskz_loadu_epi64(there, bytes);
	__mmask8 in = _mm512_mask_cmplt_epu64_mask(there, _mm512_sub_epi64(value, range.base),
						   range.span);

	/* Not compressed to memory, which some processors do slowly. */
	_mm512_storeu_si512(batch->values + count, _mm512_maskz_compress_epi64(in, value));
	if (batch->wants_places) {
		__m512i number = _mm512_add_epi64(_mm512_maskz_compress_epi64(in, first),
						  _mm512_set1_epi64(place));

		_mm256_storeu_si256((void *)(batch->places + count), _mm512_cvtepi64_epi32(number));
	}
	return count + (uint32_t)__builtin_popcount(in);
}

static inline void pick(struct hawk_batch *batch, struct range range, const uint8_t *bytes,
			size_t words, uint32_t place)
{
	uint32_t count = batch->count;

	/* Two at once, whether there are so many or not: how many cannot be predicted. */
	for (;;) {
		size_t rest = words > HAWK_BATCH_VECTOR ? words - HAWK_BATCH_VECTOR : 0;

		count = pick_vector(batch, range, bytes, words, place, count);
		count = pick_vector(batch, range, bytes + HAWK_BATCH_VECTOR * HAWK_WORD_BYTES, rest,
				    place + HAWK_BATCH_VECTOR, count);
		if (rest <= HAWK_BATCH_VECTOR)
			break;
		words = rest - HAWK_BATCH_VECTOR;
		bytes += 2 * HAWK_BATCH_VECTOR * HAWK_WORD_BYTES;
		place += 2 * HAWK_BATCH_VECTOR;
	}
	batch->count = count;
}

static void pick_words(struct hawk_batch *batch, const struct hawk_block_index *index,
		       const uint8_t *bytes, size_t words, uint32_t place)
{
	pick(batch, range_of(index), bytes, words, place);
}

static uint32_t pick_blocks(struct hawk_batch *batch, const struct hawk_block_index *index,
			    const struct hawk_words *words, uint32_t block, uint32_t end)
{
	struct range range = range_of(index);

	for (; block < end && hawk_batch_has_room(batch); block++) {
		size_t count;
		const uint8_t *bytes = hawk_batch_block_words(index, words, block, &count);

		if (!bytes)
			break;
		hawk_batch_begin_block(batch, block);
		pick(batch, range, bytes, count, 0);
	}
	return block;
}

static uint32_t resolve(struct hawk_batch *batch, const struct hawk_block_index *index,
			uint32_t *edges)
{
	return hawk_batch_resolve_all(batch, index, edges);
}

const struct hawk_batch_code hawk_batch_code_avx512 = {pick_blocks, pick_words, resolve};
