/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Testing a page with vectors of cache lines, and then the headers that may be live, eight at a
 * time. Compiled for x86-64-v4; see hawk_cpu.h.
 */
#include "scan_page.h"

#include <immintrin.h>

enum {
	LANES = 8,
	GROUP_LINES = 4, /* that are read at a time: as many as pages are prefetched side by side */
	GROUP_GRANULES = GROUP_LINES * HAWK_SCAN_LINE_GRANULES,
	GROUP_BYTES = GROUP_GRANULES * HAWK_GRANULE_BYTES,
};
static_assert(GROUP_LINES == 1 << HAWK_AHEAD_STREAMS_LOG2 && 64 % GROUP_GRANULES == 0, "");

/** Reading a page. */
struct lines {
	__m512i trace_count;
	__m512i any;
	uint64_t live; /**< marks of the word at hand */
	uint64_t dead;
	uint64_t *words0; /**< behind those of granules that were marked live */
	uint64_t *words1;
};

/* Eight granules, in two lines. */
static inline void mark_eight(struct lines *lines, __m512i first, __m512i second, size_t granule)
{
	const __m512i even = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0);
	const __m512i odd = _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1);
	const __m512i low_half = _mm512_set1_epi64(UINT32_MAX);
	__m512i word0 = _mm512_permutex2var_epi64(first, even, second);
	__m512i word1 = _mm512_permutex2var_epi64(first, odd, second);
	__mmask8 live = _mm512_movepi64_mask(word0);
	__mmask8 dead =
		_mm512_mask_cmplt_epu64_mask(_mm512_cmpgt_epu64_mask(word1, low_half),
					     _mm512_and_si512(word1, low_half), lines->trace_count);

	lines->live |= (uint64_t)live << granule;
	lines->dead |= (uint64_t)dead << granule;
	lines->any = _mm512_ternarylogic_epi64(lines->any, first, second, 0xfe); /* or */
	/* Of all, whether there is a header among them or not: that cannot be predicted. */
	_mm512_storeu_si512(lines->words0, _mm512_maskz_compress_epi64(live, word0));
	_mm512_storeu_si512(lines->words1, _mm512_maskz_compress_epi64(live, word1));
	lines->words0 += __builtin_popcount(live);
	lines->words1 += __builtin_popcount(live);
}

static inline void mark_group(struct lines *lines, const uint8_t *bytes, size_t granule)
{
	const uint8_t *ahead =
		hawk_ahead((const void *)((uintptr_t)bytes & -(uintptr_t)GROUP_BYTES));
	const __m512i *line = (const __m512i *)bytes;

	for (unsigned i = 0; i < GROUP_LINES; i++)
		__builtin_prefetch(ahead + (i << HAWK_AHEAD_PAGE_LOG2));
	mark_eight(lines, _mm512_loadu_si512(line), _mm512_loadu_si512(line + 1), granule);
	mark_eight(lines, _mm512_loadu_si512(line + 2), _mm512_loadu_si512(line + 3),
		   granule + LANES);
}

/* At most 64 granules. */
static inline void mark_word(const uint8_t *bytes, size_t granules, struct lines *lines)
{
	size_t i = 0;

	for (; i + GROUP_GRANULES <= granules; i += GROUP_GRANULES)
		mark_group(lines, bytes + i * HAWK_GRANULE_BYTES, i);
	if (i < granules) {
		uint8_t rest[GROUP_BYTES] = {0};

		memcpy(rest, bytes + i * HAWK_GRANULE_BYTES, (granules - i) * HAWK_GRANULE_BYTES);
		mark_group(lines, rest, i);
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
	__m512i word0 = _mm512_loadu_si512(&page->words0[i]);
	__m512i word1 = _mm512_loadu_si512(&page->words1[i]);
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
		page->words0[kept] = page->words0[i];
		page->words1[kept++] = page->words1[i];
	}
	return kept;
}

/* Of the granules marked live those whose seal fits, which nearly all do. */
static void test_live(const struct hawk_seal_key *key, uint64_t address,
		      struct hawk_scan_marks *marks, struct hawk_scan_page *page)
{
	unsigned count = list_live(marks, page->live);
	unsigned kept = 0;

	for (unsigned i = 0; i < count; i += LANES) {
		unsigned end = count - i < LANES ? count : i + LANES;
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
	struct lines lines = {
		.trace_count = _mm512_set1_epi64(plan->trace_count),
		.any = _mm512_setzero_si512(),
		.words0 = ret->words0,
		.words1 = ret->words1,
	};
	struct hawk_scan_marks marks = {0};

	assert(granules <= HAWK_SCAN_PAGE_GRANULES);
	for (size_t i = 0; i < granules; i += 64) {
		/* Summed up in registers: in memory each line would wait for the one before. */
		lines.live = lines.dead = 0;
		mark_word(bytes + i * HAWK_GRANULE_BYTES, granules - i < 64 ? granules - i : 64,
			  &lines);
		marks.live[i / 64] = lines.live;
		marks.dead[i / 64] = lines.dead;
	}
	test_live(&plan->key, address, &marks, ret);
	hawk_scan_test_dead(plan, bytes, address, &marks, ret);
	ret->zero = !_mm512_test_epi64_mask(lines.any, lines.any);
}
