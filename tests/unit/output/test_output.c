/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Output that is written only while the results are valid.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "test.h"
#include "hawk/output/output.h"

enum { LINES = 100000, LINE_BYTES = 8 };

struct world {
	struct hawk_output output;
	FILE *file;
	unsigned asked;
	unsigned right; /**< number of questions answered with yes */
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

static void expect_cancelled(struct world *world)
{
	check_fails(hawk_output_finish(&world->output), HAWK_ERROR_OS, "standard output");
	assert_int_equal(world->output.errnum, ECANCELED);
}

#define OUTPUT_TEST(name) TEST_WITH(struct world *world, set_up, tear_down, name)

OUTPUT_TEST(what_is_right_is_written)
{
	world->right = UINT32_MAX;
	print_lines(world, 0, LINES);
	check(hawk_output_finish(&world->output));
	assert_true(world->asked > 1);
	expect_bytes(world, (size_t)LINES * LINE_BYTES);
}

OUTPUT_TEST(what_is_not_right_is_not_written)
{
	hawk_output_flush(&world->output); /* asks nothing: there is nothing */
	print_lines(world, 0, 100);
	assert_int_equal(world->asked, 0);
	expect_cancelled(world);
	print_lines(world, 100, LINES);
	expect_cancelled(world);
	assert_int_equal(world->asked, 1);
	expect_bytes(world, 0);
}

OUTPUT_TEST(what_was_right_stays)
{
	world->right = 2;
	print_lines(world, 0, LINES);
	expect_cancelled(world);
	expect_bytes(world, 2 * (size_t)HAWK_OUTPUT_BUFFER_BYTES);
}
