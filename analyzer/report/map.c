/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Memory map and modules, in text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/names/function_name.h"
#include "hawk/base/quantity.h"
#include "hawk/report/report.h"

enum { SHORT_MAP_ROWS = 16 };

/** A row of the map: one mapping, or a run of neighbours of the same file. */
struct row {
	uint64_t start, end;
	uint64_t bytes, present_bytes;
	uint32_t flags;
	bool mixed; /**< of mappings with different rights */
	const char *path;
};

/** Where the stacks of threads are, in ascending order: threads and mappings can be many. */
struct stacks {
	struct stack {
		uint64_t pointer;
		size_t thread;
	} * items;
	size_t count;
};

static void hawk_cleanup_stacks(struct stacks *stacks)
{
	free(stacks->items);
}

static int compare_stacks(const void *left, const void *right)
{
	const struct stack *a = left, *b = right;

	if (a->pointer != b->pointer)
		return a->pointer < b->pointer ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static struct stacks find_stacks(const struct hawk_target *target)
{
	struct stacks stacks;
	const struct hawk_thread *threads = hawk_target_threads(target, &stacks.count);

	stacks.items = calloc(stacks.count + 1, sizeof(*stacks.items));
	if (!stacks.items) {
		hawk_enomem_swallow();
		stacks.count = 0;
	}
	for (size_t i = 0; i < stacks.count; i++)
		stacks.items[i] = (struct stack){hawk_target_stack_start(target, &threads[i]), i};
	if (stacks.count)
		qsort(stacks.items, stacks.count, sizeof(*stacks.items), compare_stacks);
	return stacks;
}

/* The first thread with its stack in the row, SIZE_MAX if there is none. */
static size_t find_thread(const struct stacks *stacks, const struct row *row)
{
	size_t low = 0, high = stacks->count;
	size_t ret = SIZE_MAX;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (stacks->items[middle].pointer < row->start)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < stacks->count && stacks->items[low].pointer < row->end; low++)
		if (stacks->items[low].thread < ret)
			ret = stacks->items[low].thread;
	return ret;
}

/** What memory without a file is used for, as far as registers and modules tell. */
static void put_anonymous(const struct hawk_target *target, const struct stacks *stacks,
			  const struct hawk_screen *screen, const struct row *row)
{
	const struct hawk_module *module = hawk_target_module_at(target, row->start);
	size_t thread = find_thread(stacks, row);
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(target, &count);

	if (module && module->vdso)
		hawk_output_puts(screen->output, "[vdso]");
	else if (thread != SIZE_MAX)
		hawk_output_printf(screen->output, "stack of thread %u", threads[thread].tid);
	else
		hawk_output_puts(screen->output, "anonymous");
}

static void put_map_row(const struct hawk_target *target, const struct stacks *stacks,
			const struct hawk_screen *screen, const struct row *row)
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
		put_anonymous(target, stacks, screen, row);
	hawk_output_puts(screen->output, "\n");
}

static bool same_file(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

/** Neighbours of the same file become one row, unless everything is wanted. */
static size_t collect_rows(const struct hawk_mapping *mappings, size_t count, bool every,
			   struct row *rows)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		const struct hawk_mapping *mapping = &mappings[i];
		struct row *last = used ? &rows[used - 1] : NULL;

		if (every || !last || !same_file(last->path, mapping->path)) {
			last = &rows[used++];
			*last = (struct row){.start = mapping->start,
					     .path = mapping->path,
					     .flags = mapping->flags};
		}
		last->end = mapping->end;
		last->bytes += mapping->end - mapping->start;
		last->present_bytes += mapping->present_bytes;
		last->mixed |= last->flags != mapping->flags;
	}
	return used;
}

static int compare_sizes(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a > b ? -1 : a < b;
}

/** The size from which on a row is among the largest ones that fit into the short map. */
static uint64_t size_threshold(const struct row *rows, size_t count)
{
	CLEANUP(free_ptr) uint64_t *sizes = calloc(count + 1, sizeof(*sizes));

	if (!sizes || count <= SHORT_MAP_ROWS)
		return 0;
	for (size_t i = 0; i < count; i++)
		sizes[i] = rows[i].bytes;
	qsort(sizes, count, sizeof(*sizes), compare_sizes);
	return sizes[SHORT_MAP_ROWS - 1];
}

void hawk_report_memory_map(const struct hawk_target *target, const struct hawk_screen *screen)
{
	size_t count, row_count, left_out = 0;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);
	CLEANUP(free_ptr) struct row *rows = calloc(count + 1, sizeof(*rows));
	uint64_t threshold, left_out_bytes = 0;
	unsigned width = screen->full ? 18 : 10;
	CLEANUP(stacks) struct stacks stacks = {0};

	if (!rows) {
		hawk_enomem_swallow();
		return;
	}
	stacks = find_stacks(target);
	row_count = collect_rows(mappings, count, screen->full, rows);
	threshold = screen->full ? 0 : size_threshold(rows, row_count);
	hawk_screen_heading(screen, "Memory map: %s mappings", hawk_quantity_count(count).text);
	hawk_screen_faint(screen, "  %-25s     %*s %*s  %s\n", "addresses", width, "size", width,
			  hawk_target_process(target)->live ? "readable" : "in core", "what");
	for (size_t i = 0; i < row_count; i++) {
		if (rows[i].bytes >= threshold) {
			put_map_row(target, &stacks, screen, &rows[i]);
			continue;
		}
		left_out++;
		left_out_bytes += rows[i].bytes;
	}
	if (left_out)
		hawk_output_printf(screen->output, "  ... and %zu smaller ones, %s (--full)\n",
				   left_out, hawk_quantity_bytes(left_out_bytes).text);
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
		hawk_output_puts(screen->output, modules[i].deleted ? " (deleted)\n" : "\n");
	}
}
