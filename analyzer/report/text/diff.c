/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Prints the rows of a comparison: growth and shrinkage in one list, the largest changes first.
 */
#include "hawk/report/diff.h"

#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/quantity.h"
#include "hawk/base/utf8.h"
#include "hawk/names/function_name.h"
#include "hawk/report/report.h"

enum {
	DEFAULT_TOP = 20,
	NAME_COLUMN = 41, /**< column of sites' names */
	RATE_COLUMNS = 11,
	GROUP_COLUMN = 27,
	NAME_WIDTH_MIN = 16,
	STACK_INDENT = 6,
};

/** A change as text. */
struct change {
	char text[sizeof(struct hawk_quantity) + 1];
};

/** "+1.2 MiB", "-300 B", "0" */
static struct change change_of_bytes(int64_t bytes, bool exact)
{
	uint64_t size = bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes;
	struct hawk_quantity text = exact ? hawk_quantity_count(size) : hawk_quantity_bytes(size);
	struct change ret;

	snprintf(ret.text, sizeof(ret.text), "%s%s", bytes < 0 ? "-" : bytes ? "+" : "", text.text);
	return ret;
}

static struct change change_of_count(int64_t count)
{
	return change_of_bytes(count, true);
}

/** 1.5 as "+50.0 %" */
static void append_share(struct hawk_text *text, int64_t change, int64_t before)
{
	if (before > 0)
		hawk_text_printf(text, " (%+.1f %%)", 100 * (double)change / (double)before);
}

static const char *word_of(const struct hawk_diff_row *row)
{
	if (row->match == HAWK_DIFF_NEW)
		return "new";
	if (row->match == HAWK_DIFF_GONE)
		return "gone";
	if (!row->significant && row->bytes)
		return "noise";
	return row->bytes > 0 ? "grown" : row->bytes < 0 ? "shrunk" : "same";
}

static void append_side(struct hawk_text *text, const char *unknown,
			const struct hawk_diff_side *side)
{
	if (unknown)
		hawk_text_puts(text, "unknown");
	else
		hawk_text_printf(text, "%s in %s blocks",
				 hawk_quantity_bytes((uint64_t)side->bytes).text,
				 hawk_quantity_count((uint64_t)side->objects).text);
}

static void put_unknown(const struct hawk_diff_report *report, const struct hawk_screen *screen)
{
	CLEANUP(text) struct hawk_text text = {0};

	append_side(&text, report->before_unknown, &report->diff->whole.before);
	hawk_text_puts(&text, " -> ");
	append_side(&text, report->after_unknown, &report->diff->whole.after);
	hawk_screen_heading(screen, "Difference of %s memory: unknown", report->what);
	hawk_screen_paragraph(screen, hawk_text_string(&text), 2, 2);
}

static void put_change(const struct hawk_diff_report *report, const struct hawk_screen *screen)
{
	const struct hawk_diff_row *whole = &report->diff->whole;
	CLEANUP(text) struct hawk_text text = {0};

	hawk_screen_heading(screen, "Difference of %s memory", report->what);
	hawk_text_printf(&text, "%s -> %s, %s",
			 hawk_quantity_bytes((uint64_t)whole->before.bytes).text,
			 hawk_quantity_bytes((uint64_t)whole->after.bytes).text,
			 change_of_bytes(whole->bytes, false).text);
	append_share(&text, whole->bytes, whole->before.bytes);
	hawk_text_printf(&text, "; %s blocks", change_of_count(whole->objects).text);
	if (report->hours > 0)
		hawk_text_printf(
			&text, "; %s later, %s an hour",
			hawk_quantity_seconds(report->hours * 3600).text,
			change_of_bytes((int64_t)((double)whole->bytes / report->hours), false)
				.text);
	hawk_screen_paragraph(screen, hawk_text_string(&text), 2, 2);
}

static void put_name(const char *what, const char *name, const char *unknown,
		     const struct hawk_screen *screen)
{
	hawk_output_puts(screen->output, what);
	hawk_screen_foreign(screen, name);
	if (unknown)
		hawk_output_printf(screen->output, ": %s", unknown);
	hawk_output_puts(screen->output, "\n");
}

static void put_whole(const struct hawk_diff_report *report, const struct hawk_screen *screen)
{
	if (hawk_diff_report_is_unknown(report))
		put_unknown(report, screen);
	else
		put_change(report, screen);
	put_name("  before: ", report->before, report->before_unknown, screen);
	put_name("  after:  ", report->after, report->after_unknown, screen);
	if (report->other_program)
		hawk_output_puts(screen->output, "  These are two different programs.\n");
	if (report->difference->estimated)
		hawk_output_puts(
			screen->output,
			"  Stacks were sampled: sizes of sites are estimates; \"noise\" is "
			"less than\n  twice the standard error.\n");
}

static size_t name_width(const struct hawk_screen *screen, size_t column)
{
	return screen->full                              ? SIZE_MAX
	       : screen->width > column + NAME_WIDTH_MIN ? screen->width - column
							 : NAME_WIDTH_MIN;
}

