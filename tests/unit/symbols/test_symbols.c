/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Names of a module's addresses: functions, files and lines, inlined ones, data, and the names left
 * in a stripped file. Programs are built in the test.
 */
#include "test.h"
#include "symbols/symbols_world.h"

SYMBOLS_TEST(a_program_with_debug_information_gives_function_file_and_line)
{
	const struct hawk_frame *frame;
	uint64_t address = build_inlined();

	open_module("program");

	expect_status(HAWK_SYMBOL_UNUSED);
	want_build_id_of("program");
	frame = look(address, true);
	expect_status(HAWK_SYMBOL_DWARF);
	assert_string_equal(frame->function, "plain");
	assert_string_equal(frame->symbol, "plain");
	assert_int_equal(frame->function_offset, 0);
	assert_string_equal(frame->file, fixture_path("inlined.cpp"));
	assert_in_range(frame->line, 60, 64);
	assert_int_equal(world.findings.count, 0);
}

SYMBOLS_TEST(asking_again_gives_the_same_frames)
{
	const struct hawk_frame *first;
	uint64_t address = build_inlined();

	open_module("program");

	first = look(address, true);
	for (uint64_t i = 1; i < 5000; i++)
		look(i, i % 2);
	assert_ptr_equal(look(address, true), first);
	/* Another mapping of the same file, elsewhere. */
	world.module.bias = 0x7f0000000000;
	assert_ptr_equal(look(0x7f0000000000 + address, true), first);
}

SYMBOLS_TEST(a_return_address_belongs_to_the_instruction_before_it)
{
	uint64_t address = build_inlined();

	open_module("program");

	expect_function(address, "plain");
	assert_true(!look(address, false)->function ||
		    strcmp(look(address, false)->function, "plain") != 0);
}

SYMBOLS_TEST(an_unknown_bias_is_found_from_the_lowest_address)
{
	uint64_t address = build_inlined();

	open_module("program");

	world.module.bias = HAWK_SYMBOL_BIAS_UNKNOWN;
	world.module.start = 0x555555554000;
	expect_function(0x555555554000 + address, "plain");
	address = build_inlined_as("fixed", "-O2 -g -no-pie");
	open_module("fixed");
	world.module.bias = HAWK_SYMBOL_BIAS_UNKNOWN;
	world.module.start = 0x400000;
	expect_function(address, "plain");
}

SYMBOLS_TEST(data_and_functions_have_names)
{
	const char *name;
	uint64_t address, offset;

	build_inlined();
	address = address_of("program", "_ZN4deep7counterE");
	open_module("program");
	assert_null(hawk_symbols_name(world.symbols, &world.module, address + 3, &name, &offset));
	assert_string_equal(name, "deep::counter");
	assert_int_equal(offset, 3);
	assert_null(
		hawk_symbols_name(world.symbols, &world.module, address + 4000, &name, &offset));
	assert_null(name);
	address = address_of("program", "plain");
	assert_null(hawk_symbols_name(world.symbols, &world.module, address + 1, &name, &offset));
	assert_string_equal(name, "plain");
	assert_int_equal(offset, 1);
}

/* Checks that the range around an address has the same names everywhere. */
static void expect_same_names(uint64_t address)
{
	struct hawk_symbol_place place, other;
	uint64_t offset;
	const char *name;

	assert_null(hawk_symbols_place(world.symbols, &world.module, address, &place));
	assert_null(hawk_symbols_name(world.symbols, &world.module, address, &name, &offset));
	assert_ptr_equal(place.name, name);
	assert_int_equal(place.offset, offset);
	assert_in_range(address, place.start, place.end - 1);
	for (uint64_t at = place.start; at < place.end && at < place.start + 300; at++) {
		assert_null(hawk_symbols_place(world.symbols, &world.module, at, &other));
		assert_ptr_equal(other.name, place.name);
		assert_ptr_equal(other.section, place.section);
	}
}

SYMBOLS_TEST(a_place_has_a_section_and_addresses_with_the_same_names)
{
	struct hawk_symbol_place place;
	uint64_t address;

	build_inlined();
	address = address_of("program", "_ZN4deep7counterE");
	open_module("program");
	world.module.bias = 0x7f0000000000;
	assert_null(hawk_symbols_place(world.symbols, &world.module, 0x7f0000000000 + address + 3,
				       &place));
	assert_string_equal(place.name, "deep::counter");
	assert_string_equal(place.section, ".data");
	assert_int_equal(place.offset, 3);
	assert_int_equal(place.start, 0x7f0000000000 + address);
	assert_int_equal(place.end, 0x7f0000000000 + address + 4);
	for (uint64_t at = address - 200; at < address + 200; at++)
		expect_same_names(0x7f0000000000 + at);
	for (uint64_t at = 0; at < 0x2000; at += 7)
		expect_same_names(0x7f0000000000 + at);
}

