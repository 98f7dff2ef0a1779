/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The world of the tests of symbols/symbols.h: one module, which is a file of the fixture's folder,
 * its symbols object and the findings; and what the tests expect of it. Test code: gives up with
 * fail().
 */
#ifndef SYMBOLS_WORLD_H
#define SYMBOLS_WORLD_H

#include "symbols/symbols_fixture.h"

static struct world {
	struct hawk_findings findings;
	struct hawk_symbols *symbols;
	struct hawk_symbol_module module;
	uint8_t build_id[HAWK_MODULE_BUILD_ID_MAX];
	char path[512];
} world;

/** Closes what is open; the tear-down of each test. */
static inline int close_module(void **state)
{
	(void)state;
	alarm(0);
	hawk_symbols_destroy(world.symbols);
	hawk_findings_deinit(&world.findings);
	memset(&world, 0, sizeof(world));
	return 0;
}

/** The file `name` of the folder as the only module, without a build-id. */
static inline void open_with(const char *name, struct hawk_symbols_options options)
{
	close_module(NULL);
	alarm(60); /* what hangs fails */
	hawk_findings_init(&world.findings);
	snprintf(world.path, sizeof(world.path), "%s", fixture_path(name));
	world.module = (struct hawk_symbol_module){.path = world.path, .main = true};
	check(hawk_symbols_create(NULL, &options, &world.findings, &world.symbols));
}

static inline void open_module(const char *name)
{
	open_with(name, (struct hawk_symbols_options){0});
}

static inline void want_build_id_of(const char *name)
{
	world.module.build_id = world.build_id;
	world.module.build_id_bytes = fixture_build_id(name, world.build_id);
}

/** Link-time address of `symbol` in `name`, by nm. */
static inline uint64_t address_of(const char *name, const char *symbol)
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

/** Builds `name` from inlined.cpp with these options of the compiler. Returns the link-time address
 * of its function plain(). */
static inline uint64_t build_inlined_as(const char *name, const char *options)
{
	fixture_build("g++", options, "inlined.cpp", name);
	return address_of(name, "plain");
}

static inline uint64_t build_inlined(void)
{
	return build_inlined_as("program", "-O2 -g -Wl,--build-id=sha1");
}

static inline const struct hawk_frame *look(uint64_t address, bool exact)
{
	const struct hawk_frame *frames;
	size_t count;

	assert_null(
		hawk_symbols_lookup(world.symbols, &world.module, address, exact, &frames, &count));
	assert_true(count > 0);
	assert_false(frames[count - 1].inlined);
	return &frames[count - 1];
}

static inline void expect_status(enum hawk_symbol_status status)
{
	assert_int_equal(hawk_symbols_status(world.symbols, &world.module), status);
}

static inline const char *finding(const char *key)
{
	for (size_t i = 0; i < world.findings.count; i++)
		if (strncmp(world.findings.items[i].key, key, strlen(key)) == 0)
			return world.findings.items[i].text;
	return NULL;
}

static inline void expect_function(uint64_t address, const char *name)
{
	const char *found = look(address, true)->function;

	assert_non_null(found);
	assert_string_equal(found, name);
}

static inline void expect_unknown(uint64_t address)
{
	const struct hawk_frame *frame = look(address, true);

	assert_null(frame->function);
	assert_null(frame->symbol);
	assert_null(frame->file);
	assert_int_equal(frame->line, 0);
}

#define SYMBOLS_TEST(name) TEST_WITH(void *nothing, NULL, close_module, name)

#endif
