/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Testing a page with vectors of a cache line, and then the headers that may be live, eight at a
 * time. Compiled for x86-64-v4; see hawk_cpu.h.
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
	struct hawk_block_header *headers; /**< behind those that were marked live */
};

static inline void mark_line(struct lines *lines, __m512i line, __m512i trace_count, size_t granule)
{
	unsigned trace = _mm512_cmplt_epu32_mask(line, trace_count);
	unsigned sealed = _mm512_test_epi32_mask(line, line);
	unsigned word0s = _mm512_movepi64_mask(line) & WORD0S;
	uint64_t dead = _pext_u32(trace << 1 & sealed, TRACES_SEALS);

	lines->live |= (uint64_t)_pext_u32(word0s, WORD0S) << granule;
	lines->dead |= dead << granule;
	lines->any = _mm512_or_si512(lines->any, line);
	/* Of every line, whether there is a header in it or not: that cannot be predicted. */
	_mm512_storeu_si512(lines->headers,
			    _mm512_maskz_compress_epi64((__mmask8)(word0s | word0s << 1), line));
	lines->headers += __builtin_popcount(word0s);
}

/* At most 64 granules. */
static inline void mark_word(const uint8_t *bytes, size_t granules, __m512i trace_count,
			     struct lines *lines)
{
	size_t i = 0;

	for (; i + HAWK_SCAN_LINE_GRANULES <= granules; i += HAWK_SCAN_LINE_GRANULES) {
		const uint8_t *at = bytes + i * HAWK_GRANULE_BYTES;

		hawk_prefetch_ahead(at);
		mark_line(lines, _mm512_loadu_si512(at), trace_count, i);
	}
	if (i < granules) {
		__mmask8 there = (__mmask8)((1u << 2 * (granules - i)) - 1);

		mark_line(lines, _mm512_maskz_loadu_epi64(there, bytes + i * HAWK_GRANULE_BYTES),
			  trace_count, i);
	}
}

/* The numbers of the granules that are marked live. */
static inline unsigned list_live(const struct hawk_scan_marks *marks, uint16_t *ret)
{
	const __m512i first =
		_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
	unsigned count = 0;

	for (unsigned i = 0; i < HAWK_SCAN_PAGE_GRANULES; i += 16) {
		__mmask16 live = (__mmask16)(marks->live[i / 64] >> i % 64);
		__m512i numbers = _mm512_add_epi32(first, _mm512_set1_epi32((int)i));

		_mm256_storeu_si256(
			(void *)(ret + count),
			_mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(live, numbers)));
		count += (unsigned)__builtin_popcount(live);
	}
	return count;
}

/* hawk_seal_mix() of eight. */
static inline __m512i mix(__m512i a, __m512i b)
{
	const __m512i low_half = _mm512_set1_epi64(UINT32_MAX);
	__m512i a_high = _mm512_srli_epi64(a, 32);
	__m512i b_high = _mm512_srli_epi64(b, 32);
	__m512i low = _mm512_mul_epu32(a, b);
	__m512i cross = _mm512_mul_epu32(a_high, b);
	__m512i middle = _mm512_add_epi64(_mm512_mul_epu32(a, b_high), _mm512_srli_epi64(low, 32));
	__m512i high = _mm512_mul_epu32(a_high, b_high);
	__m512i fold;

	middle = _mm512_add_epi64(middle, _mm512_and_si512(cross, low_half));
	high = _mm512_add_epi64(high, _mm512_srli_epi64(cross, 32));
	high = _mm512_add_epi64(high, _mm512_srli_epi64(middle, 32));
	low = _mm512_or_si512(_mm512_and_si512(low, low_half), _mm512_slli_epi64(middle, 32));
	fold = _mm512_xor_si512(low, high);
	fold = _mm512_mullo_epi64(fold, _mm512_set1_epi64((long long)UINT64_C(0x9e3779b97f4a7c15)));
	return _mm512_srli_epi64(fold, 32);
}

/* Which of the eight headers from number `i` of the list on have a seal that fits. */
static inline unsigned test_eight(const struct hawk_seal_key *key,
				  const struct hawk_scan_page *page, unsigned i, uint64_t address)
{
	const __m512i even = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0);
	const __m512i odd = _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1);
	__m512i first = _mm512_loadu_si512(&page->headers[i]);
	__m512i second = _mm512_loadu_si512(&page->headers[i + 4]);
	__m512i word0 = _mm512_permutex2var_epi64(first, even, second);
	__m512i word1 = _mm512_permutex2var_epi64(first, odd, second);
	__m512i at = _mm512_cvtepu16_epi64(_mm_loadu_si128((const void *)&page->live[i]));
	__m512i seal;

	at = _mm512_add_epi64(_mm512_slli_epi64(at, 4), _mm512_set1_epi64((long long)address));
	seal = mix(_mm512_xor_si512(word0, _mm512_set1_epi64((long long)key->k[0])),
		   _mm512_xor_si512(_mm512_xor_si512(at, _mm512_slli_epi64(word1, 32)),
				    _mm512_set1_epi64((long long)key->k[1])));
	return _mm512_cmpeq_epi64_mask(seal, _mm512_srli_epi64(word1, 32));
}
_Static_assert(HAWK_GRANULE_BYTES == 1 << 4, "the shift above");

/* Moves those of the headers [first, end) of the list that fit down to number `kept`; takes the
 * others' marks away. Returns the number behind. */
static unsigned keep_fitting(struct hawk_scan_page *page, struct hawk_scan_marks *marks,
			     unsigned first, unsigned end, unsigned fits, unsigned kept)
{
	for (unsigned i = first; i < end; i++, fits >>= 1) {
		unsigned granule = page->live[i];

		if (!(fits & 1)) {
			marks->live[granule / 64] &= ~(UINT64_C(1) << granule % 64);
			continue;
		}
		page->live[kept] = (uint16_t)granule;
		page->headers[kept++] = page->headers[i];
	}
	return kept;
}

/* Of the granules marked live those whose seal fits, which nearly all do. */
static void test_live(const struct hawk_seal_key *key, uint64_t address,
		      struct hawk_scan_marks *marks, struct hawk_scan_page *page)
{
	unsigned count = list_live(marks, page->live);
	unsigned kept = 0;

	for (unsigned i = 0; i < count; i += 8) {
		unsigned end = count - i < 8 ? count : i + 8;
		unsigned there = (1u << (end - i)) - 1;
		unsigned fits = test_eight(key, page, i, address) & there;

		if (fits == there && kept == i)
			kept = end;
		else
			kept = keep_fitting(page, marks, i, end, fits, kept);
	}
	page->live_count = kept;
}

void hawk_scan_page_avx512(const struct hawk_sweep_plan *plan, const uint8_t *bytes,
			   size_t granules, uint64_t address, struct hawk_scan_page *ret)
{
	__m512i trace_count = _mm512_set1_epi32((int)plan->trace_count);
	struct lines lines = {.any = _mm512_setzero_si512(), .headers = ret->headers};
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
	test_live(&plan->key, address, &marks, ret);
	hawk_scan_test_dead(plan, bytes, address, &marks, ret);
	ret->zero = !_mm512_test_epi64_mask(lines.any, lines.any);
}
