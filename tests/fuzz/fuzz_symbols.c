/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Takes any bytes as a program or debug file and asks it for everything: names, lines and rules for
 * unwinding at addresses all over its segments.
 *
 * libdw reads the DWARF; what is ours is the index of units, the walk over their entries, symbol
 * tables, call frame information and its expressions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/dwarf_cfi.h"
#include "hawk/symbols/coroutines.h"
#include "hawk/symbols/symbols.h"
#include "symbols/elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PROBES = 48, ALIGNMENT = 16 };

static volatile uint64_t sink;

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void look_up(struct hawk_symbols *symbols, const struct hawk_symbol_module *module,
		    uint64_t address)
{
	const struct hawk_frame *frames, *again;
	size_t count, count_again;
	const char *name;
	uint64_t offset;

	if (hawk_symbols_lookup(symbols, module, address, true, &frames, &count))
		return;
	require(count > 0 && !frames[count - 1].inlined);
	for (size_t i = 0; i < count; i++) {
		sink += frames[i].function ? strlen(frames[i].function) : 0;
		sink += frames[i].symbol ? strlen(frames[i].symbol) : 0;
		sink += frames[i].file ? strlen(frames[i].file) : 0;
	}
	require(!hawk_symbols_lookup(symbols, module, address, true, &again, &count_again));
	require(again == frames && count_again == count);
	if (!hawk_symbols_name(symbols, module, address, &name, &offset) && name)
		sink += strlen(name);
}

/** Memory that holds its own addresses. */
static bool read_memory(void *context, uint64_t address, void *to, size_t bytes)
{
	(void)context;
	memcpy(to, &address, bytes);
	return true;
}

static void evaluate(const struct hawk_cfi_row *row)
{
	static const uint64_t registers[HAWK_CFI_REGISTERS] = {1, UINT64_MAX, [7] = 0x7fff0000};
	const struct hawk_expression_source source = {
		.registers = registers, .known = 0xffff, .read = read_memory};
	uint64_t value;

	if (row->cfa_is_expression &&
	    hawk_expression_evaluate(&source, row->cfa_expression, row->cfa_expression_bytes, false,
				     0, &value))
		sink += value;
	for (size_t i = 0; i < HAWK_CFI_REGISTERS; i++) {
		const struct hawk_cfi_rule *rule = &row->registers[i];

		if (rule->expression &&
		    hawk_expression_evaluate(&source, rule->expression, rule->expression_bytes,
					     true, 7, &value))
			sink += value;
	}
}

/** Takes neighbours for a coroutine's functions. */
static void look_for_coroutine(struct hawk_symbols *symbols,
			       const struct hawk_symbol_module *module, const struct hawk_cfi *cfi,
			       uint64_t address)
{
	const struct hawk_coroutine *coroutine;
	uint64_t start, end, ignored, next = 0;

	if (!hawk_cfi_function(cfi, address, &start, &end))
		return;
	for (uint64_t i = 0; !next && i < ALIGNMENT; i++)
		if (end + i > end && hawk_cfi_function(cfi, end + i, &next, &ignored))
			break;
	for (int ended = 0; ended < 2; ended++) {
		coroutine = hawk_symbols_coroutine(symbols, module, ended ? 0 : start, next);
		if (!coroutine)
			continue;
		require(coroutine->name && coroutine->destroy == next);
		for (uint64_t i = 0; i < 8; i++)
			sink += hawk_symbols_coroutine_line(symbols, coroutine, i).line;
	}
}

/** Addresses spread over the executable segments, and a few that are nowhere. */
static void probe(struct hawk_symbols *symbols, const struct hawk_symbol_module *module,
		  const struct hawk_elf *elf)
{
	struct hawk_cfi *cfi = hawk_cfi_create(elf, elf);

	for (size_t i = 0; i < elf->segment_count && i < 16; i++) {
		const struct hawk_elf_segment *segment = &elf->segments[i];
		uint64_t step = (segment->end - segment->start) / PROBES + 1;

		for (int k = 0; segment->executable && k < PROBES; k++) {
			struct hawk_cfi_row row;
			uint64_t address = segment->start + step * (uint64_t)k;

			look_up(symbols, module, address);
			if (cfi)
				look_for_coroutine(symbols, module, cfi, address);
			if (cfi && hawk_cfi_find(cfi, address, &row))
				evaluate(&row);
		}
	}
	look_up(symbols, module, 0);
	look_up(symbols, module, UINT64_MAX);
	hawk_cfi_destroy(cfi);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hawk_symbols_options options = {0};
	struct hawk_symbols *symbols = NULL;
	struct hawk_elf *elf = NULL;
	const char *why;
	char path[64];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	struct hawk_symbol_module module = {.path = path, .main = true};
	if (!hawk_symbols_create(NULL, &options, NULL, &symbols) &&
	    !hawk_elf_open(path, &why, &elf) && elf)
		probe(symbols, &module, elf);
	hawk_elf_close(elf);
	hawk_symbols_destroy(symbols);
	close(fd);
	return 0;
}
