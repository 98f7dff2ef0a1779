/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Paths cut from what `hawk-core mcp --paths=base` sends. The command is no library: its source is
 * included here.
 */
#include "test.h"
#include "cli/mcp/outgoing.c"

/** Checks what becomes of a text. */
static void check_cut(const char *from, const char *wanted)
{
	CLEANUP(text) struct hawk_text text = {0};

	hawk_text_puts(&text, from);
	hawk_mcp_cut_paths(&text);
	assert_string_equal(hawk_text_string(&text), wanted);
}

TEST(fields_that_hold_a_path_keep_its_last_part)
{
	check_cut("{\"file\":\"/home/a b/x.c\",\"module\":\"lib/m.so\"}",
		  "{\"file\":\"x.c\",\"module\":\"m.so\"}");
	check_cut("{\"source\":\"/a/\\\"b\\\"/c\",\"line\":1}", "{\"source\":\"c\",\"line\":1}");
	check_cut("{\"file\":null,\"name\":\"a/b\"}", "{\"file\":null,\"name\":\"a/b\"}");
}

TEST(paths_inside_of_texts_keep_their_last_part)
{
	check_cut("cannot open /usr/lib/debug/x.debug: gone", "cannot open x.debug: gone");
	check_cut("{\"arguments\":\"/opt/x --conf=/etc/y/z ../q/r\"}",
		  "{\"arguments\":\"x --conf=z r\"}");
	check_cut("{\"next\":\"hawk-core leaks '/home/a/core'\"}",
		  "{\"next\":\"hawk-core leaks 'core'\"}");
	check_cut("{\"text\":\"first\\n/home/a/x\\u001b/home/a/y\"}",
		  "{\"text\":\"first\\nx\\u001by\"}");
	check_cut("/home/a/", "a/");
	check_cut("/home/a", "a");
	check_cut("\\x1b/home/a/x", "\\x1bx");
}

TEST(other_slashes_stay)
{
	check_cut("a / b // c /* d */ n/2 3 KiB/hour", "a / b // c /* d */ n/2 3 KiB/hour");
	check_cut("{\"function\":\"operator/(V const&)\"}",
		  "{\"function\":\"operator/(V const&)\"}");
	check_cut("{\"schema\":\"hawk-core/leaks\"}", "{\"schema\":\"hawk-core/leaks\"}");
}
