/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Prints a ledger of many snapshots: their suspects, then their sites.
 */
#include "hawk/report/ledger.h"

#include <inttypes.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/quantity.h"
#include "hawk/base/utf8.h"
#include "hawk/names/signal.h"
#include "hawk/report/report.h"

enum {
	DEFAULT_TOP = 20,
	DEFAULT_BUGS = 5,
	BUG_INDENT = 11,
	NAME_COLUMN = 46,
	NAME_WIDTH_MIN = 16,
	STACK_INDENT = 6,
	CALLER_WIDTH = 18,
	BUILD_DIGITS = 12,
};

/** "3f2a91c0d4e5", or "3f2a91c0d4e5 to 77b1c2d3e4f5"; "unknown" without build-ids. */
static void append_builds(struct hawk_text *text, const struct hawk_ledger *ledger, uint32_t first,
			  uint32_t latest)
{
	const char *a = ledger->snapshots[first].build_id, *b = ledger->snapshots[latest].build_id;

	if (!a[0] && !b[0])
		hawk_text_puts(text, "unknown");
	else if (!strcmp(a, b))
		hawk_text_printf(text, "%.*s", BUILD_DIGITS, a);
	else
		hawk_text_printf(text, "%.*s to %.*s", BUILD_DIGITS, a[0] ? a : "unknown",
				 BUILD_DIGITS, b[0] ? b : "unknown");
}

static size_t width_from(const struct hawk_screen *screen, size_t column)
{
	return screen->full                              ? SIZE_MAX
	       : screen->width > column + NAME_WIDTH_MIN ? screen->width - column
							 : NAME_WIDTH_MIN;
}

static void append_step(const struct hawk_ledger *ledger, uint32_t step, size_t width,
			struct hawk_text *text)
{
	if (step)
		hawk_profile_append_step(ledger->stacks, step, width, text);
	else
		hawk_text_puts(text, "(no stack)");
}

static void put_bug(const struct hawk_ledger_report *report, const struct hawk_ledger_bug *bug,
		    const struct hawk_screen *screen)
{
	const struct hawk_ledger *ledger = report->ledger;
	const struct hawk_ledger_snapshot *example = &ledger->snapshots[bug->example];
	const char *signal = hawk_signal_name(example->signal);
	CLEANUP(text) struct hawk_text name = {0}, story = {0}, safe = {0};

	append_step(ledger, bug->step, width_from(screen, BUG_INDENT), &name);
	hawk_output_printf(screen->output, "%9s  ", hawk_quantity_count(bug->count).text);
	hawk_screen_line(screen, &name);
	hawk_text_printf(&story, "held by %s; build ", bug->holder);
	append_builds(&story, ledger, bug->first, bug->example);
	hawk_text_printf(&story, "; for example %s", example->source);
	if (signal)
		hawk_text_printf(&story, " (%s)", signal);
	hawk_utf8_append_safe(&safe, hawk_text_string(&story));
	hawk_screen_paragraph(screen, hawk_text_string(&safe), BUG_INDENT, BUG_INDENT);
}

static void put_bugs(const struct hawk_ledger_report *report, const struct hawk_screen *screen)
{
	const struct hawk_ledger *ledger = report->ledger;
	size_t end =
		screen->full || ledger->bug_count < DEFAULT_BUGS ? ledger->bug_count : DEFAULT_BUGS;

	if (!ledger->bug_count)
		return;
	hawk_screen_heading(screen, "Main suspects (%zu of %zu), and how many snapshots have them",
			    end, ledger->bug_count);
	for (size_t i = 0; i < end; i++)
		put_bug(report, &ledger->bugs[i], screen);
}

static void put_slope(const struct hawk_ledger_row *row, const struct hawk_screen *screen)
{
	double size = row->slope < 0 ? -row->slope : row->slope;
	uint64_t bytes = size < 1e18 ? (uint64_t)size : (uint64_t)1e18;
	char text[sizeof(struct hawk_quantity) + 1] = "-";

	if (row->has_slope)
		snprintf(text, sizeof(text), "%s%s",
			 !bytes           ? ""
			 : row->slope < 0 ? "-"
					  : "+",
			 screen->full ? hawk_quantity_count(bytes).text
				      : hawk_quantity_bytes(bytes).text);
	hawk_output_printf(screen->output, " %10s", text);
}

static void put_stack(const struct hawk_ledger_report *report, uint32_t step,
		      const struct hawk_screen *screen)
{
	const struct hawk_profile *stacks = report->ledger->stacks;

	step = stacks->steps[step].parent;
	for (size_t i = 1; step && (!report->depth || i < report->depth);
	     i++, step = stacks->steps[step].parent) {
		CLEANUP(text) struct hawk_text text = {0};

		hawk_profile_append_step(stacks, step, width_from(screen, STACK_INDENT), &text);
		hawk_output_fill(screen->output, ' ', STACK_INDENT);
		hawk_screen_line(screen, &text);
	}
}

