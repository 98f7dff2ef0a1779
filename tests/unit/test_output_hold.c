/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Output that is held back: all of it comes in order, or nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <unistd.h>

#include "hawk_nameless.h"
#include "hawk_output.h"

enum { LINES = 100000, LINE_BYTES = 8 };

struct world {
	struct hawk_output output;
	int fd;
};

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	if (!world)
		return -1;
	world->fd = hawk_nameless_open(hawk_nameless_folder());
	hawk_output_init(&world->output, world->fd);
	*state = world;
	return world->fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	close(world->fd);
	free(world);
	return 0;
}

static void print_lines(struct world *world, unsigned first, unsigned end)
{
	for (unsigned i = first; i < end; i++)
		hawk_output_printf(&world->output, "%07u\n", i);
}

static void expect_lines(struct world *world, unsigned count)
{
	char line[LINE_BYTES + 1] = "";

	assert_int_equal(lseek(world->fd, 0, SEEK_END), (off_t)count * LINE_BYTES);
	for (unsigned i = 0; i < count; i += i < count - 1 && i + 997 >= count ? 1 : 997) {
		assert_int_equal(pread(world->fd, line, LINE_BYTES, (off_t)i * LINE_BYTES),
				 LINE_BYTES);
		assert_int_equal(strtoul(line, NULL, 10), i);
	}
}

static void what_is_held_back_comes_in_order(void **state)
{
	const unsigned counts[] = {1, 100, HAWK_OUTPUT_BUFFER_BYTES / LINE_BYTES, LINES};
	struct world *world = *state;

	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		unsigned count = counts[i];

		assert_int_equal(ftruncate(world->fd, 0), 0);
		assert_int_equal(lseek(world->fd, 0, SEEK_SET), 0);
		hawk_output_hold(&world->output);
		print_lines(world, 0, count);
		hawk_output_flush(&world->output);
		assert_int_equal(lseek(world->fd, 0, SEEK_END), 0);
		print_lines(world, count, count + 5);
		hawk_output_let(&world->output);
		hawk_output_let(&world->output);
		print_lines(world, count + 5, count + 10);
		assert_int_equal(hawk_output_finish(&world->output), 0);
		expect_lines(world, count + 10);
	}
}

static void what_is_dropped_never_comes(void **state)
{
	struct world *world = *state;

	for (unsigned count = 1; count <= LINES; count += LINES - 1) {
		hawk_output_hold(&world->output);
		print_lines(world, 0, count);
		hawk_output_drop(&world->output);
		assert_int_equal(hawk_output_finish(&world->output), 0);
		expect_lines(world, 0);
	}
	print_lines(world, 0, 3);
	hawk_output_drop(&world->output);
	assert_int_equal(hawk_output_finish(&world->output), 0);
	expect_lines(world, 3);
}

static void without_a_file_to_hold_it_that_is_said(void **state)
{
	struct world *world = *state;

	assert_int_equal(setenv("TMPDIR", "/nonexistent", 1), 0);
	hawk_output_hold(&world->output);
	print_lines(world, 0, 10);
	assert_int_equal(world->output.errnum, 0);
	print_lines(world, 10, LINES);
	hawk_output_let(&world->output);
	assert_int_not_equal(hawk_output_finish(&world->output), 0);
	assert_int_equal(unsetenv("TMPDIR"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_held_back_comes_in_order),
		TEST(what_is_dropped_never_comes),
		TEST(without_a_file_to_hold_it_that_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