static void put_stack(const struct hawk_profile *profile, uint32_t step, size_t depth,
		      const struct hawk_screen *screen)
{
	step = profile->steps[step].parent;
	for (size_t i = 1; step && (!depth || i < depth); i++, step = profile->steps[step].parent) {
		CLEANUP(text) struct hawk_text text = {0};

		hawk_profile_append_step(profile, step,
					 screen->full ? SIZE_MAX : screen->width - STACK_INDENT,
					 &text);
		hawk_output_fill(screen->output, ' ', STACK_INDENT);
		hawk_screen_line(screen, &text);
	}
}

static void put_row(const struct hawk_diff_report *report, const struct hawk_diff_row *row,
		    const struct hawk_screen *screen)
{
	bool gone = row->match == HAWK_DIFF_GONE;
	const struct hawk_profile *profile = gone ? report->diff->before : report->diff->after;
	const struct hawk_diff_side *side = gone ? &row->before : &row->after;
	CLEANUP(text) struct hawk_text name = {0};

	hawk_output_printf(screen->output, "%10s %10s %9s ",
			   change_of_bytes(row->bytes, screen->full).text,
			   hawk_quantity_bytes((uint64_t)row->after.bytes).text,
			   change_of_count(row->objects).text);
	if (report->hours > 0)
		hawk_output_printf(
			screen->output, "%10s ",
			change_of_bytes((int64_t)((double)row->bytes / report->hours), false).text);
	hawk_output_printf(screen->output, " %-6s  ", word_of(row));
	if (side->step)
		hawk_profile_append_step(
			profile, side->step,
			name_width(screen, NAME_COLUMN + (report->hours > 0 ? RATE_COLUMNS : 0)),
			&name);
	else
		hawk_text_puts(&name, "(no stack)");
	hawk_screen_line(screen, &name);
	if (screen->full)
		hawk_output_printf(screen->output, "      site %s, joined by %s\n",
				   side->site ? hawk_profile_text(profile, side->site) : "-",
				   hawk_diff_match_name(row->match));
	if (screen->full || report->depth > 1)
		put_stack(profile, side->step, report->depth, screen);
}

static void put_rows(const struct hawk_diff_report *report, const struct hawk_screen *screen)
{
	const struct hawk_diff *diff = report->diff;
	size_t top = report->top ? report->top : screen->full ? SIZE_MAX : DEFAULT_TOP, shown = 0;
	size_t joined = diff->kinds[HAWK_DIFF_SIGNATURE] + diff->kinds[HAWK_DIFF_FUNCTIONS];
	bool classes = diff->before->has_classes && diff->after->has_classes;

	hawk_screen_heading(screen, "%s: %zu new, %zu gone, %zu in both",
			    classes ? "Classes" : "Sites", diff->kinds[HAWK_DIFF_NEW],
			    diff->kinds[HAWK_DIFF_GONE],
			    diff->count - diff->kinds[HAWK_DIFF_NEW] - diff->kinds[HAWK_DIFF_GONE]);
	hawk_screen_faint(screen, "%10s %10s %9s %*s  %-6s  %s\n", "change", "now", "blocks",
			  report->hours > 0 ? RATE_COLUMNS - 1 : 0,
			  report->hours > 0 ? "an hour" : "", "", classes ? "class" : "site");
	for (; shown < diff->count && shown < top && diff->rows[shown].bytes; shown++)
		put_row(report, &diff->rows[shown], screen);
	if (!shown)
		hawk_output_puts(screen->output,
				 classes ? "  No class changed.\n" : "  No site changed.\n");
	else if (shown < diff->count && diff->rows[shown].bytes)
		hawk_output_puts(screen->output, "  ... and smaller changes (--full)\n");
	if (joined)
		hawk_output_printf(screen->output,
				   "  %zu site%s joined by functions and files: the program was "
				   "built anew.\n",
				   joined, joined == 1 ? " was" : "s were");
}

static void put_groups(const struct hawk_diff_report *report, const struct hawk_screen *screen)
{
	size_t top = report->top ? report->top : screen->full ? SIZE_MAX : DEFAULT_TOP;
	uint32_t column = report->groups->column;

	hawk_screen_heading(screen, "Changes: flat by what allocated, cum with what that called");
	hawk_screen_faint(screen, "%11s %12s  %s\n", "flat", "cum", "");
	for (size_t i = 0; i < report->groups->count && i < top; i++) {
		const struct hawk_profile_group *group = &report->groups->items[i];
		CLEANUP(text) struct hawk_text name = {0};

		if (!group->flat[column] && !group->cum[column])
			break;
		hawk_function_name_append(
			&name,
			group->name ? hawk_profile_text(report->difference, group->name)
				    : "(not known)",
			name_width(screen, GROUP_COLUMN));
		hawk_output_printf(screen->output, "%11s %12s  ",
				   change_of_bytes(group->flat[column], screen->full).text,
				   change_of_bytes(group->cum[column], screen->full).text);
		hawk_screen_line(screen, &name);
	}
}

void hawk_report_diff(const struct hawk_diff_report *report, const struct hawk_screen *screen)
{
	put_whole(report, screen);
	if (!hawk_diff_report_is_unknown(report)) {
		if (report->groups)
			put_groups(report, screen);
		else
			put_rows(report, screen);
	}
	if (report->growth)
		hawk_output_printf(screen->output, "\n%s\n", report->growth);
	hawk_report_findings(report->findings, hawk_findings_partial(report->findings), screen);
}
