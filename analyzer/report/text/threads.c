/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Prints what threads do, as text: deadlocks, then each group of equal threads with its stack.
 */
#include "hawk/report/threads.h"

#include <inttypes.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/quantity.h"
#include "hawk/base/utf8.h"
#include "hawk/names/function_name.h"
#include "hawk/names/signal.h"
#include "hawk/names/site_names.h"

enum { DEFAULT_DEPTH = 8, TIDS_SHOWN = 4, NAME_WIDTH = 40, WAYS_SHOWN = 3 };

const char *hawk_lock_kind_name(enum hawk_lock_kind kind)
{
	static const char *const names[HAWK_LOCK_KINDS] = {
		[HAWK_LOCK_MUTEX] = "mutex",
		[HAWK_LOCK_RWLOCK] = "read-write lock",
		[HAWK_LOCK_CONDITION] = "condition variable",
		[HAWK_LOCK_SEMAPHORE] = "semaphore",
		[HAWK_LOCK_BARRIER] = "barrier",
		[HAWK_LOCK_ONCE] = "pthread_once",
		[HAWK_LOCK_THREAD] = "thread",
		[HAWK_LOCK_STREAM] = "stdio stream",
		[HAWK_LOCK_INTERNAL] = "lock of the C library",
	};

	return names[kind];
}

/* " (`g_lock`)", " (in a 64-byte block of Session)": where a lock lies. */
static void append_place(const struct hawk_whatis *object, struct hawk_text *text)
{
	if (object->symbol) {
		hawk_text_puts(text, " (`");
		hawk_function_name_append(text, object->symbol, NAME_WIDTH);
		if (object->symbol_offset)
			hawk_text_printf(text, "+0x%" PRIx64, object->symbol_offset);
		hawk_text_puts(text, "`)");
	} else if (object->state == HAWK_BLOCK_LIVE) {
		hawk_text_printf(text, " (byte %" PRIu64 " of a %s-byte block",
				 object->address - object->block.start,
				 hawk_quantity_count(object->block.size).text);
		if (object->type) {
			hawk_text_puts(text, ", ");
			hawk_function_name_append(text, object->type, NAME_WIDTH);
		}
		hawk_text_puts(text, ")");
	} else if (object->thread) {
		hawk_text_printf(text, " (on the stack of thread %" PRIu32 ")",
				 object->thread->tid);
	}
}

/* "mutex 0x5581.. (`g_lock`), held by thread 4711"; nothing if the thread waits for no lock. */
static void append_lock(const struct hawk_threads *threads, const struct hawk_thread_work *work,
			struct hawk_text *text)
{
	const char *kind = hawk_lock_kind_name(work->lock.kind);

	if (work->lock.kind == HAWK_LOCK_THREAD) {
		hawk_text_printf(text, "the end of thread %" PRIu32, work->lock.owner_tid);
		return;
	}
	hawk_text_printf(text, "%s 0x%" PRIx64, kind ? kind : "futex", work->lock.address);
	append_place(&work->object, text);
	if (work->owner != HAWK_NO_THREAD)
		hawk_text_printf(text, ", held by %s%" PRIu32,
				 threads->items[work->owner].thread == work->thread
					 ? "itself, thread "
					 : "thread ",
				 work->lock.owner_tid);
	else if (work->owner_ended)
		hawk_text_printf(text, ", held by thread %" PRIu32 ", which has ended",
				 work->lock.owner_tid);
}

static void append_thread(const struct hawk_thread *thread, struct hawk_text *text)
{
	hawk_text_printf(text, "%" PRIu32, thread->tid);
	if (thread->name[0])
		hawk_text_printf(text, " %s", thread->name);
}

static void put_waiting(const struct hawk_threads *threads, const struct hawk_thread_work *work,
			const struct hawk_screen *screen)
{
	CLEANUP(text) struct hawk_text text = {0};

	hawk_text_puts(&text, "thread ");
	append_thread(work->thread, &text);
	hawk_text_puts(&text, " waits for ");
	append_lock(threads, work, &text);
	hawk_screen_paragraph(screen, hawk_text_string(&text), 2, 4);
}

