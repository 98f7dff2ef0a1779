/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Leaks in text: sums by kind, what the verdicts rest on, loss records with stacks and evidence.
 */
#include "hawk_report_leaks.h"

#include "hawk_cleanup.h"
#include "hawk_quantity.h"
#include "hawk_report.h"
#include "hawk_site_stack.h"

enum {
	DEFAULT_TOP = 10,
	DEFAULT_DEPTH = 4,
	SECTION_TOP = 3,
	LEADERS_TOP = 5,
	SECTION_DEPTH = 3,
	INDENT = 6,
};

/* In the order in which they are told. */
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
	hawk_screen_style(screen, HAWK_STYLE_FAINT);
	hawk_output_puts(screen->output, meaning);
	hawk_screen_plain(screen);
	hawk_output_puts(screen->output, "\n");
}

static void put_sums(const struct hawk_leaks_report *report, const struct hawk_screen *screen)
{
	hawk_screen_style(screen, HAWK_STYLE_FAINT);
	hawk_output_printf(screen->output, "  %-16s %14s %12s\n", "", "size", "blocks");
	hawk_screen_plain(screen);
	for (unsigned i = 0; i < KINDS; i++)
		put_sum(screen, hawk_leaks_kind_name(kinds[i].kind), &report->sums[kinds[i].kind],
			kinds[i].meaning);
	if (report->suppressions)
		put_sum(screen, "suppressed", &report->suppressed, "known, by suppressions");
}

/* What a verdict rests on: where pointers were looked for, and which of them heuristics explain. */
static void put_roots(const struct hawk_leaks_report *report, const struct hawk_screen *screen)
{
	const struct hawk_roots *roots = &report->graph->roots;
	CLEANUP(text) struct hawk_text text = {0};
	size_t threads;
	size_t modules;

	hawk_target_threads(report->graph->heap->target, &threads);
	hawk_target_modules(report->graph->heap->target, &modules);
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
			hawk_text_printf(&text, " %s interior pointer%s explained by %s.",
					 hawk_quantity_count(report->leaks->heuristics[i]).text,
					 report->leaks->heuristics[i] == 1 ? " is" : "s are",
					 hawk_heuristic_names[i]);
	if (!text.bytes)
		return;
	hawk_output_puts(screen->output, "\n  ");
	hawk_screen_wrapped(screen, text.bytes, 2, 2);
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
	if (!text.bytes)
		return;
	hawk_output_puts(screen->output, "\n  ");
	hawk_screen_style(screen, HAWK_STYLE_ALERT);
	hawk_screen_wrapped(screen, text.bytes, 2, 2);
	hawk_screen_plain(screen);
}

/** Pieces of a sentence, separated by commas. */
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

/* Where nothing can be called lost, blocks are not called so either. */
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

static void append_pointers(const struct hawk_leaks *leaks, const struct hawk_leak_record *record,
			    struct hawk_text *text)
{
	for (unsigned i = 0; i < HAWK_LEAK_SOURCES; i++)
		if (source_name(leaks, i))
			put_piece(text, &record->pointers[i], source_name(leaks, i));
}

/** "pointers: 3 in stacks (all interior), 2 in lost blocks; one at `g_table`+0x8 in app .bss" */
static struct hawk_error *put_evidence(const struct hawk_leaks_report *report,
				       const struct hawk_screen *screen,
				       const struct hawk_leak_record *record)
{
	CLEANUP(text) struct hawk_text pieces = {0};
	CLEANUP(text) struct hawk_text text = {0};
	struct hawk_error *err = NULL;

	append_pointers(report->leaks, record, &pieces);
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
		err = hawk_root_name(report->namer, record->first_root, &text);
	}
	if (err || !text.bytes)
		return err;
	hawk_output_fill(screen->output, ' ', INDENT);
	hawk_screen_wrapped(screen, text.bytes, INDENT, INDENT + 2);
	return NULL;
}

static void put_example(const struct hawk_leaks_report *report, const struct hawk_screen *screen,
			const struct hawk_leak_record *record)
{
	const struct hawk_block_index *index = &report->graph->heap->index;

	hawk_output_fill(screen->output, ' ', INDENT);
	hawk_output_printf(screen->output, "%s 0x%llx, %s\n",
			   record->objects == 1 ? "block" : "oldest block",
			   (unsigned long long)hawk_block_start(index, record->example),
			   hawk_quantity_bytes(hawk_block_size(index, record->example)).text);
	if (!record->indirect_objects)
		return;
	hawk_output_fill(screen->output, ' ', INDENT);
	hawk_output_printf(screen->output, "%s block%s, %s, lost with %s\n",
			   hawk_quantity_count(record->indirect_objects).text,
			   record->indirect_objects == 1 ? "" : "s",
			   hawk_quantity_bytes(record->indirect_bytes).text,
			   record->objects == 1 ? "it" : "them");
}

