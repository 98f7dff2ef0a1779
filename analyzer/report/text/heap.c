/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Prints the heap's totals: the uses of the memory that counts against the process.
 */
#include <stdio.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/quantity.h"
#include "hawk/base/text.h"
#include "hawk/report/balance.h"
#include "hawk/report/fragmentation.h"
#include "hawk/report/report.h"

const char *hawk_report_kind_name(uint8_t kind)
{
	static const char *const names[] = {
		[HAWK_KIND_MALLOC] = "malloc",   [HAWK_KIND_CALLOC] = "calloc",
		[HAWK_KIND_REALLOC] = "realloc", [HAWK_KIND_ALIGNED] = "aligned",
		[HAWK_KIND_NEW] = "new",         [HAWK_KIND_NEW_ARRAY] = "new[]",
		[HAWK_KIND_LOADER] = "loader",   [HAWK_KIND_POOL] = "pool",
	};
	bool known = kind < sizeof(names) / sizeof(names[0]) && names[kind];

	return known ? names[kind] : "unknown";
}

const char *hawk_report_group_word(const struct hawk_heap *heap, size_t count)
{
	if (heap->knows & HAWK_HEAP_STACKS)
		return count == 1 ? "site" : "sites";
	return count == 1 ? "class" : "classes";
}

enum { OUTSIDE_MIN = 1 << 20 }; /* bytes worth a sentence */

static void put_row(const struct hawk_screen *screen, const char *name, uint64_t bytes,
		    uint64_t whole, const char *remark)
{
	if (!bytes && !screen->full)
		return;
	hawk_output_printf(screen->output, "  %-10s %11s", name, hawk_quantity_bytes(bytes).text);
	if (screen->full)
		hawk_output_printf(screen->output, " %20s", hawk_quantity_count(bytes).text);
	hawk_output_printf(screen->output, "  %8s  ",
			   whole ? hawk_quantity_share(bytes, whole).text : "");
	hawk_screen_faint(screen, "%s", remark);
	hawk_output_puts(screen->output, "\n");
}

/* Prints threads and slots: a thread that ends leaves its slot to the next. */
static void put_threads(const struct hawk_table_totals *totals, const struct hawk_screen *screen)
{
	uint64_t threads = totals->threads ? totals->threads : totals->slots;

	if (!totals->slots) // their records are missing
		return;
	hawk_output_printf(screen->output, " by %s%s thread%s", totals->threads ? "" : "at least ",
			   hawk_quantity_count(threads).text, threads == 1 ? "" : "s");
	if (threads != totals->slots)
		hawk_output_printf(screen->output, " (%s slot%s)",
				   hawk_quantity_count(totals->slots).text,
				   totals->slots == 1 ? "" : "s");
}

static void put_history(const struct hawk_report *report, const struct hawk_screen *screen)
{
	const struct hawk_heap *heap = report->heap;
	bool twin = heap->table && hawk_table_is_twin(heap->table); // a twin holds no counters

	if (twin || !(heap->knows & HAWK_HEAP_COUNTERS))
		return;
	hawk_output_printf(screen->output, "  %s %sblocks (%s) were allocated",
			   hawk_quantity_count(heap->totals.alloc_objects).text,
			   heap->untraced_blocks ? "traced " : "",
			   hawk_quantity_bytes(heap->totals.alloc_bytes).text);
	hawk_output_printf(screen->output, " in %s",
			   hawk_quantity_seconds(hawk_heap_age_seconds(heap, 0)).text);
	put_threads(&heap->totals, screen);
	hawk_output_puts(screen->output, "\n");
	if (heap->dropped_objects)
		hawk_output_printf(screen->output,
				   "  %s blocks (%s) could not be recorded for lack of room\n",
				   hawk_quantity_count(heap->dropped_objects).text,
				   hawk_quantity_bytes(heap->dropped_bytes).text);
}

/* Prints facts that only a trace table has. */
static void put_annotations(const struct hawk_report *report, const struct hawk_screen *screen)
{
	const struct hawk_table *table = report->heap->table;
	const struct hawk_table_header *header = table ? hawk_table_header(table) : NULL;

	if (!header)
		return;
	if (header->compatible_flags & HAWK_TABLE_ONLY_SCOPES)
		hawk_output_puts(screen->output,
				 "  Stacks were recorded inside of scopes only (only=scopes).\n");
	if (header->dropped_scopes)
		hawk_output_printf(screen->output,
				   "  %s scopes beyond the tracer's limits were left out\n",
				   hawk_quantity_count(header->dropped_scopes).text);
	if (header->dropped_types)
		hawk_output_printf(screen->output,
				   "  %s names of types beyond the tracer's limits were left out\n",
				   hawk_quantity_count(header->dropped_types).text);
}

