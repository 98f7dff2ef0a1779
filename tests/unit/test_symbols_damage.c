/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Hostile and damaged files behind a module: what is refused and why, and what is left of files
 * that are cut, lack a part or cannot be unpacked. Programs are built in the test.
 */
#include "test.h"
#include "symbols/symbols_world.h"

#include <elf.h>

static void expect_refused(const char *name, const char *why)
{
	open_module(name);

	expect_unknown(0x1000);
	expect_status(HAWK_SYMBOL_REFUSED);
	if (!strstr(finding("module-refused"), why))
		fail_msg("\"%s\" does not say \"%s\"", finding("module-refused"), why);
}

SYMBOLS_TEST(what_is_not_a_regular_file_is_not_opened)
{
	assert_int_equal(fixture_run("mkfifo fifo && mkdir folder && ln -s /dev/zero zero"), 0);
	expect_refused("fifo", "is not a regular file");
	expect_refused("folder", "is not a regular file");
	expect_refused("zero", "is not a regular file");
}

static void write_file(const char *name, const void *bytes, size_t size)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

SYMBOLS_TEST(files_that_are_no_programs_are_refused_by_name)
{
	Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_CORE,
			     .e_machine = EM_X86_64,
			     .e_version = EV_CURRENT,
			     .e_ehsize = sizeof(header)};

	write_file("empty", "", 0);
	write_file("text", "hello\n", 6);
	write_file("magic", header.e_ident, 16);
	write_file("core", &header, sizeof(header));
	header.e_type = ET_DYN;
	header.e_machine = EM_AARCH64;
	write_file("foreign", &header, sizeof(header));
	header.e_machine = EM_386;
	header.e_ident[EI_CLASS] = ELFCLASS32;
	write_file("narrow", &header, sizeof(header));
	expect_refused("empty", "is empty");
	expect_refused("text", "is not an ELF file");
	expect_refused("magic", "without a complete header");
	expect_refused("core", "neither a program nor a shared object");
	expect_refused("foreign", "another architecture");
	expect_refused("narrow", "another architecture");
}

SYMBOLS_TEST(random_bytes_behind_the_magic_do_no_harm)
{
	unsigned char bytes[4096];

	srandom(17);
	for (int round = 0; round < 200; round++) {
		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (unsigned char)(random() % (round % 2 ? 256 : 5));
		memcpy(bytes, "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\76\0\1\0\0\0", 24);
		write_file("random", bytes, sizeof(bytes));
		open_module("random");
		for (uint64_t address = 0; address < sizeof(bytes); address += 64)
			look(address, true);
	}
}

SYMBOLS_TEST(a_program_cut_anywhere_does_no_harm)
{
	uint64_t address;
	size_t size;
	char *bytes;
	FILE *file;

	address = build_inlined();
	bytes = malloc(1 << 20);
	file = fopen("program", "r");
	assert_non_null(bytes);
	assert_non_null(file);
	size = fread(bytes, 1, 1 << 20, file);
	fclose(file);
	for (size_t cut = 1; cut < size; cut += size / 97) {
		write_file("cut", bytes, cut);
		open_module("cut");
		look(address, true);
	}
	free(bytes);
}

SYMBOLS_TEST(missing_split_information_is_said_and_lines_are_left)
{
	uint64_t address = build_inlined_as("program", "-O2 -g -gsplit-dwarf");
	assert_int_equal(fixture_run("rm *.dwo"), 0);
	open_module("program");
	expect_function(address, "plain");
	assert_int_not_equal(look(address, true)->line, 0);
	assert_non_null(strstr(finding("split-debug-missing"), ".dwo"));
	assert_int_equal(fixture_run("g++ -O2 -g -gsplit-dwarf inlined.cpp -o program && "
				     "for f in *.dwo; do rm $f; mkfifo $f; done"),
			 0);
	open_module("program");
	expect_function(address, "plain");
	assert_int_equal(fixture_run("rm *.dwo"), 0);
}

SYMBOLS_TEST(missing_shared_information_is_said_and_not_opened_if_special)
{
	uint64_t address;

	for (int round = 0; round < 2; round++) {
		address = build_inlined();
		assert_int_equal(
			fixture_run("printf 'shared.debug\\0abcdefghijklmnopqrst' >link && "
				    "objcopy --add-section .gnu_debugaltlink=link program"),
			0);
		assert_int_equal(round ? fixture_run("mkfifo shared.debug") : 0, 0);
		open_module("program");
		expect_function(address, "plain");
		assert_non_null(strstr(finding("shared-debug-missing"), "shared.debug"));
	}
	assert_int_equal(fixture_run("rm shared.debug"), 0);
}

SYMBOLS_TEST(what_libdw_cannot_unpack_is_said_and_names_are_left)
{
	uint64_t address = build_inlined();
	if (fixture_run("objcopy --compress-debug-sections=zstd program") != 0) {
		print_message("this objcopy cannot compress with zstd\n");
		skip();
	}
	open_module("program");
	expect_function(address, "plain");
	/* elfutils 0.189 and later can read it, if built so. */
	if (hawk_symbols_status(world.symbols, &world.module) != HAWK_SYMBOL_DWARF)
		assert_non_null(strstr(finding("debug-zstd"), "zstd"));
}
