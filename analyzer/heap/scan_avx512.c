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

/** What one word of the marks is made of. */
struct lines {
	uint64_t live;
	uint64_t dead;
	__m512i any;
};

static inline void mark_line(struct lines *lines, __m512i line, __m512i trace_count, size_t granule)
{
	unsigned trace = _mm512_cmplt_epu32_mask(line, trace_count);
	unsigned sealed = _mm512_test_epi32_mask(line, line);
	uint64_t live = _pext_u32(_mm512_movepi64_mask(line), WORD0S);
	uint64_t dead = _pext_u32(trace << 1 & sealed, TRACES_SEALS);

	lines->live |= live << granule;
	lines->dead |= dead << granule;
	lines->any = _mm512_or_si512(lines->any, line);
}

/* At most 64 granules. */
static inline void mark_word(const uint8_t *bytes, size_t granules, __m512i trace_count,
			     struct lines *lines)
{
	size_t i = 0;

	for (; i + HAWK_SCAN_LINE_GRANULES <= granules; i += HAWK_SCAN_LINE_GRANULES) {
		const uint8_t *at = bytes + i * HAWK_GRANULE_BYTES;

		__builtin_prefetch(at + HAWK_SCAN_PREFETCH_BYTES);
		mark_line(lines, _mm512_loadu_si512(at), trace_count, i);
	}
	if (i < granules) {
		__mmask8 there = (__mmask8)((1u << 2 * (granules - i)) - 1);

		mark_line(lines, _mm512_maskz_loadu_epi64(there, bytes + i * HAWK_GRANULE_BYTES),
			  trace_count, i);
	}
}

void hawk_scan_page_avx512(const struct hawk_sweep_plan *plan, const uint8_t *bytes,
			   size_t granules, uint64_t address, struct hawk_scan_page *ret)
{
	__m512i trace_count = _mm512_set1_epi32((int)plan->trace_count);
	struct lines lines = {.any = _mm512_setzero_si512()};
	struct hawk_scan_marks marks = {0};

	assert(granules <= HAWK_SCAN_PAGE_GRANULES);
	for (size_t i = 0; i < granules; i += 64) {
		/* Summed up in registers: in memory each line would wait for the one before. */
		lines.live = lines.dead = 0;
		mark_word(bytes + i * HAWK_GRANULE_BYTES, granules - i < 64 ? granules - i : 64,
			  trace_count, &lines);
		marks.live[i / 64] = lines.live;
		marks.dead[i / 64] = lines.dead;
	}
	marks.zero = !_mm512_test_epi64_mask(lines.any, lines.any);
	hawk_scan_test_seals(plan, bytes, address, &marks, ret);
}
