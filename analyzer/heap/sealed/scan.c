/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The innermost loops of the sweep.
 *
 * A page is tested in two passes. The first, without data-dependent branches, marks possible
 * headers, one bit a granule. The second computes their seals, nearly all of which fit. Testing
 * each granule at once costs a mispredicted branch for every other block.
 */
#include "hawk/base/prefetch.h"
#include "scan.h"

#include <emmintrin.h>
#include <stdlib.h>

enum {
	HAWK_SCAN_LINE_GRANULES = 4, /* of a cache line */
	HAWK_SCAN_MASK_WORDS = HAWK_SCAN_PAGE_GRANULES / 64,
};

static_assert(HAWK_SCAN_PAGE_GRANULES <= UINT16_MAX, "granules of a page are stored in 16 bits");

/** One bit for each granule of a page. */
struct hawk_scan_marks {
	uint64_t live[HAWK_SCAN_MASK_WORDS]; /**< the top bit of word 0 is set */
	uint64_t dead[HAWK_SCAN_MASK_WORDS]; /**< a trace id below the plan's, and a seal not 0 */
};

/* SSE2 is part of x86-64. `biased_count` is the trace count with the top bit flipped: SSE2
 * compares signed numbers only. */
static inline void mark_line(const uint8_t *bytes, size_t granule, __m128i biased_count,
			     struct hawk_scan_marks *ret)
{
	const __m128i *line = (const __m128i *)(bytes + granule * HAWK_GRANULE_BYTES);
	__m128i a = _mm_loadu_si128(line);
	__m128i b = _mm_loadu_si128(line + 1);
	__m128i c = _mm_loadu_si128(line + 2);
	__m128i d = _mm_loadu_si128(line + 3);
	__m128 word0_high = _mm_shuffle_ps((__m128)_mm_unpacklo_epi64(a, b),
					   (__m128)_mm_unpacklo_epi64(c, d), 0xdd);
	__m128i word1_ab = _mm_unpackhi_epi64(a, b);
	__m128i word1_cd = _mm_unpackhi_epi64(c, d);
	__m128i trace = (__m128i)_mm_shuffle_ps((__m128)word1_ab, (__m128)word1_cd, 0x88);
	__m128i seal = (__m128i)_mm_shuffle_ps((__m128)word1_ab, (__m128)word1_cd, 0xdd);
	__m128i low =
		_mm_cmplt_epi32(_mm_xor_si128(trace, _mm_set1_epi32(INT32_MIN)), biased_count);
	__m128i unsealed = _mm_cmpeq_epi32(seal, _mm_setzero_si128());
	uint64_t live = (unsigned)_mm_movemask_ps(word0_high);
	uint64_t dead = (unsigned)_mm_movemask_ps((__m128)_mm_andnot_si128(unsealed, low));

	ret->live[granule / 64] |= live << granule % 64;
	ret->dead[granule / 64] |= dead << granule % 64;
}

static void mark_candidates(const uint8_t *bytes, size_t granules, uint32_t trace_count,
			    struct hawk_scan_marks *ret)
{
	__m128i biased_count = _mm_set1_epi32((int)(trace_count ^ UINT32_C(0x80000000)));
	size_t i = 0;

	memset(ret, 0, sizeof(*ret));
	for (; i + HAWK_SCAN_LINE_GRANULES <= granules; i += HAWK_SCAN_LINE_GRANULES) {
		hawk_prefetch_ahead(bytes + i * HAWK_GRANULE_BYTES);
		mark_line(bytes, i, biased_count, ret);
	}
	if (i < granules) {
		uint8_t rest[HAWK_SCAN_LINE_GRANULES * HAWK_GRANULE_BYTES] = {0};
		struct hawk_scan_marks last = {0};

		memcpy(rest, bytes + i * HAWK_GRANULE_BYTES, (granules - i) * HAWK_GRANULE_BYTES);
		mark_line(rest, 0, biased_count, &last);
		ret->live[i / 64] |= last.live[0] << i % 64;
		ret->dead[i / 64] |= last.dead[0] << i % 64;
	}
}

/* Unmarks the live granules whose seal does not fit. */
static void test_live(const struct hawk_sweep_plan *plan, const uint8_t *bytes, uint64_t address,
		      struct hawk_scan_marks *marks, struct hawk_scan_page *ret)
{
	const struct hawk_seal_key key = plan->key;
	unsigned count = 0;

