/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Prints tasks by where they wait, and who awaits them.
 */
#include <inttypes.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/quantity.h"
#include "hawk/base/utf8.h"
#include "hawk/names/function_name.h"
#include "hawk/report/tasks.h"

enum {
	DEFAULT_TOP = 20,
	AWAITERS = 3,
	NUMBERS_COLUMNS = 25,
	NAME_COLUMNS_MIN = 20,
	FILE_COLUMNS = 20,
};

/* Appends the state, and the number of the suspend point: " #3". */
static void append_point(const struct hawk_task_group *group, struct hawk_text *text)
{
	if (group->state == HAWK_TASK_ENDED)
		hawk_text_puts(text, ", ended");
	else if (group->state == HAWK_TASK_DESTROYED)
		hawk_text_puts(text, ", being destroyed");
	if (group->has_point)
		hawk_text_printf(text, " #%" PRIu64, group->point);
}

/* Appends the line of the co_await: " server.cc:41". */
static void append_line(const struct hawk_coroutine_line *line, const struct hawk_screen *screen,
			struct hawk_text *text)
{
	if (!line->file)
		return;
	hawk_text_puts(text, " ");
	if (screen->full)
		hawk_utf8_append_safe(text, line->file);
	else
		hawk_utf8_append_middle_cut(text, hawk_path_base(line->file), FILE_COLUMNS);
	hawk_text_printf(text, ":%u%s", line->line, line->is_guess ? "?" : "");
}

/* Appends the coroutine and where it waits, at most `width` columns unless the place needs more. */
static void append_group(const struct hawk_task_group *group, const struct hawk_screen *screen,
			 bool with_line, size_t width, struct hawk_text *text)
{
	CLEANUP(text) struct hawk_text place = {0};
	size_t used;

	hawk_text_puts(&place, group->coroutine->is_guess ? "?" : "");
	append_point(group, &place);
	if (with_line)
		append_line(&group->line, screen, &place);
	used = hawk_utf8_width(hawk_text_string(&place));
	width = width > used + NAME_COLUMNS_MIN ? width - used : NAME_COLUMNS_MIN;
	hawk_function_name_append(text, group->coroutine->name, screen->full ? SIZE_MAX : width);
	hawk_text_puts(text, hawk_text_string(&place));
}

static void put_awaiters(const struct hawk_tasks_report *report, const struct hawk_screen *screen,
			 const struct hawk_task_group *group)
{
	size_t shown =
		screen->full || group->awaiter_count < AWAITERS ? group->awaiter_count : AWAITERS;

	for (size_t i = 0; i < shown; i++) {
		const struct hawk_task_awaiters *awaiters = &group->awaiters[i];
		CLEANUP(text) struct hawk_text text = {0};

		hawk_text_printf(&text, "%*sawaited by %s: ", NUMBERS_COLUMNS, "",
				 hawk_quantity_count(awaiters->tasks).text);
		append_group(&report->tasks->groups[awaiters->group], screen, false,
			     screen->width > text.size ? screen->width - text.size : 0, &text);
		hawk_screen_line(screen, &text);
	}
	if (shown < group->awaiter_count)
		hawk_screen_faint(screen, "%*sand %s other groups\n", NUMBERS_COLUMNS, "",
				  hawk_quantity_count(group->awaiter_count - shown).text);
}

static void put_group(const struct hawk_tasks_report *report, const struct hawk_screen *screen,
		      const struct hawk_task_group *group)
{
	struct hawk_quantity bytes = screen->full ? hawk_quantity_count(group->blocks.bytes)
						  : hawk_quantity_bytes(group->blocks.bytes);
	CLEANUP(text) struct hawk_text text = {0};

	hawk_text_printf(&text, "%12s %10s  ", hawk_quantity_count(group->blocks.objects).text,
			 bytes.text);
	append_group(group, screen, true, screen->width - text.size, &text);
	hawk_screen_line(screen, &text);
	put_awaiters(report, screen, group);
}

/* Explains the marks. */
static void put_marks(const struct hawk_tasks *tasks, const struct hawk_screen *screen)
{
	CLEANUP(text) struct hawk_text text = {0};

	hawk_text_printf(&text,
			 "%s tasks, %s. # is the number of the suspend point as the compiler "
			 "counts them, from 0; a ? marks a guess.",
			 hawk_quantity_count(tasks->all.objects).text,
			 hawk_quantity_bytes(tasks->all.bytes).text);
	hawk_output_puts(screen->output, "\n");
	hawk_screen_paragraph(screen, hawk_text_string(&text), 2, 2);
}

void hawk_report_tasks(const struct hawk_tasks_report *report, const struct hawk_screen *screen)
{
	const struct hawk_tasks *tasks = report->tasks;
	size_t end = hawk_report_limit(report->pointers, DEFAULT_TOP, tasks->count, screen->full);

	hawk_screen_heading(screen, "Tasks by where they wait (%s of %s)",
			    hawk_quantity_count(end).text, hawk_quantity_count(tasks->count).text);
	if (!tasks->count) {
		hawk_report_put_none(report->pointers, screen);
		return;
	}
	hawk_screen_faint(screen, "%12s %10s  coroutine\n", "tasks", "size");
	for (size_t i = 0; i < end; i++)
		put_group(report, screen, &tasks->groups[i]);
	put_marks(tasks, screen);
}
