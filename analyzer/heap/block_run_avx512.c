/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Runs of blocks, eight at a time. Compiled for x86-64-v4; see hawk_cpu.h.
 */
#include "block_rows.h"
#include "block_run.h"

enum { RECORD_GRANULES = 64 };

/** Marks of a run, one byte each: to set a bit waits for the one before. */
struct marks {
	uint8_t starts[HAWK_MARKED_RECORDS * RECORD_GRANULES];
	uint8_t ends[(HAWK_MARKED_RECORDS + 1) * RECORD_GRANULES];
};

static inline void mark(uint8_t *marks, __m512i granules)
{
	uint64_t numbers[HAWK_ROWS_BLOCKS];

	_mm512_storeu_si512(numbers, granules);
#pragma GCC unroll 8
	for (unsigned i = 0; i < HAWK_ROWS_BLOCKS; i++)
		marks[numbers[i]] = UINT8_MAX;
}

static inline void add_marks(const uint8_t *marks, uint64_t *bits)
{
	*bits |= _mm512_movepi8_mask(_mm512_loadu_si512(marks));
}

/* Those in front of granule `end`, and of it that a block ends there. */
static void hand_over(const struct marks *marks, uint64_t end, struct hawk_block_marks *ret)
{
	for (size_t i = 0; i * RECORD_GRANULES < end; i++) {
		add_marks(marks->starts + i * RECORD_GRANULES, &ret->starts[i]);
		add_marks(marks->ends + i * RECORD_GRANULES, &ret->ends[i]);
	}
	if (end % RECORD_GRANULES == 0)
		ret->ends[end / RECORD_GRANULES] |= 1;
}

static inline void store(uint32_t *to, __m512i numbers)
{
	_mm256_storeu_si256((void *)to, _mm512_cvtepi64_epi32(numbers));
}

size_t hawk_block_run_avx512(struct hawk_block_run *run, const struct hawk_block *blocks,
			     size_t count)
{
	const __m512i room = hawk_rows_all(run->room);
	struct marks marks = {0};
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
		mark(marks.starts, granule);
		mark(marks.ends, end);
		run->end = (uint64_t)_mm_cvtsi128_si64(_mm512_castsi512_si128(
			_mm512_alignr_epi64(end, end, HAWK_ROWS_BLOCKS - 1)));
	}
	if (i)
		hand_over(&marks, run->end, run->marks);
	return i;
}
static_assert(HAWK_GRANULE_BYTES == 1 << 4, "the shifts above");
