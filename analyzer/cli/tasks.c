/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * hawk-core tasks: what suspended coroutines wait for.
 */
#include "answer.h"
#include "hawk/report/tasks.h"

struct tasks {
	struct hawk_tasks_report report;
	struct hawk_selection selection;
	struct hawk_tasks found;
};

static void deinit(void *made)
{
	struct tasks *tasks = made;

	hawk_tasks_deinit(&tasks->found);
	hawk_selection_deinit(&tasks->selection);
}

static struct hawk_error *find(struct hawk_session *session, struct tasks *ret)
{
	const struct hawk_types *types;
	struct hawk_block_types *names;
	struct hawk_error *err =
		hawk_session_type_table(session, &(struct hawk_types_wish){0}, &types);

	if (!err)
		err = hawk_session_types(session, &names);
	if (!err)
		err = hawk_session_choose(session, session->report.filter, &ret->selection);
	return err ? err
		   : hawk_tasks_make(types, names, session->symbols, ret->selection.blocks,
				     &ret->found);
}

static struct hawk_error *make(struct hawk_session *session, void *ret)
{
	struct tasks *tasks = ret;
	struct hawk_error *err = hawk_session_heap(session);

	tasks->report =
		(struct hawk_tasks_report){.pointers = &session->report, .tasks = &tasks->found};
	if (!err)
		err = hawk_session_contents(session);
	if (!err)
		err = hawk_session_report(session);
	if (!err && session->heap->knows)
		err = find(session, tasks);
	return hawk_session_release(session, err);
}

static void add_next(void *made, struct hawk_next *ret)
{
	hawk_next_of_tasks(&((struct tasks *)made)->report, ret);
}

static struct hawk_error *print_text(void *made, const struct hawk_screen *screen)
{
	const struct hawk_tasks_report *report = &((struct tasks *)made)->report;

	if (report->pointers->heap->knows)
		hawk_report_tasks(report, screen);
	else
		hawk_report_put_unknown(report->pointers->heap, screen, "Tasks",
					"see where tasks wait");
	return NULL;
}

static struct hawk_error *print_json(void *made, struct hawk_output *output)
{
	const struct hawk_tasks_report *report = &((struct tasks *)made)->report;
	struct hawk_json json;

	hawk_report_json_begin(report->pointers, &json, output, "hawk-core/tasks", 2);
	hawk_report_tasks_json(report, &json);
	hawk_report_json_end(report->pointers, &json);
	return NULL;
}

static const struct hawk_answer prints = {
	.name = "tasks",
	.bytes = sizeof(struct tasks),
	.make = make,
	.next = add_next,
	.text = print_text,
	.json = print_json,
	.deinit = deinit,
};

const struct hawk_verb hawk_verb_tasks = {
	.name = "tasks",
	.arguments = "[options] CORE | --pid PID",
	.summary = "where suspended coroutines wait, and who awaits them",
	.details = "Groups the frames of C++20 coroutines by function and suspend point, with "
		   "their number, size, source line and the groups that await them.",
	.shared = HAWK_TAKES_PID | HAWK_TAKES_TOP | HAWK_TAKES_FULL | HAWK_TAKES_JSON |
		  HAWK_TAKES_QUERY | HAWK_TAKES_TARGET | HAWK_TAKES_OUTPUT | HAWK_TAKES_COLOR,
	.exit_codes = hawk_verb_exit_codes,
	.needs = "one core file, or --pid",
	.live = true,
	.findings = HAWK_FINDINGS_IN_JSON,
	.check = hawk_check_query,
	.prints = &prints,
};