/* Prints the circle from its first thread on. */
static void put_deadlock(const struct hawk_threads *threads, uint32_t number,
			 const struct hawk_screen *screen)
{
	uint32_t first = 0, count = 0, at;

	while (threads->items[first].deadlock != number)
		first++;
	at = first;
	do {
		count++;
		at = threads->items[at].owner;
	} while (at != first);
	if (count == 1)
		hawk_screen_heading(screen, "Deadlock: a thread waits for what it holds itself");
	else
		hawk_screen_heading(screen, "Deadlock: %s threads wait for each other",
				    hawk_quantity_count(count).text);
	do {
		put_waiting(threads, &threads->items[at], screen);
		at = threads->items[at].owner;
	} while (at != first);
}

static void put_deadlocks(const struct hawk_threads *threads, const struct hawk_screen *screen)
{
	for (uint32_t number = 1; number <= threads->deadlocks; number++)
		put_deadlock(threads, number, screen);
	if (threads->ended_owners)
		hawk_screen_heading(screen, "Locked by threads that have ended");
	for (uint32_t i = 0; i < threads->count; i++)
		if (threads->items[i].owner_ended)
			put_waiting(threads, &threads->items[i], screen);
}

/* "thread 4711 worker, crashed by SIGSEGV", "200 threads: 4712, 4713 and 198 more" */
static void put_group_title(const struct hawk_threads_report *report, uint32_t number,
			    const struct hawk_screen *screen)
{
	const struct hawk_threads *threads = report->threads;
	const struct hawk_thread_group *group = &threads->groups[number];
	const struct hawk_thread *thread = threads->items[group->first].thread;
	const char *signal = hawk_signal_name(thread->signal);
	CLEANUP(text) struct hawk_text text = {0};
	uint32_t shown = 0;

	if (group->count == 1)
		hawk_text_puts(&text, "thread ");
	else
		hawk_text_printf(&text, "%s threads: ", hawk_quantity_count(group->count).text);
	for (uint32_t i = group->first; i < threads->count && (shown < TIDS_SHOWN || screen->full);
	     i++) {
		if (threads->items[i].group != number)
			continue;
		hawk_text_puts(&text, shown++ ? ", " : "");
		append_thread(threads->items[i].thread, &text);
	}
	if (shown < group->count)
		hawk_text_printf(&text, " and %s more",
				 hawk_quantity_count(group->count - shown).text);
	if (thread->crashed && hawk_target_process(report->target)->signal)
		hawk_text_printf(&text, ", crashed%s%s", signal ? " by " : "",
				 signal ? signal : "");
	hawk_output_puts(screen->output, "\n");
	hawk_screen_paragraph(screen, hawk_text_string(&text), 0, 2);
}

static void put_work(const struct hawk_threads_report *report, const struct hawk_thread_work *work,
		     const struct hawk_screen *screen)
{
	CLEANUP(text) struct hawk_text text = {0};

	if (work->lock.kind) {
		hawk_text_puts(&text, "waits for ");
		append_lock(report->threads, work, &text);
	} else if (work->call.is_inside) {
		hawk_text_puts(&text, "in ");
		hawk_system_call_append(report->target, &work->call, &text);
	} else {
		return;
	}
	hawk_screen_paragraph(screen, hawk_text_string(&text), 2, 4);
}

