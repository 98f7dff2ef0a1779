/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Which file a module's names come from: where it is looked for, what is not used, what is said
 * about it. Programs are built in the test.
 */
#include "test.h"
#include "symbols/symbols_world.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

/** Splits `program` into `program` (stripped) and `program.debug`. */
static void split_program(const char *extra)
{
	assert_int_equal(fixture_run("objcopy --only-keep-debug program program.debug && "
				     "strip -s program %s",
				     extra),
			 0);
}

SYMBOLS_TEST(a_debug_file_is_found_by_its_link)
{
	static const char *const places[] = {".", ".debug"};
	uint64_t address;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		address = build_inlined_as("program", "-O2 -g -Wl,--build-id=none");
		split_program("&& objcopy --add-gnu-debuglink=program.debug program");
		assert_int_equal(fixture_run("mkdir -p %s && mv program.debug moved && "
					     "mv moved %s/program.debug",
					     places[i], places[i]),
				 0);
		open_module("program");
		expect_function(address, "plain");
		expect_status(HAWK_SYMBOL_DWARF);
		assert_int_not_equal(look(address, true)->line, 0);
		assert_int_equal(fixture_run("rm -rf program.debug .debug"), 0);
	}
}

SYMBOLS_TEST(a_debug_file_is_found_by_its_link_below_the_debug_directory)
{
	struct hawk_symbols_options options = {.debug_directory = "global"};
	uint64_t address = build_inlined_as("program", "-O2 -g -Wl,--build-id=none");
	split_program("&& objcopy --add-gnu-debuglink=program.debug program");
	assert_int_equal(fixture_run("mkdir -p global%s && mv program.debug global%s/",
				     fixture_folder, fixture_folder),
			 0);
	open_with("program", options);
	expect_function(address, "plain");
	expect_status(HAWK_SYMBOL_DWARF);
	assert_int_equal(fixture_run("rm -rf global"), 0);
}

SYMBOLS_TEST(a_linked_debug_file_with_another_checksum_is_not_used)
{
	uint64_t address = build_inlined_as("program", "-O2 -g -Wl,--build-id=none");
	split_program("&& objcopy --add-gnu-debuglink=program.debug program && "
		      "printf x >>program.debug && true");
	open_module("program");
	expect_unknown(address);
	expect_status(HAWK_SYMBOL_SYMTAB);
	assert_int_equal(fixture_run("rm program.debug"), 0);
}

/** Moves `file` to where a debug directory has the build-id of `program`. */
static void move_to_build_id(const char *file, const char *suffix)
{
	uint8_t id[HAWK_MODULE_BUILD_ID_MAX];
	char hex[2 * HAWK_MODULE_BUILD_ID_MAX + 1] = "";
	uint32_t count = fixture_build_id("program", id);

	for (uint32_t i = 1; i < count; i++)
		sprintf(hex + 2 * (i - 1), "%02x", id[i]);
	assert_int_equal(fixture_run("mkdir -p ids/.build-id/%02x && mv %s ids/.build-id/%02x/%s%s",
				     id[0], file, id[0], hex, suffix),
			 0);
}

SYMBOLS_TEST(a_debug_file_is_found_by_build_id)
{
	struct hawk_symbols_options options = {.debug_directory = "ids"};
	uint64_t address = build_inlined();
	split_program("");
	move_to_build_id("program.debug", ".debug");
	open_with("program", options);
	want_build_id_of("program");
	expect_function(address, "plain");
	expect_status(HAWK_SYMBOL_DWARF);
	assert_int_equal(world.findings.count, 0);
}

SYMBOLS_TEST(a_debug_file_serves_without_its_program)
{
	struct hawk_symbols_options options = {.debug_directory = "ids"};
	uint64_t address = build_inlined();
	split_program("");
	move_to_build_id("program.debug", ".debug");
	open_with("program", options);
	want_build_id_of("program");
	assert_int_equal(fixture_run("rm program"), 0);
	expect_function(address, "plain");
	expect_status(HAWK_SYMBOL_DWARF);
}

