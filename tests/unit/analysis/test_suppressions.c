/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Suppression files in both notations: their matches, and complaints with their lines.
 */
#include <stdio.h>

#include "test.h"
#include "hawk/analysis/suppressions.h"

static const char *const by_malloc[] = {"malloc", NULL};

static const struct hawk_suppression_frame frames[] = {
	{.function = "make_node(int)",
	 .symbol = "_Z9make_nodei",
	 .file = "/src/tree/node.cc",
	 .line = 12,
	 .module = "/usr/bin/app"},
	{.function = "tree::insert(int)",
	 .symbol = "_ZN4tree6insertEi",
	 .file = "/src/tree/insert.cc",
	 .line = 40,
	 .module = "/usr/bin/app"},
	{.module = "/usr/lib/libplugin.so.2"},
	{.function = "main",
	 .symbol = "main",
	 .file = "/src/main.cc",
	 .line = 7,
	 .module = "/usr/bin/app"},
};
enum { FRAMES = COUNT_OF(frames) };

static const struct hawk_suppression_stack stack = {frames, FRAMES, by_malloc};

static bool matches(const char *text, enum hawk_reach_kind kind,
		    const struct hawk_suppression_stack *of)
{
	struct hawk_suppressions *suppressions;
	bool found;

	check(hawk_suppressions_create(&suppressions));
	check(hawk_suppressions_parse(suppressions, "file", text, strlen(text)));
	found = hawk_suppressions_match(suppressions, kind, of);
	hawk_suppressions_destroy(suppressions);
	return found;
}

/* Returns true if `text` suppresses blocks of `kind` with the stack above. */
static bool suppresses_kind(const char *text, enum hawk_reach_kind kind)
{
	return matches(text, kind, &stack);
}

static bool suppresses(const char *text)
{
	return suppresses_kind(text, HAWK_REACH_DEFINITELY_LOST);
}

TEST(leak_lines_match_any_part_of_any_name)
{
	assert_true(suppresses("leak:make_node\n"));
	assert_true(suppresses("leak:insert"));
	assert_true(suppresses("# known\n\n  leak:libplugin \r\n"));
	assert_true(suppresses("leak:tree/node.cc"));
	assert_true(suppresses("leak:no_such\nleak:main"));
	assert_false(suppresses("leak:no_such"));
	assert_false(suppresses("leak:_ZN4tree"));
	assert_false(suppresses(""));
}

TEST(leak_lines_know_stars_and_anchors)
{
	assert_true(suppresses("leak:make*int"));
	assert_true(suppresses("leak:^make_node"));
	assert_true(suppresses("leak:^tree::*)$"));
	assert_true(suppresses("leak:^main$"));
	assert_true(suppresses("leak:.so.2$"));
	assert_true(suppresses("leak:*"));
	assert_false(suppresses("leak:^node"));
	assert_false(suppresses("leak:^mai$"));
	assert_false(suppresses("leak:make?node"));
	assert_false(suppresses("leak:node*make_"));
	assert_false(suppresses("leak:libplugin$"));
}

TEST(entries_match_from_the_allocation_on)
{
	assert_true(suppresses("{\nname\nMemcheck:Leak\nfun:malloc\nfun:_Z9make_nodei\n}\n"));
	assert_true(suppresses("{\nname\nMemcheck:Leak\nfun:_Z9make_nodei\n}\n"));
	assert_true(suppresses("{\n a\n Memcheck:Leak\n fun:*alloc\n obj:*/app\n fun:*insert*\n}"));
	assert_true(
		suppresses("{\na\nMemcheck:Leak\nobj:*vgpreload_memcheck*\nsrc:*node.cc:12\n}"));
	assert_true(suppresses("{\na\nMemcheck:Leak\n...\nobj:*libplugin.so.?\nfun:main\n}"));
	assert_true(suppresses("{\na\nMemcheck:Leak\nfun:malloc\n...\nfun:main\n...\n}"));
	assert_true(suppresses("{\na\nMemcheck:Leak\n...\nfun:???\n}"));
	assert_true(suppresses("{\na\nHelgrind,Memcheck:Leak\n...\n}"));
	assert_false(suppresses("{\na\nMemcheck:Leak\nfun:calloc\nfun:_Z9make_nodei\n}\n"));
	assert_false(suppresses("{\na\nMemcheck:Leak\nfun:malloc\nfun:main\n}\n"));
	assert_false(suppresses("{\na\nMemcheck:Leak\n...\nfun:main\nfun:*\n}\n"));
	assert_false(suppresses("{\na\nMemcheck:Leak\nfun:malloc\nsrc:*node.cc:13\n}"));
	assert_false(suppresses("{\na\nMemcheck:Cond\nfun:*\n}\n{\nb\nHelgrind:Leak\n...\n}\n"));
}