/* "frame 3: 64 bytes at 0x5581.. (Session)" */
static void put_blocks(const struct hawk_threads_report *report,
		       const struct hawk_thread_work *work, struct hawk_site_names *names,
		       const struct hawk_screen *screen)
{
	const struct hawk_heap *heap = report->heap;
	CLEANUP(text) struct hawk_text text = {0};

	for (size_t i = 0; i < work->block_count; i++) {
		const struct hawk_frame_block *item =
			&report->threads->blocks[work->block_first + i];
		const struct hawk_site *site =
			hawk_heap_site(heap, heap->index.traces[item->block]);

		hawk_text_clear(&text);
		hawk_text_printf(
			&text, "frame %" PRIu32 ": %s bytes at 0x%" PRIx64 " (", item->frame,
			hawk_quantity_count(hawk_block_size(&heap->index, item->block)).text,
			hawk_block_start(&heap->index, item->block));
		if (item->type)
			hawk_function_name_append(&text, item->type, NAME_WIDTH);
		else if (site && names)
			hawk_site_name_append(&text,
					      hawk_site_name(names, (uint32_t)(site - heap->sites)),
					      NAME_WIDTH);
		hawk_text_puts(&text, ")");
		hawk_screen_paragraph(screen, hawk_text_string(&text), 4, 6);
	}
}

static void put_stack(const struct hawk_threads_report *report, const struct hawk_stack *stack,
		      const struct hawk_screen *screen)
{
	size_t depth = report->depth ? report->depth : DEFAULT_DEPTH;

	if (screen->full && !report->depth)
		depth = 0;
	hawk_screen_stack(screen, stack, 0, depth, 4);
	if (depth && stack->count > depth)
		hawk_output_printf(screen->output, "    ... and %s more frames (--full)\n",
				   hawk_quantity_count(stack->count - depth).text);
	else if (stack->end == HAWK_UNWIND_END_LOST)
		hawk_output_puts(screen->output, "    (could not be unwound further)\n");
	else if (stack->end == HAWK_UNWIND_END_LIMIT)
		hawk_output_puts(screen->output, "    (there may be more frames)\n");
}

/* "    Session.run                             app.py:17" */
static void put_guest_frame(const struct hawk_guest_frame *frame, const struct hawk_screen *screen)
{
	enum { FUNCTION_WIDTH = 38, FILE_WIDTH = 24 };
	const char *file = frame->file ? frame->file : "?";
	CLEANUP(text) struct hawk_text text = {0}, name = {0};

	hawk_utf8_append_middle_cut(&name, frame->function ? frame->function : "?",
				    screen->full ? SIZE_MAX : FUNCTION_WIDTH);
	hawk_text_printf(&text, "    %-*s  ", FUNCTION_WIDTH, hawk_text_string(&name));
	hawk_utf8_append_middle_cut(&text, screen->full ? file : hawk_path_base(file),
				    screen->full ? SIZE_MAX : FILE_WIDTH);
	if (frame->line)
		hawk_text_printf(&text, ":%" PRIu32, frame->line);
	hawk_screen_line(screen, &text);
}

/* Prints functions of interpreters below the stack. */
static void put_guest(const struct hawk_threads_report *report,
		      const struct hawk_guest_frames *guest, const struct hawk_screen *screen)
{
	size_t depth = report->depth ? report->depth : DEFAULT_DEPTH;

	if (!guest->count && !guest->is_cut)
		return;
	if ((screen->full && !report->depth) || depth > guest->count)
		depth = guest->count;
	hawk_output_puts(screen->output, "  Python\n");
	for (size_t i = 0; i < depth; i++)
		put_guest_frame(&guest->items[i], screen);
	if (depth < guest->count)
		hawk_output_printf(screen->output, "    ... and %s more frame%s (--full)\n",
				   hawk_quantity_count(guest->count - depth).text,
				   guest->count - depth == 1 ? "" : "s");
	else if (guest->is_cut)
		hawk_output_puts(screen->output, "    (there may be more frames)\n");
}

static const struct hawk_thread_work *work_of(const struct hawk_threads_report *report,
					      uint32_t group)
{
	const struct hawk_threads *threads = report->threads;

	for (uint32_t i = 0; i < threads->count; i++)
		if (threads->items[i].group == group &&
		    (!report->tid || threads->items[i].thread->tid == report->tid))
			return &threads->items[i];
	return NULL;
}

