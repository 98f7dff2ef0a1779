/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Blocks of headers, eight at a time. Compiled for x86-64-v4; see hawk_cpu.h.
 */
#include "block_rows.h"
#include "hawk_sweep_state.h"

/** Eight blocks. */
struct lanes {
	__m512i at; /**< addresses of the headers */
	struct hawk_rows rows;
	__m512i end;
	__m512i birth;
};

static inline struct lanes decode(const struct hawk_scan_page *page, unsigned i, uint64_t address)
{
	__m512i word0 = _mm512_loadu_si512(&page->words0[i]);
	__m512i word1 = _mm512_loadu_si512(&page->words1[i]);
	__m512i granule = _mm512_cvtepu16_epi64(_mm_loadu_si128((const void *)&page->live[i]));
	__m512i kind = _mm512_slli_epi64(_mm512_srli_epi64(word0, 60), 32);
	__m512i birth_offset =
		_mm512_and_si512(_mm512_srli_epi64(word0, 8), hawk_rows_all(0xfffULL << 40));
	struct lanes ret;

	ret.at = _mm512_add_epi64(_mm512_slli_epi64(granule, 4), hawk_rows_all(address));
	ret.rows.start = _mm512_add_epi64(ret.at, hawk_rows_all(HAWK_HEADER_BYTES));
	ret.rows.size = _mm512_and_si512(word0, hawk_rows_all(HAWK_SIZE_MAX));
	ret.end = _mm512_add_epi64(ret.rows.start, ret.rows.size);
	ret.birth = _mm512_and_si512(_mm512_srli_epi64(word0, 48), hawk_rows_all(0xff));
	ret.rows.rest = _mm512_or_si512(_mm512_and_si512(word1, hawk_rows_all(UINT32_MAX)),
					_mm512_or_si512(kind, birth_offset));
	return ret;
}
static_assert(HAWK_GRANULE_BYTES == 1 << 4, "the shift above");

size_t hawk_sweep_usual_avx512(const struct hawk_sweep_plan *plan,
			       const struct hawk_scan_page *page, uint64_t address, unsigned i,
			       uint64_t limit, uint64_t furthest, struct hawk_block *ret)
{
	const __m512i limits = hawk_rows_all(limit);
	const __m512i trace_count = hawk_rows_all(plan->trace_count);
	const __m512i birth_max = hawk_rows_all(plan->birth_max);
	const __m512i offset_large = hawk_rows_all((uint64_t)HAWK_OFFSET_LARGE << 48);
	__m512i before = hawk_rows_all(furthest);
	size_t count = 0;

	while (i < page->live_count) {
		struct lanes lanes = decode(page, i, address);
		__m512i trace = _mm512_and_si512(lanes.rows.rest, hawk_rows_all(UINT32_MAX));
		__m512i offset = _mm512_and_si512(lanes.rows.rest, offset_large);
		unsigned there = page->live_count - i;
		unsigned good;

		/* Where the earlier ones end. */
		before = _mm512_alignr_epi64(lanes.end, before, HAWK_ROWS_BLOCKS - 1);
		good = _mm512_cmpge_epu64_mask(lanes.at, before);
		good &= _mm512_cmplt_epu64_mask(trace, trace_count);
		good &= _mm512_cmple_epu64_mask(lanes.rows.start, limits);
		good &= _mm512_cmple_epu64_mask(lanes.rows.size,
						_mm512_sub_epi64(limits, lanes.rows.start));
		good &= _mm512_cmpneq_epu64_mask(offset, offset_large);
		good &= _mm512_cmple_epu64_mask(lanes.birth, birth_max);
		hawk_rows_store(&lanes.rows, &ret[count]);
		/* A branch, so that the next eight do not wait for these. */
		if (there < HAWK_ROWS_BLOCKS || good != 0xff) {
			if (there < HAWK_ROWS_BLOCKS)
				good &= (1u << there) - 1;
			return count + (unsigned)__builtin_ctz(~good);
		}
		i += HAWK_ROWS_BLOCKS;
		count += HAWK_ROWS_BLOCKS;
		before = lanes.end;
	}
	return count;
}

size_t hawk_sweep_sum_avx512(const struct hawk_block *blocks, size_t count, uint64_t *bytes)
{
	/* Lanes of the three rows in which eight blocks lie. */
	const __mmask8 sizes[3] = {0x92, 0x24, 0x49};
	const __mmask8 rests[3] = {0x24, 0x49, 0x92};
	const __m512i offset_depth = hawk_rows_all(UINT64_C(0xffff) << 48);
	__m512i sum = _mm512_setzero_si512();
	size_t i = 0;

	for (; i + HAWK_ROWS_BLOCKS <= count; i += HAWK_ROWS_BLOCKS) {
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
