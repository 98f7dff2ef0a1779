/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Headers with a length before a pointer: as libraries write them, slightly damaged, and of random
 * bytes.
 */
#include "test.h"
#include "graph/length_prefix.h"
#include "synthetic_heap.h"

enum { HEADER = HAWK_LENGTH_PREFIX_MAX };

static void put(uint8_t *header, unsigned at, uint64_t value, unsigned bytes)
{
	memcpy(header + at, &value, bytes);
}

static struct hawk_requested exactly(uint64_t bytes)
{
	return (struct hawk_requested){bytes, bytes};
}

static bool fits(const uint8_t *header, uint64_t header_bytes, uint64_t block_bytes)
{
	struct hawk_length_prefix prefix;

	return hawk_length_prefix_fits(header, header_bytes, exactly(block_bytes), &prefix);
}

static void expect_end(const uint8_t *header, uint64_t header_bytes, uint64_t block_bytes,
		       uint64_t end, unsigned zeros)
{
	struct hawk_length_prefix prefix = {0};

	assert_true(hawk_length_prefix_fits(header, header_bytes, exactly(block_bytes), &prefix));
	assert_int_equal(prefix.end, end);
	assert_int_equal(prefix.zeros, zeros);
}

TEST(strings_of_redis_with_a_byte_in_front_fill_their_block)
{
	for (unsigned byte = 0; byte < 256; byte++)
		for (uint64_t size = 0; size < 80; size++) {
			uint8_t header = (uint8_t)byte;
			bool is = byte % 8 == 0 && byte && size == byte / 8 + 2;

			assert_int_equal(fits(&header, 1, size), is);
			if (is)
				expect_end(&header, 1, size, 1 + byte / 8, 1);
		}
}

static void put_sds(uint8_t *header, unsigned type, uint64_t length, uint64_t capacity)
{
	unsigned bytes = 1u << (type - 1);

	put(header, 0, length, bytes);
	put(header, bytes, capacity, bytes);
	header[2 * bytes] = (uint8_t)type;
}

TEST(strings_of_redis_have_length_capacity_and_type)
{
	const uint64_t capacities[] = {
		0, 7, 200, 255, 256, 4000, 65535, 65536, 1 << 20, UINT32_MAX, UINT64_C(5) << 32};
	uint8_t header[HEADER];

	for (unsigned type = 1; type <= 4; type++) {
		uint64_t header_bytes = 2 * (UINT64_C(1) << (type - 1)) + 1;
		uint64_t largest = UINT64_MAX >> (64 - (8 << (type - 1)));

		for (unsigned i = 0; i < COUNT_OF(capacities); i++) {
			uint64_t capacity = capacities[i], size = header_bytes + capacity + 1;

			if (capacity > largest)
				break;
			put_sds(header, type, capacity / 2, capacity);
			expect_end(header, header_bytes, size, header_bytes + capacity / 2, 1);
			/* The allocator gave more than was asked for, but not that much. */
			if (size - 8 > header_bytes && size > 8)
				expect_end(header, header_bytes, size - 8,
					   header_bytes + capacity / 2, 1);
			assert_false(fits(header, header_bytes, size + 1));
			if (size > 100)
				assert_false(fits(header, header_bytes, 3 * size / 4 - 20));
			header[header_bytes - 1] ^= 8;
			assert_false(fits(header, header_bytes, size));
			put_sds(header, type, capacity, capacity);
			assert_true(fits(header, header_bytes, size));
			if (capacity == 0 || capacity == largest)
				continue;
			put_sds(header, type, capacity + 1, capacity);
			assert_false(fits(header, header_bytes, size));
		}
	}
	put_sds(header, 4, 5, UINT64_MAX);
	assert_false(fits(header, 17, 16));
	assert_false(fits(header, 17, 17));
	assert_false(fits(header, 17, 18));
}

