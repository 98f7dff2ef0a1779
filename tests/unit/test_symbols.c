/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Which file a module's names come from: where it is looked for, what is refused, what is said
 * about it. Programs are built in the test.
 */
#include "symbols/symbols_fixture.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <elf.h>
#include <poll.h>
#include <sys/socket.h>

struct world {
	struct hawk_findings findings;
	struct hawk_symbols *symbols;
	struct hawk_symbol_module module;
	uint8_t build_id[HAWK_MODULE_BUILD_ID_MAX];
	char path[512];
};

/** A symbols object and the module `name` of the folder, without a build-id. */
static struct world *world_of(const char *name, struct hawk_symbols_options options)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	alarm(60); /* what hangs fails */
	hawk_findings_init(&world->findings);
	snprintf(world->path, sizeof(world->path), "%s", fixture_path(name));
	world->module = (struct hawk_symbol_module){.path = world->path, .main = true};
	assert_null(hawk_symbols_create(NULL, &options, &world->findings, &world->symbols));
	return world;
}

static void want_build_id_of(struct world *world, const char *name)
{
	world->module.build_id = world->build_id;
	world->module.build_id_bytes = fixture_build_id(name, world->build_id);
}

static void world_end(struct world *world)
{
	alarm(0);
	hawk_symbols_destroy(world->symbols);
	hawk_findings_deinit(&world->findings);
	free(world);
}

/** Link-time address of `symbol` in `name`, by nm. */
static uint64_t address_of(const char *name, const char *symbol)
{
	uint64_t address;
	char *text;

	assert_int_equal(fixture_run("nm %s | grep ' %s$' | cut -d' ' -f1", name, symbol), 0);
	text = fixture_read("out");
	address = strtoull(text, NULL, 16);
	free(text);
	assert_int_not_equal(address, 0);
	return address;
}

static const struct hawk_frame *look(struct world *world, uint64_t address, bool exact)
{
	const struct hawk_frame *frames;
	size_t count;

	assert_null(hawk_symbols_lookup(world->symbols, &world->module, address, exact, &frames,
					&count));
	assert_true(count > 0);
	assert_false(frames[count - 1].inlined);
	return &frames[count - 1];
}

static void expect_status(struct world *world, enum hawk_symbol_status status)
{
	assert_int_equal(hawk_symbols_status(world->symbols, &world->module), status);
}

static const char *finding(const struct world *world, const char *key)
{
	for (size_t i = 0; i < world->findings.count; i++)
		if (strncmp(world->findings.items[i].key, key, strlen(key)) == 0)
			return world->findings.items[i].text;
	return NULL;
}

static void expect_function(struct world *world, uint64_t address, const char *name)
{
	const char *found = look(world, address, true)->function;

	assert_non_null(found);
	assert_string_equal(found, name);
}

static void expect_unknown(struct world *world, uint64_t address)
{
	const struct hawk_frame *frame = look(world, address, true);

	assert_null(frame->function);
	assert_null(frame->symbol);
	assert_null(frame->file);
	assert_int_equal(frame->line, 0);
}

static void build_inlined(void)
{
	fixture_build("g++", "-O2 -g -Wl,--build-id=sha1", "inlined.cpp", "program");
}

/** Splits `program` into `program` (stripped) and `program.debug`. */
static void split_program(const char *extra)
{
	assert_int_equal(fixture_run("objcopy --only-keep-debug program program.debug && "
				     "strip -s program %s",
				     extra),
			 0);
}

static void a_program_with_debug_information_gives_function_file_and_line(void **state)
{
	struct hawk_symbols_options options = {0};
	const struct hawk_frame *frame;
	struct world *world;
	uint64_t address;

	(void)state;
	build_inlined();
	address = address_of("program", "plain");
	world = world_of("program", options);
	expect_status(world, HAWK_SYMBOL_UNUSED);
	want_build_id_of(world, "program");
	frame = look(world, address, true);
	expect_status(world, HAWK_SYMBOL_DWARF);
	assert_string_equal(frame->function, "plain");
	assert_string_equal(frame->symbol, "plain");
	assert_int_equal(frame->function_offset, 0);
	assert_string_equal(frame->file, fixture_path("inlined.cpp"));
	assert_in_range(frame->line, 52, 56);
	assert_int_equal(world->findings.count, 0);
	world_end(world);
}

