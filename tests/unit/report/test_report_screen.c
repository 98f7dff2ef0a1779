/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Stack lines in columns, findings, and words for signals.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test.h"
#include "hawk/report/report.h"
#include "hawk/names/signal.h"
#include "hawk/base/utf8.h"

static struct hawk_output output;
static struct hawk_screen screen;
static char text[65536]; /* what was printed */

static void begin(unsigned width, bool full)
{
	hawk_output_init(&output, memfd_create("screen", 0));
	screen = (struct hawk_screen){.output = &output, .width = width, .full = full};
}

/** Returns the text printed since begin(). */
static const char *printed(void)
{
	ssize_t size;

	check(hawk_output_finish(&output));
	size = pread(output.fd, text, sizeof(text) - 1, 0);
	assert_true(size >= 0);
	text[size] = '\0';
	return text;
}

static void end(void)
{
	close(output.fd);
}

static struct hawk_stack_line line_of(const char *function, const char *file, const char *module)
{
	return (struct hawk_stack_line){
		.name = {.function = function, .file = file, .line = file ? 42 : 0},
		.pc = 0x401234,
		.module = {.path = module, .bias = 0x400000},
		.has_module = module,
	};
}

TEST(stack_lines_fit_the_width_whatever_the_names)
{
	const char *names[] = {
		"f", "a::very::long::name<with, many<template<arguments>>>::in(it) const",
		"\033[31mred\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", NULL};
	const char *files[] = {"a.c", "/usr/include/some/directory/a_file_with_a_long_name.hpp",
			       NULL};
	const char *modules[] = {"/bin/ls", "/opt/lib/libwith_a_very_long_name_indeed.so.1.2.3", "",
				 NULL};

	for (size_t i = 0; i < 4 * 3 * 4; i++) {
		for (unsigned width = 60; width < 130; width += 10) {
			begin(width, false);
			struct hawk_stack_line line =
				line_of(names[i % 4], files[i / 4 % 3], modules[i / 12]);
			char *newline;

			hawk_screen_stack_line(&screen, &line, 6);
			newline = strchr(printed(), '\n');
			assert_non_null(newline);
			*newline = '\0';
			assert_true(hawk_utf8_width(text) <= width);
			assert_null(strchr(text, '\033'));
			end();
		}
	}
}

static void expect_line(const struct hawk_stack_line *line, const char *expected)
{
	begin(80, false);

	hawk_screen_stack_line(&screen, line, 6);
	assert_string_equal(printed(), expected);
	end();
}

TEST(nothing_is_cut_where_there_is_room_beside_it)
{
	struct hawk_stack_line lines[] = {
		line_of("make", "cells.c", "/bin/app"),
		line_of("make", "a_rather_long_file_name.c", "/bin/app"),
		line_of("make", NULL, "/lib/libwith_a_long_name.so.1.2"),
		line_of("make", "a_rather_long_file_name.c", "/lib/libwith_a_long_name.so.1.2"),
		line_of("a_function_with_a_name_of_more_than_forty_letters", NULL, "/bin/app"),
		line_of(NULL, NULL, "/usr/lib/libx.so"),
	};

	expect_line(&lines[0], "      make                                    cells.c:42          "
			       "app\n");
	expect_line(&lines[1], "      make                          a_rather_long_file_name.c:42  "
			       "app\n");
	expect_line(&lines[2], "      make                                            "
			       "libwith_a_long_name.so.1.2\n");
	expect_line(&lines[3], "      make              "
			       "a_rather_long_file_name.c:42  libwith_a_long_name.so.1.2\n");
	expect_line(&lines[4], "      a_function_with_a_name_of_more_than_forty_letters           "
			       "app\n");
	expect_line(&lines[5], "      +0x1234                                                     "
			       "libx.so\n");
}

TEST(a_full_line_is_exact)
{
	begin(80, true);
	struct hawk_stack_line line = line_of("f<a, b>(int)", "/src/dir/file.c", "/usr/bin/prog");

	line.name.inlined = true;
	hawk_screen_stack_line(&screen, &line, 0);
	assert_string_equal(printed(), "0x0000000000401234  f<a, b>(int) [inlined]  "
				       "/src/dir/file.c:42  /usr/bin/prog\n");
	end();
}

TEST(a_stack_shows_depth_lines_and_says_why_it_ends)
{
	struct hawk_stack_line lines[] = {
		line_of("operator new(unsigned long)", NULL, "/p"),
		line_of("std::allocator<int>::allocate(unsigned long)", NULL, "/p"),
		line_of("mine", NULL, "/p"),
		line_of("main", NULL, "/p"),
	};
	struct hawk_stack stack = {.lines = lines, .count = 4, .trace_flags = HAWK_TRACE_TRUNCATED};
	begin(80, false);

	assert_int_equal(hawk_stack_telling_line(&stack), 2);
	hawk_screen_stack(&screen, &stack, 2, 1, 0);
	assert_non_null(strstr(printed(), "mine"));
	assert_null(strstr(text, "main"));
	assert_null(strstr(text, "depth limit"));
	hawk_screen_stack(&screen, &stack, 2, 0, 0);
	assert_non_null(strstr(printed(), "main"));
	assert_non_null(strstr(text, "depth limit"));
	end();
}

static void check_telling(struct hawk_stack_line *lines, size_t count, size_t expected)
{
	struct hawk_stack stack = {.lines = lines, .count = count};

	assert_int_equal(hawk_stack_telling_line(&stack), expected);
}

