/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Output that is only written as long as what was found is right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "hawk_output.h"

enum { LINES = 100000, LINE_BYTES = 8 };

struct world {
	struct hawk_output output;
	FILE *file;
	unsigned asked;
	unsigned right; /**< so many questions are answered with yes */
};

static bool is_right(void *context)
{
	struct world *world = context;

	return world->asked++ < world->right;
}

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	if (!world)
		return -1;
	world->file = tmpfile();
	if (!world->file)
		return -1;
	hawk_output_init(&world->output, fileno(world->file));
	world->output.is_right = is_right;
	world->output.is_right_context = world;
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	fclose(world->file);
	free(world);
	return 0;
}

static void print_lines(struct world *world, unsigned first, unsigned end)
{
	for (unsigned i = first; i < end; i++)
		hawk_output_printf(&world->output, "%07u\n", i);
}

/** The first `bytes` of the lines, and no more. */
static void expect_bytes(struct world *world, size_t bytes)
{
	char line[LINE_BYTES + 1] = "";
	int fd = fileno(world->file);

	assert_int_equal(lseek(fd, 0, SEEK_END), (off_t)bytes);
	for (unsigned i = 0; (i + 1) * (size_t)LINE_BYTES <= bytes; i++) {
		assert_int_equal(pread(fd, line, LINE_BYTES, (off_t)i * LINE_BYTES), LINE_BYTES);
		assert_int_equal(strtoul(line, NULL, 10), i);
	}
}

static void what_is_right_is_written(void **state)
{
	struct world *world = *state;

	world->right = UINT32_MAX;
	print_lines(world, 0, LINES);
	assert_int_equal(hawk_output_finish(&world->output), 0);
	assert_true(world->asked > 1);
	expect_bytes(world, (size_t)LINES * LINE_BYTES);
}

static void what_is_not_right_is_not_written(void **state)
{
	struct world *world = *state;

	print_lines(world, 0, 100);
	assert_int_equal(world->asked, 0);
	assert_int_equal(hawk_output_finish(&world->output), ECANCELED);
	print_lines(world, 100, LINES);
	assert_int_equal(hawk_output_finish(&world->output), ECANCELED);
	assert_int_equal(world->asked, 1);
	expect_bytes(world, 0);
}

static void what_was_right_stays(void **state)
{
	struct world *world = *state;

	world->right = 2;
	print_lines(world, 0, LINES);
	assert_int_equal(hawk_output_finish(&world->output), ECANCELED);
	expect_bytes(world, 2 * (size_t)HAWK_OUTPUT_BUFFER_BYTES);
}

static void nothing_is_asked_for_nothing(void **state)
{
	struct world *world = *state;

	hawk_output_flush(&world->output);
	assert_int_equal(hawk_output_finish(&world->output), 0);
	assert_int_equal(world->asked, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_right_is_written),
		TEST(what_is_not_right_is_not_written),
		TEST(what_was_right_stays),
		TEST(nothing_is_asked_for_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
