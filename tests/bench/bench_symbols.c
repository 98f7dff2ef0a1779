/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What symbolizing costs: 100,000 program counters spread over one file, first (tables are built),
 * other ones (tables are there, nothing is cached), and the same ones again.
 *
 * bench_symbols [FILE]: a program or library, best one with debug information; default: the C
 * library.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "bench_clock.h"
#include "hawk_symbols.h"
#include "symbols_elf.h"

enum { LOOKUPS = 100000 };

static double seconds(void)
{
	return bench_seconds(CLOCK_MONOTONIC);
}

/** The largest executable segment of `path`. */
static struct hawk_elf_segment code_of(const char *path)
{
	struct hawk_elf_segment code = {0};
	struct hawk_elf *elf = NULL;
	const char *why;

	elf_version(EV_CURRENT);
	if (hawk_elf_open(path, &why, &elf) || !elf) {
		fprintf(stderr, "%s cannot be used\n", path);
		exit(EXIT_FAILURE);
	}
	for (size_t i = 0; i < elf->segment_count; i++)
		if (elf->segments[i].executable &&
		    elf->segments[i].end - elf->segments[i].start > code.end - code.start)
			code = elf->segments[i];
	hawk_elf_close(elf);
	return code;
}

static void measure(struct hawk_symbols *symbols, const struct hawk_symbol_module *module,
		    const char *what, uint64_t shift)
{
	uint64_t step = (module->end - module->start) / LOOKUPS + 1;
	size_t lines = 0, inlined = 0;
	double start = seconds();

	for (uint64_t i = 0; i < LOOKUPS; i++) {
		uint64_t pc = module->start + (i * step + shift) % (module->end - module->start);
		const struct hawk_frame *frames;
		size_t count;

		if (hawk_symbols_lookup(symbols, module, pc, true, &frames, &count))
			exit(EXIT_FAILURE);
		lines += frames[0].line != 0;
		inlined += count > 1;
	}
	printf("%-28s %8.0f ns per lookup (%zu with a line, %zu with inlined frames)\n", what,
	       (seconds() - start) / LOOKUPS * 1e9, lines, inlined);
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "/lib/x86_64-linux-gnu/libc.so.6";
	struct hawk_elf_segment code = code_of(path);
	struct hawk_symbol_module module = {.path = path, .start = code.start, .end = code.end};
	struct hawk_symbols_options options = {0};
	struct hawk_symbols *symbols;
	struct rusage usage;

	if (hawk_symbols_create(NULL, &options, NULL, &symbols))
		return EXIT_FAILURE;
	printf("%s, %.1f MB of code\n", path, (double)(code.end - code.start) / 1e6);
	measure(symbols, &module, "first, tables are built", 0);
	measure(symbols, &module, "others, nothing cached", 1);
	measure(symbols, &module, "the first again, cached", 0);
	getrusage(RUSAGE_SELF, &usage);
	printf("%-28s %8ld MB\n", "most memory", usage.ru_maxrss / 1024);
	hawk_symbols_destroy(symbols);
	return EXIT_SUCCESS;
}
