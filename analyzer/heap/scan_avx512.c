/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Testing a page with vectors of a cache line. Compiled for x86-64-v4; see hawk_cpu.h.
 */
#include "scan_page.h"

#include <immintrin.h>

enum {
	WORD0S = 0x55, /* of a line's eight words */
	TRACES_SEALS =
		0x8888 /* of its sixteen halves of words: seals, and traces moved up by one */
};

static inline __m512i load_line(const uint8_t *bytes, size_t granules)
{
	if (granules >= HAWK_SCAN_LINE_GRANULES)
		return _mm512_loadu_si512(bytes);
	return _mm512_maskz_loadu_epi64((__mmask8)((1u << 2 * granules) - 1), bytes);
}

void hawk_scan_page_avx512(const struct hawk_sweep_plan *plan, const uint8_t *bytes,
			   size_t granules, uint64_t address, struct hawk_scan_page *ret)
{
	__m512i trace_count = _mm512_set1_epi32((int)plan->trace_count);
	__m512i any = _mm512_setzero_si512();
	struct hawk_scan_marks marks = {0};

	assert(granules <= HAWK_SCAN_PAGE_GRANULES);
	for (size_t i = 0; i < granules; i += HAWK_SCAN_LINE_GRANULES) {
		const uint8_t *at = bytes + i * HAWK_GRANULE_BYTES;
		__m512i line = load_line(at, granules - i);
		unsigned trace = _mm512_cmplt_epu32_mask(line, trace_count);
		unsigned sealed = _mm512_test_epi32_mask(line, line);
		uint64_t live = _pext_u32(_mm512_movepi64_mask(line), WORD0S);
		uint64_t dead = _pext_u32(trace << 1 & sealed, TRACES_SEALS);

		__builtin_prefetch(at + HAWK_SCAN_PREFETCH_BYTES);
		any = _mm512_or_si512(any, line);
		marks.live[i / 64] |= live << i % 64;
		marks.dead[i / 64] |= dead << i % 64;
	}
	marks.zero = !_mm512_test_epi64_mask(any, any);
	hawk_scan_test_seals(plan, bytes, address, &marks, ret);
}
