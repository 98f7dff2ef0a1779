/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * All memory by use, largest first; then allocators, arenas, caches of threads and sizes, each list
 * with its largest free memory first.
 */
#include "hawk/report/balance.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/quantity.h"

enum { DEFAULT_TOP = 5 };

static const struct {
	const char *name, *remark;
} uses[HAWK_USES] = {
	[HAWK_USE_LIVE] = {"live", "blocks"},
	[HAWK_USE_HEADERS] = {"headers", "the tracer's, before each block"},
	[HAWK_USE_ROUNDING] = {"rounding", "the rest of chunks with blocks"},
	[HAWK_USE_UNTRACED] = {"untraced", "chunks in use that the tracer did not see"},
	[HAWK_USE_FREE] = {"free", "chunks and objects"},
	[HAWK_USE_FAST] = {"fast bins", "free, for the next block of their size"},
	[HAWK_USE_CACHED] = {"cached", "free, in caches of threads"},
	[HAWK_USE_SPANS] = {"free pages", "whole extents, spans"},
	[HAWK_USE_UNUSED] = {"unused", "parts of slabs and segments"},
	[HAWK_USE_TOP] = {"top", "behind the last chunk of arenas"},
	[HAWK_USE_METADATA] = {"metadata", "the allocator's own"},
	[HAWK_USE_UNDIVIDED] = {"undivided", "of heaps: free, or not read"},
	[HAWK_USE_TRACER] = {"tracer", "its stacks and counters"},
	[HAWK_USE_STACKS] = {"stacks", "of threads"},
	[HAWK_USE_MODULES] = {"modules", "code and data of programs and libraries"},
	[HAWK_USE_FILES] = {"files", "mapped"},
	[HAWK_USE_OTHER] = {"other", "anonymous memory"},
};

static int by_key(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	if (a[0] != b[0])
		return a[0] > b[0] ? -1 : 1;
	return a[1] < b[1] ? -1 : a[1] > b[1];
}

/** Rows with the largest keys first. */
struct order {
	uint64_t (*rows)[2]; /**< key, number */
	size_t count;
};

/** Adds a row to an order with enough room. */
static void add_row(struct order *order, uint64_t key, uint64_t number)
{
	order->rows[order->count][0] = key;
	order->rows[order->count++][1] = number;
}

static void sort_rows(struct order *order)
{
	qsort(order->rows, order->count, sizeof(*order->rows), by_key);
}

static void put_use(const struct hawk_balance *balance, enum hawk_use use,
		    const struct hawk_screen *screen)
{
	uint64_t objects = use == HAWK_USE_TOP ? 0 : balance->objects[use];

	hawk_output_printf(screen->output, "  %-10s %11s", uses[use].name,
			   hawk_quantity_bytes(balance->uses[use]).text);
	if (screen->full)
		hawk_output_printf(screen->output, " %20s",
				   hawk_quantity_count(balance->uses[use]).text);
	hawk_output_printf(screen->output, "  %8s  ",
			   hawk_quantity_share(balance->uses[use], balance->bytes).text);
	hawk_screen_faint(screen, "%s%s%s", objects ? hawk_quantity_count(objects).text : "",
			  objects ? " " : "", uses[use].remark);
	hawk_output_puts(screen->output, "\n");
}

static void put_uses(const struct hawk_balance *balance, const struct hawk_screen *screen)
{
	uint64_t rows[HAWK_USES][2];
	struct order order = {.rows = rows};

	for (unsigned i = 0; i < HAWK_USES; i++)
		if (balance->uses[i])
			add_row(&order, balance->uses[i], i);
	sort_rows(&order);
	for (size_t i = 0; i < order.count; i++)
		put_use(balance, (enum hawk_use)order.rows[i][1], screen);
}

static void append_setting(struct hawk_text *text, const struct hawk_allocator_setting *setting)
{
	bool is_bytes = strstr(setting->name, "threshold") || strstr(setting->name, "pad");

	if (!setting->value && !strstr(setting->name, "_ms"))
		return;
	hawk_text_printf(text, ", %s %s", setting->name,
			 setting->value == UINT64_MAX ? "-1 (never)"
			 : is_bytes                   ? hawk_quantity_bytes(setting->value).text
						      : hawk_quantity_count(setting->value).text);
}

