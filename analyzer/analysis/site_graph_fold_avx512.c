/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Sites of sixteen pointers at a time. Compiled for x86-64-v4; see hawk_cpu.h.
 */
#include "site_graph_fold.h"

#include <assert.h>
#include <immintrin.h>
#include <stddef.h>

/** Sixteen pointers, by field. */
struct sixteen {
	__mmask16 there;
	__m512i offsets;
	__m512i sources;
	__m512i edges;
};

enum { POINTER_WORDS = sizeof(struct hawk_pointer) / sizeof(uint32_t) };

/* Four pointers each; `count` of them are there, and the others are zeros. */
static inline __m512i load_four(const struct hawk_pointer *pointers, size_t count)
{
	__mmask16 there = count < 4 ? (__mmask16)((1u << count * POINTER_WORDS) - 1) : 0xffff;

	return _mm512_maskz_loadu_epi32(there, pointers);
}

static inline size_t left(size_t count, size_t taken)
{
	return count > taken ? count - taken : 0;
}

/* A word of each of sixteen pointers; `from` picks it from eight of them. */
static inline __m512i join(const __m512i four[4], __m512i from)
{
	__m512i low = _mm512_permutex2var_epi32(four[0], from, four[1]);
	__m512i high = _mm512_permutex2var_epi32(four[2], from, four[3]);

	return _mm512_inserti64x4(low, _mm512_castsi512_si256(high), 1);
}

static inline struct sixteen load(const struct hawk_pointer *pointers, size_t count)
{
	const __m512i first = _mm512_set_epi32(0, 0, 0, 0, 0, 0, 0, 0, 28, 24, 20, 16, 12, 8, 4, 0);
	const __m512i four[4] = {
		load_four(pointers, count),
		load_four(pointers + 4, left(count, 4)),
		load_four(pointers + 8, left(count, 8)),
		load_four(pointers + 12, left(count, 12)),
	};
	__m512i low = join(four, first);
	__m512i high = join(four, _mm512_add_epi32(first, _mm512_set1_epi32(1)));
	__mmask16 told = _mm512_testn_epi32_mask(high, high) &
			 _mm512_cmplt_epu32_mask(low, _mm512_set1_epi32(HAWK_SITE_PLACE_BYTES_MAX));

	return (struct sixteen){
		.there = count < HAWK_FOLD_VECTOR ? (__mmask16)((1u << count) - 1) : 0xffff,
		.offsets = _mm512_mask_blend_epi32(told, _mm512_set1_epi32(-1), low),
		.sources = join(four, _mm512_add_epi32(first, _mm512_set1_epi32(2))),
		.edges = join(four, _mm512_add_epi32(first, _mm512_set1_epi32(3))),
	};
}
static_assert(offsetof(struct hawk_pointer, source) == 8 &&
		      offsetof(struct hawk_pointer, edge) == 12 && POINTER_WORDS == 4,
	      "where load() looks");

/* hawk_block_graph_site() */
static inline __m512i sites_of(const struct hawk_block_graph *graph, __m512i blocks)
{
	const struct hawk_heap *heap = graph->heap;
	__m512i traces = _mm512_i32gather_epi32(blocks, graph->index.traces, sizeof(uint32_t));
	__mmask16 known =
		_mm512_cmplt_epu32_mask(traces, _mm512_set1_epi32((int)heap->trace_count));

	return _mm512_mask_i32gather_epi32(_mm512_set1_epi32((int)heap->lost_site), known, traces,
					   heap->site_of_trace, sizeof(uint32_t));
}

/* hawk_fold_recent_slot() */
static inline __m512i recent_slots(__m512i sources, __m512i targets, __m512i offsets)
{
	__m512i mixed =
		_mm512_add_epi32(_mm512_sub_epi32(_mm512_slli_epi32(sources, 5), sources), targets);

	mixed = _mm512_add_epi32(_mm512_slli_epi32(mixed, 8), mixed);
	mixed = _mm512_add_epi32(mixed, _mm512_srli_epi32(offsets, 3));
	mixed = _mm512_mullo_epi32(mixed, _mm512_set1_epi32((int)UINT32_C(0x9e3779b9)));
	return _mm512_srli_epi32(mixed, 32 - HAWK_FOLD_RECENT_LOG2);
}

static inline void put(uint32_t *to, __mmask16 taken, __m512i numbers)
{
	_mm512_storeu_si512(to, _mm512_maskz_compress_epi32(taken, numbers));
}

void hawk_site_fold_take_avx512(const struct hawk_site_fold *fold,
				const struct hawk_pointer *pointers, size_t count,
				struct hawk_folded *ret)
{
	size_t site_count = fold->graph->heap->site_count;
	__m512i site_end =
		_mm512_set1_epi32(site_count < UINT32_MAX ? (int)(uint32_t)site_count : -1);
	uint32_t taken = 0;

	for (size_t i = 0; i < count; i += HAWK_FOLD_VECTOR) {
		struct sixteen from = load(pointers + i, count - i);
		__m512i sources = sites_of(fold->graph, from.sources);
		__m512i targets = sites_of(fold->graph, _mm512_srli_epi32(from.edges, 1));
		__m512i slots = recent_slots(sources, targets, from.offsets);
		__mmask16 sited = _mm512_mask_cmplt_epu32_mask(from.there, sources, site_end);

		sited = _mm512_mask_cmplt_epu32_mask(sited, targets, site_end);
		put(ret->source_sites + taken, sited, sources);
		put(ret->target_sites + taken, sited, targets);
		put(ret->offsets + taken, sited, from.offsets);
		put(ret->recent + taken, sited,
		    _mm512_i32gather_epi32(slots, fold->recent, sizeof(uint32_t)));
		put(ret->source_blocks + taken, sited, from.sources);
		put(ret->edges + taken, sited, from.edges);
		taken += (uint32_t)__builtin_popcount(sited);
	}
	ret->count = taken;
}