static struct hawk_error *put_record(const struct hawk_leaks_report *report,
				     const struct hawk_screen *screen,
				     struct hawk_site_stacks *stacks, size_t i)
{
	const struct hawk_leak_record *record = report->shown[i];
	const struct hawk_heap *heap = report->graph->heap;
	struct hawk_quantity size = screen->full ? hawk_quantity_count(record->bytes)
						 : hawk_quantity_bytes(record->bytes);
	struct hawk_error *err;

	hawk_output_printf(
		screen->output, "%4zu %*s %12s  %-14s %016llx\n", i + 1, screen->full ? 18 : 10,
		size.text, hawk_quantity_count(record->objects).text,
		record->has_birth
			? hawk_quantity_seconds(hawk_heap_age_seconds(heap, record->oldest_units))
				  .text
			: "?",
		record->site < heap->site_count ? (unsigned long long)heap->sites[record->site].id
						: (unsigned long long)HAWK_SITE_LOST);
	err = hawk_site_stacks_put(stacks, record->site);
	if (!err)
		err = put_evidence(report, screen, record);
	if (!err)
		put_example(report, screen, record);
	return err;
}

/* The records from `*at` on that are of one kind, up to `end`. */
static struct hawk_error *put_kind(const struct hawk_leaks_report *report,
				   const struct hawk_screen *screen,
				   struct hawk_site_stacks *stacks, size_t *at, size_t end)
{
	enum hawk_reach_kind kind = report->shown[*at]->kind;
	struct hawk_error *err = NULL;
	size_t all = 0;

	for (size_t i = 0; i < report->shown_count; i++)
		all += report->shown[i]->kind == kind;
	hawk_screen_heading(screen, "%c%s: %s loss record%s", hawk_leaks_kind_name(kind)[0] - 32,
			    hawk_leaks_kind_name(kind) + 1, hawk_quantity_count(all).text,
			    all == 1 ? "" : "s");
	hawk_screen_style(screen, HAWK_STYLE_FAINT);
	hawk_output_printf(screen->output, "   # %*s %12s  %-14s %s\n", screen->full ? 18 : 10,
			   "size", "blocks", "oldest", "site");
	hawk_screen_plain(screen);
	for (; *at < end && report->shown[*at]->kind == kind && !err; ++*at)
		err = put_record(report, screen, stacks, *at);
	return err;
}

/** The stacks of the first `count` records. */
static struct hawk_error *compare_stacks(const struct hawk_leaks_report *report, size_t count,
					 size_t depth, const struct hawk_screen *screen,
					 struct hawk_site_stacks **ret)
{
	CLEANUP(free_ptr) uint32_t *sites = calloc(count + 1, sizeof(*sites));

	if (!sites)
		return &hawk_enomem;
	for (size_t i = 0; i < count; i++)
		sites[i] = report->shown[i]->site;
	return hawk_site_stacks_create(screen, report->symbols, report->graph->heap, sites, count,
				       depth, ret);
}

static struct hawk_error *put_records(const struct hawk_leaks_report *report,
				      const struct hawk_screen *screen, size_t top, size_t depth,
				      const char *how_to_see_more)
{
	size_t end = top && top < report->shown_count ? top : report->shown_count;
	CLEANUP(site_stacks) struct hawk_site_stacks *stacks = NULL;
	struct hawk_error *err = compare_stacks(report, end, depth, screen, &stacks);

	for (size_t at = 0; at < end && !err;)
		err = put_kind(report, screen, stacks, &at, end);
	if (!err && end < report->shown_count)
		hawk_output_printf(screen->output, "\n  ... and %s more loss record%s (%s)\n",
				   hawk_quantity_count(report->shown_count - end).text,
				   report->shown_count - end == 1 ? "" : "s", how_to_see_more);
	return err;
}

static struct hawk_error *put_leader(const struct hawk_leaks_report *report,
				     const struct hawk_screen *screen,
				     struct hawk_site_stacks *stacks, size_t number)
{
	const struct hawk_block_graph *graph = report->graph;
	const struct hawk_leak_leader *leader = &report->leaders[number];
	struct hawk_error *err;

	hawk_output_printf(screen->output, "%4zu %10s %12s  %-14s %016llx\n", number + 1,
			   hawk_quantity_bytes(leader->lost.bytes).text,
			   hawk_quantity_count(leader->lost.objects).text,
			   hawk_quantity_count(leader->leaders).text,
			   (unsigned long long)graph->heap->sites[leader->site].id);
	err = hawk_site_stacks_put(stacks, leader->site);
	hawk_output_fill(screen->output, ' ', INDENT);
	hawk_output_printf(
		screen->output, "%s 0x%llx, %s\n", leader->leaders == 1 ? "block" : "lowest block",
		(unsigned long long)hawk_block_start(&graph->heap->index, leader->example),
		hawk_quantity_bytes(hawk_block_size(&graph->heap->index, leader->example)).text);
	return err;
}

