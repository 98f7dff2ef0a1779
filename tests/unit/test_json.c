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
#include "hawk_json.h"

/** A writer into memory. */
struct world {
	struct hawk_output *output;
	struct hawk_json json;
};

static struct world begin(unsigned lines)
{
	struct world world = {.output = malloc(sizeof(struct hawk_output))};

	assert_non_null(world.output);
	hawk_output_init(world.output, memfd_create("json", 0));
	hawk_json_init(&world.json, world.output, lines);
	return world;
}

/** What was written; ends the world. Caller frees. */
static char *end(struct world *world, size_t *size)
{
	off_t length;
	char *text;

	assert_int_equal(hawk_output_finish(world->output), 0);
	length = lseek(world->output->fd, 0, SEEK_END);
	text = calloc(1, (size_t)length + 1);
	assert_non_null(text);
	assert_int_equal(pread(world->output->fd, text, (size_t)length, 0), length);
	close(world->output->fd);
	free(world->output);
	if (size)
		*size = (size_t)length;
	return text;
}

static void check_string(const char *string, const char *expected)
{
	struct world world = begin(0);
	char *text;

	hawk_json_string(&world.json, string);
	text = end(&world, NULL);
	assert_string_equal(text, expected);
	free(text);
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
	struct world world = begin(2);
	char *text;

	hawk_json_object(&world.json);
	hawk_json_put_integer(&world.json, "a", 1);
	hawk_json_key(&world.json, "list");
	hawk_json_array(&world.json);
	hawk_json_object(&world.json);
	hawk_json_put_boolean(&world.json, "x", true);
	hawk_json_put_boolean(&world.json, "y", false);
	hawk_json_object_end(&world.json);
	hawk_json_array(&world.json);
	hawk_json_array_end(&world.json);
	hawk_json_array_end(&world.json);
	hawk_json_key(&world.json, "empty");
	hawk_json_object(&world.json);
	hawk_json_object_end(&world.json);
	hawk_json_object_end(&world.json);
	hawk_json_finish(&world.json);
	text = end(&world, NULL);
	assert_string_equal(text, "{\n\"a\":1,\n\"list\":[\n{\"x\":true,\"y\":false},\n[]\n],\n"
				  "\"empty\":{}\n}\n");
	free(text);
}

TEST(values_keep_their_full_range)
{
	static const uint8_t build_id[] = {0x00, 0xff, 0x1a};
	struct world world = begin(0);
	char *text;

	hawk_json_array(&world.json);
	hawk_json_integer(&world.json, UINT64_MAX);
	hawk_json_signed(&world.json, INT64_MIN);
	hawk_json_address(&world.json, UINT64_MAX);
	hawk_json_address(&world.json, 0);
	hawk_json_seconds(&world.json, 1.5);
	hawk_json_seconds(&world.json, NAN);
	hawk_json_seconds(&world.json, INFINITY);
	hawk_json_bytes(&world.json, build_id, sizeof(build_id));
	hawk_json_bytes(&world.json, build_id, 0);
	hawk_json_array_end(&world.json);
	text = end(&world, NULL);
	assert_string_equal(text,
			    "[18446744073709551615,-9223372036854775808,"
			    "\"0xffffffffffffffff\",\"0x0\",1.500,null,null,\"00ff1a\",null]");
	free(text);
}

TEST(output_larger_than_the_buffer_is_whole)
{
	size_t length = 3 * HAWK_OUTPUT_BUFFER_BYTES + 17;
	struct world world = begin(0);
	char *large = malloc(length + 1);
	size_t size;
	char *text;

	assert_non_null(large);
	memset(large, 'x', length);
	large[length] = '\0';
	hawk_output_puts(world.output, "<");
	hawk_output_puts(world.output, large);
	hawk_output_printf(world.output, "%s|", large);
	hawk_output_fill(world.output, '-', HAWK_OUTPUT_BUFFER_BYTES + 1);
	text = end(&world, &size);
	assert_int_equal(size, 1 + 2 * length + 1 + HAWK_OUTPUT_BUFFER_BYTES + 1);
	assert_int_equal(strspn(text + 1, "x"), 2 * length);
	free(text);
	free(large);
}

TEST(room_is_always_as_large_as_asked)
{
	struct world world = begin(0);
	size_t size;

	for (int i = 0; i < 100000; i++) {
		char *to = hawk_output_room(world.output, 100);

		assert_true(to + 100 <= world.output->buffer + sizeof(world.output->buffer));
		memset(to, 'r', 37);
		hawk_output_advance(world.output, to + 37);
	}
	free(end(&world, &size));
	assert_int_equal(size, 3700000);
}

TEST(the_first_write_error_is_kept_and_ends_the_output)
{
	struct hawk_output *output = malloc(sizeof(*output));
	int fd = open("/dev/full", O_WRONLY);

	assert_non_null(output);
	if (fd < 0) {
		free(output);
		skip();
	}
	hawk_output_init(output, fd);
	hawk_output_fill(output, 'x', 2 * HAWK_OUTPUT_BUFFER_BYTES);
	assert_int_equal(output->errnum, ENOSPC);
	close(fd);
	hawk_output_puts(output, "more");
	assert_int_equal(hawk_output_finish(output), ENOSPC);
	free(output);
}
