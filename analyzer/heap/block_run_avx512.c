/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Runs of blocks, eight at a time. Compiled for x86-64-v4; see hawk_cpu.h.
 */
#include "block_rows.h"
#include "block_run.h"

/* Sets the bits of eight ascending granules: of one word or two, mostly. */
static inline void mark(uint64_t *words, __m512i granules)
{
	__m512i bits =
		_mm512_sllv_epi64(hawk_rows_all(1), _mm512_and_si512(granules, hawk_rows_all(63)));
	__m512i numbers = _mm512_srli_epi64(granules, 6);
	__mmask8 left = 0xff;

	while (left) {
		__m512i number = _mm512_maskz_compress_epi64(left, numbers);
		uint64_t word = (uint64_t)_mm_cvtsi128_si64(_mm512_castsi512_si128(number));
		__mmask8 here = _mm512_cmpeq_epi64_mask(numbers, hawk_rows_all(word));

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
	const __m512i room = hawk_rows_all(run->room);
	size_t i = 0;

	for (; i + HAWK_ROWS_BLOCKS < count && !blocks[i + HAWK_ROWS_BLOCKS].depth;
	     i += HAWK_ROWS_BLOCKS) {
		struct hawk_rows lanes = hawk_rows_load(blocks + i);
		__m512i within = _mm512_sub_epi64(lanes.start, hawk_rows_all(run->base));
		__m512i last =
			_mm512_sub_epi64(lanes.size, hawk_rows_all(1)); /* an empty one's is huge */
		__m512i granule = _mm512_srli_epi64(within, 4);
		__m512i end = _mm512_add_epi64(_mm512_add_epi64(within, lanes.size),
					       hawk_rows_all(HAWK_GRANULE_BYTES - 1));
		unsigned usual = _mm512_cmplt_epu64_mask(within, room);

		usual &= _mm512_cmplt_epu64_mask(last, _mm512_sub_epi64(room, within));
		usual &= _mm512_testn_epi64_mask(lanes.rest, hawk_rows_all(UINT64_C(0xff) << 56));
		if (usual != 0xff)
			break;
		end = _mm512_srli_epi64(end, 4);
		store(run->granules + i, _mm512_add_epi64(granule, hawk_rows_all(run->id)));
		store(run->sizes + i, lanes.size);
		store(run->traces + i, lanes.rest);
		mark(run->marks->starts, granule);
		mark(run->marks->ends, end);
		run->end = (uint64_t)_mm_cvtsi128_si64(_mm512_castsi512_si128(
			_mm512_alignr_epi64(end, end, HAWK_ROWS_BLOCKS - 1)));
	}
	return i;
}
static_assert(HAWK_GRANULE_BYTES == 1 << 4, "the shifts above");