TEST(a_function_has_all_its_names)
{
	static const char *const aliases[] = {"strdup", "pthread_create@@GLIBC_2.34", NULL};
	static const struct hawk_suppression_frame named = {
		.function = "std::vector<int>::grow(int)",
		.symbol = "_ZNSt6vectorIiE4growEi",
		.plain = "grow",
		.aliases = aliases,
		.module = "/lib/libx.so.2",
		.mapped = "/usr/lib/libx.so.2.1",
	};
	static const char *const patterns[] = {"fun:grow", "fun:strdup",
					       "fun:pthread_create@@GLIBC_2.*",
					       "obj:/usr/lib/libx.so.2.1", "obj:/lib/libx.so.2"};
	static const struct hawk_suppression_stack one = {&named, 1, by_malloc};

	assert_false(matches("", HAWK_REACH_POSSIBLY, &one));
	for (size_t i = 0; i < COUNT_OF(patterns); i++) {
		char text[100];

		snprintf(text, sizeof(text), "{\na\nMemcheck:Leak\n%s\n}\n", patterns[i]);
		assert_true(matches(text, HAWK_REACH_POSSIBLY, &one));
	}
}

TEST(allocation_functions_may_call_each_other)
{
	assert_true(suppresses("{\na\nMemcheck:Leak\nfun:malloc\nfun:malloc\nfun:_Z9*\n}"));
	assert_false(suppresses("{\na\nMemcheck:Leak\nfun:malloc\nfun:calloc\nfun:_Z9*\n}"));
	assert_false(
		suppresses("{\na\nMemcheck:Leak\nfun:malloc\nfun:malloc\nfun:malloc\nfun:_Z9*\n}"));
}

TEST(what_memcheck_prints_between_entries_is_passed_over)
{
	assert_true(suppresses("==12== 5 bytes in 1 blocks\n==12== \n{\na\nMemcheck:Leak\n"
			       "fun:_Z9make_nodei\n}\n==12== LEAK SUMMARY:\n"));
}

TEST(entries_may_be_for_some_kinds_only)
{
	const char *text = "{\na\nMemcheck:Leak\nmatch-leak-kinds: possible,indirect\n...\n}\n";

	assert_true(suppresses_kind(text, HAWK_REACH_POSSIBLY));
	assert_true(suppresses_kind(text, HAWK_REACH_INDIRECTLY_LOST));
	assert_false(suppresses_kind(text, HAWK_REACH_DEFINITELY_LOST));
	assert_false(suppresses_kind(text, HAWK_REACH_REACHABLE));
	assert_true(suppresses_kind("leak:main", HAWK_REACH_POSSIBLY));
}

TEST(the_first_that_matches_is_told_with_its_place)
{
	static const char text[] = "leak:nobody\n{\n  name of it\nMemcheck:Leak\n...\n}\nleak:main";
	struct hawk_suppressions *suppressions;
	struct hawk_suppression *found;

	assert_null(hawk_suppressions_create(&suppressions));
	assert_null(hawk_suppressions_parse(suppressions, "a.supp", text, sizeof(text) - 1));
	assert_int_equal(hawk_suppressions_count(suppressions), 3);
	found = hawk_suppressions_match(suppressions, HAWK_REACH_DEFINITELY_LOST, &stack);
	assert_ptr_equal(found, hawk_suppressions_at(suppressions, 1));
	assert_string_equal(found->text, "name of it");
	assert_string_equal(found->file, "a.supp");
	assert_int_equal(found->line, 2);
	hawk_suppressions_destroy(suppressions);
}

static void expect_complaint(const char *text, const char *wanted)
{
	struct hawk_suppressions *suppressions;
	struct hawk_error *err;

	assert_null(hawk_suppressions_create(&suppressions));
	err = hawk_suppressions_parse(suppressions, "f", text, strlen(text));
	assert_non_null(err);
	assert_int_equal(hawk_error_code(err), HAWK_ERROR_USAGE);
	if (strncmp(hawk_error_message(err), wanted, strlen(wanted)) != 0)
		fail_msg("%s, not %s", hawk_error_message(err), wanted);
	hawk_error_destroy(err);
	hawk_suppressions_destroy(suppressions);
}

TEST(mistakes_are_told_with_file_and_line)
{
	expect_complaint("==x== {\n", "f:1: neither leak:");
	expect_complaint("leak:a\nrace:b\n", "f:2: neither leak:");
	expect_complaint("\n\nleak:  \n", "f:3: \"leak:\" without");
	expect_complaint("{\n", "f:1: an entry does not end");
	expect_complaint("{\na\nMemcheck:Leak\nfun:x\n", "f:4: an entry does not end");
	expect_complaint("{\na\nMemcheck:Leak\n}\n", "f:4: an entry without frames");
	expect_complaint("{\na\nfun:x\n}\n{\nb\nc\n}", "f:7: \"Memcheck:Leak\"");
	expect_complaint("{\na\nMemcheck:Leak\nfoo:x\n}\n", "f:4: a frame is");
	expect_complaint("{\na\nMemcheck:Leak\nfun:\n}\n", "f:4: a frame without");
	expect_complaint("{\na\nMemcheck:Leak\nmatch-leak-kinds: all,some\n...\n}\n",
			 "f:4: match-leak-kinds:");
	expect_complaint("{\na\nMemcheck:Leak\n...\nmatch-leak-kinds: all\n}\n",
			 "f:5: match-leak-kinds:");
}

TEST(files_that_are_no_text_or_not_there_are_refused)
{
	struct hawk_suppressions *suppressions;

	assert_null(hawk_suppressions_create(&suppressions));
	check_fails(hawk_suppressions_parse(suppressions, "f", "leak:\0x", 7), HAWK_ERROR_USAGE,
		    "");
	check_fails(hawk_suppressions_read(suppressions, "/nonexistent/file"), HAWK_ERROR_OS, "");
	hawk_suppressions_destroy(suppressions);
}
