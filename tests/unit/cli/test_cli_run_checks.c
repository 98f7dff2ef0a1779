/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Warnings of `hawk-core run` about core settings that a test cannot set on its own system. The
 * command is no library: its source is included here.
 */
#include "test.h"
#include "cli/run/system_checks.c"

enum { DEFAULT_FILTER = 0x33 };

/** Returns the warnings for these settings, "" for none. Valid until the next call. */
static const char *warnings_for(struct core_settings settings)
{
	static struct hawk_text warnings;

	hawk_text_deinit(&warnings);
	check_core(&settings, &warnings);
	return warnings.bytes ? warnings.bytes : "";
}

TEST(settings_that_lose_or_cut_cores_are_told)
{
	/* A difference from good settings, and the expected warning; NULL = none. */
	static const struct {
		const char *pattern;
		uint64_t hard_limit;
		bool uses_pid;
		uint64_t filter;
		const char *words;
	} cases[] = {
		{"/tmp/core.%p", UINT64_MAX, false, DEFAULT_FILTER, NULL},
		{"core", UINT64_MAX, false, DEFAULT_FILTER, NULL},
		{"|/lib/systemd/systemd-coredump %P %u %g %s %t 9223372036854775808 %h", UINT64_MAX,
		 false, DEFAULT_FILTER, "coredumpctl dump"},
		{"|/usr/share/apport/apport -p%p", UINT64_MAX, false, DEFAULT_FILTER,
		 "handler /usr/share/apport/apport and"},
		{"@/run/coredump.socket", UINT64_MAX, false, DEFAULT_FILTER,
		 "handler /run/coredump.socket and"},
		{"core", 0, false, DEFAULT_FILTER, "no core will be written: the hard limit"},
		{"core", 1 << 20, false, DEFAULT_FILTER, "cut off at 1.0 MiB"},
		{"", UINT64_MAX, false, DEFAULT_FILTER, "kernel.core_pattern is empty"},
		{"", UINT64_MAX, true, DEFAULT_FILTER, NULL},
		{"/no/such/folder/core", UINT64_MAX, false, DEFAULT_FILTER,
		 "/no/such/folder, which is not there"},
		{"/var/%u/core", UINT64_MAX, false, DEFAULT_FILTER, NULL}, /* unknown until then */
		{"core", UINT64_MAX, false, 0x20, "echo 0x33 > /proc/self/coredump_filter"},
		{"core", UINT64_MAX, false, 0x31, "shared anonymous memory"},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const char *warnings = warnings_for((struct core_settings){
			.hard_limit = cases[i].hard_limit,
			.pattern = cases[i].pattern,
			.uses_pid = cases[i].uses_pid,
			.has_filter = true,
			.filter = cases[i].filter,
		});

		if (!cases[i].words)
			assert_string_equal(warnings, "");
		else if (!strstr(warnings, cases[i].words))
			fail_msg("no '%s' in '%s'", cases[i].words, warnings);
	}
}

TEST(what_is_not_known_is_not_warned_of)
{
	assert_string_equal(warnings_for((struct core_settings){.hard_limit = UINT64_MAX}), "");
}

TEST(a_handler_makes_the_limit_meaningless)
{
	static const char *const patterns[] = {"|/usr/bin/handler", "@/run/coredump.socket",
					       "@@/run/coredump.socket"};

	for (size_t i = 0; i < COUNT_OF(patterns); i++)
		assert_null(strstr(warnings_for((struct core_settings){.pattern = patterns[i]}),
				   "limit"));
}