/** "glibc 2.27 to 2.42, 120.3 MiB, by its structures, whose sums agree: trim_threshold ..." */
static void put_allocator(const struct hawk_allocator_balance *of, const struct hawk_screen *screen)
{
	const struct hawk_allocator *allocator = &of->allocator;
	CLEANUP(text) struct hawk_text text = {0};

	hawk_text_printf(&text, "%s%s%s has %s", allocator->name, allocator->version ? " " : "",
			 allocator->version ? allocator->version : "",
			 hawk_quantity_bytes(of->bytes).text);
	if (allocator->arenas)
		hawk_text_printf(&text, " in %s arena%s",
				 hawk_quantity_count(allocator->arenas).text,
				 allocator->arenas == 1 ? "" : "s");
	if (of->mapped.live.objects && of->has_chunks)
		hawk_text_printf(&text, " and %s mapping%s of single blocks",
				 hawk_quantity_count(of->mapped.live.objects).text,
				 of->mapped.live.objects == 1 ? "" : "s");
	hawk_text_printf(&text, ". Its own counts %s",
			 allocator->differing ? "differ from what was found" : "agree");
	for (unsigned i = 0; i < allocator->setting_count; i++)
		append_setting(&text, &allocator->settings[i]);
	hawk_text_puts(&text, ".");
	hawk_screen_paragraph(screen, hawk_text_string(&text), 2, 2);
}

static uint64_t free_bytes(const struct hawk_arena_balance *arena)
{
	return arena->free.bytes + arena->cached.bytes + arena->top.bytes;
}

/* Puts the threads that use the arena if there is one, or all are wanted: ": 101, 102" */
static void put_tids(const struct hawk_balance_report *report,
		     const struct hawk_allocator_balance *of, size_t arena,
		     const struct hawk_screen *screen)
{
	const char *before = ":";
	size_t count;
	const struct hawk_thread *threads =
		hawk_target_threads(report->pointers->heap->target, &count);

	if (!of->thread_arenas || (of->arenas[arena].threads != 1 && !screen->full))
		return;
	for (size_t i = 0; i < count; i++) {
		if (of->thread_arenas[i] != arena)
			continue;
		hawk_output_printf(screen->output, "%s %u", before, threads[i].tid);
		before = ",";
	}
}

static void put_arena(const struct hawk_balance_report *report,
		      const struct hawk_allocator_balance *of, size_t number,
		      const struct hawk_screen *screen)
{
	const struct hawk_arena_balance *arena = &of->arenas[number];

	hawk_output_printf(screen->output, "%9s %9s %9s %9s  ",
			   hawk_quantity_bytes(arena->live.bytes).text,
			   hawk_quantity_bytes(arena->free.bytes).text,
			   hawk_quantity_bytes(arena->cached.bytes).text,
			   hawk_quantity_bytes(arena->top.bytes).text);
	if (arena->arena.is_main)
		hawk_output_printf(screen->output, "%-14s", "main");
	else if (arena->arena.address)
		hawk_output_printf(screen->output, "0x%-12" PRIx64, arena->arena.address);
	else
		hawk_output_printf(screen->output, "%-14s", "not found");
	hawk_output_printf(screen->output, " %7s",
			   of->thread_arenas ? hawk_quantity_count(arena->threads).text : "-");
	put_tids(report, of, number, screen);
	hawk_output_puts(screen->output, arena->arena.is_locked ? ", locked\n" : "\n");
}

static void put_arenas(const struct hawk_balance_report *report,
		       const struct hawk_allocator_balance *of, const struct hawk_screen *screen)
{
	size_t end =
		hawk_report_limit(report->pointers, DEFAULT_TOP, of->arena_count, screen->full);
	CLEANUP(free_ptr) void *rows = calloc(of->arena_count + 1, 2 * sizeof(uint64_t));
	struct order order = {.rows = rows};

	if (!rows || !of->arena_count)
		return;
	for (size_t i = 0; i < of->arena_count; i++)
		add_row(&order, free_bytes(&of->arenas[i]), i);
	sort_rows(&order);
	hawk_screen_heading(screen, "Arenas of %s (%s of %s)", of->allocator.name,
			    hawk_quantity_count(end).text,
			    hawk_quantity_count(of->arena_count).text);
	hawk_screen_faint(screen, "%9s %9s %9s %9s  %-14s threads\n", "live", "free", "cached",
			  "top", "arena");
	for (size_t i = 0; i < end; i++)
		put_arena(report, of, order.rows[i][1], screen);
}

