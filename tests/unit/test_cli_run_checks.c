/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What `hawk-core run` says about core settings that a test cannot give to the system it runs on.
 * The command is no library: its source is included here.
 */
#include "test.h"
#include "../../analyzer/cli/run_system_checks.c"

enum { DEFAULT_FILTER = 0x33 };

/** Warnings for these settings; "" if there are none. Valid until the next call. */
static const char *warnings_for(struct core_settings settings)
{
	static struct hawk_text warnings;

	hawk_text_deinit(&warnings);
	check_core(&settings, &warnings);
	return warnings.bytes ? warnings.bytes : "";
}

static struct core_settings good_settings(void)
{
	return (struct core_settings){
		.hard_limit = UINT64_MAX,
		.pattern = "/tmp/core.%p",
		.has_filter = true,
		.filter = DEFAULT_FILTER,
	};
}

static void expect_warning(struct core_settings settings, const char *words)
{
	const char *warnings = warnings_for(settings);

	if (!strstr(warnings, words))
		fail_msg("no '%s' in '%s'", words, warnings);
}

TEST(good_settings_give_no_warning)
{
	struct core_settings settings = good_settings();

	assert_string_equal(warnings_for(settings), "");
	settings.pattern = "core";
	assert_string_equal(warnings_for(settings), "");
	settings.pattern = NULL;
	settings.has_filter = false;
	assert_string_equal(warnings_for(settings), "");
}

TEST(systemd_s_handler_is_answered_by_coredumpctl)
{
	struct core_settings settings = good_settings();

	settings.pattern = "|/lib/systemd/systemd-coredump %P %u %g %s %t 9223372036854775808 %h";
	expect_warning(settings, "coredumpctl dump");
}

TEST(another_handler_is_named)
{
	struct core_settings settings = good_settings();

	settings.pattern = "|/usr/share/apport/apport -p%p";
	expect_warning(settings, "handler /usr/share/apport/apport and");
	settings.pattern = "@/run/coredump.socket";
	expect_warning(settings, "handler /run/coredump.socket and");
}

TEST(a_handler_makes_the_limit_meaningless)
{
	struct core_settings settings = good_settings();

	settings.pattern = "|/usr/bin/handler";
	settings.hard_limit = 0;
	assert_null(strstr(warnings_for(settings), "limit"));
}

TEST(limits_that_lose_or_cut_cores_are_told)
{
	struct core_settings settings = good_settings();

	settings.hard_limit = 0;
	expect_warning(settings, "no core will be written: the hard limit");
	settings.hard_limit = 1 << 20;
	expect_warning(settings, "cut off at 1.0 MiB");
}

TEST(an_empty_pattern_loses_cores_unless_the_pid_names_them)
{
	struct core_settings settings = good_settings();

	settings.pattern = "";
	expect_warning(settings, "kernel.core_pattern is empty");
	settings.uses_pid = true;
	assert_string_equal(warnings_for(settings), "");
}

TEST(a_directory_that_is_not_there_is_named)
{
	struct core_settings settings = good_settings();

	settings.pattern = "/no/such/folder/core";
	expect_warning(settings, "/no/such/folder, which is not there");
	settings.pattern = "/var/%u/core"; // unknown until it happens
	assert_string_equal(warnings_for(settings), "");
}

TEST(a_filter_without_anonymous_memory_is_told_with_the_remedy)
{
	struct core_settings settings = good_settings();

	settings.filter = 0x20;
	expect_warning(settings, "echo 0x33 > /proc/self/coredump_filter");
	settings.filter = 0x31;
	expect_warning(settings, "shared anonymous memory");
}