SYMBOLS_TEST(symbols_embedded_in_a_stripped_program_are_used)
{
	uint64_t address;

	fixture_needs("xz");
	address = build_inlined();
	assert_int_equal(fixture_run("objcopy --only-keep-debug program mini && "
				     "objcopy -S --keep-symbol=plain mini mini.debug && "
				     "xz -f -k mini.debug && strip -s program && "
				     "objcopy --add-section .gnu_debugdata=mini.debug.xz program"),
			 0);
	open_module("program");
	want_build_id_of("program");
	expect_function(address, "plain");
	expect_status(HAWK_SYMBOL_SYMTAB);
	assert_int_equal(
		fixture_run("head -c 300 mini.debug.xz >cut.xz && objcopy --update-section "
			    ".gnu_debugdata=cut.xz program"),
		0);
	open_module("program");
	expect_unknown(address);
}

SYMBOLS_TEST(a_program_with_another_build_id_is_named_and_not_used)
{
	uint64_t address;
	const char *text;

	address = build_inlined();
	open_module("program");
	want_build_id_of("program");
	world.build_id[0] ^= 0x5a;
	expect_unknown(address);
	expect_status(HAWK_SYMBOL_MISMATCH);
	text = finding("module-mismatch");
	assert_non_null(text);
	assert_non_null(strstr(text, world.path));
	for (int i = 0; i < 2; i++) {
		char hex[2 * HAWK_MODULE_BUILD_ID_MAX + 1] = "";

		world.build_id[0] ^= i ? 0x5a : 0;
		for (uint32_t k = 0; k < world.module.build_id_bytes; k++)
			sprintf(hex + 2 * k, "%02x", world.build_id[k]);
		assert_non_null(strstr(text, hex));
	}
	assert_false(hawk_findings_partial(&world.findings));
}

SYMBOLS_TEST(a_program_without_a_build_id_does_not_match_a_wanted_one)
{
	uint64_t address;

	build_inlined();
	address = build_inlined_as("other", "-O2 -g -Wl,--build-id=none");
	open_module("other");
	want_build_id_of("program");
	expect_unknown(address);
	expect_status(HAWK_SYMBOL_MISMATCH);
}

SYMBOLS_TEST(another_program_at_the_path_does_not_matter_if_the_right_one_is_found)
{
	struct hawk_symbols_options options = {.debug_directory = "ids"};
	uint64_t address = build_inlined();
	assert_int_equal(fixture_run("cp program copy"), 0);
	move_to_build_id("copy", "");
	open_with("other", options);
	want_build_id_of("program");
	fixture_build("g++", "-O2 -g -Wl,--build-id=sha1 -DOTHER", "scopes.cpp", "other");
	expect_function(address, "plain");
	assert_null(finding("module-mismatch"));
}

SYMBOLS_TEST(a_file_that_cannot_be_verified_is_used_and_named)
{
	uint64_t address = build_inlined();

	open_module("program");

	expect_function(address, "plain");
	assert_non_null(strstr(finding("module-unverified"), world.path));
}

SYMBOLS_TEST(a_missing_file_is_named)
{
	open_module("nowhere");

	expect_unknown(0x1000);
	expect_status(HAWK_SYMBOL_NOT_FOUND);
	assert_non_null(strstr(finding("module-not-found"), world.path));
}

SYMBOLS_TEST(a_relative_path_is_not_looked_for_here)
{
	uint64_t address = build_inlined();

	open_module("program");

	world.module.path = "program";
	expect_unknown(address);
	expect_status(HAWK_SYMBOL_NOT_FOUND);
}

SYMBOLS_TEST(the_executable_option_names_the_main_module_only)
{
	struct hawk_symbols_options options = {.executable = "program"};
	uint64_t address = build_inlined();

	open_with("moved/away", options);

	expect_function(address, "plain");
	world.module.main = false;
	expect_unknown(address);
}

SYMBOLS_TEST(the_sysroot_comes_before_the_path_itself)
{
	struct hawk_symbols_options options = {.sysroot = "root"};
	uint64_t address = build_inlined();
	assert_int_equal(fixture_run("mkdir -p root%s && mv program root%s/", fixture_folder,
				     fixture_folder),
			 0);
	open_with("program", options);
	expect_function(address, "plain");
	assert_int_equal(fixture_run("rm -rf root"), 0);
}

SYMBOLS_TEST(nothing_is_fetched_from_the_network)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct pollfd event = {.fd = listener, .events = POLLIN};
	char url[64];

	build_inlined();
	split_program("");
	assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(listener, 4), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/", ntohs(address.sin_port));
	setenv("DEBUGINFOD_URLS", url, 1);
	open_module("program");
	want_build_id_of("program");
	look(0x1200, true);
	assert_int_equal(poll(&event, 1, 0), 0);
	unsetenv("DEBUGINFOD_URLS");
	close(listener);
}