static void put_sampling(const struct hawk_report *report, const struct hawk_screen *screen)
{
	if (!report->heap->sample_mean)
		return;
	hawk_output_printf(
		screen->output,
		"  Totals are exact. Sites are estimates from a sample of one in %s:\n"
		"  of a site with S bytes the standard error is up to the root of S x %s.\n",
		hawk_quantity_bytes(report->heap->sample_mean).text,
		hawk_quantity_bytes(report->heap->sample_mean).text);
}

/** Prints the contents of a table file, and its limits. */
static void put_counted(const struct hawk_report *report, const struct hawk_screen *screen)
{
	const struct hawk_heap *heap = report->heap;

	hawk_screen_heading(screen, "Heap: %s live blocks, %s",
			    hawk_quantity_count(heap->sums.blocks).text,
			    hawk_quantity_bytes(heap->sums.bytes).text);
	hawk_output_puts(
		screen->output,
		"  From the tracer's table file: allocations minus frees of each stack.\n"
		"  It holds no memory of the process: no blocks, ages, pointers, overhead.\n");
	put_history(report, screen);
	put_sampling(report, screen);
	put_annotations(report, screen);
}

/** Prints memory that is reserved but takes up none: it has no share. */
static void put_untouched(const struct hawk_accounting *memory, const struct hawk_screen *screen)
{
	uint64_t bytes = memory->writable_bytes > memory->touched_bytes
				 ? memory->writable_bytes - memory->touched_bytes
				 : 0;
	CLEANUP(text) struct hawk_text remark = {0};

	hawk_text_puts(&remark, "zero pages");
	if (memory->untouched_bytes)
		hawk_text_printf(&remark, "; %s of live blocks",
				 hawk_quantity_bytes(memory->untouched_bytes).text);
	put_row(screen, "untouched", bytes, 0, hawk_text_string(&remark));
}

/** Prints the uses of memory that counts against the process; the tracer uses none under sources
 * without headers. */
static void put_memory(const struct hawk_heap *heap, const struct hawk_screen *screen)
{
	const struct hawk_accounting *memory = &heap->accounting;
	bool measured = memory->measured;
	bool exact = hawk_heap_all_know(heap, HAWK_HEAP_EXACT);
	uint64_t whole = measured ? memory->touched_bytes : memory->writable_bytes;

	put_row(screen, exact ? "requested" : "usable",
		memory->requested_bytes - memory->untouched_bytes, whole,
		exact ? "by the program, live" : "live blocks");
	if (heap->knows & HAWK_HEAP_HEADERS)
		put_row(screen, "headers", memory->header_bytes, whole,
			"the tracer's, before each block");
	put_row(screen, "allocator", memory->overhead_bytes, whole,
		"free and cached chunks, rest of its mappings");
	if (heap->knows & HAWK_HEAP_HEADERS)
		put_row(screen, "tracer",
			measured ? memory->tracer_touched_bytes : memory->tracer_bytes, whole,
			"its stacks and counters");
	put_row(screen, "other",
		measured ? hawk_accounting_other_touched(memory) : memory->other_bytes, whole,
		"thread stacks, data segments, mmap");
	if (measured)
		put_untouched(memory, screen);
}

/** Appends a part that has at least a tenth of the memory outside of heaps. */
static void append_outside(struct hawk_text *text, uint64_t bytes, uint64_t other, const char *what)
{
	if (bytes < other / 10)
		return;
	hawk_text_printf(text, "%s%s %s",
			 text->size ? "; " : "Outside of heaps: ", hawk_quantity_bytes(bytes).text,
			 what);
}

/** Says what memory outside of heaps is where it is much. */
static void put_outside(const struct hawk_heap *heap, const struct hawk_screen *screen)
{
	const struct hawk_accounting *memory = &heap->accounting;
	const struct hawk_outside *outside = &memory->outside;
	uint64_t other = hawk_accounting_other_touched(memory);
	CLEANUP(text) struct hawk_text text = {0};
	char words[128];
	size_t threads;

	if (!memory->measured || other < OUTSIDE_MIN || other < memory->touched_bytes / 4)
		return;
	hawk_target_threads(heap->target, &threads);
	snprintf(words, sizeof(words),
		 "in stacks of %s threads that ended and were neither joined nor detached",
		 hawk_quantity_count(outside->ended_stacks).text);
	append_outside(&text, outside->ended_stack_bytes, other, words);
	snprintf(words, sizeof(words), "in stacks of %s thread%s",
		 hawk_quantity_count(threads).text, threads == 1 ? "" : "s");
	append_outside(&text, outside->stack_bytes, other, words);
	append_outside(&text, outside->unknown_bytes, other,
		       "in anonymous mappings that no known heap or thread has: mmap() by the "
		       "program or a library");
	if (!text.size)
		return;
	hawk_text_puts(&text, ".");
	hawk_screen_paragraph(screen, hawk_text_string(&text), 2, 2);
}

