/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds the first caller of an interpreter or object library.
 */
#include "hawk/names/stack.h"
#include "test.h"

enum { LINES_MAX = 6 };

/** Makes lines of functions and files, in turn, up to NULL. */
static size_t caller_in(const char *const *parts, size_t first)
{
	struct hawk_stack_line lines[LINES_MAX] = {0};
	struct hawk_stack stack = {.lines = lines};

	for (; *parts && stack.count < LINES_MAX; parts += 2)
		lines[stack.count++] = (struct hawk_stack_line){
			.name.function = parts[0],
			.module.path = parts[1],
			.has_module = true,
		};
	return hawk_stack_runtime_caller(&stack, first);
}

#define CALLER(first, ...) caller_in((const char *const[]){__VA_ARGS__, NULL}, first)

TEST(who_called_a_runtime_is_in_another_file)
{
	assert_int_equal(CALLER(0, "resize", "/usr/lib/libpython3.11.so.1.0", "PyList_Append",
				"/usr/lib/libpython3.11.so.1.0", "parse", "/opt/pym.so"),
			 2);
	assert_int_equal(CALLER(0, "resize", "/usr/bin/python3.7m", "parse", "/opt/pym.so"), 1);
	assert_int_equal(CALLER(1, "g_malloc", "/lib/libglib-2.0.so.0", "g_object_new",
				"/lib/libgobject-2.0.so.0.7400.6", "qsort", "/lib/libc.so.6",
				"make_window", "/opt/app"),
			 3);
}

TEST(a_program_that_is_no_runtime_has_no_such_caller)
{
	assert_int_equal(CALLER(0, "parse", "/opt/pym.so", "call", "/usr/bin/python3.11"), 2);
	assert_int_equal(CALLER(0, "run", "/opt/node_exporter", "main", "/opt/other"), 2);
	assert_int_equal(CALLER(0, "run", "/opt/perlish", "main", "/opt/other"), 2);
	assert_int_equal(CALLER(0, "grow", "/usr/bin/node", "start_thread", "/lib/libc.so.6"), 2);
}

TEST(who_called_a_library_without_source_lines_has_some)
{
	struct hawk_stack_line lines[] = {
		{.name.function = "prepare", .module.path = "/lib/libsqlite3.so.0"},
		{.name.function = "exported", .module.path = "/lib/libother.so.1"},
		{.name = {.function = "qsort", .file = "qsort.c"}, .module.path = "/lib/libc.so.6"},
		{.name = {.function = "count", .file = "app.c"}, .module.path = "/opt/app"},
	};
	struct hawk_stack stack = {.lines = lines, .count = 4};

	for (size_t i = 0; i < stack.count; i++)
		lines[i].has_module = true;
	assert_int_equal(hawk_stack_runtime_caller(&stack, 0), 3);
	assert_int_equal(hawk_stack_runtime_caller(&stack, 2), 3);
	lines[0].name.file = "prepare.c";
	assert_int_equal(hawk_stack_runtime_caller(&stack, 0), 4);
}

TEST(who_called_a_library_is_the_program_where_nothing_has_source_lines)
{
	assert_int_equal(CALLER(0, "xmlNewDoc", "/lib/libxml2.so.2", "read", "/opt/plugin.so",
				"main", "/opt/feeds"),
			 2);
}

TEST(a_script_calls_for_itself)
{
	assert_int_equal(CALLER(0, "resize", "/usr/bin/python3.11", "_PyEval_EvalFrameDefault",
				"/usr/bin/python3.11", "task_step", "/lib/_asyncio.so"),
			 3);
}
