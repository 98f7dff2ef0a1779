/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Eight blocks in vectors, and as they lie in memory: three rows of start, size, rest, start, size
 * ... Only for *_avx512.c; see hawk_cpu.h. Internal to heap/.
 */
#ifndef HAWK_BLOCK_ROWS_H
#define HAWK_BLOCK_ROWS_H

#include <immintrin.h>

#include "hawk_sweep.h"

enum { HAWK_ROWS_BLOCKS = 8 };

struct hawk_rows {
	__m512i start;
	__m512i size;
	__m512i rest; /**< trace 32, kind 8, birth 8, offset code 8, depth 8, from the lowest bit */
};
static_assert(sizeof(struct hawk_block) == 24 && offsetof(struct hawk_block, start) == 0 &&
		      offsetof(struct hawk_block, size) == 8 &&
		      offsetof(struct hawk_block, trace) == 16 &&
		      offsetof(struct hawk_block, kind) == 20 &&
		      offsetof(struct hawk_block, birth) == 21 &&
		      offsetof(struct hawk_block, offset_code) == 22 &&
		      offsetof(struct hawk_block, depth) == 23,
	      "of struct hawk_block");

static inline __m512i hawk_rows_all(uint64_t number)
{
	return _mm512_set1_epi64((long long)number);
}

static inline struct hawk_rows hawk_rows_load(const struct hawk_block *blocks)
{
	/* 8 and up are of the second vector. */
	const __m512i start_two = _mm512_set_epi64(0, 0, 15, 12, 9, 6, 3, 0);
	const __m512i start = _mm512_set_epi64(13, 10, 5, 4, 3, 2, 1, 0);
	const __m512i size_two = _mm512_set_epi64(0, 0, 0, 13, 10, 7, 4, 1);
	const __m512i size = _mm512_set_epi64(14, 11, 8, 4, 3, 2, 1, 0);
	const __m512i rest_two = _mm512_set_epi64(0, 0, 0, 14, 11, 8, 5, 2);
	const __m512i rest = _mm512_set_epi64(15, 12, 9, 4, 3, 2, 1, 0);
	const __m512i *from = (const __m512i *)blocks;
	__m512i first = _mm512_loadu_si512(from);
	__m512i second = _mm512_loadu_si512(from + 1);
	__m512i third = _mm512_loadu_si512(from + 2);

	return (struct hawk_rows){
		.start = _mm512_permutex2var_epi64(
			_mm512_permutex2var_epi64(first, start_two, second), start, third),
		.size = _mm512_permutex2var_epi64(
			_mm512_permutex2var_epi64(first, size_two, second), size, third),
		.rest = _mm512_permutex2var_epi64(
			_mm512_permutex2var_epi64(first, rest_two, second), rest, third),
	};
}

static inline void hawk_rows_store(const struct hawk_rows *rows, struct hawk_block *ret)
{
	const __m512i first_two = _mm512_set_epi64(10, 2, 0, 9, 1, 0, 8, 0);
	const __m512i first = _mm512_set_epi64(7, 6, 9, 4, 3, 8, 1, 0);
	const __m512i second_two = _mm512_set_epi64(5, 0, 12, 4, 0, 11, 3, 0);
	const __m512i second = _mm512_set_epi64(7, 12, 5, 4, 11, 2, 1, 10);
	const __m512i third_two = _mm512_set_epi64(0, 15, 7, 0, 14, 6, 0, 13);
	const __m512i third = _mm512_set_epi64(15, 6, 5, 14, 3, 2, 13, 0);
	__m512i *to = (__m512i *)ret;
	__m512i two = _mm512_permutex2var_epi64(rows->start, first_two, rows->size);

	_mm512_storeu_si512(to, _mm512_permutex2var_epi64(two, first, rows->rest));
	two = _mm512_permutex2var_epi64(rows->start, second_two, rows->size);
	_mm512_storeu_si512(to + 1, _mm512_permutex2var_epi64(two, second, rows->rest));
	two = _mm512_permutex2var_epi64(rows->start, third_two, rows->size);
	_mm512_storeu_si512(to + 2, _mm512_permutex2var_epi64(two, third, rows->rest));
}

#endif
