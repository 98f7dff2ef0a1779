/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Runs of blocks, eight at a time. Compiled for x86-64-v4; see hawk_cpu.h.
 */
#include "block_run.h"

#include <immintrin.h>

enum { LANES = 8 };

/** Eight blocks. */
struct lanes {
	__m512i start;
	__m512i size;
	__m512i rest; /**< the last eight bytes of struct hawk_block */
};

static inline __m512i all(uint64_t number)
{
	return _mm512_set1_epi64((long long)number);
}

static inline struct lanes load(const struct hawk_block *blocks)
{
	/* Three rows of start, size, rest, start, size ... : 8 and up are of the second vector. */
	const __m512i start_two = _mm512_set_epi64(0, 0, 15, 12, 9, 6, 3, 0);
	const __m512i start = _mm512_set_epi64(13, 10, 5, 4, 3, 2, 1, 0);
	const __m512i size_two = _mm512_set_epi64(0, 0, 0, 13, 10, 7, 4, 1);
	const __m512i size = _mm512_set_epi64(14, 11, 8, 4, 3, 2, 1, 0);
	const __m512i rest_two = _mm512_set_epi64(0, 0, 0, 14, 11, 8, 5, 2);
	const __m512i rest = _mm512_set_epi64(15, 12, 9, 4, 3, 2, 1, 0);
	const __m512i *from = (const __m512i *)blocks;
	__m512i first = _mm512_loadu_si512(from);
	__m512i second = _mm512_loadu_si512(from + 1);
	__m512i third = _mm512_loadu_si512(from + 2);

	return (struct lanes){
		.start = _mm512_permutex2var_epi64(
			_mm512_permutex2var_epi64(first, start_two, second), start, third),
		.size = _mm512_permutex2var_epi64(
			_mm512_permutex2var_epi64(first, size_two, second), size, third),
		.rest = _mm512_permutex2var_epi64(
			_mm512_permutex2var_epi64(first, rest_two, second), rest, third),
	};
}
static_assert(sizeof(struct hawk_block) == 24 && offsetof(struct hawk_block, size) == 8 &&
		      offsetof(struct hawk_block, trace) == 16 &&
		      offsetof(struct hawk_block, depth) == 23,
	      "of struct hawk_block");

/* Sets the bits of eight ascending granules: of one word or two, mostly. */
static inline void mark(uint64_t *words, __m512i granules)
{
	__m512i bits = _mm512_sllv_epi64(all(1), _mm512_and_si512(granules, all(63)));
	__m512i numbers = _mm512_srli_epi64(granules, 6);
	__mmask8 left = 0xff;

	while (left) {
		__m512i number = _mm512_maskz_compress_epi64(left, numbers);
		uint64_t word = (uint64_t)_mm_cvtsi128_si64(_mm512_castsi512_si128(number));
		__mmask8 here = _mm512_cmpeq_epi64_mask(numbers, all(word));

		words[word] |= (uint64_t)_mm512_mask_reduce_or_epi64(here, bits);
		left &= (__mmask8)~here;
	}
}

static inline void store(uint32_t *to, __m512i numbers)
{
	_mm256_storeu_si256((void *)to, _mm512_cvtepi64_epi32(numbers));
}

size_t hawk_block_run_avx512(struct hawk_block_run *run, const struct hawk_block *blocks,
			     size_t count)
{
	const __m512i room = all(run->room);
	size_t i = 0;

	for (; i + LANES < count && !blocks[i + LANES].depth; i += LANES) {
		struct lanes lanes = load(blocks + i);
		__m512i within = _mm512_sub_epi64(lanes.start, all(run->base));
		__m512i last = _mm512_sub_epi64(lanes.size, all(1)); /* an empty one's is huge */
		__m512i granule = _mm512_srli_epi64(within, 4);
		__m512i end = _mm512_add_epi64(_mm512_add_epi64(within, lanes.size),
					       all(HAWK_GRANULE_BYTES - 1));
		unsigned usual = _mm512_cmplt_epu64_mask(within, room);

		usual &= _mm512_cmplt_epu64_mask(last, _mm512_sub_epi64(room, within));
		usual &= _mm512_testn_epi64_mask(lanes.rest, all(UINT64_C(0xff) << 56));
		if (usual != 0xff)
			break;
		end = _mm512_srli_epi64(end, 4);
		store(run->granules + i, _mm512_add_epi64(granule, all(run->id)));
		store(run->sizes + i, lanes.size);
		store(run->traces + i, lanes.rest);
		mark(run->marks->starts, granule);
		mark(run->marks->ends, end);
		run->end = (uint64_t)_mm_cvtsi128_si64(
			_mm512_castsi512_si128(_mm512_alignr_epi64(end, end, LANES - 1)));
	}
	return i;
}
static_assert(HAWK_GRANULE_BYTES == 1 << 4, "the shifts above");