static void append_sum(struct hawk_text *text, uint64_t bytes, const char *what)
{
	if (bytes)
		hawk_text_printf(text, ", %s %s", hawk_quantity_bytes(bytes).text, what);
}

/* "glibc 2.27 to 2.42 with 8 arenas, 2.1 MiB free, 340 KiB cached by threads" */
static void append_allocator(struct hawk_text *text, const struct hawk_allocator *allocator)
{
	const uint64_t *bytes = allocator->bytes;

	hawk_text_printf(text, "%s%s%s", allocator->name, allocator->version ? " " : "",
			 allocator->version ? allocator->version : "");
	if (allocator->arenas)
		hawk_text_printf(text, " with %s arena%s",
				 hawk_quantity_count(allocator->arenas).text,
				 allocator->arenas == 1 ? "" : "s");
	append_sum(text, bytes[HAWK_PIECE_FREE] + bytes[HAWK_PIECE_FAST], "free");
	append_sum(text, bytes[HAWK_PIECE_CACHED], "free in caches of threads");
	append_sum(text, bytes[HAWK_PIECE_UNTOUCHED], "never used");
	append_sum(text, bytes[HAWK_PIECE_DAMAGED], "damaged");
	if (allocator->samples)
		hawk_text_printf(text, ", %s block%s sampled with %s stack",
				 hawk_quantity_count(allocator->samples).text,
				 allocator->samples == 1 ? "" : "s",
				 allocator->samples == 1 ? "its" : "their");
}

/* Names the allocators of blocks without stacks, their free memory, and the way to get stacks. */
static void put_allocators(const struct hawk_heap *heap, const struct hawk_screen *screen)
{
	CLEANUP(text) struct hawk_text text = {0};
	bool is_traced = heap->knows & HAWK_HEAP_STACKS;
	const char *word = is_traced ? "Without stacks and ages: blocks of " : "By structures of ";

	for (unsigned i = 0; i < heap->allocator_count; i++) {
		hawk_text_puts(&text, text.bytes ? "; " : word);
		append_allocator(&text, &heap->allocators[i]);
	}
	if (!text.bytes)
		return;
	/* Only CPython's allocator is read beside traced blocks. */
	hawk_text_puts(&text, is_traced ? ". PYTHONMALLOC=malloc gives them both."
					: ". Allocation stacks and ages need the tracer: "
					  "hawk-core run -- PROGRAM.");
	hawk_screen_paragraph(screen, text.bytes, 2, 2);
}

/* One sentence; `heap` has the rest. */
static void put_fragmentation(const struct hawk_fragmentation *fragmentation,
			      const struct hawk_screen *screen)
{
	CLEANUP(text) struct hawk_text text = {0};

	if (!fragmentation || !fragmentation->allocator)
		return;
	hawk_text_printf(&text, "Free memory, %s of it resident: %s. ",
			 hawk_quantity_bytes(hawk_fragmentation_kept(fragmentation)).text,
			 hawk_fragmentation_verdict_name(fragmentation->verdict));
	hawk_fragmentation_append_advice(&text, fragmentation);
	hawk_text_puts(&text, ". More: hawk-core heap.");
	hawk_screen_paragraph(screen, hawk_text_string(&text), 2, 2);
}

void hawk_report_heap(const struct hawk_report *report, const struct hawk_screen *screen)
{
	const struct hawk_heap *heap = report->heap;
	const struct hawk_accounting *memory = &heap->accounting;

	if (!(heap->knows & HAWK_HEAP_ACCOUNTING)) {
		put_counted(report, screen);
		return;
	}
	hawk_screen_heading(screen, "Heap: %s live blocks, %s; %s of memory %s",
			    hawk_quantity_count(heap->sums.blocks).text,
			    hawk_quantity_bytes(memory->requested_bytes).text,
			    hawk_quantity_bytes(memory->measured ? memory->touched_bytes
								 : memory->writable_bytes)
				    .text,
			    memory->measured ? "touched" : "writable");
	put_memory(heap, screen);
	put_outside(heap, screen);
	put_fragmentation(report->fragmentation, screen);
	put_allocators(heap, screen);
	hawk_report_guests(heap, screen);
	put_history(report, screen);
	put_sampling(report, screen);
	put_annotations(report, screen);
}
