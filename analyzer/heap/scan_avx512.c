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
	__m512i limits; /**< of the four 32-bit parts of a granule; see mark_line() */
	__m512i any;
	uint64_t live; /**< marks of the word at hand */
	uint64_t dead;
};

/*
 * Four bits for each granule, whether its 32-bit parts are less than the limits: never; the top bit
 * of word 0 is clear; the trace id is below the plan's; the seal is 0.
 */
static inline uint64_t mark_line(struct lines *lines, __m512i line)
{
	lines->any = _mm512_or_si512(lines->any, line);
	return _mm512_cmplt_epu32_mask(line, lines->limits);
}

static inline void mark_group(struct lines *lines, const uint8_t *bytes, size_t granule)
{
	const uint64_t firsts = UINT64_C(0x1111111111111111);
	const uint8_t *ahead =
		hawk_ahead((const void *)((uintptr_t)bytes & -(uintptr_t)GROUP_BYTES));
	const __m512i *line = (const __m512i *)bytes;
	uint64_t less = 0;

#pragma GCC unroll 4
	for (unsigned i = 0; i < GROUP_LINES; i++) {
		__builtin_prefetch(ahead + (i << HAWK_AHEAD_PAGE_LOG2));
		less |= mark_line(lines, _mm512_loadu_si512(line + i)) << i * 16;
	}
	lines->live |= _pext_u64(~less, firsts << 1) << granule;
	lines->dead |= _pext_u64(less & ~(less >> 1), firsts << 2) << granule;
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
static inline unsigned list_live(const struct hawk_scan_marks *marks, uint32_t *ret)
{
	__m512i numbers = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
	unsigned count = 0;

	for (unsigned word = 0; word < HAWK_SCAN_MASK_WORDS; word++) {
		uint64_t left = marks->live[word];

#pragma GCC unroll 4
		for (unsigned i = 0; i < 4; i++, left >>= 16) {
			__mmask16 live = (__mmask16)left;

			_mm512_storeu_si512(ret + count,
					    _mm512_maskz_compress_epi32(live, numbers));
			count += (unsigned)__builtin_popcount(live);
			numbers = _mm512_add_epi32(numbers, _mm512_set1_epi32(16));
		}
	}
	return count;
}

/* Four granules by their numbers. */
static inline __m512i read_four(const uint8_t *bytes, const uint32_t *numbers)
{
	const __m128i *granules = (const __m128i *)bytes;
	__m256i low = _mm256_inserti128_si256(
		_mm256_castsi128_si256(_mm_loadu_si128(granules + numbers[0])),
		_mm_loadu_si128(granules + numbers[1]), 1);
	__m256i high = _mm256_inserti128_si256(
		_mm256_castsi128_si256(_mm_loadu_si128(granules + numbers[2])),
		_mm_loadu_si128(granules + numbers[3]), 1);

	return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
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

/** Eight granules that are marked live. */
struct lanes {
	__m512i granule;
	__m512i word0;
	__m512i word1;
};

static inline struct lanes read_eight(const uint8_t *bytes, const uint32_t *numbers)
{
	const __m512i even = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0);
	const __m512i odd = _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1);
	__m512i first = read_four(bytes, numbers);
	__m512i second = read_four(bytes, numbers + LANES / 2);

	return (struct lanes){
		.granule = _mm512_cvtepu32_epi64(_mm256_loadu_si256((const void *)numbers)),
		.word0 = _mm512_permutex2var_epi64(first, even, second),
		.word1 = _mm512_permutex2var_epi64(first, odd, second),
	};
}

/* Which of them have a seal that fits. */
static inline unsigned test_eight(const struct hawk_seal_key *key, const struct lanes *lanes,
				  uint64_t address)
{
	__m512i at = _mm512_add_epi64(_mm512_slli_epi64(lanes->granule, 4),
				      _mm512_set1_epi64((long long)address));
	__m512i seal =
		mix(_mm512_xor_si512(lanes->word0, _mm512_set1_epi64((long long)key->k[0])),
		    _mm512_xor_si512(_mm512_xor_si512(at, _mm512_slli_epi64(lanes->word1, 32)),
				     _mm512_set1_epi64((long long)key->k[1])));

	return _mm512_cmpeq_epi64_mask(seal, _mm512_srli_epi64(lanes->word1, 32));
}
static_assert(HAWK_GRANULE_BYTES == 1 << 4, "the shift above");

