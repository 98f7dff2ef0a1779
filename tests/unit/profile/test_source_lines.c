/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Values of a profile by source line.
 */
#include "test.h"
#include "hawk/profile/source_lines.h"

enum { BYTES, COLUMNS };

static const struct hawk_profile_column columns[COLUMNS] = {{"inuse_space", "bytes"}};

static struct hawk_profile *profile;
static struct hawk_source_lines lines;

static int start(void **state)
{
	(void)state;
	check(hawk_profile_create(columns, COLUMNS, &profile));
	return 0;
}

static int end(void **state)
{
	(void)state;
	hawk_source_lines_deinit(&lines);
	hawk_profile_destroy(profile);
	return 0;
}

#define LINES_TEST(name) TEST_WITH(void *nothing, start, end, name)

/** The step for `function` at `file`:`line`, called from `parent`. */
static uint32_t call(uint32_t parent, const char *function, const char *file, uint32_t line)
{
	const struct hawk_profile_frame frame = {
		.kind = HAWK_PROFILE_FUNCTION,
		.function = hawk_profile_string(profile, function),
		.file = hawk_profile_string(profile, file),
		.line = line,
	};

	return hawk_profile_frame_step(profile, parent, &frame);
}

static void allocate(uint32_t step, int64_t bytes)
{
	hawk_profile_add(profile, step, NULL, &bytes);
}

static void make(const char *functions)
{
	regex_t expression;

	check(hawk_profile_finish(profile));
	if (functions)
		assert_int_equal(regcomp(&expression, functions, REG_EXTENDED | REG_NOSUB), 0);
	check(hawk_source_lines_make(profile, functions ? &expression : NULL, &lines));
	if (functions)
		regfree(&expression);
}

static const struct hawk_source_line *line_of(size_t unit, size_t number)
{
	assert_true(unit < lines.unit_count);
	assert_true(number < lines.units[unit].count);
	return &lines.lines[lines.units[unit].first + number];
}

static void expect_line(size_t unit, size_t number, uint32_t line, int64_t flat, int64_t cum)
{
	const struct hawk_source_line *found = line_of(unit, number);

	assert_int_equal(found->number, line);
	assert_int_equal(found->values.flat[BYTES], flat);
	assert_int_equal(found->values.cum[BYTES], cum);
}

LINES_TEST(a_line_is_flat_where_a_stack_begins_and_cum_further_out)
{
	uint32_t main_5 = call(0, "main", "a.c", 5);

	allocate(call(main_5, "leaf", "a.c", 9), 100);
	allocate(main_5, 10);
	allocate(call(0, "main", "a.c", 6), 1);
	make("main");
	assert_int_equal(lines.unit_count, 1);
	assert_int_equal(lines.units[0].count, 2);
	expect_line(0, 0, 5, 10, 110);
	expect_line(0, 1, 6, 1, 1);
	assert_int_equal(lines.units[0].values.flat[BYTES], 11);
	assert_int_equal(lines.units[0].values.cum[BYTES], 111);
}

LINES_TEST(recursion_counts_once_for_a_line_and_for_its_function)
{
	uint32_t walk = call(call(call(0, "walk", "a.c", 3), "walk", "a.c", 3), "walk", "a.c", 4);

	allocate(walk, 7);
	make("^walk$");
	expect_line(0, 0, 3, 0, 7);
	expect_line(0, 1, 4, 7, 7);
	assert_int_equal(lines.units[0].values.cum[BYTES], 7);
}

LINES_TEST(functions_come_with_the_largest_first_and_those_that_do_not_match_are_left_out)
{
	allocate(call(0, "small", "a.c", 1), 1);
	allocate(call(0, "large", "a.c", 2), 5);
	allocate(call(0, "other", "a.c", 3), 50);
	make("small|large");
	assert_int_equal(lines.unit_count, 2);
	assert_string_equal(hawk_profile_text(profile, lines.units[0].function), "large");
	assert_string_equal(hawk_profile_text(profile, lines.units[1].function), "small");
}

LINES_TEST(without_an_expression_functions_of_a_file_are_one)
{
	allocate(call(0, "one", "a.c", 8), 1);
	allocate(call(0, "two", "a.c", 2), 2);
	allocate(call(0, "two", "b.h", 4), 9);
	make(NULL);
	assert_int_equal(lines.unit_count, 2);
	assert_string_equal(hawk_profile_text(profile, lines.units[0].file), "b.h");
	assert_int_equal(lines.units[1].count, 2);
	expect_line(1, 0, 2, 2, 2);
	expect_line(1, 1, 8, 1, 1);
}

LINES_TEST(scopes_and_notes_are_no_functions)
{
	uint32_t work = call(0, "work", "a.c", 1);

	allocate(hawk_profile_note(profile, work, HAWK_PROFILE_SCOPE, "work"), 3);
	allocate(hawk_profile_note(profile, 0, HAWK_PROFILE_NOTE, "work"), 4);
	make("work");
	assert_int_equal(lines.unit_count, 1);
	expect_line(0, 0, 1, 3, 3);
}
