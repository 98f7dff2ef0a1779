/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Tasks by where they wait, and who awaits them.
 */
#include "hawk/report/tasks.h"
#include "list.h"
#include "objects.h"

const char *hawk_task_state_name(enum hawk_task_state state)
{
	static const char *const names[] = {
		[HAWK_TASK_SUSPENDED] = "suspended",
		[HAWK_TASK_ENDED] = "ended",
		[HAWK_TASK_DESTROYED] = "destroyed",
	};

	return names[state];
}

static void put_line(const struct hawk_coroutine_line *line, struct hawk_json *json)
{
	if (!line->file) {
		hawk_json_put_null(json, "line");
		return;
	}
	hawk_json_put_object(json, "line");
	hawk_json_put_string(json, "file", line->file);
	hawk_json_put_integer(json, "line", line->line);
	hawk_json_put_boolean(json, "guess", line->is_guess);
	hawk_json_object_end(json);
}

/* Groups are named by their place in the list, which --top does not change. */
static void put_awaiters(const struct hawk_task_group *group, struct hawk_json *json)
{
	size_t end = hawk_json_put_list(json, "awaited_by", group->awaiter_count);

	for (size_t i = 0; i < end; i++) {
		hawk_json_object(json);
		hawk_json_put_integer(json, "group", group->awaiters[i].group);
		hawk_json_put_integer(json, "objects", group->awaiters[i].tasks);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}

static void put_group(const struct hawk_tasks_report *report, const struct hawk_task_group *group,
		      struct hawk_json *json)
{
	const struct hawk_coroutine *coroutine = group->coroutine;

	hawk_json_object(json);
	hawk_json_put_string(json, "coroutine", coroutine->name);
	hawk_json_put_boolean(json, "guess", coroutine->is_guess);
	hawk_json_put_string(json, "module", coroutine->module.path);
	hawk_json_put_address(json, "function", coroutine->resume);
	hawk_json_put_string(json, "state", hawk_task_state_name(group->state));
	hawk_json_put_integer_if(json, "suspend_point", group->has_point, group->point);
	put_line(&group->line, json);
	hawk_json_put_integer(json, "objects", group->blocks.objects);
	hawk_json_put_integer(json, "shallow_bytes", group->blocks.bytes);
	hawk_json_put_address(json, "example",
			      hawk_block_start(&report->pointers->heap->index, group->example));
	put_awaiters(group, json);
	hawk_json_object_end(json);
}

void hawk_report_tasks_json(const struct hawk_tasks_report *report, struct hawk_json *json)
{
	const struct hawk_tasks *tasks = report->tasks;
	const struct hawk_heap *heap = report->pointers->heap;
	size_t end;

	if (heap->knows)
		hawk_json_put_sum(json, "tasks", tasks->all.objects, tasks->all.bytes);
	else
		hawk_json_put_null(json, "tasks");
	if (!hawk_json_put_known_list(json, "groups", heap, tasks->count, &end))
		return;
	for (size_t i = 0; i < end; i++)
		put_group(report, &tasks->groups[i], json);
	hawk_json_array_end(json);
}
