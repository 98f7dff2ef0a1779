/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Types of variables by debug information: of a real core, with gcc and clang; and debug
 * information that was damaged.
 */
#include "test.h"
#include "symbols/symbols_fixture.h"

#include <fnmatch.h>
#include <inttypes.h>

#include "hawk/symbols/dwarf_types.h"

static struct {
	struct hawk_findings findings;
	struct hawk_target *target;
	struct hawk_symbols *symbols;
	struct hawk_symbol_module module;
	struct hawk_dwarf_variables locals;
} world;

static void build(const char *compiler, const char *options)
{
	char all[FIXTURE_COMMAND_MAX];

	snprintf(all, sizeof(all), "-g %s '%s/tests/unit/symbols/typed_hidden.cpp'", options,
		 HAWK_SOURCE_DIRECTORY);
	fixture_build(compiler, all, "typed.cpp", "typed");
	fixture_run("rm -f core* kernel_core; ulimit -c unlimited; ./typed; mv core* kernel_core");
	assert_int_equal(system("nm -C typed >symbols"), 0);
	if (access("kernel_core", R_OK) == 0)
		return;
	print_message("the kernel writes cores elsewhere\n");
	skip();
}

static void open_core(void)
{
	size_t count;
	const struct hawk_module *modules;

	hawk_findings_init(&world.findings);
	check(hawk_target_open_core("kernel_core", &world.findings, &world.target));
	check(hawk_symbols_create(world.target, NULL, &world.findings, &world.symbols));
	modules = hawk_target_modules(world.target, &count);
	for (size_t i = 0; i < count; i++)
		if (modules[i].main)
			world.module = hawk_symbol_module_of(&modules[i]);
}

/* Opens the C library's debug information, too. */
static void find_locals(void)
{
	size_t count;

	hawk_dwarf_locals(world.symbols, hawk_target_threads(world.target, &count), &world.locals);
}

static int close_core(void **state)
{
	(void)state;
	hawk_dwarf_variables_deinit(&world.locals);
	hawk_symbols_destroy(world.symbols);
	hawk_target_close(world.target);
	hawk_findings_deinit(&world.findings);
	memset(&world, 0, sizeof(world));
	return 0;
}

/* Finds the address of a symbol by nm; `symbol` is a pattern of the shell. */
static uint64_t address_of(const char *symbol)
{
	uint64_t address = 0;
	char pattern[256];
	char *text = fixture_read("symbols");

	snprintf(pattern, sizeof(pattern), "* %s", symbol);
	for (char *line = strtok(text, "\n"); line && !address; line = strtok(NULL, "\n"))
		if (fnmatch(pattern, line, 0) == 0)
			address = strtoull(line, NULL, 16);
	free(text);
	assert_int_not_equal(address, 0);
	return address + world.module.bias;
}

static struct hawk_dwarf_variable static_variable(const char *symbol)
{
	struct hawk_dwarf_variable variable;

	if (!hawk_dwarf_static_at(world.symbols, &world.module, address_of(symbol), &variable))
		fail_msg("%s was not found", symbol);
	assert_true(variable.is_static);
	assert_int_equal(variable.address, address_of(symbol));
	return variable;
}

static void expect_name(const struct hawk_dwarf_type *type, const char *name)
{
	struct hawk_text text;

	hawk_text_init(&text);
	hawk_dwarf_append_name(world.symbols, type, &text);
	assert_string_equal(hawk_text_string(&text), name);
	hawk_text_deinit(&text);
}

static void expect_path(const struct hawk_dwarf_type *type, uint64_t offset, const char *path)
{
	struct hawk_text text;

	hawk_text_init(&text);
	hawk_dwarf_append_path(world.symbols, type, offset, &text);
	assert_string_equal(hawk_text_string(&text), path);
	hawk_text_deinit(&text);
}

static struct hawk_dwarf_variable local(const char *name, uint32_t frame)
{
	for (size_t i = 0; i < world.locals.count; i++)
		if (!strcmp(world.locals.items[i].name, name) &&
		    world.locals.items[i].frame >= frame)
			return world.locals.items[i];
	fail_msg("no local %s", name);
	return (struct hawk_dwarf_variable){0};
}

static uint64_t word_at(uint64_t address)
{
	uint64_t word;

	assert_int_equal(hawk_target_read_some(world.target, address, &word, sizeof(word)),
			 sizeof(word));
	return word;
}

static void expect_statics(void)
{
	struct hawk_dwarf_variable cache = static_variable("shop::cache");
	struct hawk_dwarf_member member;

	assert_string_equal(cache.name, "shop::cache");
	expect_name(cache.type, "shop::Cache");
	expect_path(cache.type, 8, ".id");
	expect_path(cache.type, 16, ".first");
	expect_path(cache.type, 24, ".text");
	expect_path(cache.type, 48, ".table[1]");
	assert_true(hawk_dwarf_member_at(world.symbols, cache.type, "id", &member));
	assert_int_equal(member.offset, 8);
	/* A path follows no pointer. */
	assert_false(hawk_dwarf_member_at(world.symbols, cache.type, "first.next", &member));
}