static void put_caches(const struct hawk_balance_report *report, const struct hawk_screen *screen)
{
	const struct hawk_balance *balance = report->balance;
	CLEANUP(free_ptr) void *rows = calloc(balance->thread_count + 1, 2 * sizeof(uint64_t));
	struct order order = {.rows = rows};
	size_t count, end;
	const struct hawk_thread *threads =
		hawk_target_threads(report->pointers->heap->target, &count);

	if (!rows || !balance->caches_known)
		return;
	for (size_t i = 0; i < balance->thread_count; i++)
		if (balance->threads[i].cached.objects)
			add_row(&order, balance->threads[i].cached.bytes, i);
	sort_rows(&order);
	end = hawk_report_limit(report->pointers, DEFAULT_TOP, order.count, screen->full);
	hawk_screen_heading(screen, "Caches of threads (%s of %s)", hawk_quantity_count(end).text,
			    hawk_quantity_count(order.count).text);
	hawk_screen_faint(screen, "%10s %10s  thread\n", "cached", "objects");
	for (size_t i = 0; i < end; i++) {
		const struct hawk_pieces *cached = &balance->threads[order.rows[i][1]].cached;

		hawk_output_printf(screen->output, "%10s %10s  ",
				   hawk_quantity_bytes(cached->bytes).text,
				   hawk_quantity_count(cached->objects).text);
		hawk_report_put_thread(&threads[order.rows[i][1]], screen);
		hawk_output_puts(screen->output, "\n");
	}
}

static void put_sizes(const struct hawk_balance_report *report, const struct hawk_screen *screen)
{
	const struct hawk_size_balance *sizes = report->balance->sizes;
	uint64_t rows[HAWK_BALANCE_SIZES][2];
	struct order order = {.rows = rows};
	size_t end;

	for (unsigned i = 0; i < HAWK_BALANCE_SIZES; i++)
		if (sizes[i].free.objects)
			add_row(&order, sizes[i].free.bytes, i);
	if (!order.count)
		return;
	sort_rows(&order);
	end = hawk_report_limit(report->pointers, DEFAULT_TOP, order.count, screen->full);
	hawk_screen_heading(screen, "Free memory by size (%s of %s)", hawk_quantity_count(end).text,
			    hawk_quantity_count(order.count).text);
	hawk_screen_faint(screen, "%10s %10s %12s %10s %12s\n", "size", "free", "pieces", "live",
			  "blocks");
	for (size_t i = 0; i < end; i++) {
		const struct hawk_size_balance *size = &sizes[order.rows[i][1]];

		hawk_output_printf(screen->output, "%10s %10s %12s %10s %12s\n",
				   hawk_quantity_bytes(size->bytes).text,
				   hawk_quantity_bytes(size->free.bytes).text,
				   hawk_quantity_count(size->free.objects).text,
				   hawk_quantity_bytes(size->live.bytes).text,
				   hawk_quantity_count(size->live.objects).text);
	}
}

void hawk_report_balance(const struct hawk_balance_report *report, const struct hawk_screen *screen)
{
	const struct hawk_balance *balance = report->balance;
	const struct hawk_heap *heap = report->pointers->heap;
	bool is_live = hawk_target_process(heap->target)->live;

	if (!heap->knows) {
		hawk_report_put_unknown(heap, screen, "Memory", "see what it is used for");
		return;
	}
	hawk_screen_heading(screen, "Memory of the %s: %s%s%s", is_live ? "process" : "core",
			    hawk_quantity_bytes(balance->bytes).text, screen->full ? " = " : "",
			    screen->full ? hawk_quantity_count(balance->bytes).text : "");
	put_uses(balance, screen);
	for (size_t i = 0; i < balance->allocator_count; i++)
		put_allocator(&balance->allocators[i], screen);
	hawk_report_guests(report->pointers->heap, screen);
	hawk_report_fragmentation(report->pointers, report->fragmentation, screen);
	for (size_t i = 0; i < balance->allocator_count; i++)
		put_arenas(report, &balance->allocators[i], screen);
	put_caches(report, screen);
	put_sizes(report, screen);
}
