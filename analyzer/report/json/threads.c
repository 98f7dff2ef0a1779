/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The JSON document of `hawk-core threads`. Its prose twin is docs/json.md, its schema
 * docs/schema/threads-3.json: change them together, and add keys only.
 */
#include "hawk/report/threads.h"

#include "hawk/base/cleanup.h"
#include "objects.h"

enum { DOCUMENT_LINES = 2 };

static const char *const kind_keys[HAWK_LOCK_KINDS] = {
	[HAWK_LOCK_NONE] = "futex",          [HAWK_LOCK_MUTEX] = "mutex",
	[HAWK_LOCK_RWLOCK] = "rwlock",       [HAWK_LOCK_CONDITION] = "condition",
	[HAWK_LOCK_SEMAPHORE] = "semaphore", [HAWK_LOCK_BARRIER] = "barrier",
	[HAWK_LOCK_ONCE] = "once",           [HAWK_LOCK_THREAD] = "thread",
	[HAWK_LOCK_STREAM] = "stream",       [HAWK_LOCK_INTERNAL] = "internal",
};

static void put_call(const struct hawk_threads_report *report, const struct hawk_thread_work *work,
		     struct hawk_json *json)
{
	CLEANUP(text) struct hawk_text text = {0};

	if (!work->call.is_inside) {
		hawk_json_put_null(json, "system_call");
		return;
	}
	hawk_system_call_append(report->target, &work->call, &text);
	hawk_json_put_object(json, "system_call");
	hawk_json_put_string(json, "name", work->call.name);
	hawk_json_put_integer(json, "number", work->call.number);
	hawk_json_put_string(json, "text", hawk_text_string(&text));
	hawk_json_put_array(json, "arguments");
	for (size_t i = 0; i < HAWK_CALL_ARGUMENTS; i++)
		if (i || !work->call.has_result)
			hawk_json_address(json, work->call.arguments[i]);
		else
			hawk_json_null(json);
	hawk_json_array_end(json);
	hawk_json_object_end(json);
}

static void put_lock(const struct hawk_thread_work *work, struct hawk_json *json)
{
	const struct hawk_whatis *object = &work->object;
	bool is_block = object->state == HAWK_BLOCK_LIVE;

	if (!work->lock.address) {
		hawk_json_put_null(json, "waits_for");
		return;
	}
	hawk_json_put_object(json, "waits_for");
	hawk_json_put_string(json, "kind", kind_keys[work->lock.kind]);
	hawk_json_put_address(json, "address", work->lock.address);
	hawk_json_put_integer_if(json, "owner_tid", work->lock.owner_tid, work->lock.owner_tid);
	hawk_json_put_boolean(json, "owner_ended", work->owner_ended);
	hawk_json_put_string(json, "symbol", object->symbol);
	hawk_json_put_address_if(json, "block", is_block, object->block.start);
	hawk_json_put_string(json, "type", is_block ? object->type : NULL);
	hawk_json_object_end(json);
}

static void put_blocks(const struct hawk_threads_report *report,
		       const struct hawk_thread_work *work, struct hawk_json *json)
{
	const struct hawk_heap *heap = report->heap;

	hawk_json_put_array(json, "blocks");
	for (size_t i = 0; i < work->block_count; i++) {
		const struct hawk_frame_block *item =
			&report->threads->blocks[work->block_first + i];
		const struct hawk_site *site =
			hawk_heap_site(heap, heap->index.traces[item->block]);

		hawk_json_object(json);
		hawk_json_put_integer(json, "frame", item->frame);
		hawk_json_put_address(json, "address", hawk_block_start(&heap->index, item->block));
		hawk_json_put_integer(json, "size", hawk_block_size(&heap->index, item->block));
		hawk_json_put_string(json, "type", item->type);
		hawk_json_put_site(json, "site", heap,
				   site ? (uint32_t)(site - heap->sites) : UINT32_MAX);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}

static void put_guest(const struct hawk_guest_frames *guest, size_t depth, struct hawk_json *json)
{
	hawk_json_put_array(json, "guest_frames");
	for (size_t i = 0; i < guest->count && (!depth || i < depth); i++) {
		hawk_json_object(json);
		hawk_json_put_string(json, "function", guest->items[i].function);
		hawk_json_put_string(json, "file", guest->items[i].file);
		hawk_json_put_integer_if(json, "line", guest->items[i].line, guest->items[i].line);
		hawk_json_object_end(json);
	}
	hawk_json_array_end(json);
}

static void put_thread(const struct hawk_threads_report *report,
		       const struct hawk_thread_work *work, struct hawk_json *json)
{
	const struct hawk_thread *thread = work->thread;
	const struct hawk_stack *stack = &report->threads->groups[work->group].stack;

	hawk_json_object(json);
	hawk_json_put_integer(json, "tid", thread->tid);
	hawk_json_put_string(json, "name", thread->name[0] ? thread->name : NULL);
	hawk_json_put_boolean(json, "crashed", thread->crashed);
	hawk_json_put_integer(json, "group", work->group);
	put_call(report, work, json);
	put_lock(work, json);
	hawk_json_put_integer_if(json, "deadlock", work->deadlock, work->deadlock);
	hawk_json_put_boolean(json, "complete",
			      stack->end == HAWK_UNWIND_END_OUTERMOST && !stack->has_guesses);
	hawk_json_put_integer(json, "frame_count", stack->frame_count);
	hawk_json_put_stack(json, stack);
	put_guest(&report->threads->groups[work->group].guest, report->depth, json);
	put_blocks(report, work, json);
	hawk_json_object_end(json);
}

void hawk_threads_report_json(const struct hawk_threads_report *report, struct hawk_output *output)
{
	const struct hawk_threads *threads = report->threads;
	struct hawk_json json;
	size_t left;

	hawk_json_begin(&json, output, "hawk-core/threads", report->source, DOCUMENT_LINES);
	hawk_json_limit(&json, report->top, report->depth);
	hawk_json_put_integer(&json, "thread_count", threads->count);
	hawk_json_put_integer(&json, "group_count", threads->group_count);
	hawk_json_put_integer(&json, "deadlock_count", threads->deadlocks);
	left = hawk_json_put_list(&json, "threads", report->tid ? 1 : threads->count);
	for (uint32_t group = 0; group < threads->group_count; group++)
		for (uint32_t i = 0; i < threads->count && left; i++) {
			if (threads->items[i].group != group ||
			    (report->tid && threads->items[i].thread->tid != report->tid))
				continue;
			put_thread(report, &threads->items[i], &json);
			left--;
		}
	hawk_json_array_end(&json);
	hawk_json_end(&json, report->next, report->findings, report->partial);
}