static void asking_again_gives_the_same_frames(void **state)
{
	struct hawk_symbols_options options = {0};
	const struct hawk_frame *first;
	struct world *world;
	uint64_t address;

	(void)state;
	build_inlined();
	address = address_of("program", "plain");
	world = world_of("program", options);
	first = look(world, address, true);
	for (uint64_t i = 1; i < 5000; i++)
		look(world, i, i % 2);
	assert_ptr_equal(look(world, address, true), first);
	/* Another mapping of the same file, elsewhere. */
	world->module.bias = 0x7f0000000000;
	assert_ptr_equal(look(world, 0x7f0000000000 + address, true), first);
	world_end(world);
}

static void a_return_address_belongs_to_the_instruction_before_it(void **state)
{
	struct hawk_symbols_options options = {0};
	struct world *world;
	uint64_t address;

	(void)state;
	build_inlined();
	address = address_of("program", "plain");
	world = world_of("program", options);
	expect_function(world, address, "plain");
	assert_true(!look(world, address, false)->function ||
		    strcmp(look(world, address, false)->function, "plain") != 0);
	world_end(world);
}

static void an_unknown_bias_is_found_from_the_lowest_address(void **state)
{
	struct hawk_symbols_options options = {0};
	struct world *world;
	uint64_t address;

	(void)state;
	build_inlined();
	address = address_of("program", "plain");
	world = world_of("program", options);
	world->module.bias = HAWK_SYMBOL_BIAS_UNKNOWN;
	world->module.start = 0x555555554000;
	expect_function(world, 0x555555554000 + address, "plain");
	world_end(world);
	fixture_build("g++", "-O2 -g -no-pie", "inlined.cpp", "fixed");
	address = address_of("fixed", "plain");
	world = world_of("fixed", options);
	world->module.bias = HAWK_SYMBOL_BIAS_UNKNOWN;
	world->module.start = 0x400000;
	expect_function(world, address, "plain");
	world_end(world);
}

static void data_and_functions_have_names(void **state)
{
	struct hawk_symbols_options options = {0};
	struct world *world;
	const char *name;
	uint64_t address, offset;

	(void)state;
	build_inlined();
	address = address_of("program", "_ZN4deep7counterE");
	world = world_of("program", options);
	assert_null(hawk_symbols_name(world->symbols, &world->module, address + 3, &name, &offset));
	assert_string_equal(name, "deep::counter");
	assert_int_equal(offset, 3);
	assert_null(
		hawk_symbols_name(world->symbols, &world->module, address + 4000, &name, &offset));
	assert_null(name);
	address = address_of("program", "plain");
	assert_null(hawk_symbols_name(world->symbols, &world->module, address + 1, &name, &offset));
	assert_string_equal(name, "plain");
	assert_int_equal(offset, 1);
	world_end(world);
}

static void inlined_names_have_their_scopes(void **state)
{
	struct hawk_symbols_options options = {0};
	size_t local = 0, lambda = 0;
	struct world *world;
	uint64_t address;

	(void)state;
	fixture_build("g++", "-O2 -g", "scopes.cpp", "program");
	address = address_of("program", "_ZN5outer5Shape4areaEi");
	world = world_of("program", options);
	for (uint64_t at = address; at < address + 48; at++) {
		const struct hawk_frame *frames;
		size_t count;

		assert_null(hawk_symbols_lookup(world->symbols, &world->module, at, true, &frames,
						&count));
		if (count < 2 || !frames[0].function)
			continue;
		local += strcmp(frames[0].function, "outer::Shape::area(int)::Local::grow") == 0;
		lambda += strcmp(frames[0].function,
				 "outer::Shape::area(int)::{lambda}::operator()") == 0;
	}
	assert_true(local > 0);
	assert_true(lambda > 0);
	world_end(world);
}

