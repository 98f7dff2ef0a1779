/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Function, file and line, inlined frames included, at every instruction of a program, compared
 * with llvm-symbolizer: DWARF 4 and 5, gcc and clang, split, compressed, link-time optimized.
 *
 * Names are compared without scopes, templates and parameters, which every demangler spells in its
 * own way.
 */
#include "test.h"
#include "symbols/symbols_fixture.h"

#include <ctype.h>

enum { FRAMES_MAX = 64, NAME_MAX_BYTES = 4096, LEAST_COMPARED = 100 };

struct expected {
	char function[NAME_MAX_BYTES];
	char file[NAME_MAX_BYTES];
	unsigned line;
};

static void cut_at(char *text, const char *mark)
{
	char *at = strstr(text, mark);

	if (at)
		*at = '\0';
}

/** "int ns::C<int>::f(char) const [clone .cold]" becomes "f". */
static void reduce(const char *name, char *to)
{
	size_t size = 0;
	int depth = 0;

	if (strstr(name, "operator")) {
		strcpy(to, "operator");
		return;
	}
	for (const char *at = name; *at && size + 1 < NAME_MAX_BYTES; at++) {
		if (strncmp(at, "(anonymous namespace)", 21) == 0)
			at += 21;
		if (strchr("<([", *at))
			depth++;
		else if (strchr(">)]", *at))
			depth--;
		else if (depth == 0)
			to[size++] = *at;
	}
	to[size] = '\0';
	cut_at(to, " const");
	while (size && isspace((unsigned char)to[strlen(to) - 1]))
		to[strlen(to) - 1] = '\0';
	if (strrchr(to, ':'))
		memmove(to, strrchr(to, ':') + 1, strlen(strrchr(to, ':')));
	if (strrchr(to, ' '))
		memmove(to, strrchr(to, ' ') + 1, strlen(strrchr(to, ' ')));
	if (to[0] && strchr(to + 1, '.')) /* .constprop.0 */
		*strchr(to + 1, '.') = '\0';
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "??";
}

static void compare_name(uint64_t address, const char *ours, const char *theirs)
{
	char left[NAME_MAX_BYTES], right[NAME_MAX_BYTES];

	if (strncmp(theirs, "_Z", 2) == 0) /* one that it cannot demangle */
		return;
	reduce(ours ? ours : "??", left);
	reduce(theirs, right);
	if (strcmp(left, right) != 0)
		fail_msg("0x%llx: function %s, expected %s", (unsigned long long)address,
			 ours ? ours : "??", theirs);
}

static void compare(uint64_t address, const struct hawk_frame *frames, size_t count,
		    const struct expected *expected, size_t expected_count)
{
	if (count != expected_count)
		fail_msg("0x%llx: %zu frames, expected %zu", (unsigned long long)address, count,
			 expected_count);
	for (size_t i = 0; i < count; i++) {
		compare_name(address, frames[i].function, expected[i].function);
		if (frames[i].line != expected[i].line ||
		    strcmp(base_name(frames[i].file), base_name(expected[i].file)) != 0)
			fail_msg("0x%llx: frame %zu at %s:%u, expected %s:%u",
				 (unsigned long long)address, i, base_name(frames[i].file),
				 frames[i].line, base_name(expected[i].file), expected[i].line);
		assert_int_equal(frames[i].inlined, i + 1 < count);
	}
}

/** One block of the reference: address, then function and place by turns, then an empty line. */
static bool read_expected(char **at, uint64_t *address, struct expected *expected, size_t *count)
{
	char *line = strsep(at, "\n");

	*count = 0;
	if (!line || !*at)
		return false;
	*address = strtoull(line, NULL, 16);
	while ((line = strsep(at, "\n")) && line[0] && *count < FRAMES_MAX) {
		char *place = strsep(at, "\n");
		char *colon;

		assert_non_null(place);
		colon = strrchr(place, ':');
		assert_non_null(colon);
		*colon = '\0'; /* the column */
		colon = strrchr(place, ':');
		assert_non_null(colon);
		*colon = '\0';
		snprintf(expected[*count].function, NAME_MAX_BYTES, "%s", line);
		snprintf(expected[*count].file, NAME_MAX_BYTES, "%s", place);
		expected[(*count)++].line = (unsigned)strtoul(colon + 1, NULL, 10);
	}
	return true;
}

