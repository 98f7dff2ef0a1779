/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Memory map and modules, in text.
 */
#include "hawk/names/function_name.h"
#include "hawk/base/quantity.h"
#include "hawk/report/report.h"
#include "hawk/target/memory_map.h"

enum { SHORT_MAP_ROWS = 16 };

/** Prints the use of memory without a file, as far as registers and modules show it. */
static void put_anonymous(const struct hawk_screen *screen, const struct hawk_map_row *row)
{
	if (row->vdso)
		hawk_output_puts(screen->output, "[vdso]");
	else if (row->stack)
		hawk_output_printf(screen->output, "stack of thread %u", row->stack->tid);
	else
		hawk_output_puts(screen->output, "anonymous");
}

static void put_map_row(const struct hawk_screen *screen, const struct hawk_map_row *row)
{
	char rights[4] = {row->flags & HAWK_MAPPING_READ ? 'r' : '-',
			  row->flags & HAWK_MAPPING_WRITE ? 'w' : '-',
			  row->flags & HAWK_MAPPING_EXEC ? 'x' : '-', '\0'};
	struct hawk_quantity size =
		screen->full ? hawk_quantity_count(row->bytes) : hawk_quantity_bytes(row->bytes);
	struct hawk_quantity held = screen->full ? hawk_quantity_count(row->present_bytes)
						 : hawk_quantity_bytes(row->present_bytes);
	unsigned width = screen->full ? 18 : 10;

	hawk_output_printf(screen->output, "  %012llx-%012llx %s %*s %*s  ",
			   (unsigned long long)row->start, (unsigned long long)row->end,
			   row->mixed ? "..." : rights, width, size.text, width, held.text);
	if (row->path)
		hawk_screen_foreign(screen, screen->full ? row->path : hawk_path_base(row->path));
	else
		put_anonymous(screen, row);
	hawk_output_puts(screen->output, "\n");
}

void hawk_report_memory_map(const struct hawk_target *target, const struct hawk_screen *screen)
{
	unsigned width = screen->full ? 18 : 10;
	struct hawk_memory_map map;
	size_t count;

	if (hawk_error_swallow(
		    hawk_memory_map_make(target, screen->full ? SIZE_MAX : SHORT_MAP_ROWS, &map)))
		return;
	(void)hawk_target_mappings(target, &count);
	hawk_screen_heading(screen, "Memory map: %s mappings", hawk_quantity_count(count).text);
	hawk_screen_faint(screen, "  %-25s     %*s %*s  %s\n", "addresses", width, "size", width,
			  hawk_target_process(target)->live ? "readable" : "in core", "what");
	for (size_t i = 0; i < map.count; i++)
		put_map_row(screen, &map.rows[i]);
	if (map.left_out)
		hawk_output_printf(screen->output, "  ... and %zu smaller ones, %s (--full)\n",
				   map.left_out, hawk_quantity_bytes(map.left_out_bytes).text);
	hawk_memory_map_deinit(&map);
}

static const char *const status_texts[] = {
	[HAWK_SYMBOL_UNUSED] = "not needed",
	[HAWK_SYMBOL_DWARF] = "functions and lines",
	[HAWK_SYMBOL_SYMTAB] = "functions only",
	[HAWK_SYMBOL_NOT_FOUND] = "file not found",
	[HAWK_SYMBOL_MISMATCH] = "file has another build-id",
	[HAWK_SYMBOL_REFUSED] = "file refused",
};

void hawk_report_modules(const struct hawk_report *report, const struct hawk_screen *screen)
{
	size_t count;
	const struct hawk_module *modules = hawk_target_modules(report->target, &count);

	hawk_screen_heading(screen, "Modules: %s", hawk_quantity_count(count).text);
	for (size_t i = 0; i < count; i++) {
		struct hawk_symbol_module module = hawk_symbol_module_of(&modules[i]);
		const char *status = status_texts[hawk_symbols_status(report->symbols, &module)];

		hawk_output_printf(screen->output, "  %012llx  %-25s  ",
				   (unsigned long long)modules[i].start,
				   modules[i].vdso ? "kernel's" : status);
		for (uint32_t j = 0; j < modules[i].build_id_bytes; j++)
			hawk_output_printf(screen->output, "%02x", modules[i].build_id[j]);
		if (!modules[i].build_id_bytes)
			hawk_output_puts(screen->output, "(no build-id)");
		hawk_output_puts(screen->output, "  ");
		hawk_screen_foreign(screen, modules[i].path);
		if (modules[i].deleted)
			hawk_output_puts(screen->output, " (deleted)");
		if (modules[i].origin != HAWK_MODULE_BY_MAPPING && !modules[i].vdso)
			hawk_output_printf(screen->output, "  (found by %s)",
					   hawk_report_origin_name(&modules[i]));
		hawk_output_puts(screen->output, "\n");
	}
}
