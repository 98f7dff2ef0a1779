/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Takes any bytes as a program with debug information, and lays out the types of its variables:
 * members, names, alignments, and where containers lead.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hawk/base/cleanup.h"
#include "objects/layouts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LAYOUTS_MAX = 2000, OFFSET_STEP = 8, OFFSET_MAX = 256 };

static void require(bool condition)
{
	if (!condition)
		abort();
}

static bool wants(void *context, uint64_t start, uint64_t end)
{
	(void)context;
	return start < end;
}

static void check_layout(struct hawk_layouts *layouts, uint32_t number)
{
	struct hawk_layout layout = *hawk_layouts_linked(layouts, number);

	require(layout.name && layout.bytes);
	for (size_t i = 0; i < layout.link_count; i++)
		require(layout.links[i].target && layout.links[i].target < layouts->count);
	for (uint64_t at = 0; layout.type && at < OFFSET_MAX; at += OFFSET_STEP) {
		CLEANUP(text) struct hawk_text text = {0};

		hawk_dwarf_append_path(layouts->symbols, layout.type, at, &text);
	}
	if (layout.type)
		require(hawk_dwarf_alignment(layouts->symbols, layout.type));
}

static void lay_out(struct hawk_symbols *symbols, const struct hawk_dwarf_variables *variables)
{
	struct hawk_layouts layouts = {.symbols = symbols};

	for (size_t i = 0; i < variables->count; i++)
		(void)hawk_layouts_of(&layouts, variables->items[i].type);
	for (uint32_t i = 1; i < layouts.count && i < LAYOUTS_MAX; i++)
		check_layout(&layouts, i);
	hawk_layouts_deinit(&layouts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hawk_symbols_options options = {0};
	struct hawk_dwarf_variables variables = {0};
	struct hawk_symbols *symbols = NULL;
	char path[64];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	struct hawk_symbol_module module = {.path = path, .main = true};
	if (!hawk_symbols_create(NULL, &options, NULL, &symbols)) {
		hawk_dwarf_statics(symbols, &module, NULL, wants, NULL, &variables);
		lay_out(symbols, &variables);
	}
	hawk_dwarf_variables_deinit(&variables);
	hawk_symbols_destroy(symbols);
	close(fd);
	return 0;
}
