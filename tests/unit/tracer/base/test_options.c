/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * HAWK_OPTS: options understood, and others reported and ignored.
 */
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "hawk_option_names.h"
#include "base/options.h"
#include "unwind/unwind.h"

static struct hawk_options defaults;

/** Parses `text` over the defaults and catches what goes to stderr. */
static const char *parse(const char *text)
{
	static char output[8192];
	int saved = dup(2), pipe_ends[2];
	ssize_t size;

	hawk_options = defaults;
	assert_int_equal(pipe(pipe_ends), 0);
	dup2(pipe_ends[1], 2);
	hawk_options_parse(text);
	dup2(saved, 2);
	close(saved);
	close(pipe_ends[1]);
	size = read(pipe_ends[0], output, sizeof(output) - 1);
	close(pipe_ends[0]);
	output[size > 0 ? size : 0] = '\0';
	return output;
}

static int count(const char *text, const char *word)
{
	int found = 0;

	while ((text = strstr(text, word))) {
		found++;
		text += strlen(word);
	}
	return found;
}

TEST(values_are_set_and_nothing_is_said)
{
	assert_string_equal(parse("depth=17:unwind=fp:collapse=3:stacks=0:progname=^redis"), "");
	assert_int_equal(hawk_options.depth, 17);
	assert_int_equal(hawk_options.unwind, HAWK_UNWIND_FP);
	assert_int_equal(hawk_options.collapse, 3);
	assert_false(hawk_options.stacks);
	assert_string_equal(hawk_options.progname, "^redis");
}

TEST(sizes_have_units)
{
	assert_string_equal(parse("max_table=64M"), "");
	assert_true(hawk_options.max_table == UINT64_C(64) << 20);
	assert_string_equal(parse("max_table=3g"), "");
	assert_true(hawk_options.max_table == UINT64_C(3) << 30);
	assert_string_equal(parse("max_table=9000k"), "");
	assert_true(hawk_options.max_table == UINT64_C(9000) << 10);
	assert_string_equal(parse("max_table=0"), "");
	assert_int_equal(count(parse("max_table=1M"), "bad value"), 1);
	assert_int_equal(count(parse("max_table=64Mx"), "bad value"), 1);
	assert_int_equal(count(parse("max_table=x"), "bad value"), 1);
	assert_true(hawk_options.max_table == 0);
	assert_string_equal(parse("sample=512k"), "");
	assert_true(hawk_options.sample == 512 << 10 && hawk_options.selective);
	assert_string_equal(parse("sample=1024G"), "");
	assert_int_equal(count(parse("sample=1025G"), "bad value"), 1);
	assert_int_equal(count(parse("sample=4X"), "bad value"), 1);
	assert_string_equal(parse("sample=0"), "");
	assert_true(hawk_options.sample == 0 && !hawk_options.selective);
}

TEST(an_escaped_colon_belongs_to_the_value)
{
	assert_string_equal(parse("progname=a\\:b:depth=2"), "");
	assert_string_equal(hawk_options.progname, "a:b");
	assert_int_equal(hawk_options.depth, 2);
}

TEST(an_unknown_option_is_reported_once_and_ignored)
{
	const char *said = parse("depht=3:depth=4");

	assert_int_equal(count(said, "unknown option 'depht'"), 1);
	assert_int_equal(count(said, "\n"), 1);
	assert_int_equal(hawk_options.depth, 4);
}

TEST(a_bad_value_is_reported_and_the_default_stays)
{
	static const char *const bad[] = {
		"depth=0",  "depth=513", "depth=",      "depth=3x",         "depth",
		"stacks=2", "unwind=x",  "collapse=99", "depth=99999999999"};

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		assert_int_equal(count(parse(bad[i]), "bad value"), 1);
		assert_memory_equal(&hawk_options, &defaults, sizeof(defaults));
	}
}

TEST(a_value_that_is_too_long_is_refused)
{
	char text[1024] = "progname=";

	memset(text + strlen(text), 'a', 600);
	assert_int_equal(count(parse(text), "bad value"), 1);
	assert_string_equal(hawk_options.progname, "");
}

TEST(empty_pairs_and_no_text_are_nothing)
{
	assert_string_equal(parse(NULL), "");
	assert_string_equal(parse(""), "");
	assert_string_equal(parse("::depth=9::"), "");
	assert_int_equal(hawk_options.depth, 9);
}

TEST(help_lists_every_option_with_its_default)
{
	const char *said = parse("help=1");
	static const char *const lines[] = {"help=0",    "progname=",  "stacks=1",    "unwind=cfi",
					    "depth=512", "collapse=0", "max_table=0", "stats=0"};

	for (size_t i = 0; i < COUNT_OF(lines); i++)
		assert_non_null(strstr(said, lines[i]));
}

/** `hawk-core run` refuses others. */
TEST(the_names_that_are_known_elsewhere_are_the_table_s)
{
	static const char *const names[] = {HAWK_OPTION_NAMES};
	const char *at = parse("help=1");
	char line[64];

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		snprintf(line, sizeof(line), "\n  %s=", names[i]);
		at = strstr(at, line);
		if (!at)
			fail_msg("%s", names[i]);
		at += strlen(line);
	}
	for (at = strchr(at, '\n'); at && at[1]; at = strchr(at + 1, '\n'))
		assert_memory_equal(at, "\n      ", 7); // its help, and no other option
}

TEST(the_program_is_matched_by_its_base_name)
{
	parse("progname=test_opt");
	assert_true(hawk_options_match_program());
	parse("progname=^tracer_test_options$");
	assert_true(hawk_options_match_program());
	parse("progname=^redis");
	assert_false(hawk_options_match_program());
	parse("");
	assert_true(hawk_options_match_program());
}

TEST(a_data_file_under_the_number_of_stderr_stays_as_it_is)
{
	static const struct {
		int flags;
		bool written;
	} files[] = {{O_RDWR, false}, {O_WRONLY, true}};
	char path[] = "/tmp/hawk-options-XXXXXX";
	int made = mkstemp(path), saved = dup(2);

	assert_true(made >= 0 && saved >= 0);
	for (size_t i = 0; i < COUNT_OF(files); i++) {
		int file = open(path, files[i].flags | O_CLOEXEC);

		dup2(file, 2);
		hawk_options_parse("nonsense=1");
		dup2(saved, 2);
		assert_int_equal(lseek(file, 0, SEEK_END) > 0, files[i].written);
		close(file);
	}
	close(made);
	close(saved);
	unlink(path);
}

static int keep_defaults(void **state)
{
	(void)state;
	defaults = hawk_options;
	return 0;
}

__attribute__((constructor)) static void add_defaults(void)
{
	test_add_group(keep_defaults, NULL);
}
