/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The block header's encodings: fields, seals, births. The numbers of the worked examples in
 * docs/format-block-header.md are checked here.
 */
#include "test.h"
#include "hawk_block_header.h"
#include "synthetic_heap.h"

static const struct hawk_seal_key KEY = {
	{UINT64_C(0x0123456789abcdef), UINT64_C(0xf0e1d2c3b4a59687)}};

TEST(fields_are_read_back_as_written)
{
	uint64_t seed = 1;

	for (int i = 0; i < 100000; i++) {
		uint64_t r = synthetic_random(&seed);
		unsigned kind = 8 + (r & 7);
		unsigned log2 = 4 + (r >> 3 & 15);
		uint8_t birth = (uint8_t)(r >> 8);
		uint64_t size = r >> 16;
		uint64_t word0 = hawk_header_word0(kind, log2, birth, size);

		assert_int_equal(hawk_header_kind(word0), kind);
		assert_int_equal(hawk_header_offset_code(word0), log2 - 4);
		assert_int_equal(hawk_header_birth(word0), birth);
		assert_int_equal(hawk_header_size(word0), size);
		assert_true((int64_t)word0 < 0);
	}
	assert_int_equal(hawk_header_size(hawk_header_word0(8, 4, 255, HAWK_SIZE_MAX)),
			 HAWK_SIZE_MAX);
}

TEST(large_offsets_become_one_code)
{
	assert_int_equal(hawk_header_offset_code(hawk_header_word0(8, 18, 0, 0)), 14);
	for (unsigned log2 = 19; log2 < 48; log2++)
		assert_int_equal(hawk_header_offset_code(hawk_header_word0(8, log2, 0, 0)),
				 HAWK_OFFSET_LARGE);
}

TEST(a_seal_fits_its_own_place_only)
{
	const uint64_t at = 0x5555000010a0;
	uint64_t word0 = hawk_header_word0(HAWK_KIND_MALLOC, 4, 68, 100);
	uint64_t word1 = hawk_header_word1(7, hawk_seal(&KEY, word0, 7, at));

	assert_true(hawk_header_is_live(&KEY, word0, word1, at));
	for (unsigned bit = 0; bit < 64; bit++) {
		uint64_t flip = UINT64_C(1) << bit;
		struct hawk_seal_key key = KEY;

		assert_false(hawk_header_is_live(&KEY, word0 ^ flip, word1, at));
		assert_false(hawk_header_is_live(&KEY, word0, word1 ^ flip, at));
		assert_false(hawk_header_is_live(&KEY, word0, word1, at ^ flip));
		key.k[bit & 1] ^= flip;
		assert_false(hawk_header_is_live(&key, word0, word1, at));
	}
}

TEST(a_dead_seal_is_not_a_live_one_and_ignores_word_0)
{
	const uint64_t at = 0x5555000010a0;
	uint64_t seed = 5;

	for (uint32_t trace = 0; trace < 1000; trace++) {
		uint64_t word1 = hawk_header_word1(trace, hawk_dead_seal(&KEY, trace, at));
		uint64_t word0 = synthetic_random(&seed) | UINT64_C(1) << 63;

		assert_true(hawk_header_is_dead(&KEY, word1, at));
		assert_false(hawk_header_is_dead(&KEY, word1, at + 16));
		assert_false(hawk_header_is_live(&KEY, word0, word1, at));
	}
}

TEST(every_birth_code_is_read_back_as_its_earliest_time)
{
	for (unsigned code = 0; code < 256; code++) {
		uint64_t units = hawk_birth_decode((uint8_t)code);

		assert_int_equal(hawk_birth_encode(units), code);
		if (code)
			assert_int_equal(hawk_birth_encode(units - 1), code - 1);
	}
}

TEST(births_are_monotonic_and_within_an_eighth)
{
	uint8_t last = 0;

	for (uint64_t units = 0; units < UINT64_C(1) << 62; units += 1 + units / 100) {
		uint8_t code = hawk_birth_encode(units);
		uint64_t back = hawk_birth_decode(code);

		assert_true(code >= last);
		last = code;
		if (units < 16)
			assert_int_equal(back, units);
		if (code == 255)
			continue;
		assert_true(back <= units);
		assert_true(units - back <= units / 8);
	}
	assert_int_equal(last, 255);
	assert_int_equal(hawk_birth_encode(UINT64_MAX), 255);
}

TEST(the_example_of_100_seconds_holds)
{
	assert_int_equal(hawk_birth_encode(UINT64_C(100000000000) / HAWK_BIRTH_UNIT_NS), 68);
	assert_int_equal(hawk_birth_decode(68), 1536);
}

/* Byte for byte as printed in docs/format-block-header.md. */
TEST(the_documented_bytes_are_right)
{
	static const uint8_t live[16] = {0x64, 0, 0, 0, 0,    0,    0x44, 0x80,
					 0x07, 0, 0, 0, 0x61, 0xda, 0xcd, 0x44};
	static const uint8_t dead[16] = {0x00, 0x11, 0, 0, 0x55, 0x55, 0,    0,
					 0x07, 0,    0, 0, 0xf0, 0xbc, 0x81, 0x50};
	static const uint8_t aligned[16] = {0, 0x10, 0, 0, 0,    0,    0x38, 0xbf,
					    0, 0,    0, 0, 0x53, 0xea, 0x11, 0xec};
	const uint64_t at = 0x5555000010a0;
	struct hawk_block_header header;

	header.word0 = hawk_header_word0(HAWK_KIND_MALLOC, 4, 68, 100);
	header.word1 = hawk_header_word1(7, hawk_seal(&KEY, header.word0, 7, at));
	assert_memory_equal(&header, live, 16);
	header.word0 = 0x555500001100; /* a free list's link */
	header.word1 = hawk_header_word1(7, hawk_dead_seal(&KEY, 7, at));
	assert_memory_equal(&header, dead, 16);
	header.word0 = hawk_header_word0(HAWK_KIND_ALIGNED, 20, 56, 4096);
	header.word1 = hawk_header_word1(0, hawk_seal(&KEY, header.word0, 0, 0x7f00000ffff0));
	assert_memory_equal(&header, aligned, 16);
}
