/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What a digest of a report depends on.
 */
#include "hawk/redact/digest.h"
#include "test.h"

/** Of a report that comes `step` bytes at a time. */
static uint64_t digest_in_steps(const char *json, size_t step)
{
	struct hawk_report_digest *digest;
	size_t size = strlen(json);
	uint64_t value;

	check(hawk_report_digest_create(&digest));
	for (size_t at = 0; at < size; at += step)
		hawk_report_digest_add(digest, json + at, size - at < step ? size - at : step);
	value = hawk_report_digest_value(digest);
	hawk_report_digest_destroy(digest);
	return value;
}

static uint64_t digest_of(const char *json)
{
	return digest_in_steps(json, SIZE_MAX);
}

TEST(the_name_of_the_file_and_the_arguments_do_not_matter)
{
	assert_int_equal(
		digest_of("{\n\"source\":\"core\",\n\"arguments\":\"a \\\"b\\\\\",\n\"n\":1\n}"),
		digest_of("{\n\"source\":\"other\",\n\"arguments\":null,\n\"n\":1\n}"));
}

TEST(how_much_was_looked_at_does_not_matter)
{
	assert_int_equal(digest_of("{\"stack\":{\"scanned_bytes\":4096,\"missing_bytes\":0}}"),
			 digest_of("{\"stack\":{\"scanned_bytes\":0,\"missing_bytes\":0}}"));
}

TEST(every_other_value_matters)
{
	assert_int_not_equal(digest_of("{\"scanned_bytes\":1,\"missing_bytes\":0}"),
			     digest_of("{\"scanned_bytes\":1,\"missing_bytes\":8}"));
	assert_int_not_equal(digest_of("{\"source\":\"x\",\"name\":\"a\"}"),
			     digest_of("{\"source\":\"x\",\"name\":\"b\"}"));
}

TEST(a_text_that_is_called_like_a_key_is_a_text)
{
	assert_int_not_equal(digest_of("{\"a\":\"source\",\"b\":1}"),
			     digest_of("{\"a\":\"source\",\"b\":2}"));
	assert_int_not_equal(digest_of("{\"a\":\"\\\"source\\\":1\"}"),
			     digest_of("{\"a\":\"\\\"source\\\":2\"}"));
}

TEST(pieces_of_any_size_give_the_same)
{
	static const char json[] =
		"{\n\"source\":\"c\\\"ore\",\"heap\":{\"never_used_bytes\":17,\"x\":[1,2]},"
		"\"text\":\"a\\\\\"}\n";
	uint64_t whole = digest_of(json);

	for (size_t step = 1; step < 20; step++)
		assert_int_equal(digest_in_steps(json, step), whole);
}