/* Whose blocks lead to the indirectly lost ones of the site that was asked for. */
static struct hawk_error *put_leaders(const struct hawk_leaks_report *report,
				      const struct hawk_screen *screen, size_t depth)
{
	size_t end = screen->full || report->leader_count < LEADERS_TOP ? report->leader_count
									: LEADERS_TOP;
	CLEANUP(site_stacks) struct hawk_site_stacks *stacks = NULL;
	CLEANUP(free_ptr) uint32_t *sites = calloc(end + 1, sizeof(*sites));
	struct hawk_error *err;

	if (!report->leader_count)
		return NULL;
	if (!sites)
		return &hawk_enomem;
	for (size_t i = 0; i < end; i++)
		sites[i] = report->leaders[i].site;
	err = hawk_site_stacks_create(screen, report->symbols, report->graph->heap, sites, end,
				      depth, &stacks);
	if (err)
		return err;
	hawk_screen_heading(screen, "Lost through definitely lost blocks of %s site%s",
			    hawk_quantity_count(report->leader_count).text,
			    report->leader_count == 1 ? "" : "s");
	hawk_screen_style(screen, HAWK_STYLE_FAINT);
	hawk_output_printf(screen->output, "   # %10s %12s  %-14s %s\n", "lost size", "blocks",
			   "through", "site");
	hawk_screen_plain(screen);
	for (size_t i = 0; i < end && !err; i++)
		err = put_leader(report, screen, stacks, i);
	if (!err && end < report->leader_count)
		hawk_output_printf(screen->output, "\n  ... and %s more (--full)\n",
				   hawk_quantity_count(report->leader_count - end).text);
	return err;
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
		hawk_screen_foreign(screen, text.bytes ? text.bytes : "");
		hawk_output_puts(screen->output, "\n");
	}
}

/** "Leaks: 12 blocks, 1.2 MiB definitely lost" */
static void put_heading(const struct hawk_leaks_report *report, const struct hawk_screen *screen)
{
	const struct hawk_reach_sum *lost = &report->sums[HAWK_REACH_DEFINITELY_LOST];
	const struct hawk_reach_sum *indirect = &report->sums[HAWK_REACH_INDIRECTLY_LOST];
	const struct hawk_reach_sum *maybe = &report->sums[HAWK_REACH_POSSIBLY];
	const char *which = report->filtered ? ", of the blocks that match" : "";

	if (lost->objects)
		hawk_screen_heading(screen, "Leaks: %s block%s, %s definitely lost%s",
				    hawk_quantity_count(lost->objects).text,
				    lost->objects == 1 ? "" : "s",
				    hawk_quantity_bytes(lost->bytes).text, which);
	else if (indirect->objects)
		hawk_screen_heading(screen, "Leaks: %s block%s, %s indirectly lost%s",
				    hawk_quantity_count(indirect->objects).text,
				    indirect->objects == 1 ? "" : "s",
				    hawk_quantity_bytes(indirect->bytes).text, which);
	else if (maybe->objects)
		hawk_screen_heading(screen, "Leaks: %s block%s, %s possibly lost%s",
				    hawk_quantity_count(maybe->objects).text,
				    maybe->objects == 1 ? "" : "s",
				    hawk_quantity_bytes(maybe->bytes).text, which);
	else
		hawk_screen_heading(screen, "Leaks: none%s%s",
				    hawk_leaks_may_hide(report->graph, report->leaks)
					    ? " found, but that is not certain"
					    : "",
				    which);
}

struct hawk_error *hawk_leaks_report_text(const struct hawk_leaks_report *report,
					  const struct hawk_screen *screen)
{
	size_t top = report->top ? report->top : screen->full ? 0 : DEFAULT_TOP;
	size_t depth = report->depth ? report->depth : screen->full ? 0 : DEFAULT_DEPTH;
	struct hawk_error *err;

	if (!report->graph->heap->table) {
		hawk_report_put_unknown(report->graph->heap->target, screen, "Leaks", "find leaks");
	} else {
		put_heading(report, screen);
		put_sums(report, screen);
		put_warning(report, screen);
		put_roots(report, screen);
		err = put_records(report, screen, top, depth, "--top");
		if (err)
			return err;
		err = put_leaders(report, screen, depth);
		if (err)
			return err;
		if (screen->full)
			put_suppressions(report, screen);
	}
	hawk_report_findings(report->findings, report->partial, screen);
	return NULL;
}

struct hawk_error *hawk_leaks_report_section(const struct hawk_leaks_report *report,
					     const struct hawk_screen *screen)
{
	put_heading(report, screen);
	put_sums(report, screen);
	put_warning(report, screen);
	return put_records(report, screen, report->top ? report->top : SECTION_TOP,
			   report->depth ? report->depth : SECTION_DEPTH, "hawk-core leaks");
}
