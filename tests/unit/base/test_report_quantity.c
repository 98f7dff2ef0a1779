/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Sizes, counts, shares and times: printed and read.
 */
#include <math.h>
#include <stdio.h>

#include "test.h"
#include "hawk/output/output.h"
#include "hawk/base/quantity.h"

TEST(sizes_are_printed_in_binary_units)
{
	assert_string_equal(hawk_quantity_bytes(0).text, "0 B");
	assert_string_equal(hawk_quantity_bytes(1023).text, "1,023 B");
	assert_string_equal(hawk_quantity_bytes(1024).text, "1.0 KiB");
	assert_string_equal(hawk_quantity_bytes(1536).text, "1.5 KiB");
	assert_string_equal(hawk_quantity_bytes(999 << 10).text, "999.0 KiB");
	assert_string_equal(hawk_quantity_bytes(1000 << 10).text, "1.0 MiB");
	assert_string_equal(hawk_quantity_bytes((1 << 20) - 1).text, "1.0 MiB");
	assert_string_equal(hawk_quantity_bytes(UINT64_C(5) << 30).text, "5.0 GiB");
	assert_string_equal(hawk_quantity_bytes(UINT64_MAX).text, "16.0 EiB");
}

TEST(more_bytes_are_more_in_words_too)
{
	assert_true(hawk_quantity_more_bytes(2, 1));
	assert_false(hawk_quantity_more_bytes(1, 1));
	assert_false(hawk_quantity_more_bytes(1, 2));
	assert_false(hawk_quantity_more_bytes(73728 + 24, 73728));
	assert_true(hawk_quantity_more_bytes(73728 + 240, 73728));
}

TEST(counts_have_separators)
{
	assert_string_equal(hawk_quantity_count(0).text, "0");
	assert_string_equal(hawk_quantity_count(999).text, "999");
	assert_string_equal(hawk_quantity_count(1000).text, "1,000");
	assert_string_equal(hawk_quantity_count(1234567).text, "1,234,567");
	assert_string_equal(hawk_quantity_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
}

TEST(a_share_is_never_rounded_to_nothing)
{
	assert_string_equal(hawk_quantity_share(1, 2).text, "50.0 %");
	assert_string_equal(hawk_quantity_share(1, 1000000).text, "<0.1 %");
	assert_string_equal(hawk_quantity_share(0, 10).text, "0.0 %");
	assert_string_equal(hawk_quantity_share(0, 0).text, "-");
}

TEST(times_have_two_units_at_most)
{
	assert_string_equal(hawk_quantity_seconds(0).text, "<0.1 s");
	assert_string_equal(hawk_quantity_seconds(0.06).text, "0.1 s");
	assert_string_equal(hawk_quantity_seconds(0.25).text, "0.2 s");
	assert_string_equal(hawk_quantity_seconds(59).text, "59 s");
	assert_string_equal(hawk_quantity_seconds(200).text, "3 min 20 s");
	assert_string_equal(hawk_quantity_seconds(7500).text, "2 h 5 min");
	assert_string_equal(hawk_quantity_seconds(360000).text, "4 d 4 h");
	assert_string_equal(hawk_quantity_seconds(-1).text, "-");
	assert_string_equal(hawk_quantity_seconds(NAN).text, "-");
	assert_string_equal(hawk_quantity_nanoseconds(640000).text, "640 us");
	assert_string_equal(hawk_quantity_nanoseconds(12500000).text, "12.5 ms");
	assert_string_equal(hawk_quantity_nanoseconds(1250000000).text, "1.25 s");
}

TEST(sizes_are_read_with_every_usual_unit)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {{"0", 0},
		    {"4096", 4096},
		    {"10k", 10240},
		    {"10K", 10240},
		    {"1M", 1 << 20},
		    {"1MB", 1 << 20},
		    {"2GiB", UINT64_C(2) << 30},
		    {"1.5 kib", 1536},
		    {"7b", 7},
		    {"18446744073709551615", UINT64_MAX}};
	static const char *const bad[] = {"",    "k",  "-1", "1x",    "1kk",  "0x10", "1e3", "inf",
					  "nan", "1.", ".5", "1 k b", "16EB", "1bi",  " 1"};
	uint64_t bytes;

	for (size_t i = 0; i < COUNT_OF(good); i++) {
		assert_true(hawk_quantity_parse_bytes(good[i].text, &bytes));
		assert_int_equal(bytes, good[i].bytes);
	}
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		if (hawk_quantity_parse_bytes(bad[i], &bytes))
			fail_msg("'%s' was read", bad[i]);
	assert_false(hawk_quantity_parse_bytes("18446744073709551616", &bytes));
	assert_false(hawk_quantity_parse_bytes("20000000t", &bytes));
}

TEST(ranges_may_be_open_at_either_end)
{
	static const struct {
		const char *text;
		struct hawk_range range;
	} good[] = {{"10k", {10240, UINT64_MAX}}, {"-64", {0, 64}}, {"1k-2k", {1024, 2048}}};
	static const char *const bad[] = {"2k-1k", "-", ""};
	struct hawk_seconds_range ages;
	struct hawk_range range;

	for (size_t i = 0; i < COUNT_OF(good); i++) {
		assert_true(hawk_quantity_parse_bytes_range(good[i].text, &range));
		assert_int_equal(range.low, good[i].range.low);
		assert_int_equal(range.high, good[i].range.high);
	}
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_false(hawk_quantity_parse_bytes_range(bad[i], &range));
	assert_true(hawk_quantity_parse_seconds_range("10m-2h", &ages));
	assert_true(ages.low == 600 && ages.high == 7200);
	assert_true(hawk_quantity_parse_seconds_range("1.5s-", &ages));
	assert_true(ages.low == 1.5 && isinf(ages.high));
	assert_false(hawk_quantity_parse_seconds_range("soon", &ages));
}

TEST(hex_is_read_with_and_without_prefix)
{
	uint64_t value;

	assert_true(hawk_quantity_parse_hex("0x7fFF", &value));
	assert_int_equal(value, 0x7fff);
	assert_true(hawk_quantity_parse_hex("ffffffffffffffff", &value));
	assert_int_equal(value, UINT64_MAX);
	assert_false(hawk_quantity_parse_hex("1ffffffffffffffff", &value));
	assert_false(hawk_quantity_parse_hex("0x", &value));
	assert_false(hawk_quantity_parse_hex("12g", &value));
	assert_false(hawk_quantity_parse_hex("", &value));
}

TEST(numbers_are_formatted_at_every_length)
{
	uint64_t value = 0;
	char text[32], expected[32];

	for (int i = 0; i < 65; i++, value = value * 2 + (uint64_t)(i % 3)) {
		*hawk_format_decimal(text, value) = '\0';
		snprintf(expected, sizeof(expected), "%llu", (unsigned long long)value);
		assert_string_equal(text, expected);
		*hawk_format_hex(text, value) = '\0';
		snprintf(expected, sizeof(expected), "%llx", (unsigned long long)value);
		assert_string_equal(text, expected);
	}
}
