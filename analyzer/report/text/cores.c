/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Prints the list of cores as text: a line for each, and its path below.
 */
#include "hawk/report/cores.h"

#include <stdio.h>
#include <time.h>

#include "hawk/base/quantity.h"
#include "hawk/names/function_name.h"
#include "hawk/names/signal.h"

enum { PATH_INDENT = 4, TIME_BYTES = 32 };

static const uint64_t NS_PER_S = 1000000000;

static void put_time(uint64_t time_ns, const struct hawk_screen *screen)
{
	time_t seconds = (time_t)(time_ns / NS_PER_S);
	char text[TIME_BYTES] = "";
	struct tm parts;

	if (localtime_r(&seconds, &parts))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &parts);
	hawk_output_printf(screen->output, "%-19s  ", text);
}

static void put_signal(int signal, const struct hawk_screen *screen)
{
	const char *name = hawk_signal_name(signal);

	if (name || !signal)
		hawk_output_printf(screen->output, "%-8s ", name ? name : "-");
	else
		hawk_output_printf(screen->output, "%-8d ", signal);
}

static void put_core(const struct hawk_core_entry *entry, const struct hawk_screen *screen)
{
	static const char *const words[] = {
		[HAWK_CORE_WHOLE_UNKNOWN] = "-",
		[HAWK_CORE_WHOLE] = "whole",
		[HAWK_CORE_CUT_OFF] = "cut off",
	};

	put_time(entry->time_ns, screen);
	put_signal(entry->signal, screen);
	hawk_output_printf(screen->output, "%10s  %-7s  %-6s  ",
			   hawk_quantity_bytes(entry->file_bytes).text, words[entry->whole],
			   !entry->modules_known ? "-"
			   : entry->traced       ? "traced"
						 : "no");
	hawk_screen_foreign(screen, hawk_path_base(entry->program));
	if (entry->pid)
		hawk_output_printf(screen->output, " %u", entry->pid);
	hawk_output_puts(screen->output, "\n");
	hawk_output_fill(screen->output, ' ', PATH_INDENT);
	hawk_screen_foreign(screen, entry->path);
	hawk_output_puts(screen->output, "\n");
	if (entry->trouble)
		hawk_screen_paragraph(screen, entry->trouble, PATH_INDENT, PATH_INDENT);
}

void hawk_report_cores(const struct hawk_cores_report *report, const struct hawk_screen *screen)
{
	const struct hawk_core_list *list = report->list;
	size_t shown = report->top && report->top < list->count ? report->top : list->count;

	if (!list->count)
		hawk_output_puts(screen->output, "no cores\n");
	else
		hawk_screen_faint(screen, "%-19s  %-8s %10s  %-7s  %-6s  program\n", "time",
				  "signal", "size", "core", "traced");
	for (size_t i = 0; i < shown; i++)
		put_core(&list->items[i], screen);
	if (shown < list->count)
		hawk_screen_faint(screen, "%s more (--top)\n",
				  hawk_quantity_count(list->count - shown).text);
	if (report->findings->count)
		hawk_report_findings(report->findings, hawk_findings_partial(report->findings),
				     screen);
}