static void no_module_is_an_unknown_frame(void **state)
{
	struct hawk_symbols_options options = {0};
	struct world *world = world_of("program", options);
	const struct hawk_frame *frames;
	size_t count;

	(void)state;
	assert_null(hawk_symbols_lookup(world->symbols, NULL, 4711, true, &frames, &count));
	assert_int_equal(count, 1);
	assert_null(frames[0].function);
	world_end(world);
}

static void a_stripped_library_has_its_dynamic_symbols(void **state)
{
	struct hawk_symbols_options options = {0};
	struct world *world;
	uint64_t address;

	(void)state;
	fixture_build("g++", "-O2 -shared -fPIC", "inlined.cpp", "library.so");
	address = address_of("library.so", "plain");
	assert_int_equal(fixture_run("strip -s library.so"), 0);
	world = world_of("library.so", options);
	expect_function(world, address, "plain");
	expect_status(world, HAWK_SYMBOL_SYMTAB);
	world_end(world);
}

static void a_stripped_file_that_cannot_name_a_function_is_named_once(void **state)
{
	struct hawk_symbols_options options = {0};
	uint8_t id[HAWK_MODULE_BUILD_ID_MAX];
	char hex[2 * HAWK_MODULE_BUILD_ID_MAX + 1] = "";
	struct world *world;
	uint64_t address, local;
	size_t before;

	(void)state;
	fixture_build("g++", "-O2 -shared -fPIC -Wl,--build-id=sha1", "inlined.cpp", "library.so");
	address = address_of("library.so", "plain");
	local = address_of("library.so", "_ZN4deep12_GLOBAL__N_16hiddenEi");
	for (uint32_t i = 0, count = fixture_build_id("library.so", id); i < count; i++)
		sprintf(hex + 2 * i, "%02x", id[i]);
	world = world_of("library.so", options);
	expect_function(world, local, "deep::(anonymous namespace)::hidden(int)");
	expect_unknown(world, 1); /* not code */
	assert_null(finding(world, "names-missing"));
	world_end(world);
	assert_int_equal(fixture_run("strip -s library.so"), 0);
	world = world_of("library.so", options);
	expect_function(world, address, "plain");
	assert_null(finding(world, "names-missing"));
	expect_unknown(world, local);
	assert_non_null(strstr(finding(world, "names-missing"), "library.so names only"));
	assert_non_null(strstr(finding(world, "names-missing"), hex));
	before = world->findings.count;
	expect_unknown(world, local + 1);
	assert_int_equal(world->findings.count, before);
	assert_false(hawk_findings_partial(&world->findings));
	world_end(world);
}

static void a_debug_file_is_found_by_its_link(void **state)
{
	static const char *const places[] = {".", ".debug"};
	struct hawk_symbols_options options = {0};
	uint64_t address;

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct world *world;

		fixture_build("g++", "-O2 -g -Wl,--build-id=none", "inlined.cpp", "program");
		address = address_of("program", "plain");
		split_program("&& objcopy --add-gnu-debuglink=program.debug program");
		assert_int_equal(fixture_run("mkdir -p %s && mv program.debug moved && "
					     "mv moved %s/program.debug",
					     places[i], places[i]),
				 0);
		world = world_of("program", options);
		expect_function(world, address, "plain");
		expect_status(world, HAWK_SYMBOL_DWARF);
		assert_int_not_equal(look(world, address, true)->line, 0);
		world_end(world);
		assert_int_equal(fixture_run("rm -rf program.debug .debug"), 0);
	}
}

