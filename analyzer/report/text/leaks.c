/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Leaks in text: sums by kind, the basis of the verdicts, loss records with stacks and evidence.
 */
#include "hawk/report/leaks.h"

#include "hawk/base/cleanup.h"
#include "hawk/base/quantity.h"
#include "hawk/report/report.h"
#include "hawk/names/function_name.h"
#include "leak_cycles.h"
#include "site_stacks.h"

enum {
	DEFAULT_TOP = 10,
	DEFAULT_DEPTH = 4,
	SECTION_TOP = 3,
	LEADERS_TOP = 5,
	SECTION_DEPTH = 3,
	INDENT = 6,
};

static const char *const kind_names[HAWK_REACH_KINDS] = {
	[HAWK_REACH_REACHABLE] = "still reachable",
	[HAWK_REACH_POSSIBLY] = "possibly lost",
	[HAWK_REACH_DEFINITELY_LOST] = "definitely lost",
	[HAWK_REACH_INDIRECTLY_LOST] = "indirectly lost",
};

/* Kinds in the order of the report. */
static const struct {
	enum hawk_reach_kind kind;
	const char *meaning;
} kinds[] = {
	{HAWK_REACH_DEFINITELY_LOST, "nothing points to them"},
	{HAWK_REACH_INDIRECTLY_LOST, "only lost blocks point to them"},
	{HAWK_REACH_POSSIBLY, "only to their inside, or unsure"},
	{HAWK_REACH_REACHABLE, "pointers lead to them"},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void put_sum(const struct hawk_screen *screen, const char *name,
		    const struct hawk_reach_sum *sum, const char *meaning)
{
	struct hawk_quantity size =
		screen->full ? hawk_quantity_count(sum->bytes) : hawk_quantity_bytes(sum->bytes);

	hawk_output_printf(screen->output, "  %-16s %14s %12s  ", name, size.text,
			   hawk_quantity_count(sum->objects).text);
	hawk_screen_faint(screen, "%s", meaning);
	hawk_output_puts(screen->output, "\n");
}

static void put_kinds(const struct hawk_leaks_report *report, const struct hawk_screen *screen,
		      bool all)
{
	hawk_screen_faint(screen, "  %-16s %14s %12s\n", "", "size", "blocks");
	for (unsigned i = 0; i < KINDS; i++) {
		enum hawk_reach_kind kind = kinds[i].kind;
		const struct hawk_reach_sum *sum = &report->selection->sums[kind];

		if (all || (sum->objects && kind != HAWK_REACH_REACHABLE))
			put_sum(screen, kind_names[kind], sum, kinds[i].meaning);
	}
}

static void put_sums(const struct hawk_leaks_report *report, const struct hawk_screen *screen)
{
	put_kinds(report, screen, true);
	if (report->suppressions)
		put_sum(screen, "suppressed", &report->selection->suppressed,
			"known, by suppressions");
}

static void put_heuristic(struct hawk_text *text, unsigned number, uint64_t pointers)
{
	const char *name = hawk_heuristic_names[number];
	struct hawk_quantity count = hawk_quantity_count(pointers);

	if (1u << number == HAWK_HEURISTIC_ENDPOINTER)
		hawk_text_printf(
			text, " %s pointer%s past the end of a block count%s as interior (%s).",
			count.text, pointers == 1 ? "" : "s", pointers == 1 ? "s" : "", name);
	else
		hawk_text_printf(text, " %s interior pointer%s explained by %s.", count.text,
				 pointers == 1 ? " is" : "s are", name);
}

/* Prints the basis of verdicts: the memory searched for pointers, and the pointers that heuristics
 * explain. */
static void put_roots(const struct hawk_leaks_report *report, const struct hawk_screen *screen)
{
	const struct hawk_roots *roots = &report->graph->roots;
	CLEANUP(text) struct hawk_text text = {0};
	size_t threads;
	size_t modules;

	hawk_target_threads(report->heap->target, &threads);
	hawk_target_modules(report->heap->target, &modules);
	hawk_text_printf(&text,
			 "Pointers were looked for in all blocks; in registers, stacks (%s) and "
			 "thread-local storage of %zu thread%s;",
			 hawk_quantity_bytes(roots->scanned_bytes[HAWK_ROOT_STACK]).text, threads,
			 threads == 1 ? "" : "s");
	hawk_text_printf(&text, " in data of %zu modules (%s); in %s of other memory.", modules,
			 hawk_quantity_bytes(roots->scanned_bytes[HAWK_ROOT_MODULE]).text,
			 hawk_quantity_bytes(roots->scanned_bytes[HAWK_ROOT_OTHER]).text);
	for (unsigned i = 0; i < HAWK_HEURISTIC_COUNT; i++)
		if (report->leaks->heuristics[i])
			put_heuristic(&text, i, report->leaks->heuristics[i]);
	hawk_output_puts(screen->output, "\n");
	hawk_screen_paragraph(screen, hawk_text_string(&text), 2, 2);
}

static void put_warning(const struct hawk_leaks_report *report, const struct hawk_screen *screen)
{
	const struct hawk_reach_sum *sum = &report->leaks->downgrade;
	enum hawk_leaks_doubt doubt = hawk_leaks_doubt(report->graph);
	CLEANUP(text) struct hawk_text text = {0};

	if (!sum->objects)
		return;
	hawk_text_printf(
		&text,
		"NOT CERTAIN: %s (see below), so "
		"no block can be called lost. %s blocks (%s) to which no pointer was found "
		"are counted as possibly lost.",
		hawk_leaks_doubt_text(doubt), hawk_quantity_count(sum->objects).text,
		hawk_quantity_bytes(sum->bytes).text);
	hawk_output_puts(screen->output, "\n  ");
	hawk_screen_style(screen, HAWK_STYLE_ALERT);
	hawk_screen_wrapped(screen, hawk_text_string(&text), 2, 2);
	hawk_screen_plain(screen);
}

/** Appends a piece of a sentence after a comma. */
static void put_piece(struct hawk_text *text, const struct hawk_leak_pointers *pointers,
		      const char *where)
{
	uint64_t all = pointers->start + pointers->interior;

	if (!all)
		return;
	hawk_text_printf(text, "%s%s in %s", text->size ? ", " : "", hawk_quantity_count(all).text,
			 where);
	if (pointers->interior && !pointers->start)
		hawk_text_printf(text, " (%s)", all == 1 ? "interior" : "all interior");
	else if (pointers->interior)
		hawk_text_printf(text, " (%s interior)",
				 hawk_quantity_count(pointers->interior).text);
}

/* Returns a source's name. If nothing can be called lost, source blocks are not called lost either.
 */
static const char *source_name(const struct hawk_leaks *leaks, unsigned source)
{
	static const char *const sources[HAWK_LEAK_SOURCES] = {
		[HAWK_ROOT_REGISTER] = "registers",
		[HAWK_ROOT_STACK] = "stacks",
		[HAWK_ROOT_TLS] = "thread-local storage",
		[HAWK_ROOT_MODULE] = "data of modules",
		[HAWK_ROOT_OTHER] = "other memory",
		[HAWK_ROOT_UNOWNED] = "memory between blocks",
		[HAWK_LEAK_FROM_BLOCKS + HAWK_REACH_REACHABLE] = "reachable blocks",
		[HAWK_LEAK_FROM_BLOCKS + HAWK_REACH_POSSIBLY] = "possibly lost blocks",
		[HAWK_LEAK_FROM_BLOCKS + HAWK_REACH_DEFINITELY_LOST] = "lost blocks",
		[HAWK_LEAK_FROM_BLOCKS + HAWK_REACH_INDIRECTLY_LOST] = "indirectly lost blocks",
	};

	if (leaks->downgraded && source == HAWK_LEAK_FROM_BLOCKS + HAWK_REACH_DEFINITELY_LOST)
		return "blocks to which no pointer was found";
	if (leaks->downgraded && source == HAWK_LEAK_FROM_BLOCKS + HAWK_REACH_INDIRECTLY_LOST)
		return "blocks that only such blocks point to";
	return sources[source];
}

/** "pointers: 3 in stacks (all interior), 2 in lost blocks; one at `g_table`+0x8 in app .bss" */
static void put_evidence(const struct hawk_leaks_report *report, const struct hawk_screen *screen,
			 const struct hawk_leak_record *record)
{
	CLEANUP(text) struct hawk_text pieces = {0}, text = {0};

	for (unsigned i = 0; i < HAWK_LEAK_SOURCES; i++)
		if (source_name(report->leaks, i))
			put_piece(&pieces, &record->pointers[i], source_name(report->leaks, i));
	if (!pieces.size)
		hawk_text_printf(&text, "no pointer to %s in any root or other live block",
				 record->objects == 1 ? "it" : "them");
	else
		hawk_text_printf(&text, "pointers: %s", pieces.bytes);
	if (record->explained)
		hawk_text_printf(&text, "; heuristics explain %s of the interior ones",
				 hawk_quantity_count(record->explained).text);
	if (record->first_root != UINT32_MAX) {
		hawk_text_puts(&text, "; one at ");
		hawk_root_name(report->namer, record->first_root, &text);
	}
	hawk_screen_paragraph(screen, hawk_text_string(&text), INDENT, INDENT + 2);
}

/** "oldest block 0x7f0000001000, 40 B  [Session]"; `type` may be NULL. */
static void put_example(const struct hawk_leaks_report *report, const struct hawk_screen *screen,
			const char *what, uint32_t block, const char *type)
{
	const struct hawk_block_index *index = &report->heap->index;
	CLEANUP(text) struct hawk_text text = {0};

	hawk_text_printf(&text, "%*s%s 0x%llx, %s", INDENT, "", what,
			 (unsigned long long)hawk_block_start(index, block),
			 hawk_quantity_bytes(hawk_block_size(index, block)).text);
	if (type) {
		size_t left = screen->width - (unsigned)text.size - sizeof("  []");

		hawk_text_puts(&text, "  [");
		hawk_function_name_append(&text, type, screen->full ? SIZE_MAX : left);
		hawk_text_puts(&text, "]");
	}
	hawk_screen_line(screen, &text);
}

static void put_record(const struct hawk_leaks_report *report, const struct hawk_screen *screen,
		       struct hawk_site_stacks *stacks, size_t i)
{
	const struct hawk_leak_record *record = report->selection->records[i];
	const struct hawk_heap *heap = report->heap;
	struct hawk_quantity size = screen->full ? hawk_quantity_count(record->bytes)
						 : hawk_quantity_bytes(record->bytes);
	double age = hawk_heap_age_seconds(heap, record->oldest_units);
	bool one = record->objects == 1;

	hawk_output_printf(screen->output, "%4zu %*s %12s  ", i + 1, screen->full ? 18 : 10,
			   size.text, hawk_quantity_count(record->objects).text);
	if (heap->knows & HAWK_HEAP_AGES)
		hawk_output_printf(screen->output, "%-14s ",
				   record->has_birth ? hawk_quantity_seconds(age).text : "?");
	hawk_output_printf(screen->output, "%016llx\n",
			   record->site < heap->site_count
				   ? (unsigned long long)heap->sites[record->site].id
				   : (unsigned long long)HAWK_SITE_LOST);
	hawk_site_stacks_put(stacks, record->site);
	put_evidence(report, screen, record);
	put_example(report, screen,
		    one                            ? "block"
		    : heap->knows & HAWK_HEAP_AGES ? "oldest block"
						   : "first block",
		    record->example, hawk_leak_type(report, record->example, &record->words));
	if (record->indirect_objects)
		hawk_output_printf(screen->output, "%*s%s block%s, %s, lost with %s\n", INDENT, "",
				   hawk_quantity_count(record->indirect_objects).text,
				   record->indirect_objects == 1 ? "" : "s",
				   hawk_quantity_bytes(record->indirect_bytes).text,
				   one ? "it" : "them");
	hawk_leak_cycle_put(report, screen, i, INDENT);
}

/* Prints the records of one kind from `*at` on, up to `end`. */
static void put_kind(const struct hawk_leaks_report *report, const struct hawk_screen *screen,
		     struct hawk_site_stacks *stacks, size_t *at, size_t end)
{
	enum hawk_reach_kind kind = report->selection->records[*at]->kind;
	size_t all = report->selection->kind_counts[kind];

	hawk_screen_heading(screen, "%c%s: %s loss record%s", kind_names[kind][0] - 32,
			    kind_names[kind] + 1, hawk_quantity_count(all).text,
			    all == 1 ? "" : "s");
	hawk_screen_faint(screen, "   # %*s %12s  %s%s\n", screen->full ? 18 : 10, "size", "blocks",
			  report->heap->knows & HAWK_HEAP_AGES ? "oldest         " : "",
			  hawk_report_group_word(report->heap, 1));
	for (; *at < end && report->selection->records[*at]->kind == kind; ++*at)
		put_record(report, screen, stacks, *at);
}

static void put_records(const struct hawk_leaks_report *report, const struct hawk_screen *screen,
			size_t top, size_t depth, const char *how_to_see_more)
{
	size_t end = top && top < report->selection->count ? top : report->selection->count;
	size_t left = report->selection->count - end;
	CLEANUP(site_stacks)
	struct hawk_site_stacks stacks =
		hawk_site_stacks_on(screen, report->symbols, report->heap, depth);

	for (size_t i = 0; i < end; i++)
		hawk_site_stacks_add(&stacks, report->selection->records[i]->site);
	hawk_site_stacks_compare(&stacks);
	for (size_t at = 0; at < end;)
		put_kind(report, screen, &stacks, &at, end);
	if (left)
		hawk_output_printf(screen->output, "\n  ... and %s more loss record%s (%s)\n",
				   hawk_quantity_count(left).text, left == 1 ? "" : "s",
				   how_to_see_more);
}

static void put_leader(const struct hawk_leaks_report *report, const struct hawk_screen *screen,
		       struct hawk_site_stacks *stacks, size_t number)
{
	const struct hawk_leak_leader *leader = &report->leaders[number];

	hawk_output_printf(screen->output, "%4zu %10s %12s  %-14s %016llx\n", number + 1,
			   hawk_quantity_bytes(leader->lost.bytes).text,
			   hawk_quantity_count(leader->lost.objects).text,
			   hawk_quantity_count(leader->leaders).text,
			   (unsigned long long)report->heap->sites[leader->site].id);
	hawk_site_stacks_put(stacks, leader->site);
	put_example(report, screen, leader->leaders == 1 ? "block" : "lowest block",
		    leader->example, NULL);
}

/* Prints the sites whose blocks lead to the requested site's indirectly lost ones. */
static void put_leaders(const struct hawk_leaks_report *report, const struct hawk_screen *screen,
			size_t depth)
{
	size_t count = report->leader_count;
	size_t end = screen->full || count < LEADERS_TOP ? count : LEADERS_TOP;
	CLEANUP(site_stacks)
	struct hawk_site_stacks stacks =
		hawk_site_stacks_on(screen, report->symbols, report->heap, depth);

	if (!count)
		return;
	for (size_t i = 0; i < end; i++)
		hawk_site_stacks_add(&stacks, report->leaders[i].site);
	hawk_site_stacks_compare(&stacks);
	hawk_screen_heading(screen, "Lost through definitely lost blocks of %s %s",
			    hawk_quantity_count(count).text,
			    hawk_report_group_word(report->heap, count));
	hawk_screen_faint(screen, "   # %10s %12s  %-14s %s\n", "lost size", "blocks", "through",
			  hawk_report_group_word(report->heap, 1));
	for (size_t i = 0; i < end; i++)
		put_leader(report, screen, &stacks, i);
	if (end < count)
		hawk_output_printf(screen->output, "\n  ... and %s more (--full)\n",
				   hawk_quantity_count(count - end).text);
}

static void put_suppressions(const struct hawk_leaks_report *report,
			     const struct hawk_screen *screen)
{
	size_t count = report->suppressions ? hawk_suppressions_count(report->suppressions) : 0;

	if (!count)
		return;
	hawk_screen_heading(screen, "Suppressions");
	for (size_t i = 0; i < count; i++) {
		const struct hawk_suppression *item = hawk_suppressions_at(report->suppressions, i);
		CLEANUP(text) struct hawk_text text = {0};

		hawk_text_printf(&text, "%s (%s:%u)", item->text, item->file, item->line);
		if (item->records)
			hawk_output_printf(screen->output, "  %10s %12s  ",
					   hawk_quantity_bytes(item->bytes).text,
					   hawk_quantity_count(item->objects).text);
		else
			hawk_output_printf(screen->output, "  %23s  ", "never matched");
		hawk_screen_foreign(screen, hawk_text_string(&text));
		hawk_output_puts(screen->output, "\n");
	}
}

/** Prints "Leaks: 12 blocks, 1.2 MiB lost", or possibly lost if none is lost. Returns true if any
 * is. */
static bool put_heading(const struct hawk_leaks_report *report, const char *which,
			const struct hawk_screen *screen)
{
	struct hawk_reach_sum lost = hawk_reach_lost(report->selection->sums);
	const struct hawk_reach_sum *possibly = &report->selection->sums[HAWK_REACH_POSSIBLY];
	const struct hawk_reach_sum *told = lost.objects ? &lost : possibly;

	if (told->objects)
		hawk_screen_heading(screen, "Leaks: %s block%s, %s %slost%s",
				    hawk_quantity_count(told->objects).text,
				    told->objects == 1 ? "" : "s",
				    hawk_quantity_bytes(told->bytes).text,
				    lost.objects ? "" : "possibly ", which);
	else
		hawk_screen_heading(screen, "Leaks: none%s%s",
				    hawk_leaks_may_hide(report->graph, report->leaks)
					    ? " found, but that is not certain"
					    : "",
				    which);
	return told->objects;
}

void hawk_leaks_report_text(const struct hawk_leaks_report *report,
			    const struct hawk_screen *screen)
{
	size_t top = report->top ? report->top : screen->full ? 0 : DEFAULT_TOP;
	size_t depth = report->depth ? report->depth : screen->full ? 0 : DEFAULT_DEPTH;

	if (!report->heap->knows) {
		hawk_report_put_unknown(report->heap, screen, "Leaks", "find leaks");
	} else {
		put_heading(report, report->filtered ? ", of the blocks that match" : "", screen);
		put_sums(report, screen);
		put_warning(report, screen);
		put_roots(report, screen);
		put_records(report, screen, top, depth, "--top");
		put_leaders(report, screen, depth);
		if (screen->full)
			put_suppressions(report, screen);
	}
	hawk_report_findings(report->findings, report->partial, screen);
}

void hawk_leaks_report_sums(const struct hawk_leaks_report *report,
			    const struct hawk_screen *screen)
{
	if (!put_heading(report, "", screen))
		return;
	put_kinds(report, screen, false);
	put_warning(report, screen);
}

void hawk_leaks_report_section(const struct hawk_leaks_report *report, const char *which,
			       const struct hawk_screen *screen)
{
	put_heading(report, which, screen);
	put_sums(report, screen);
	put_warning(report, screen);
	put_records(report, screen, report->top ? report->top : SECTION_TOP,
		    report->depth ? report->depth : SECTION_DEPTH, "hawk-core leaks");
}
