/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The report of `hawk-core tasks`; docs/json.md describes its JSON document.
 */
#ifndef HAWK_ANALYZER_REPORT_TASKS_H
#define HAWK_ANALYZER_REPORT_TASKS_H

#include "hawk/analysis/tasks.h"
#include "hawk/report/pointers.h"

struct hawk_tasks_report {
	const struct hawk_pointer_report *pointers;
	const struct hawk_tasks *tasks;
};

void hawk_report_tasks(const struct hawk_tasks_report *report, const struct hawk_screen *screen);

/** Writes the members between those of all documents. */
void hawk_report_tasks_json(const struct hawk_tasks_report *report, struct hawk_json *json);

/** Adds who holds the largest group's first frame. */
void hawk_next_of_tasks(const struct hawk_tasks_report *report, struct hawk_next *ret);

/** Returns the word for a state: "suspended". */
const char *hawk_task_state_name(enum hawk_task_state state);

#endif