/* Only what is in the list stays marked. */
static void mark_listed(const struct hawk_scan_page *page, struct hawk_scan_marks *marks)
{
	memset(marks->live, 0, sizeof(marks->live));
	for (unsigned i = 0; i < page->live_count; i++)
		marks->live[page->live[i] / 64] |= UINT64_C(1) << page->live[i] % 64;
}

static unsigned count_marked_twice(const struct hawk_scan_marks *marks)
{
	unsigned count = 0;

	for (unsigned i = 0; i < HAWK_SCAN_MASK_WORDS; i++)
		count += (unsigned)__builtin_popcountll(marks->live[i] & marks->dead[i]);
	return count;
}

/* Those of `fits` go to the list's end, number `kept`. */
static inline void keep(struct hawk_scan_page *page, const struct lanes *lanes, __mmask8 fits,
			unsigned kept)
{
	__m512i granule = _mm512_maskz_compress_epi64(fits, lanes->granule);

	_mm_storeu_si128((void *)&page->live[kept], _mm512_cvtepi64_epi16(granule));
	_mm512_storeu_si512(&page->words0[kept], _mm512_maskz_compress_epi64(fits, lanes->word0));
	_mm512_storeu_si512(&page->words1[kept], _mm512_maskz_compress_epi64(fits, lanes->word1));
}

/* Of the granules marked live those whose seal fits. Among words of any kind there are always some
 * others, here and there: a branch would be mispredicted. */
static void test_live(const struct hawk_sweep_plan *plan, const uint8_t *bytes, uint64_t address,
		      struct hawk_scan_marks *marks, struct hawk_scan_page *page)
{
	const struct hawk_seal_key key = plan->key; /* which no store can change */
	const __m512i low_half = _mm512_set1_epi64(UINT32_MAX);
	__m512i word1_min = _mm512_set1_epi64(-1);
	__m512i trace_max = _mm512_setzero_si512();
	uint32_t numbers[HAWK_SCAN_PAGE_GRANULES + HAWK_SCAN_VECTOR];
	unsigned count = list_live(marks, numbers);
	unsigned kept = 0;
	unsigned odd;

	/* Where there are no eight left, the first granule makes up for them. */
	_mm256_storeu_si256((void *)&numbers[count], _mm256_setzero_si256());
	for (unsigned i = 0; i < count; i += LANES) {
		unsigned there = count - i < LANES ? (1u << (count - i)) - 1 : 0xff;
		struct lanes lanes = read_eight(bytes, &numbers[i]);
		unsigned fits = test_eight(&key, &lanes, address) & there;

		keep(page, &lanes, (__mmask8)fits, kept);
		word1_min =
			_mm512_mask_min_epu64(word1_min, (__mmask8)fits, word1_min, lanes.word1);
		trace_max = _mm512_mask_max_epu64(trace_max, (__mmask8)fits, trace_max,
						  _mm512_and_si512(lanes.word1, low_half));
		kept += (unsigned)__builtin_popcount(fits);
	}
	page->live_count = kept;
	/* Those that are live are marked dead, too, but for odd ones. Are any others marked twice?
	 */
	odd = _mm512_cmple_epu64_mask(word1_min, low_half);
	odd |= _mm512_cmpge_epu64_mask(trace_max, _mm512_set1_epi64(plan->trace_count));
	if (odd || count_marked_twice(marks) != kept)
		mark_listed(page, marks);
}

void hawk_scan_page_avx512(const struct hawk_sweep_plan *plan, const uint8_t *bytes,
			   size_t granules, uint64_t address, struct hawk_scan_page *ret)
{
	struct lines lines = {
		.limits = _mm512_set4_epi32(1, (int)plan->trace_count, INT32_MIN, 0),
		.any = _mm512_setzero_si512(),
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
	test_live(plan, bytes, address, &marks, ret);
	hawk_scan_test_dead(plan, bytes, address, &marks, ret);
	ret->zero = !_mm512_test_epi64_mask(lines.any, lines.any);
}
