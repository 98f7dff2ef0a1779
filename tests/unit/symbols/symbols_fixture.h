/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Builds programs while the test runs, in a folder of its own that vanishes with it, and runs the
 * tools that know their symbols (addr2line, gdb). Test code: gives up with fail() or skip().
 */
#ifndef SYMBOLS_FIXTURE_H
#define SYMBOLS_FIXTURE_H

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hawk/symbols/symbols.h"
#include "test.h"

enum { FIXTURE_COMMAND_MAX = 4096, FIXTURE_OUTPUT_MAX = 8 << 20 };

static char fixture_folder[256];

static inline int fixture_enter(void **state)
{
	const char *base = getenv("TMPDIR");

	(void)state;
	snprintf(fixture_folder, sizeof(fixture_folder), "%s/hawk-symbols-XXXXXX",
		 base && base[0] == '/' ? base : "/tmp");
	return mkdtemp(fixture_folder) && chdir(fixture_folder) == 0 ? 0 : -1;
}

static inline int fixture_leave(void **state)
{
	char command[FIXTURE_COMMAND_MAX];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", fixture_folder);
	return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

/** Exit status of a shell command; its output is in `out` and `err` of the folder. */
__attribute__((format(printf, 1, 2))) static inline int fixture_run(const char *format, ...)
{
	char command[FIXTURE_COMMAND_MAX];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(command, sizeof(command) - 16, format, arguments);
	va_end(arguments);
	assert_in_range(length, 1, sizeof(command) - 17);
	strcat(command, " >out 2>err");
	return system(command);
}

/** Contents of a file of the folder, to be freed. */
static inline char *fixture_read(const char *name)
{
	FILE *file = fopen(name, "r");
	char *text = calloc(1, FIXTURE_OUTPUT_MAX);

	assert_non_null(file);
	assert_non_null(text);
	text[fread(text, 1, FIXTURE_OUTPUT_MAX - 1, file)] = '\0';
	fclose(file);
	return text;
}

static inline bool fixture_has(const char *tool)
{
	return fixture_run("command -v %s", tool) == 0;
}

/** Prints why and skips the test, unless there is such a tool. */
static inline void fixture_needs(const char *tool)
{
	if (fixture_has(tool))
		return;
	print_message("%s is not installed\n", tool);
	skip();
}

/** Builds `source` (a file of tests/unit/symbols) as `name`; skips if there is no such compiler. */
static inline void fixture_build(const char *compiler, const char *options, const char *source,
				 const char *name)
{
	char *message;

	fixture_needs(compiler);
	if (fixture_run("cp '%s/tests/unit/symbols/%s' . && %s %s %s -o %s", HAWK_SOURCE_DIRECTORY,
			source, compiler, options, source, name) == 0)
		return;
	message = fixture_read("err");
	fail_msg("%s %s: %s", compiler, options, message);
}

static inline const char *fixture_path(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", fixture_folder, name);
	return path;
}

/** Bytes of a file's build-id (from its note, by readelf); returns how many. */
static inline uint32_t fixture_build_id(const char *name, uint8_t id[HAWK_MODULE_BUILD_ID_MAX])
{
	uint32_t count = 0;
	unsigned byte;
	char *text;
	const char *at;

	assert_int_equal(fixture_run("readelf -n %s", name), 0);
	text = fixture_read("out");
	at = strstr(text, "Build ID: ");
	assert_non_null(at);
	for (at += strlen("Build ID: "); sscanf(at, "%2x", &byte) == 1 && *at > ' '; at += 2)
		id[count++] = (uint8_t)byte;
	free(text);
	return count;
}

/** For every program that includes this. */
__attribute__((constructor)) static void fixture_add(void)
{
	test_add_group(fixture_enter, fixture_leave);
}

#endif
