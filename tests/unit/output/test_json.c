/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The JSON writer byte for byte, and the output below it.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test.h"
#include "hawk/output/json.h"

/** A writer into memory; each test begins and ends it once or several times. */
static struct hawk_output output;
static struct hawk_json json;

static void begin(unsigned lines)
{
	hawk_output_init(&output, memfd_create("json", 0));
	hawk_json_init(&json, &output, lines);
}

/** Returns the text written. Caller frees. */
static char *end(size_t *size)
{
	off_t length;
	char *text;

	check(hawk_output_finish(&output));
	length = lseek(output.fd, 0, SEEK_END);
	text = calloc(1, (size_t)length + 1);
	assert_non_null(text);
	assert_int_equal(pread(output.fd, text, (size_t)length, 0), length);
	close(output.fd);
	*size = (size_t)length;
	return text;
}

static void expect(const char *expected)
{
	size_t size;
	char *text = end(&size);

	assert_string_equal(text, expected);
	free(text);
}

static void check_string(const char *string, const char *expected)
{
	begin(0);
	hawk_json_string(&json, string);
	expect(expected);
}

TEST(strings_are_escaped)
{
	check_string("plain", "\"plain\"");
	check_string("", "\"\"");
	check_string(NULL, "null");
	check_string("a\"b\\c/d", "\"a\\\"b\\\\c/d\"");
	check_string("line\nfeed\ttab", "\"line\\nfeed\\ttab\"");
	check_string("\x01\x1b[31m\x7f", "\"\\u0001\\u001b[31m\\u007f\"");
}

TEST(invalid_utf8_becomes_the_replacement_character)
{
	check_string("\xc3\xa4\xf0\x9f\xa6\x85", "\"\xc3\xa4\xf0\x9f\xa6\x85\"");
	check_string("a\xff"
		     "b",
		     "\"a\xef\xbf\xbd"
		     "b\"");
	check_string("\xc3", "\"\xef\xbf\xbd\"");
	check_string("\xe2\x82(", "\"\xef\xbf\xbd\xef\xbf\xbd(\"");
	check_string("\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

TEST(elements_are_separated_and_broken_into_lines_by_depth)
{
	begin(2);
	hawk_json_object(&json);
	hawk_json_put_integer(&json, "a", 1);
	hawk_json_key(&json, "list");
	hawk_json_array(&json);
	hawk_json_object(&json);
	hawk_json_put_boolean(&json, "x", true);
	hawk_json_put_boolean(&json, "y", false);
	hawk_json_object_end(&json);
	hawk_json_array(&json);
	hawk_json_array_end(&json);
	hawk_json_array_end(&json);
	hawk_json_key(&json, "empty");
	hawk_json_object(&json);
	hawk_json_object_end(&json);
	hawk_json_object_end(&json);
	hawk_json_finish(&json);
	expect("{\n\"a\":1,\n\"list\":[\n{\"x\":true,\"y\":false},\n[]\n],\n"
	       "\"empty\":{}\n}\n");
}

TEST(values_keep_their_full_range)
{
	static const uint8_t build_id[] = {0x00, 0xff, 0x1a};
	begin(0);
	hawk_json_array(&json);
	hawk_json_integer(&json, UINT64_MAX);
	hawk_json_signed(&json, INT64_MIN);
	hawk_json_address(&json, UINT64_MAX);
	hawk_json_address(&json, 0);
	hawk_json_seconds(&json, 1.5);
	hawk_json_seconds(&json, NAN);
	hawk_json_seconds(&json, INFINITY);
	hawk_json_bytes(&json, build_id, sizeof(build_id));
	hawk_json_bytes(&json, build_id, 0);
	hawk_json_array_end(&json);
	expect("[18446744073709551615,-9223372036854775808,"
	       "\"0xffffffffffffffff\",\"0x0\",1.500,null,null,\"00ff1a\",null]");
}

TEST(output_larger_than_the_buffer_is_whole)
{
	size_t length = 3 * HAWK_OUTPUT_BUFFER_BYTES + 17;
	begin(0);
	char *large = malloc(length + 1);
	size_t size;
	char *text;

	assert_non_null(large);
	memset(large, 'x', length);
	large[length] = '\0';
	hawk_output_puts(&output, "<");
	hawk_output_puts(&output, large);
	hawk_output_printf(&output, "%s|", large);
	hawk_output_fill(&output, '-', HAWK_OUTPUT_BUFFER_BYTES + 1);
	text = end(&size);
	assert_int_equal(size, 1 + 2 * length + 1 + HAWK_OUTPUT_BUFFER_BYTES + 1);
	assert_int_equal(strspn(text + 1, "x"), 2 * length);
	free(text);
	free(large);
}

TEST(room_is_always_as_large_as_asked)
{
	begin(0);
	size_t size;

	for (int i = 0; i < 100000; i++) {
		char *to = hawk_output_room(&output, 100);

		assert_true(to + 100 <= output.buffer + sizeof(output.buffer));
		memset(to, 'r', 37);
		hawk_output_advance(&output, to + 37);
	}
	free(end(&size));
	assert_int_equal(size, 3700000);
}

TEST(the_first_write_error_is_kept_and_ends_the_output)
{
	int fd = open("/dev/full", O_WRONLY);

	if (fd < 0)
		skip();
	hawk_output_init(&output, fd);
	hawk_output_fill(&output, 'x', 2 * HAWK_OUTPUT_BUFFER_BYTES);
	assert_int_equal(output.errnum, ENOSPC);
	close(fd);
	hawk_output_puts(&output, "more");
	check_fails(hawk_output_finish(&output), HAWK_ERROR_OS, strerror(ENOSPC));
}
