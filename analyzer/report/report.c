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

/** Partial findings may leave an answer complete that does not depend on them. */
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

	if (!findings->count && !findings->forgotten) {
		hawk_output_puts(screen->output, "\nNothing was missing.\n");
		return;
	}
	hawk_screen_heading(screen, "Missing or damaged%s", effect_of(findings, partial));
	if (findings->forgotten)
		hawk_output_puts(screen->output,
				 "  missing  memory ran out: what else is missing is "
				 "not known\n");
	/* What makes the answer incomplete comes first. */
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

bool hawk_report_has_tracer(const struct hawk_target *target)
{
	size_t count;
	const struct hawk_mapping *mappings = hawk_target_mappings(target, &count);

	for (size_t i = 0; i < count; i++)
		if (mappings[i].path &&
		    !strcmp(hawk_path_base(mappings[i].path), "libhawk_tracer.so"))
			return true;
	return false;
}

void hawk_report_put_unknown(const struct hawk_target *target, const struct hawk_screen *screen,
			     const char *section, const char *goal)
{
	CLEANUP(text) struct hawk_text advice = {0};

	if (hawk_report_has_tracer(target)) {
		hawk_screen_heading(screen, "%s: unknown, the trace table is missing", section);
		return;
	}
	hawk_screen_heading(screen, "%s: unknown, the process was not traced", section);
	hawk_text_printf(&advice,
			 "To %s next time, start the program under the tracer: hawk-core run -- "
			 "PROGRAM ARGUMENTS",
			 goal);
	hawk_screen_paragraph(screen, hawk_text_string(&advice), 2, 2);
}

static void put_untraced(const struct hawk_report *report, const struct hawk_screen *screen)
{
	bool traced = hawk_report_has_tracer(report->target);

	hawk_screen_heading(screen, traced ? "Heap: unknown, the trace table is missing"
					   : "Heap: unknown, the process was not traced");
	hawk_screen_paragraph(
		screen,
		traced ? "The process had the tracer's library. Its table, and the heap, are "
			 "anonymous memory: is that left out (bit 0 of /proc/PID/coredump_filter) "
			 "or cut off (ulimit -c)? Or did the tracer stand aside (ulimit -v or -d "
			 "below 32 MiB)?"
		       : "To see the heap by stack next time, start the program under the tracer: "
			 "hawk-core run -- PROGRAM ARGUMENTS",
		2, 2);
	hawk_report_memory_map(report->target, screen);
}

/** Everything that the short screen leaves out. */
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
		put_untraced(report, screen);
	}
	if (screen->full)
		put_details(report, screen);
	return NULL;
}
