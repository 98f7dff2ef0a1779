/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Blocks of headers, eight at a time. Compiled for x86-64-v4; see hawk_cpu.h.
 */
#include "hawk_sweep_state.h"

#include <immintrin.h>

enum { LANES = 8 };

/** Eight blocks. */
struct lanes {
	__m512i at;    /**< addresses of the headers */
	__m512i start; /**< of the blocks */
	__m512i size;
	__m512i end;
	__m512i birth;
	__m512i rest; /**< the last eight bytes of struct hawk_block */
};

static inline __m512i all(uint64_t number)
{
	return _mm512_set1_epi64((long long)number);
}

static inline struct lanes decode(const struct hawk_scan_page *page, unsigned i, uint64_t address)
{
	__m512i word0 = _mm512_loadu_si512(&page->words0[i]);
	__m512i word1 = _mm512_loadu_si512(&page->words1[i]);
	__m512i granule = _mm512_cvtepu16_epi64(_mm_loadu_si128((const void *)&page->live[i]));
	__m512i kind = _mm512_slli_epi64(_mm512_srli_epi64(word0, 60), 32);
	__m512i birth_offset = _mm512_and_si512(_mm512_srli_epi64(word0, 8), all(0xfffULL << 40));
	struct lanes ret;

	ret.at = _mm512_add_epi64(_mm512_slli_epi64(granule, 4), all(address));
	ret.start = _mm512_add_epi64(ret.at, all(HAWK_HEADER_BYTES));
	ret.size = _mm512_and_si512(word0, all(HAWK_SIZE_MAX));
	ret.end = _mm512_add_epi64(ret.start, ret.size);
	ret.birth = _mm512_and_si512(_mm512_srli_epi64(word0, 48), all(0xff));
	ret.rest = _mm512_or_si512(_mm512_and_si512(word1, all(UINT32_MAX)),
				   _mm512_or_si512(kind, birth_offset));
	return ret;
}
static_assert(HAWK_GRANULE_BYTES == 1 << 4, "the shift above");
static_assert(offsetof(struct hawk_block, trace) == 16 && offsetof(struct hawk_block, kind) == 20 &&
		      offsetof(struct hawk_block, birth) == 21 &&
		      offsetof(struct hawk_block, offset_code) == 22 &&
		      offsetof(struct hawk_block, depth) == 23 && sizeof(struct hawk_block) == 24,
	      "of struct hawk_block");

static inline void store(const struct lanes *lanes, struct hawk_block *ret)
{
	/* Three rows of start, size, rest, start, size ... : 8 and up are of the second vector. */
	const __m512i first_two = _mm512_set_epi64(10, 2, 0, 9, 1, 0, 8, 0);
	const __m512i first = _mm512_set_epi64(7, 6, 9, 4, 3, 8, 1, 0);
	const __m512i second_two = _mm512_set_epi64(5, 0, 12, 4, 0, 11, 3, 0);
	const __m512i second = _mm512_set_epi64(7, 12, 5, 4, 11, 2, 1, 10);
	const __m512i third_two = _mm512_set_epi64(0, 15, 7, 0, 14, 6, 0, 13);
	const __m512i third = _mm512_set_epi64(15, 6, 5, 14, 3, 2, 13, 0);
	__m512i *to = (__m512i *)ret;

	_mm512_storeu_si512(to,
			    _mm512_permutex2var_epi64(
				    _mm512_permutex2var_epi64(lanes->start, first_two, lanes->size),
				    first, lanes->rest));
	_mm512_storeu_si512(
		to + 1, _mm512_permutex2var_epi64(
				_mm512_permutex2var_epi64(lanes->start, second_two, lanes->size),
				second, lanes->rest));
	_mm512_storeu_si512(to + 2,
			    _mm512_permutex2var_epi64(
				    _mm512_permutex2var_epi64(lanes->start, third_two, lanes->size),
				    third, lanes->rest));
}

size_t hawk_sweep_usual_avx512(struct hawk_sweep_state *sweep, uint64_t address, unsigned i,
			       size_t next)
{
	const struct hawk_scan_page *page = &sweep->page;
	const __m512i limit = all(sweep->extent->present_end);
	const __m512i trace_count = all(sweep->plan->trace_count);
	const __m512i birth_max = all(sweep->plan->birth_max);
	const __m512i offset_large = all((uint64_t)HAWK_OFFSET_LARGE << 48);
	__m512i before = all(sweep->resolver.furthest_of_all);

	while (i < page->live_count && next < HAWK_SWEEP_BATCH) {
		struct lanes lanes = decode(page, i, address);
		__m512i trace = _mm512_and_si512(lanes.rest, all(UINT32_MAX));
		__m512i offset = _mm512_and_si512(lanes.rest, offset_large);
		size_t there = HAWK_SWEEP_BATCH - next;
		unsigned good;
		unsigned count;

		if (there > page->live_count - i)
			there = page->live_count - i;
		/* Where the earlier ones end. */
		before = _mm512_alignr_epi64(lanes.end, before, LANES - 1);
		good = _mm512_cmpge_epu64_mask(lanes.at, before);
		good &= _mm512_cmplt_epu64_mask(trace, trace_count);
		good &= _mm512_cmple_epu64_mask(lanes.start, limit);
		good &= _mm512_cmple_epu64_mask(lanes.size, _mm512_sub_epi64(limit, lanes.start));
		good &= _mm512_cmpneq_epu64_mask(offset, offset_large);
		good &= _mm512_cmple_epu64_mask(lanes.birth, birth_max);
		if (there < LANES)
			good &= (1u << there) - 1;
		count = (unsigned)__builtin_ctz(~good);
		store(&lanes, &sweep->batch[next]);
		/* Of the same births the last one stays. */
		_mm512_mask_i64scatter_epi64(sweep->resolver.furthest,
					     (__mmask8)((1u << count) - 1), lanes.birth, lanes.end,
					     8);
		i += count;
		next += count;
		if (count < LANES)
			break;
		before = lanes.end;
	}
	return next;
}

size_t hawk_sweep_sum_avx512(const struct hawk_block *blocks, size_t count, uint64_t *bytes)
{
	/* Lanes of the three rows in which eight blocks lie. */
	const __mmask8 sizes[3] = {0x92, 0x24, 0x49};
	const __mmask8 rests[3] = {0x24, 0x49, 0x92};
	const __m512i offset_depth = all(UINT64_C(0xffff) << 48);
	__m512i sum = _mm512_setzero_si512();
	size_t i = 0;

	for (; i + LANES <= count; i += LANES) {
		const __m512i *rows = (const __m512i *)&blocks[i];
		__m512i first = _mm512_loadu_si512(rows);
		__m512i second = _mm512_loadu_si512(rows + 1);
		__m512i third = _mm512_loadu_si512(rows + 2);

		if (_mm512_mask_test_epi64_mask(rests[0], first, offset_depth) |
		    _mm512_mask_test_epi64_mask(rests[1], second, offset_depth) |
		    _mm512_mask_test_epi64_mask(rests[2], third, offset_depth))
			break;
		sum = _mm512_mask_add_epi64(sum, sizes[0], sum, first);
		sum = _mm512_mask_add_epi64(sum, sizes[1], sum, second);
		sum = _mm512_mask_add_epi64(sum, sizes[2], sum, third);
	}
	*bytes += (uint64_t)_mm512_reduce_add_epi64(sum);
	return i;
}