static void a_debug_file_is_found_by_its_link_below_the_debug_directory(void **state)
{
	struct hawk_symbols_options options = {.debug_directory = "global"};
	struct world *world;
	uint64_t address;

	(void)state;
	fixture_build("g++", "-O2 -g -Wl,--build-id=none", "inlined.cpp", "program");
	address = address_of("program", "plain");
	split_program("&& objcopy --add-gnu-debuglink=program.debug program");
	assert_int_equal(fixture_run("mkdir -p global%s && mv program.debug global%s/",
				     fixture_folder, fixture_folder),
			 0);
	world = world_of("program", options);
	expect_function(world, address, "plain");
	expect_status(world, HAWK_SYMBOL_DWARF);
	world_end(world);
	assert_int_equal(fixture_run("rm -rf global"), 0);
}

static void a_linked_debug_file_with_another_checksum_is_not_used(void **state)
{
	struct hawk_symbols_options options = {0};
	struct world *world;
	uint64_t address;

	(void)state;
	fixture_build("g++", "-O2 -g -Wl,--build-id=none", "inlined.cpp", "program");
	address = address_of("program", "plain");
	split_program("&& objcopy --add-gnu-debuglink=program.debug program && "
		      "printf x >>program.debug && true");
	world = world_of("program", options);
	expect_unknown(world, address);
	expect_status(world, HAWK_SYMBOL_SYMTAB);
	world_end(world);
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

static void a_debug_file_is_found_by_build_id(void **state)
{
	struct hawk_symbols_options options = {.debug_directory = "ids"};
	struct world *world;
	uint64_t address;

	(void)state;
	build_inlined();
	address = address_of("program", "plain");
	split_program("");
	move_to_build_id("program.debug", ".debug");
	world = world_of("program", options);
	want_build_id_of(world, "program");
	expect_function(world, address, "plain");
	expect_status(world, HAWK_SYMBOL_DWARF);
	assert_int_equal(world->findings.count, 0);
	world_end(world);
}

static void a_debug_file_serves_without_its_program(void **state)
{
	struct hawk_symbols_options options = {.debug_directory = "ids"};
	struct world *world;
	uint64_t address;

	(void)state;
	build_inlined();
	address = address_of("program", "plain");
	split_program("");
	move_to_build_id("program.debug", ".debug");
	world = world_of("program", options);
	want_build_id_of(world, "program");
	assert_int_equal(fixture_run("rm program"), 0);
	expect_function(world, address, "plain");
	expect_status(world, HAWK_SYMBOL_DWARF);
	world_end(world);
}

static void symbols_embedded_in_a_stripped_program_are_used(void **state)
{
	struct hawk_symbols_options options = {0};
	struct world *world;
	uint64_t address;

	(void)state;
	if (!HAWK_HAVE_LZMA || !fixture_has("xz")) {
		print_message("liblzma or xz is not installed\n");
		skip();
	}
	build_inlined();
	address = address_of("program", "plain");
	assert_int_equal(fixture_run("objcopy --only-keep-debug program mini && "
				     "objcopy -S --keep-symbol=plain mini mini.debug && "
				     "xz -f -k mini.debug && strip -s program && "
				     "objcopy --add-section .gnu_debugdata=mini.debug.xz program"),
			 0);
	world = world_of("program", options);
	want_build_id_of(world, "program");
	expect_function(world, address, "plain");
	expect_status(world, HAWK_SYMBOL_SYMTAB);
	world_end(world);
	assert_int_equal(
		fixture_run("head -c 300 mini.debug.xz >cut.xz && objcopy --update-section "
			    ".gnu_debugdata=cut.xz program"),
		0);
	world = world_of("program", options);
	expect_unknown(world, address);
	world_end(world);
}

static void a_program_with_another_build_id_is_named_and_not_used(void **state)
{
	struct hawk_symbols_options options = {0};
	struct world *world;
	uint64_t address;
	const char *text;

	(void)state;
	build_inlined();
	address = address_of("program", "plain");
	world = world_of("program", options);
	want_build_id_of(world, "program");
	world->build_id[0] ^= 0x5a;
	expect_unknown(world, address);
	expect_status(world, HAWK_SYMBOL_MISMATCH);
	text = finding(world, "module-mismatch");
	assert_non_null(text);
	assert_non_null(strstr(text, world->path));
	for (int i = 0; i < 2; i++) {
		char hex[2 * HAWK_MODULE_BUILD_ID_MAX + 1] = "";

		world->build_id[0] ^= i ? 0x5a : 0;
		for (uint32_t k = 0; k < world->module.build_id_bytes; k++)
			sprintf(hex + 2 * k, "%02x", world->build_id[k]);
		assert_non_null(strstr(text, hex));
	}
	assert_false(hawk_findings_partial(&world->findings));
	world_end(world);
}

static void a_program_without_a_build_id_does_not_match_a_wanted_one(void **state)
{
	struct hawk_symbols_options options = {0};
	struct world *world;

	(void)state;
	build_inlined();
	fixture_build("g++", "-O2 -g -Wl,--build-id=none", "inlined.cpp", "other");
	world = world_of("other", options);
	want_build_id_of(world, "program");
	expect_unknown(world, address_of("other", "plain"));
	expect_status(world, HAWK_SYMBOL_MISMATCH);
	world_end(world);
}

static void another_program_at_the_path_does_not_matter_if_the_right_one_is_found(void **state)
{
	struct hawk_symbols_options options = {.debug_directory = "ids"};
	struct world *world;
	uint64_t address;

	(void)state;
	build_inlined();
	address = address_of("program", "plain");
	assert_int_equal(fixture_run("cp program copy"), 0);
	move_to_build_id("copy", "");
	world = world_of("other", options);
	want_build_id_of(world, "program");
	fixture_build("g++", "-O2 -g -Wl,--build-id=sha1 -DOTHER", "scopes.cpp", "other");
	expect_function(world, address, "plain");
	assert_null(finding(world, "module-mismatch"));
	world_end(world);
}

static void a_file_that_cannot_be_verified_is_used_and_named(void **state)
{
	struct hawk_symbols_options options = {0};
	struct world *world;
	uint64_t address;

	(void)state;
	build_inlined();
	address = address_of("program", "plain");
	world = world_of("program", options);
	expect_function(world, address, "plain");
	assert_non_null(strstr(finding(world, "module-unverified"), world->path));
	world_end(world);
}

static void a_missing_file_is_named(void **state)
{
	struct hawk_symbols_options options = {0};
	struct world *world = world_of("nowhere", options);

	(void)state;
	expect_unknown(world, 0x1000);
	expect_status(world, HAWK_SYMBOL_NOT_FOUND);
	assert_non_null(strstr(finding(world, "module-not-found"), world->path));
	world_end(world);
}

static void a_relative_path_is_not_looked_for_here(void **state)
{
	struct hawk_symbols_options options = {0};
	struct world *world;
	uint64_t address;

	(void)state;
	build_inlined();
	address = address_of("program", "plain");
	world = world_of("program", options);
	world->module.path = "program";
	expect_unknown(world, address);
	expect_status(world, HAWK_SYMBOL_NOT_FOUND);
	world_end(world);
}

static void the_executable_option_names_the_main_module_only(void **state)
{
	struct hawk_symbols_options options = {.executable = "program"};
	struct world *world;
	uint64_t address;

	(void)state;
	build_inlined();
	address = address_of("program", "plain");
	world = world_of("moved/away", options);
	expect_function(world, address, "plain");
	world->module.main = false;
	expect_unknown(world, address);
	world_end(world);
}

static void the_sysroot_comes_before_the_path_itself(void **state)
{
	struct hawk_symbols_options options = {.sysroot = "root"};
	struct world *world;
	uint64_t address;

	(void)state;
	build_inlined();
	address = address_of("program", "plain");
	assert_int_equal(fixture_run("mkdir -p root%s && mv program root%s/", fixture_folder,
				     fixture_folder),
			 0);
	world = world_of("program", options);
	expect_function(world, address, "plain");
	world_end(world);
	assert_int_equal(fixture_run("rm -rf root"), 0);
}

static void expect_refused(const char *name, const char *why)
{
	struct hawk_symbols_options options = {0};
	struct world *world = world_of(name, options);

	expect_unknown(world, 0x1000);
	expect_status(world, HAWK_SYMBOL_REFUSED);
	if (!strstr(finding(world, "module-refused"), why))
		fail_msg("\"%s\" does not say \"%s\"", finding(world, "module-refused"), why);
	world_end(world);
}

static void what_is_not_a_regular_file_is_not_opened(void **state)
{
	(void)state;
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

static void files_that_are_no_programs_are_refused_by_name(void **state)
{
	Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_CORE,
			     .e_machine = EM_X86_64,
			     .e_version = EV_CURRENT,
			     .e_ehsize = sizeof(header)};

	(void)state;
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

static void random_bytes_behind_the_magic_do_no_harm(void **state)
{
	struct hawk_symbols_options options = {0};
	unsigned char bytes[4096];

	(void)state;
	srandom(17);
	for (int round = 0; round < 200; round++) {
		struct world *world;

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (unsigned char)(random() % (round % 2 ? 256 : 5));
		memcpy(bytes, "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\76\0\1\0\0\0", 24);
		write_file("random", bytes, sizeof(bytes));
		world = world_of("random", options);
		for (uint64_t address = 0; address < sizeof(bytes); address += 64)
			look(world, address, true);
		world_end(world);
	}
}

static void a_program_cut_anywhere_does_no_harm(void **state)
{
	struct hawk_symbols_options options = {0};
	uint64_t address;
	size_t size;
	char *bytes;
	FILE *file;

	(void)state;
	build_inlined();
	address = address_of("program", "plain");
	bytes = malloc(1 << 20);
	file = fopen("program", "r");
	assert_non_null(bytes);
	assert_non_null(file);
	size = fread(bytes, 1, 1 << 20, file);
	fclose(file);
	for (size_t cut = 1; cut < size; cut += size / 97) {
		struct world *world;

		write_file("cut", bytes, cut);
		world = world_of("cut", options);
		look(world, address, true);
		world_end(world);
	}
	free(bytes);
}

static void missing_split_information_is_said_and_lines_are_left(void **state)
{
	struct hawk_symbols_options options = {0};
	struct world *world;
	uint64_t address;

	(void)state;
	fixture_build("g++", "-O2 -g -gsplit-dwarf", "inlined.cpp", "program");
	address = address_of("program", "plain");
	assert_int_equal(fixture_run("rm *.dwo"), 0);
	world = world_of("program", options);
	expect_function(world, address, "plain");
	assert_int_not_equal(look(world, address, true)->line, 0);
	assert_non_null(strstr(finding(world, "split-debug-missing"), ".dwo"));
	world_end(world);
	assert_int_equal(fixture_run("g++ -O2 -g -gsplit-dwarf inlined.cpp -o program && "
				     "for f in *.dwo; do rm $f; mkfifo $f; done"),
			 0);
	world = world_of("program", options);
	expect_function(world, address, "plain");
	world_end(world);
	assert_int_equal(fixture_run("rm *.dwo"), 0);
}

static void missing_shared_information_is_said_and_not_opened_if_special(void **state)
{
	struct hawk_symbols_options options = {0};
	uint64_t address;

	(void)state;
	for (int round = 0; round < 2; round++) {
		struct world *world;

		build_inlined();
		address = address_of("program", "plain");
		assert_int_equal(
			fixture_run("printf 'shared.debug\\0abcdefghijklmnopqrst' >link && "
				    "objcopy --add-section .gnu_debugaltlink=link program"),
			0);
		assert_int_equal(round ? fixture_run("mkfifo shared.debug") : 0, 0);
		world = world_of("program", options);
		expect_function(world, address, "plain");
		assert_non_null(strstr(finding(world, "shared-debug-missing"), "shared.debug"));
		world_end(world);
	}
	assert_int_equal(fixture_run("rm shared.debug"), 0);
}

static void what_libdw_cannot_unpack_is_said_and_names_are_left(void **state)
{
	struct hawk_symbols_options options = {0};
	struct world *world;
	uint64_t address;

	(void)state;
	build_inlined();
	address = address_of("program", "plain");
	if (fixture_run("objcopy --compress-debug-sections=zstd program") != 0) {
		print_message("this objcopy cannot compress with zstd\n");
		skip();
	}
	world = world_of("program", options);
	expect_function(world, address, "plain");
	/* elfutils 0.189 and later can read it, if built so. */
	if (hawk_symbols_status(world->symbols, &world->module) != HAWK_SYMBOL_DWARF)
		assert_non_null(strstr(finding(world, "debug-zstd"), "zstd"));
	world_end(world);
}

static void nothing_is_fetched_from_the_network(void **state)
{
	struct hawk_symbols_options options = {0};
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct pollfd event = {.fd = listener, .events = POLLIN};
	struct world *world;
	char url[64];

	(void)state;
	build_inlined();
	split_program("");
	assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(listener, 4), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/", ntohs(address.sin_port));
	setenv("DEBUGINFOD_URLS", url, 1);
	world = world_of("program", options);
	want_build_id_of(world, "program");
	look(world, 0x1200, true);
	assert_int_equal(poll(&event, 1, 0), 0);
	world_end(world);
	unsetenv("DEBUGINFOD_URLS");
	close(listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_with_debug_information_gives_function_file_and_line),
		cmocka_unit_test(asking_again_gives_the_same_frames),
		cmocka_unit_test(a_return_address_belongs_to_the_instruction_before_it),
		cmocka_unit_test(an_unknown_bias_is_found_from_the_lowest_address),
		cmocka_unit_test(data_and_functions_have_names),
		cmocka_unit_test(inlined_names_have_their_scopes),
		cmocka_unit_test(no_module_is_an_unknown_frame),
		cmocka_unit_test(a_stripped_library_has_its_dynamic_symbols),
		cmocka_unit_test(a_stripped_file_that_cannot_name_a_function_is_named_once),
		cmocka_unit_test(a_debug_file_is_found_by_its_link),
		cmocka_unit_test(a_debug_file_is_found_by_its_link_below_the_debug_directory),
		cmocka_unit_test(a_linked_debug_file_with_another_checksum_is_not_used),
		cmocka_unit_test(a_debug_file_is_found_by_build_id),
		cmocka_unit_test(a_debug_file_serves_without_its_program),
		cmocka_unit_test(symbols_embedded_in_a_stripped_program_are_used),
		cmocka_unit_test(a_program_with_another_build_id_is_named_and_not_used),
		cmocka_unit_test(a_program_without_a_build_id_does_not_match_a_wanted_one),
		cmocka_unit_test(
			another_program_at_the_path_does_not_matter_if_the_right_one_is_found),
		cmocka_unit_test(a_file_that_cannot_be_verified_is_used_and_named),
		cmocka_unit_test(a_missing_file_is_named),
		cmocka_unit_test(a_relative_path_is_not_looked_for_here),
		cmocka_unit_test(the_executable_option_names_the_main_module_only),
		cmocka_unit_test(the_sysroot_comes_before_the_path_itself),
		cmocka_unit_test(what_is_not_a_regular_file_is_not_opened),
		cmocka_unit_test(files_that_are_no_programs_are_refused_by_name),
		cmocka_unit_test(random_bytes_behind_the_magic_do_no_harm),
		cmocka_unit_test(a_program_cut_anywhere_does_no_harm),
		cmocka_unit_test(missing_split_information_is_said_and_lines_are_left),
		cmocka_unit_test(missing_shared_information_is_said_and_not_opened_if_special),
		cmocka_unit_test(what_libdw_cannot_unpack_is_said_and_names_are_left),
		cmocka_unit_test(nothing_is_fetched_from_the_network),
	};

	return cmocka_run_group_tests(tests, fixture_enter, fixture_leave);
}