static void put_groups(const struct hawk_threads_report *report, const struct hawk_screen *screen)
{
	const struct hawk_threads *threads = report->threads;
	struct hawk_site_names *names = NULL;
	size_t shown = 0;

	if (report->heap->knows)
		hawk_error_swallow(hawk_site_names_create(report->heap, report->symbols, &names));
	for (uint32_t i = 0; i < threads->group_count; i++) {
		const struct hawk_thread_work *work = work_of(report, i);

		if (!work || (report->top && shown == report->top))
			continue;
		shown++;
		put_group_title(report, i, screen);
		put_work(report, work, screen);
		put_stack(report, &threads->groups[i].stack, screen);
		put_guest(report, &threads->groups[i].guest, screen);
		if (screen->full || report->tid)
			put_blocks(report, work, names, screen);
	}
	if (!report->tid && shown < threads->group_count)
		hawk_output_printf(screen->output, "\n... and %s more groups\n",
				   hawk_quantity_count(threads->group_count - shown).text);
	hawk_site_names_destroy(names);
}

void hawk_threads_report_text(const struct hawk_threads_report *report,
			      const struct hawk_screen *screen)
{
	const struct hawk_threads *threads = report->threads;

	if (!report->tid) {
		hawk_screen_heading(screen, "Threads: %s%s%s%s",
				    hawk_quantity_count(threads->count).text,
				    threads->group_count < threads->count ? ", of " : "",
				    threads->group_count < threads->count
					    ? hawk_quantity_count(threads->group_count).text
					    : "",
				    threads->group_count < threads->count ? " kinds" : "");
		put_deadlocks(threads, screen);
	}
	put_groups(report, screen);
}

/** A way of waiting, and how many threads wait so: "in ", "epoll_wait". */
struct way {
	const char *how, *name;
	uint32_t count;
};

static struct way way_of(const struct hawk_thread_work *work)
{
	const char *lock = hawk_lock_kind_name(work->lock.kind);

	if (lock)
		return (struct way){"waiting for a ", lock, 0};
	if (work->call.is_inside)
		return (struct way){"in ", work->call.name, 0};
	return (struct way){"", "running", 0};
}

static void count_way(struct way *ways, size_t *count, size_t max, struct way way)
{
	size_t i = 0;

	while (i < *count && strcmp(ways[i].name, way.name) != 0)
		i++;
	if (i == max)
		return;
	if (i == *count)
		ways[(*count)++] = way;
	ways[i].count++;
}

static int compare_ways(const void *left, const void *right)
{
	const struct way *a = left, *b = right;

	return a->count < b->count ? 1 : a->count > b->count ? -1 : strcmp(a->name, b->name);
}

void hawk_threads_report_line(const struct hawk_threads_report *report,
			      const struct hawk_screen *screen)
{
	enum { WAYS_MAX = 64, COLUMN = 12 };
	const struct hawk_threads *threads = report->threads;
	const struct hawk_thread *shown = hawk_target_crashed_thread(report->target);
	struct way ways[WAYS_MAX];
	size_t count = 0;
	uint32_t others = 0, left;
	CLEANUP(text) struct hawk_text text = {0};

	for (uint32_t i = 0; i < threads->count; i++) {
		if (threads->items[i].thread == shown)
			continue;
		others++;
		count_way(ways, &count, WAYS_MAX, way_of(&threads->items[i]));
	}
	left = others;
	qsort(ways, count, sizeof(*ways), compare_ways);
	for (size_t i = 0; i < count && i < WAYS_SHOWN; i++) {
		hawk_text_printf(&text, "%s%s %s%s", i ? ", " : "",
				 hawk_quantity_count(ways[i].count).text, ways[i].how,
				 ways[i].name);
		left -= ways[i].count;
	}
	if (left)
		hawk_text_printf(&text, ", %s elsewhere", hawk_quantity_count(left).text);
	if (others) {
		hawk_output_puts(screen->output, "  others    ");
		hawk_screen_wrapped(screen, hawk_text_string(&text), COLUMN, COLUMN);
	}
	put_deadlocks(threads, screen);
}