static void expect_thread_local(uint64_t offset, const char *name, uint64_t start, uint64_t end)
{
	/* The segment is a multiple of 64 long, and ends at the thread pointer. */
	static const uint64_t pointer = 0x7f1234560000;
	struct hawk_symbol_place place;
	uint64_t begin = pointer - 128;

	assert_null(hawk_symbols_tls_place(world.symbols, &world.module, begin + offset, pointer,
					   &place));
	assert_int_equal(place.start, begin + start);
	assert_int_equal(place.end, begin + end);
	assert_null(place.section);
	if (!name) {
		assert_null(place.name);
		return;
	}
	assert_string_equal(place.name, name);
	assert_int_equal(place.offset, offset - start);
}

SYMBOLS_TEST(thread_local_variables_have_names_and_bounds)
{
	fixture_build("gcc", "-O0", "thread_locals.c", "program");
	open_module("program");
	for (uint64_t at = 0; at < 24; at += 23)
		expect_thread_local(at, "first", 0, 24);
	expect_thread_local(25, "second", 24, 28);
	for (uint64_t at = 28; at < 64; at += 35)
		expect_thread_local(at, NULL, 28, 64);
	for (uint64_t at = 64; at < 128; at += 63)
		expect_thread_local(at, "aligned", 64, 128);
	expect_thread_local(128, NULL, 128, 129);
	expect_thread_local((uint64_t)-1, NULL, (uint64_t)-1, 0);
}

SYMBOLS_TEST(inlined_names_have_their_scopes)
{
	size_t local = 0, lambda = 0;
	uint64_t address;

	fixture_build("g++", "-O2 -g", "scopes.cpp", "program");
	address = address_of("program", "_ZN5outer5Shape4areaEi");
	open_module("program");
	for (uint64_t at = address; at < address + 48; at++) {
		const struct hawk_frame *frames;
		size_t count;

		assert_null(hawk_symbols_lookup(world.symbols, &world.module, at, true, &frames,
						&count));
		if (count < 2 || !frames[0].function)
			continue;
		local += strcmp(frames[0].function, "outer::Shape::area(int)::Local::grow") == 0 &&
			 strcmp(frames[0].plain, "grow") == 0;
		lambda += strcmp(frames[0].function,
				 "outer::Shape::area(int)::{lambda}::operator()") == 0;
	}
	assert_true(local > 0);
	assert_true(lambda > 0);
}

SYMBOLS_TEST(a_function_has_all_names_of_its_address)
{
	uint64_t address = build_inlined_as("library.so", "-O2 -shared -fPIC "
							  "-Wl,--defsym=other_name=plain");
	open_module("library.so");
	const char *names[4] = {0};
	size_t count;

	assert_null(hawk_symbols_aliases(world.symbols, &world.module, address + 1, false, names, 4,
					 &count));
	assert_int_equal(count, 2);
	assert_string_equal(names[0], "plain");
	assert_string_equal(names[1], "other_name");
	assert_null(hawk_symbols_aliases(world.symbols, &world.module, address, true, names, 1,
					 &count));
	assert_int_equal(count, 1);
	assert_null(hawk_symbols_aliases(world.symbols, &world.module, 1, true, names, 4, &count));
	assert_int_equal(count, 0);
}

SYMBOLS_TEST(no_module_is_an_unknown_frame)
{
	open_module("program");
	const struct hawk_frame *frames;
	size_t count;

	assert_null(hawk_symbols_lookup(world.symbols, NULL, 4711, true, &frames, &count));
	assert_int_equal(count, 1);
	assert_null(frames[0].function);
}

SYMBOLS_TEST(a_stripped_file_that_cannot_name_a_function_is_named_once)
{
	uint8_t id[HAWK_MODULE_BUILD_ID_MAX];
	char hex[2 * HAWK_MODULE_BUILD_ID_MAX + 1] = "";
	uint64_t address, local;
	size_t before;

	address = build_inlined_as("library.so", "-O2 -shared -fPIC -Wl,--build-id=sha1");
	local = address_of("library.so", "_ZN4deep12_GLOBAL__N_16hiddenEi");
	for (uint32_t i = 0, count = fixture_build_id("library.so", id); i < count; i++)
		sprintf(hex + 2 * i, "%02x", id[i]);
	open_module("library.so");
	expect_function(local, "deep::(anonymous namespace)::hidden(int)");
	expect_unknown(1); /* not code */
	assert_null(finding("names-missing"));
	assert_int_equal(fixture_run("strip -s library.so"), 0);
	open_module("library.so");
	expect_function(address, "plain");
	assert_null(finding("names-missing"));
	expect_unknown(local);
	assert_non_null(strstr(finding("names-missing"), "functions of library.so have names"));
	assert_non_null(strstr(finding("names-missing"), hex));
	before = world.findings.count;
	expect_unknown(local + 1);
	assert_int_equal(world.findings.count, before);
	assert_false(hawk_findings_partial(&world.findings));
}