static void expect_all(void)
{
	struct hawk_dwarf_variable hidden, variable;
	size_t count;
	const struct hawk_dwarf_type *target;

	open_core();
	find_locals();
	expect_name(static_variable("shop::Cache::shared").type, "shop::Node<int>");
	expect_name(static_variable("work*::counted").type, "shop::Node<long>");
	hidden = static_variable("shop::hidden");
	expect_name(hidden.type, "shop::Hidden*");
	target = hawk_dwarf_target(world.symbols, hidden.type);
	assert_int_equal(target->bytes, 16); /* defined in the other unit */
	hawk_dwarf_members(world.symbols, target, &count);
	assert_int_equal(count, 2);

	assert_true(hawk_dwarf_thread_local_at(
		world.symbols, &world.module,
		hawk_target_threads(world.target, &count)->thread_pointer - 8,
		hawk_target_threads(world.target, &count)->thread_pointer, &variable));
	assert_string_equal(variable.name, "shop::current");
	expect_name(variable.type, "shop::Node<int>*");

	variable = local("local", 0);
	expect_name(variable.type, "shop::Node<int>");
	assert_int_equal(word_at(variable.address),
			 word_at(static_variable("shop::cache").address + 16));
	variable = local("server", 0);
	expect_name(variable.type, "shop::Cache*");
	assert_int_equal(variable.address ? word_at(variable.address) : variable.value,
			 static_variable("shop::cache").address);
	assert_non_null(hawk_dwarf_class(world.symbols, world.module.start, "shop::Cache"));
	assert_null(hawk_dwarf_class(world.symbols, world.module.start, "shop::None"));
}

#define TYPES_TEST(name) TEST_WITH(void *nothing, NULL, close_core, name)

TYPES_TEST(variables_of_an_optimized_program)
{
	(void)nothing;
	build("g++", "-O2");
	expect_all();
	expect_statics();
}

TYPES_TEST(variables_of_a_plain_program)
{
	(void)nothing;
	build("g++", "-O0 -gdwarf-4");
	expect_all();
	expect_statics();
}

TYPES_TEST(variables_of_a_program_of_clang)
{
	(void)nothing;
	build("clang++", "-O1");
	expect_all();
}

TYPES_TEST(types_in_units_of_their_own)
{
	(void)nothing;
	build("g++", "-O2 -fdebug-types-section");
	expect_all();
}

TYPES_TEST(a_separate_compressed_debug_file)
{
	(void)nothing;
	build("g++", "-O2 -gz");
	assert_int_equal(fixture_run("objcopy --only-keep-debug typed typed.debug && "
				     "strip --strip-all typed && "
				     "objcopy --add-gnu-debuglink=typed.debug typed"),
			 0);
	open_core();
	assert_non_null(hawk_dwarf_class(world.symbols, world.module.start, "shop::Cache"));
}

/* Overwrites bytes of .debug_info and .debug_abbrev all over; nothing may crash or hang. */
TYPES_TEST(damaged_debug_information_gives_no_type_or_one)
{
	(void)nothing;
	build("g++", "-O1");
	for (int seed = 1; seed <= 3; seed++) {
		struct hawk_dwarf_variable variable;
		size_t count;

		assert_int_equal(
			fixture_run(
				"test -f good || cp typed good; cp good typed && "
				"python3 -c \"import random, re, subprocess\n"
				"random.seed(%d)\n"
				"text = subprocess.run(['readelf', '-SW', 'good'], "
				"capture_output=True, text=True).stdout\n"
				"data = bytearray(open('good', 'rb').read())\n"
				"for name in ('.debug_info', '.debug_abbrev', '.debug_loclists'):\n"
				"    found = re.search(re.escape(name) + "
				"r' +PROGBITS +\\\\w+ (\\\\w+) (\\\\w+)', text)\n"
				"    start, size = (int(x, 16) for x in found.groups())\n"
				"    for i in range(12):\n"
				"        data[start + random.randrange(size)] = "
				"random.randrange(256)\n"
				"open('typed', 'wb').write(data)\"",
				seed),
			0);
		open_core();
		if (seed == 1)
			find_locals();
		for (uint64_t at = world.module.start; at < world.module.end; at += 64) {
			if (!hawk_dwarf_static_at(world.symbols, &world.module, at, &variable))
				continue;
			hawk_dwarf_members(world.symbols, variable.type, &count);
			hawk_dwarf_alignment(world.symbols, variable.type);
		}
		close_core(NULL);
	}
}