static size_t compare_all(struct hawk_symbols *symbols, const struct hawk_symbol_module *module,
			  char *text)
{
	struct expected *expected = calloc(FRAMES_MAX, sizeof(*expected));
	size_t expected_count, compared = 0;
	uint64_t address;

	assert_non_null(expected);
	while (read_expected(&text, &address, expected, &expected_count)) {
		const struct hawk_frame *frames;
		size_t count;

		assert_null(hawk_symbols_lookup(symbols, module, address, true, &frames, &count));
		/* Start files: no debug information, and symbols that each tool stretches its way.
		 */
		if (!expected_count || strcmp(expected[0].file, "??") == 0 ||
		    strcmp(expected[0].file, "crtstuff.c") == 0)
			continue;
		compare(address, frames, count, expected, expected_count);
		compared++;
	}
	free(expected);
	return compared;
}

static void compare_program(const char *compiler, const char *options, const char *finish)
{
	struct hawk_symbols_options none = {0};
	struct hawk_symbol_module module = {.path = fixture_path("program"), .main = true};
	char with_library[256], *text;
	struct hawk_symbols *symbols;

	fixture_needs("llvm-symbolizer");
	snprintf(with_library, sizeof(with_library), "%s -DLIBRARY", options);
	fixture_build(compiler, with_library, "inlined.cpp", "program");
	assert_int_equal(
		fixture_run("objdump -d -j .text --no-show-raw-insn program | "
			    "sed -n 's/^ *\\([0-9a-f]*\\):.*/0x\\1/p' | "
			    "llvm-symbolizer --obj=program --addresses --inlines --demangle"),
		0);
	text = fixture_read("out");
	assert_int_equal(fixture_run("%s", finish), 0);
	assert_null(hawk_symbols_create(NULL, &none, NULL, &symbols));
	assert_true(compare_all(symbols, &module, text) >= LEAST_COMPARED);
	assert_int_equal(hawk_symbols_status(symbols, &module), HAWK_SYMBOL_DWARF);
	hawk_symbols_destroy(symbols);
	free(text);
}

#define LINES_TEST(name, compiler, options, finish)                                                \
	TEST(name)                                                                                 \
	{                                                                                          \
		compare_program(compiler, options, finish);                                        \
	}

LINES_TEST(gcc_optimized, "g++", "-O2 -g", "true")
LINES_TEST(gcc_not_optimized, "g++", "-O0 -g", "true")
LINES_TEST(gcc_dwarf_4, "g++", "-O2 -g -gdwarf-4", "true")
LINES_TEST(gcc_split, "g++", "-O2 -g -gsplit-dwarf", "true")
LINES_TEST(gcc_split_dwarf_4, "g++", "-O2 -g -gdwarf-4 -gsplit-dwarf", "true")
LINES_TEST(gcc_compressed, "g++", "-O2 -g -gz=zlib", "true")
LINES_TEST(gcc_type_units, "g++", "-O2 -g -fdebug-types-section", "true")
LINES_TEST(gcc_link_time_optimized, "g++", "-O2 -g -flto", "true")
LINES_TEST(gcc_fixed_address_and_sections, "g++",
	   "-O2 -g -no-pie -ffunction-sections -Wl,--gc-sections", "true")
LINES_TEST(gcc_stripped_with_debug_link, "g++", "-O2 -g",
	   "objcopy --only-keep-debug program program.debug && strip -s program && "
	   "objcopy --add-gnu-debuglink=program.debug program")
LINES_TEST(gcc_stripped_with_compressed_debug_file, "g++", "-O2 -g",
	   "objcopy --only-keep-debug --compress-debug-sections program program.debug && "
	   "strip -s program && objcopy --add-gnu-debuglink=program.debug program")
TEST(gcc_shared_by_dwz)
{
	fixture_needs("dwz");
	compare_program("g++", "-O2 -g", "cp program copy && dwz -m shared.dwz -r program copy");
}

LINES_TEST(clang_optimized, "clang++", "-O2 -g", "true")
LINES_TEST(clang_dwarf_4, "clang++", "-O2 -g -gdwarf-4", "true")
LINES_TEST(clang_split, "clang++", "-O2 -g -gsplit-dwarf", "true")
LINES_TEST(clang_split_dwarf_4, "clang++", "-O2 -g -gdwarf-4 -gsplit-dwarf", "true")
LINES_TEST(clang_line_tables_only, "clang++", "-O2 -gline-tables-only", "true")
