/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The files of a module's names: places searched, files refused, findings about them; hostile and
 * damaged files, and their usable rest. Programs are built in the test.
 */
#include <arpa/inet.h>
#include <elf.h>
#include <poll.h>
#include <sys/socket.h>

#include "test.h"
#include "symbols/symbols_world.h"
#include "hawk/target/decoder.h"

#define SPLIT "objcopy --only-keep-debug program program.debug && strip -s program && "
#define LINK  SPLIT "objcopy --add-gnu-debuglink=program.debug program && "

/** Moves `program.debug` to where a debug directory has the build-id of `program`. */
#define MOVE_TO_ID                                                                                 \
	"id=$(readelf -n program | sed -n 's/.*Build ID: //p') && rest=${id#??} && "               \
	"mkdir -p ids/.build-id/${id%$rest} && "                                                   \
	"mv program.debug ids/.build-id/${id%$rest}/$rest.debug"

static const char without_id[] = "-O2 -g -Wl,--build-id=none",
		  with_id[] = "-O2 -g -Wl,--build-id=sha1";

SYMBOLS_TEST(debug_files_are_found_by_link_and_build_id)
{
	static const struct {
		const char *build;   /**< options of the compiler */
		const char *prepare; /**< commands of a shell; a folder that they make is "new" or
					"ids" */
		struct hawk_symbols_options options;
		enum hawk_symbol_status status; /**< SYMTAB: it has no names */
	} cases[] = {
		{without_id, LINK "true", {0}, HAWK_SYMBOL_DWARF},
		{without_id,
		 LINK "mkdir .debug && mv program.debug .debug/",
		 {0},
		 HAWK_SYMBOL_DWARF},
		{without_id,
		 LINK "mkdir -p new$PWD && mv program.debug new$PWD/",
		 {.debug_directory = "new"},
		 HAWK_SYMBOL_DWARF},
		/* Another checksum. */
		{without_id, LINK "printf x >>program.debug && true", {0}, HAWK_SYMBOL_SYMTAB},
		{with_id, SPLIT MOVE_TO_ID, {.debug_directory = "ids"}, HAWK_SYMBOL_DWARF},
		{with_id, SPLIT MOVE_TO_ID, {.system_debug_directory = "ids"}, HAWK_SYMBOL_DWARF},
		{with_id,
		 SPLIT MOVE_TO_ID " && rm program",
		 {.debug_directory = "ids"},
		 HAWK_SYMBOL_DWARF},
		{with_id,
		 "mkdir -p new$PWD && mv program new$PWD/",
		 {.sysroot = "new"},
		 HAWK_SYMBOL_DWARF},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		uint64_t address = build_inlined_as("program", cases[i].build);

		open_with("program", cases[i].options);
		if (cases[i].build == with_id)
			want_build_id_of("program");
		assert_int_equal(fixture_run("%s", cases[i].prepare), 0);
		if (cases[i].status == HAWK_SYMBOL_DWARF) {
			expect_function(address, "plain");
			assert_int_not_equal(look(address, true)->line, 0);
		} else {
			expect_unknown(address);
		}
		expect_status(cases[i].status);
		if (world.module.build_id && access("program", R_OK) == 0)
			assert_int_equal(world.findings.count, 0);
		assert_int_equal(fixture_run("rm -rf program* .debug ids new"), 0);
	}
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
	assert_int_equal(
		fixture_run("%s",
			    "cp program program.debug && " MOVE_TO_ID
			    " && cd ids/.build-id/* && mv *.debug $(basename *.debug .debug)"),
		0);
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

SYMBOLS_TEST(a_missing_file_is_named_and_a_relative_path_not_looked_for)
{
	open_module("nowhere");

	expect_unknown(0x1000);
	expect_status(HAWK_SYMBOL_NOT_FOUND);
	assert_non_null(strstr(finding("module-not-found"), world.path));
	build_inlined();
	open_module("program");
	world.module.path = "program";
	expect_unknown(0x1000);
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

SYMBOLS_TEST(an_executable_option_of_another_build_is_named_though_the_right_file_is_found)
{
	struct hawk_symbols_options options = {.executable = "other"};
	uint64_t address = build_inlined();

	fixture_build("g++", "-O2 -g -Wl,--build-id=sha1 -DOTHER", "scopes.cpp", "other");
	open_with("program", options);
	want_build_id_of("program");

	expect_function(address, "plain");
	assert_non_null(strstr(finding("module-mismatch"), "other is not the file"));
	assert_int_equal(world.findings.count, 1);
}

SYMBOLS_TEST(a_debug_file_of_another_build_is_named_and_not_used)
{
	static const char *const prepare[] = {
		SPLIT "cp other program.debug && " MOVE_TO_ID,
		LINK "cp other program.debug",
		LINK "mkdir -p ids$PWD && mv other ids$PWD/program.debug && rm program.debug",
	};
	struct hawk_symbols_options options = {.debug_directory = "ids"};

	for (size_t i = 0; i < COUNT_OF(prepare); i++) {
		uint64_t address = build_inlined_as("program", with_id);

		fixture_build("g++", "-O2 -g -Wl,--build-id=sha1 -DOTHER", "scopes.cpp", "other");
		open_with("program", options);
		want_build_id_of("program");
		assert_int_equal(fixture_run("%s", prepare[i]), 0);
		expect_unknown(address);
		assert_non_null(finding("debug-mismatch"));
		assert_non_null(strstr(finding("debug-mismatch"), "and was not used"));
		assert_int_equal(fixture_run("rm -rf program* other ids"), 0);
	}
}

SYMBOLS_TEST(a_file_with_debug_information_only_is_no_program)
{
	struct hawk_symbols_options options = {.executable = "program.debug"};
	uint64_t address = build_inlined_as("program", with_id);

	assert_int_equal(fixture_run(SPLIT "cp program stripped"), 0);
	open_with("moved/away", options);
	want_build_id_of("program");
	expect_function(address, "plain");
	assert_non_null(strstr(finding("module-debug-only"), "program.debug holds"));

	open_with("stripped", options);
	want_build_id_of("program");
	expect_function(address, "plain");
	assert_int_not_equal(look(address, true)->line, 0);
	assert_int_equal(world.findings.count, 0);
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
	assert_int_equal(fixture_run(SPLIT "true"), 0);
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
	header.e_machine = EM_RISCV;
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

static void compress_with_zstd(void)
{
	static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};

	if (!hawk_decoder_format(magic, sizeof(magic)) ||
	    fixture_run("objcopy --compress-debug-sections=zstd program") != 0) {
		print_message("zstd is missing in hawk-core or objcopy\n");
		skip();
	}
}

SYMBOLS_TEST(debug_sections_compressed_with_zstd_are_read)
{
	uint64_t address = build_inlined();

	compress_with_zstd();
	open_module("program");
	expect_function(address, "plain");
	assert_int_equal(hawk_symbols_status(world.symbols, &world.module), HAWK_SYMBOL_DWARF);
}

/** Overwrites the 8 bytes that lie `distance` before each compressed section's contents. */
static void damage_sections(int distance, uint64_t value)
{
	static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};
	static uint8_t bytes[1 << 20];
	FILE *file = fopen("program", "r+");
	size_t size;

	assert_non_null(file);
	size = fread(bytes, 1, sizeof(bytes), file);
	for (uint8_t *at = bytes; (at = memmem(at, size - (size_t)(at - bytes), magic, 4)); at++)
		memcpy(at - distance, &value, sizeof(value));
	rewind(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

SYMBOLS_TEST(damaged_debug_sections_of_zstd_are_said_and_names_are_left)
{
	static const struct {
		int distance; /**< -4: behind the frame's magic; 16: the size unpacked */
		uint64_t value;
		const char *why;
	} cases[] = {
		{-4, UINT64_MAX, "damaged"}, {16, UINT64_MAX, "larger"}, {16, 1 << 28, "damaged"}};

	uint64_t address = build_inlined();

	compress_with_zstd();
	assert_int_equal(fixture_run("cp program whole"), 0);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		assert_int_equal(fixture_run("cp whole program"), 0);
		damage_sections(cases[i].distance, cases[i].value);
		open_module("program");
		expect_function(address, "plain");
		assert_int_equal(hawk_symbols_status(world.symbols, &world.module),
				 HAWK_SYMBOL_SYMTAB);
		assert_non_null(strstr(finding("debug-zstd"), cases[i].why));
	}
}