	for (size_t word = 0; word < HAWK_SCAN_MASK_WORDS; word++)
		for (uint64_t left = marks->live[word]; left; left &= left - 1) {
			size_t granule = word * 64 + (unsigned)__builtin_ctzll(left);
			struct hawk_block_header header = hawk_scan_header(bytes, granule);

			if (!hawk_header_is_live(&key, header.word0, header.word1,
						 address +
							 (uint64_t)granule * HAWK_GRANULE_BYTES)) {
				marks->live[word] ^= left & -left;
				continue;
			}
			ret->live[count] = (uint16_t)granule;
			ret->words0[count] = header.word0;
			ret->words1[count++] = header.word1;
		}
	ret->live_count = count;
}

/* Finds the dead headers among granules marked dead and not live. */
static void test_dead(const struct hawk_sweep_plan *plan, const uint8_t *bytes, uint64_t address,
		      const struct hawk_scan_marks *marks, struct hawk_scan_page *ret)
{
	const struct hawk_seal_key key = plan->key;

	ret->dead_count = 0;
	for (size_t word = 0; word < HAWK_SCAN_MASK_WORDS; word++)
		for (uint64_t left = marks->dead[word] & ~marks->live[word]; left;
		     left &= left - 1) {
			size_t granule = word * 64 + (unsigned)__builtin_ctzll(left);
			struct hawk_block_header header = hawk_scan_header(bytes, granule);

			if (hawk_header_is_dead(&key, header.word1,
						address + (uint64_t)granule * HAWK_GRANULE_BYTES))
				ret->dead[ret->dead_count++] = (uint16_t)granule;
		}
}

void hawk_scan_page(const struct hawk_sweep_plan *plan, const uint8_t *bytes, size_t granules,
		    uint64_t address, struct hawk_scan_page *ret)
{
	struct hawk_scan_marks marks;

	assert(granules <= HAWK_SCAN_PAGE_GRANULES);
	mark_candidates(bytes, granules, plan->trace_count, &marks);
	test_live(plan, bytes, address, &marks, ret);
	test_dead(plan, bytes, address, &marks, ret);
}

unsigned hawk_scan_large_offset(const struct hawk_target *target, uint64_t header_address)
{
	uint64_t log2;

	if (header_address < sizeof(log2) ||
	    hawk_target_read_some(target, header_address - sizeof(log2), &log2, sizeof(log2)) !=
		    sizeof(log2))
		return 0;
	if (log2 < 4 + HAWK_OFFSET_LARGE || log2 > HAWK_SCAN_OFFSET_LOG2_MAX)
		return 0;
	return (unsigned)log2;
}

bool hawk_scan_wants(const struct hawk_mapping *mapping)
{
	return mapping->present_bytes &&
	       ((mapping->flags & HAWK_MAPPING_WRITE) || !mapping->path || !mapping->path[0]);
}

void hawk_scan_window_init(struct hawk_scan_window *window, const struct hawk_target *target,
			   size_t window_bytes)
{
	size_t pages = window_bytes ? (window_bytes - 1) / HAWK_SCAN_PAGE_BYTES + 1
				    : HAWK_SCAN_WINDOW_BYTES / HAWK_SCAN_PAGE_BYTES;

	*window = (struct hawk_scan_window){
		.target = target,
		.window_bytes = pages * HAWK_SCAN_PAGE_BYTES,
	};
}

void hawk_scan_window_deinit(struct hawk_scan_window *window)
{
	free(window->buffer);
	window->buffer = NULL;
}

struct hawk_error *hawk_scan_window_read(struct hawk_scan_window *window, uint64_t address,
					 size_t bytes, const uint8_t **ret, size_t *got)
{
	assert(bytes <= window->window_bytes);
	*ret = hawk_target_view(window->target, address, bytes);
	*got = bytes;
	if (*ret)
		return NULL;
	if (!window->buffer)
		window->buffer = malloc(window->window_bytes);
	if (!window->buffer)
		return &hawk_enomem;
	*got = hawk_target_read_some(window->target, address, window->buffer, bytes);
	*ret = *got ? window->buffer : NULL;
	return NULL;
}