static struct hawk_quantity size_of(int64_t bytes, const struct hawk_screen *screen)
{
	uint64_t size = bytes > 0 ? (uint64_t)bytes : 0;

	return screen->full ? hawk_quantity_count(size) : hawk_quantity_bytes(size);
}

static const char *function_of(const struct hawk_profile *stacks, uint32_t step)
{
	const struct hawk_profile_frame *frame =
		hawk_profile_location_frame(stacks, stacks->steps[step].location, 0);

	return hawk_profile_text(stacks, frame->function);
}

/** Returns the first caller by which `step` differs from `other`. 0 = their functions have
 * different names, or no caller differs. */
static uint32_t differing_caller(const struct hawk_profile *stacks, uint32_t step, uint32_t other)
{
	while (step && other && function_of(stacks, step)[0] &&
	       !strcmp(function_of(stacks, step), function_of(stacks, other))) {
		step = stacks->steps[step].parent;
		other = stacks->steps[other].parent;
		if (step &&
		    (!other || strcmp(function_of(stacks, step), function_of(stacks, other)) != 0))
			return step;
	}
	return 0;
}

/** Appends the caller in rows [0, end) that share a name. */
static void append_caller(const struct hawk_ledger *ledger, size_t number, size_t end,
			  struct hawk_text *name)
{
	const struct hawk_profile *stacks = ledger->stacks;
	uint32_t caller = 0;

	for (size_t i = 0; i < end && !caller; i++)
		if (i != number)
			caller = differing_caller(stacks, ledger->rows[number].step,
						  ledger->rows[i].step);
	if (!caller)
		return;
	hawk_text_puts(name, " < ");
	hawk_profile_append_step(stacks, caller, CALLER_WIDTH, name);
}

static void put_row(const struct hawk_ledger_report *report, size_t number, size_t end,
		    const struct hawk_screen *screen)
{
	const struct hawk_ledger_row *row = &report->ledger->rows[number];
	const struct hawk_ledger *ledger = report->ledger;
	CLEANUP(text) struct hawk_text name = {0}, details = {0};

	hawk_output_printf(screen->output, "%9s %10s %10s", hawk_quantity_count(row->count).text,
			   size_of(row->median, screen).text, size_of(row->maximum, screen).text);
	put_slope(row, screen);
	hawk_output_puts(screen->output, row->estimated ? " ~ " : "   ");
	append_step(ledger, row->step, width_from(screen, NAME_COLUMN), &name);
	if (!screen->full && hawk_utf8_width(hawk_text_string(&name)) + CALLER_WIDTH + 3 <=
				     width_from(screen, NAME_COLUMN))
		append_caller(ledger, number, end, &name);
	hawk_screen_line(screen, &name);
	if (screen->full) {
		append_builds(&details, ledger, row->first, row->latest);
		hawk_output_printf(
			screen->output, "      site %s, signature %016" PRIx64 ", build %s\n",
			row->site[0] ? row->site : "-", row->signature, hawk_text_string(&details));
	}
	if (screen->full || report->depth > 1)
		put_stack(report, row->step, screen);
}

static void put_rows(const struct hawk_ledger_report *report, const struct hawk_screen *screen)
{
	const struct hawk_ledger *ledger = report->ledger;
	size_t top = report->top ? report->top : screen->full ? SIZE_MAX : DEFAULT_TOP;
	size_t end = top < ledger->row_count ? top : ledger->row_count;
	bool estimated = false;

	if (ledger->has_stacks)
		hawk_screen_heading(screen, "Sites (%zu of %zu), by functions and files", end,
				    ledger->row_count);
	else
		hawk_screen_heading(screen, "Classes (%zu of %zu)", end, ledger->row_count);
	if (!end) {
		hawk_output_puts(screen->output, "  none\n");
		return;
	}
	hawk_screen_faint(screen, "%9s %10s %10s %10s   %s\n", "snapshots", "median", "maximum",
			  "an hour", ledger->has_stacks ? "site" : "class");
	for (size_t i = 0; i < end; i++) {
		put_row(report, i, end, screen);
		estimated |= ledger->rows[i].estimated;
	}
	if (estimated)
		hawk_output_puts(screen->output,
				 "  ~ some of its figures are estimates: stacks were sampled\n");
}

void hawk_report_ledger(const struct hawk_ledger_report *report, const struct hawk_screen *screen)
{
	const struct hawk_ledger *ledger = report->ledger;

	hawk_screen_heading(screen, "Ledger of %s snapshot%s",
			    hawk_quantity_count(ledger->snapshot_count).text,
			    ledger->snapshot_count == 1 ? "" : "s");
	if (ledger->repeated)
		hawk_output_printf(
			screen->output,
			"  %s more were of a process and time that is counted already.\n",
			hawk_quantity_count(ledger->repeated).text);
	put_bugs(report, screen);
	put_rows(report, screen);
	hawk_report_findings(report->findings, hawk_findings_partial(report->findings), screen);
}