TEST(old_strings_of_redis_have_length_and_free_bytes)
{
	uint8_t header[HEADER] = {0};

	put(header, 0, 11, 4);
	put(header, 4, 20, 4);
	expect_end(header, 8, 8 + 11 + 20 + 1, 8 + 11, 1);
	assert_false(fits(header, 8, 8 + 11 + 20));
	assert_false(fits(header, 8, 8 + 11 + 20 + 2));
}

TEST(strings_with_a_length_in_front_end_with_a_character_of_zero)
{
	uint8_t header[HEADER] = {0};

	for (unsigned width = 4; width <= 8; width += 4) {
		memset(header, 0, sizeof(header));
		put(header, 0, 1200, width);
		for (unsigned zeros = 1; zeros <= 4; zeros *= 2)
			expect_end(header, width, width + 1200 + zeros, width + 1200, zeros);
		for (unsigned other = 0; other < 20; other++)
			if (other != 1 && other != 2 && other != 4)
				assert_false(fits(header, width, width + 1200 + other));
		put(header, 0, 1201, width);
		expect_end(header, width, width + 1202, width + 1201, 1);
		assert_false(fits(header, width, width + 1203)); /* not whole characters */
		put(header, 0, UINT64_MAX, width);
		assert_false(fits(header, width, width + 1203));
	}
}

TEST(blocks_of_libraries_know_their_size)
{
	uint8_t header[HEADER];

	memset(header, 0x5a, sizeof(header));
	put(header, 8, 4000 | 3, 8); /* MariaDB: two flags */
	expect_end(header, 24, 4024, 4024, 0);
	assert_false(fits(header, 24, 4032));
	put(header, 4, 1234, 4); /* MySQL */
	put(header, 8, 333, 8);
	expect_end(header, 32, 365, 365, 0);
	assert_false(fits(header, 32, 366));
	put(header, 4, 1235, 4);
	assert_false(fits(header, 32, 365));
	put(header, 24, 0x44ae2bf0, 4); /* GLib: rounded up */
	expect_end(header, 32, 365, 365, 0);
	expect_end(header, 32, 368, 368, 0);
	assert_false(fits(header, 32, 364));
	assert_false(fits(header, 32, 381));
	put(header, 64, 7, 8); /* talloc */
	expect_end(header, 96, 103, 103, 0);
	assert_false(fits(header, 96, 104));
}

TEST(attributes_of_python_objects_have_their_order_in_front)
{
	uint8_t header[HEADER] = {0};

	header[7] = 8; /* three of four attributes: the second, the first, the last one */
	header[6] = 3;
	header[5] = 1;
	header[4] = 0;
	header[3] = 3;
	expect_end(header, 8, 8 + 4 * 8, 8 + 4 * 8, 0);
	expect_end(header, 8, 8 + 6 * 8, 8 + 6 * 8, 0);
	assert_false(fits(header, 8, 8 + 7 * 8)); /* would have a longer header */
	assert_false(fits(header, 8, 8 + 3 * 8)); /* has no fourth one */
	assert_false(fits(header, 8, 8 + 4 * 8 + 4));
	header[6] = 5;
	assert_false(fits(header, 8, 8 + 4 * 8));
	memset(header, 0, sizeof(header));
	header[31] = 32;
	header[30] = 30;
	for (int i = 0; i < 30; i++)
		header[i] = (uint8_t)i;
	expect_end(header, 32, 32 + 30 * 8, 32 + 30 * 8, 0);
	header[39] = 40;
	assert_false(fits(header, 40, 40 + 38 * 8));
}

TEST(arrays_of_php_have_slots_in_front)
{
	uint8_t slots[HEADER];

	memset(slots, 0xff, sizeof(slots));
	put(slots, 12, 7, 4);
	put(slots, 40, 0, 4);
	assert_true(fits(slots, 64, 320));
	assert_false(fits(slots, 64, 336));
	assert_false(fits(slots, 96, 480));       /* no power of two */
	assert_true(fits(slots, 1024, 5 * 1024)); /* the rest is not read */
	put(slots, 44, 0, 4);
	assert_false(fits(slots, 64, 320)); /* one element in two slots */
	put(slots, 44, 8, 4);
	assert_false(fits(slots, 64, 320));
}