TEST(a_stack_begins_behind_wrappers_and_headers_of_libraries)
{
	struct hawk_stack_line wrapped[] = {
		line_of("zmalloc", NULL, "/redis"),
		line_of("_sdsnewlen", NULL, "/redis"),
		line_of("dbAdd", NULL, "/redis"),
	};
	struct hawk_stack_line inlined[] = {
		line_of("grow<int>", "/usr/include/c++/12/bits/stl_vector.h", "/p"),
		line_of("add<int>", "/usr/include/boost/container.hpp", "/p"),
		line_of("mine", "/usr/src/mine.cpp", "/p"),
	};
	/* Without names: what a wrapper of the same module calls is a part of it. */
	struct hawk_stack_line nameless[] = {
		line_of(NULL, NULL, "/p"),
		line_of("xmalloc", NULL, "/p"),
		line_of(NULL, NULL, "/p"),
		line_of("mine", NULL, "/p"),
	};
	struct hawk_stack_line thread[] = {
		line_of(NULL, NULL, "/p"),
		line_of("std::thread::_M_run()", NULL, "/libstdc++.so"),
		line_of("start_thread", NULL, "/libc.so"),
	};
	struct hawk_stack_line library[] = {
		line_of(NULL, NULL, "/lib/libc.so.6"),
		line_of("getline", NULL, "/lib/libc.so.6"),
		line_of("mine", NULL, "/p"),
	};
	struct hawk_stack_line plumbing[] = {line_of("operator new(unsigned long)", NULL, "/p")};

	check_telling(plumbing, 0, 0);
	check_telling(plumbing, 1, 0);
	check_telling(wrapped, 3, 2);
	check_telling(inlined, 3, 2);
	check_telling(nameless, 4, 2);
	check_telling(library, 3, 1);
	thread[1].module.start = 0x1000;
	check_telling(thread, 3, 0);
}

TEST(a_cut_says_what_is_left_out)
{
	struct hawk_stack_line lines[] = {
		line_of("xmalloc", NULL, "/p"), line_of("a", NULL, "/p"), line_of("b", NULL, "/p"),
		line_of("c", NULL, "/p"),       line_of("d", NULL, "/p"), line_of("e", "e.c", "/p"),
	};
	struct hawk_stack stack = {.lines = lines, .count = 6};
	struct hawk_stack_mark marks[] = {{1, true}, {5, true}};
	struct hawk_stack_cut cut = {.first = 1, .end = 3, .marks = marks, .mark_count = 2};
	begin(80, false);

	hawk_screen_stack_cut(&screen, &stack, &cut, 0);
	assert_string_equal(printed(),
			    "a (+1 wrapper)                             +0x1234               p\n"
			    "b                                                                p\n"
			    "... 2 frames ...\n"
			    "e                                          e.c:42 +0x1234        p\n");
	end();
}

TEST(lines_look_the_same_if_they_read_the_same)
{
	struct hawk_stack_line a = line_of("f<a>(int)", NULL, "/bin/p"), b = a, c = a, d = a;
	begin(80, false);

	b.pc++;
	b.module.path = "/usr/bin/p";
	c.name.function = "g";
	d.name.file = "d.c";
	assert_true(hawk_screen_line_look(&screen, &a, 6) == hawk_screen_line_look(&screen, &b, 6));
	assert_true(hawk_screen_line_look(&screen, &a, 6) != hawk_screen_line_look(&screen, &c, 6));
	assert_true(hawk_screen_line_look(&screen, &a, 6) != hawk_screen_line_look(&screen, &d, 6));
	end();
}

TEST(what_makes_the_answer_incomplete_is_said_first)
{
	begin(80, false);
	struct hawk_findings findings;

	hawk_findings_init(&findings);
	for (int i = 0; i < 6; i++)
		hawk_findings_add(&findings, HAWK_FINDING_MISSING, false, "module-not-found*",
				  "file %d", i);
	hawk_findings_add(&findings, HAWK_FINDING_DAMAGE, true, "core-truncated", "cut \033[31m");
	hawk_findings_add(&findings, HAWK_FINDING_DAMAGE, true, "core-truncated", "again");
	hawk_report_findings(&findings, true, &screen);
	assert_non_null(strstr(printed(), "the answer is incomplete"));
	assert_true(strstr(text, "cut \\x1b[31m (2 times)") < strstr(text, "file 0"));
	assert_non_null(strstr(text, "... and 3 more"));
	hawk_findings_deinit(&findings);
	end();
}

TEST(long_findings_are_wrapped_between_words)
{
	begin(60, false);

	hawk_screen_wrapped(&screen,
			    "one two three four five six seven eight nine ten eleven twelve "
			    "thirteen fourteen "
			    "averylongwordthatdoesnotfitintoanylineofthisscreenwhateverwetryanyway",
			    0, 4);
	for (char *line = strtok((char *)printed(), "\n"); line; line = strtok(NULL, "\n"))
		assert_true(strlen(line) <= 60 || !strchr(line + 4, ' '));
	end();
}

TEST(signals_have_names_and_reasons)
{
	assert_string_equal(hawk_signal_name(SIGSEGV), "SIGSEGV");
	assert_string_equal(hawk_signal_name(34), "SIGRTMIN+0");
	assert_string_equal(hawk_signal_name(64), "SIGRTMIN+30");
	assert_null(hawk_signal_name(0));
	assert_null(hawk_signal_name(-5));
	assert_null(hawk_signal_name(65));
	assert_null(hawk_signal_name(1000000));
	assert_string_equal(hawk_signal_reason(SIGSEGV, SEGV_MAPERR), "address not mapped");
	assert_null(hawk_signal_reason(SIGSEGV, 12345));
	assert_null(hawk_signal_description(77));
}
