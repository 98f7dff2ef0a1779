/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The whole text report, and its findings.
 */
#include "hawk/report/report.h"

#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/names/function_name.h"
#include "hawk/base/quantity.h"
#include "hawk/report/leaks.h"
#include "hawk/report/verify.h"
#include "hawk/base/text.h"

enum { SHORT_FINDINGS = 4 };

static void put_finding(const struct hawk_finding *finding, const struct hawk_screen *screen)
{
	CLEANUP(text) struct hawk_text text = {0};

	hawk_text_puts(&text, finding->text);
	if (finding->count > 1)
		hawk_text_printf(&text, " (%s times)", hawk_quantity_count(finding->count).text);
	hawk_output_puts(screen->output,
			 finding->sort == HAWK_FINDING_DAMAGE ? "  damage   " : "  missing  ");
	hawk_screen_wrapped(screen, hawk_text_string(&text), 11, 11);
}

/** Returns the effect of findings: an answer that does not depend on partial ones stays complete.
 */
static const char *effect_of(const struct hawk_findings *findings, bool partial)
{
	if (partial)
		return ": the answer is incomplete";
	return hawk_findings_partial(findings) ? ", but the answer does not depend on it" : "";
}

void hawk_report_findings(const struct hawk_findings *findings, bool partial,
			  const struct hawk_screen *screen)
{
	size_t left = screen->full ? SIZE_MAX : SHORT_FINDINGS;
	size_t omitted = 0;

	if (!findings->count && !hawk_findings_forgotten(findings)) {
		hawk_output_puts(screen->output, "\nNothing was missing.\n");
		return;
	}
	hawk_screen_heading(screen, "Missing or damaged%s", effect_of(findings, partial));
	if (hawk_findings_forgotten(findings))
		hawk_output_puts(screen->output,
				 "  missing  memory ran out: what else is missing is "
				 "not known\n");
	/* Findings that make the answer incomplete come first. */
	for (int first = 1; first >= 0; first--) {
		for (size_t i = 0; i < findings->count; i++) {
			if (findings->items[i].partial != (bool)first)
				continue;
			if (left == 0) {
				omitted++;
				continue;
			}
			left--;
			put_finding(&findings->items[i], screen);
		}
	}
	if (omitted)
		hawk_output_printf(screen->output, "  ... and %zu more (--full)\n", omitted);
}

/* Returns true if the program is its only module: nothing can be preloaded into it. */
static bool is_static(const struct hawk_target *target)
{
	size_t count, others = 0;
	const struct hawk_module *modules = hawk_target_modules(target, &count);

	for (size_t i = 0; i < count; i++)
		others += !modules[i].main && !modules[i].vdso;
	return count && !others;
}

void hawk_report_put_unknown(const struct hawk_heap *heap, const struct hawk_screen *screen,
			     const char *section, const char *goal)
{
	CLEANUP(text) struct hawk_text advice = {0};

	hawk_screen_heading(screen, "%s: unknown, %s", section, hawk_heap_unknown_text(heap));
	if (heap->unknown != HAWK_HEAP_NOT_TRACED)
		return;
	if (is_static(heap->target)) {
		hawk_output_puts(screen->output, "  The tracer cannot be preloaded into a "
						 "statically linked program.\n");
		return;
	}
	hawk_text_printf(&advice,
			 "To %s next time, start the program under the tracer: hawk-core run -- "
			 "PROGRAM ARGUMENTS",
			 goal);
	hawk_screen_paragraph(screen, hawk_text_string(&advice), 2, 2);
}

static void put_unknown(const struct hawk_report *report, const struct hawk_screen *screen)
{
	static const char *const advice[] = {
		[HAWK_HEAP_CUT_OFF] = "Was the core limited in size (ulimit -c), or the disk full?",
		[HAWK_HEAP_TABLE_MISSING] =
			"The process had the tracer's library. Its table, and the heap, are "
			"anonymous memory: is that left out (bit 0 of /proc/PID/coredump_filter)? "
			"Or did the tracer stand aside (ulimit -v or -d below 32 MiB)?",
		[HAWK_HEAP_BLOCKS_MISSING] =
			"The trace table is there; the heap is not: is the core cut off (ulimit "
			"-c), or is anonymous memory left out (bit 0 of "
			"/proc/PID/coredump_filter)?",
	};
	const struct hawk_table_totals *totals = &report->heap->totals;
	unsigned why = report->heap->unknown;

	hawk_report_put_unknown(report->heap, screen, "Heap", "see the heap by stack");
	if (why < sizeof(advice) / sizeof(advice[0]) && advice[why])
		hawk_screen_paragraph(screen, advice[why], 2, 2);
	if (totals->alloc_objects && !totals->too_low)
		hawk_output_printf(
			screen->output,
			"  By the tracer's counters %s blocks (%s) were allocated, and %s "
			"(%s) freed.\n",
			hawk_quantity_count(totals->alloc_objects).text,
			hawk_quantity_bytes(totals->alloc_bytes).text,
			hawk_quantity_count(totals->free_objects).text,
			hawk_quantity_bytes(totals->free_bytes).text);
	hawk_report_memory_map(report->target, screen);
}

/** Prints everything that the short screen leaves out. */
static void put_details(const struct hawk_report *report, const struct hawk_screen *screen)
{
	if (hawk_target_process(report->target)->table_file)
		return;
	hawk_report_threads(report, screen);
	if (report->heap->knows)
		hawk_report_memory_map(report->target, screen);
	hawk_report_modules(report, screen);
}

struct hawk_error *hawk_report_text(const struct hawk_report *report,
				    const struct hawk_screen *screen)
{
	struct hawk_error *err = NULL;

	hawk_report_process(report, screen);
	if (report->verify)
		hawk_verify_report_section(report->verify, screen);
	if (report->heap->knows) {
		hawk_report_heap(report, screen);
		if (report->groups)
			hawk_report_groups(report, screen);
		else
			err = report->by_scope ? hawk_report_scopes(report, screen)
					       : hawk_report_sites(report, screen);
		if (err)
			return err;
		if (report->leaks)
			hawk_leaks_report_section(report->leaks,
						  report->filtered ? ", of all sites" : "", screen);
	} else {
		put_unknown(report, screen);
	}
	if (screen->full)
		put_details(report, screen);
	return NULL;
}