TEST(lists_of_php_have_two_empty_slots_in_front)
{
	uint8_t slots[HEADER];

	memset(slots, 0xff, sizeof(slots));
	assert_true(fits(slots, 8, 8 + 8 * 16));
	assert_true(fits(slots, 8, 8 + 512 * 16));
	assert_false(fits(slots, 8, 8 + 9 * 16));
	put(slots, 4, 0, 4);
	assert_false(fits(slots, 8, 8 + 8 * 16));
}

TEST(nothing_but_these_headers_is_known)
{
	uint8_t header[HEADER + 64] = {0};

	for (uint64_t bytes = 0; bytes < sizeof(header); bytes++) {
		assert_false(fits(header, bytes, 0));
		assert_false(fits(header, bytes, bytes));
		assert_false(fits(header, bytes, 200));
	}
}

TEST(strings_fit_blocks_of_which_only_the_usable_size_is_known)
{
	uint8_t short_one = 9 << 3, header[HEADER] = {0};
	struct hawk_length_prefix prefix;

	for (uint64_t most = 1; most < 64; most++) {
		struct hawk_requested block = {most > 15 ? most - 15 : 0, most};
		bool is = most >= 11 && most <= 26;

		assert_int_equal(hawk_length_prefix_fits(&short_one, 1, block, &prefix), is);
	}
	put_sds(header, 1, 20, 44);
	assert_true(hawk_length_prefix_fits(header, 3, (struct hawk_requested){33, 48}, &prefix));
	assert_false(hawk_length_prefix_fits(header, 3, (struct hawk_requested){33, 47}, &prefix));
	assert_false(hawk_length_prefix_fits(header, 3, (struct hawk_requested){49, 64}, &prefix));
	put(header, 0, 30, 8);
	assert_true(hawk_length_prefix_fits(header, 8, (struct hawk_requested){25, 40}, &prefix));
	assert_int_equal(prefix.end, 38);
	assert_int_equal(prefix.zeros, 1);
	assert_false(hawk_length_prefix_fits(header, 8, (struct hawk_requested){57, 72}, &prefix));
}

/* Checks the figures of docs/leaks.md. */
TEST(random_bytes_hardly_ever_are_a_header)
{
	enum { TRIES = 4000000 };
	static const struct {
		uint64_t header_bytes, block_bytes;
		double most; /**< of TRIES, before the byte behind the contents */
	} cases[] = {
		{1, 24, 1.0 / 256},     {3, 40, 1.0 / 4000},    {3, 220, 1.0 / 1000},
		{5, 40, 1.0 / 1e5},     {5, 40000, 1.0 / 2000}, {4, 40, 1.0 / 4e6},
		{8, 41, 1.0 / 4e6},     {9, 40, 1.0 / 4e6},     {9, 1 << 20, 1.0 / 4e6},
		{17, 40, 1.0 / 4e6},    {24, 40, 1.0 / 4e6},    {32, 40, 1.0 / 4e6},
		{96, 1000, 1.0 / 4e6},  {8, 40, 1.0 / 57000},   {16, 96, 1.0 / 57000},
		{24, 192, 1.0 / 57000}, {32, 272, 1.0 / 57000},
	};
	uint64_t seed = 77;

	for (unsigned i = 0; i < COUNT_OF(cases); i++) {
		unsigned passed = 0;

		for (unsigned j = 0; j < TRIES; j++) {
			uint64_t header[HEADER / 8];

			for (unsigned k = 0; 8 * k < cases[i].header_bytes; k++)
				header[k] = synthetic_random(&seed);
			passed += fits((uint8_t *)header, cases[i].header_bytes,
				       cases[i].block_bytes);
		}
		assert_true(passed <= 1.5 * cases[i].most * TRIES);
	}
}
