/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Sites asked for by their ids, and by the first digits of these.
 */
#include "test.h"
#include "hawk/names/site_prefix.h"

/** As they lie in a heap: in no order of ids. */
static struct hawk_site sites[] = {
	{.id = UINT64_C(0xd2f66880319e5e5a)}, {.id = UINT64_C(0x00a9f598eb722e56)},
	{.id = UINT64_C(0xd2f66881319e5e5a)}, {.id = HAWK_SITE_LOST},
	{.id = UINT64_C(0x64333625e3fa1608)}, {.id = UINT64_C(0xffffffffffffffff)},
};

enum { SITES = COUNT_OF(sites) };

static const struct hawk_heap heap = {.sites = sites, .site_count = SITES};

static void expect_found(const char *text, uint32_t want)
{
	struct hawk_site_prefix prefix;
	uint32_t found = SITES;

	assert_true(hawk_site_prefix_parse(text, &prefix));
	assert_null(hawk_site_prefix_find(&heap, &prefix, &found));
	assert_int_equal(found, want);
}

static void expect_complaint(const char *text, const char *want)
{
	struct hawk_site_prefix prefix;
	struct hawk_error *err;
	uint32_t found;

	assert_true(hawk_site_prefix_parse(text, &prefix));
	err = hawk_site_prefix_find(&heap, &prefix, &found);
	assert_non_null(err);
	assert_int_equal(hawk_error_code(err), HAWK_ERROR_USAGE);
	assert_string_equal(hawk_error_message(err), want);
	hawk_error_destroy(err);
}

TEST(an_id_is_found_whole_and_by_its_first_digits)
{
	expect_found("64333625e3fa1608", 4);
	expect_found("0x64333625E3FA1608", 4);
	expect_found("643336", 4);
	expect_found("6", 4);
	expect_found("00a9f5", 1); // zeros in front are digits
	expect_found("d2f66881", 2);
	expect_found("ffffffffffffffff", 5);
}

TEST(a_number_that_is_an_id_is_that)
{
	expect_found("1", 3);
	expect_found("0000000000000001", 3);
	expect_complaint("00", "there are several sites 00...");
}

TEST(what_no_site_or_several_have_is_an_error)
{
	struct hawk_site_prefix prefix;

	expect_complaint("64333626", "there is no site 64333626");
	expect_complaint("0d2f6", "there is no site 0d2f6");
	expect_complaint("64333625e3fa1609", "there is no site 64333625e3fa1609");
	expect_complaint("d2f6688", "there are several sites d2f6688...");
	assert_false(hawk_site_prefix_parse("", &prefix));
	assert_false(hawk_site_prefix_parse("0x", &prefix));
	assert_false(hawk_site_prefix_parse("12345g", &prefix));
	assert_false(hawk_site_prefix_parse("0123456789abcdef0", &prefix));
}

/* Six at least. */
TEST(as_many_digits_are_written_as_tell_an_id_from_the_others)
{
	static const uint64_t ids[] = {
		HAWK_SITE_LOST,
		UINT64_C(0x00a9f598eb722e56),
		UINT64_C(0x64333625e3fa1608),
		UINT64_C(0xd2f66880319e5e5a),
		UINT64_C(0xd2f66881319e5e5a),
		UINT64_C(0xfffffffffffffffe),
		UINT64_C(0xffffffffffffffff),
	};
	static const unsigned digits[] = {6, 6, 6, 8, 8, 16, 16};

	for (size_t i = 0; i < COUNT_OF(ids); i++)
		assert_int_equal(hawk_site_prefix_digits(ids, COUNT_OF(ids), ids[i]), digits[i]);
	assert_int_equal(hawk_site_prefix_digits(ids, 1, ids[0]), 6);
}
