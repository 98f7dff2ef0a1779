/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Prints the process and how it ended, as text.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/quantity.h"
#include "hawk/report/report.h"
#include "hawk/report/threads.h"
#include "hawk/names/signal.h"
#include "hawk/base/text.h"

enum { CRASH_LINES = 6, ABORT = 6, FIELD_COLUMN = 12 };

static void put_field(const struct hawk_screen *screen, const char *name)
{
	hawk_output_printf(screen->output, "  %-9s ", name);
}

/** "orderd (pid 4711) was killed by SIGSEGV (Segmentation fault)" */
static void put_title(const struct hawk_report *report, const struct hawk_screen *screen)
{
	const struct hawk_process *process = hawk_target_process(report->target);
	const char *name = process->name[0] ? process->name : "unnamed process";
	const char *signal = hawk_signal_name(process->signal);
	const char *description = hawk_signal_description(process->signal);

	hawk_screen_style(screen, process->signal ? HAWK_STYLE_ALERT : HAWK_STYLE_HEADING);
	hawk_screen_foreign(screen, name);
	if (process->pid)
		hawk_output_printf(screen->output, " (pid %u)", process->pid);
	if (process->table_file)
		hawk_output_puts(screen->output, ": the tracer's table file");
	else if (process->live)
		hawk_output_puts(screen->output, " is alive");
	else if (signal)
		hawk_output_printf(screen->output, " was killed by %s", signal);
	else if (process->signal)
		hawk_output_printf(screen->output, " was killed by signal %d", process->signal);
	else if (hawk_target_crashed_thread(report->target))
		hawk_output_puts(screen->output, " was alive: a snapshot, no fatal signal");
	else
		hawk_output_puts(screen->output, ": how it ended is not in the core");
	if (!process->live && description)
		hawk_output_printf(screen->output, " (%s)", description);
	hawk_screen_plain(screen);
	hawk_output_puts(screen->output, "\n");
}

/* abort() and raise() send their signal to a thread, kill() to a process. */
static const char *own_call(const struct hawk_process *process)
{
	if (!process->has_siginfo || process->signal_code != SI_TKILL)
		return "kill()";
	return process->signal == ABORT ? "abort()" : "raise()";
}

static void put_cause(const struct hawk_report *report, const struct hawk_screen *screen)
{
	const struct hawk_process *process = hawk_target_process(report->target);
	const struct hawk_thread *thread = hawk_target_crashed_thread(report->target);
	const char *reason = process->has_siginfo
				     ? hawk_signal_reason(process->signal, process->signal_code)
				     : NULL;

	if (process->has_fault_address) {
		put_field(screen, "fault");
		hawk_output_printf(screen->output, "at address 0x%llx",
				   (unsigned long long)process->fault_address);
		if (reason)
			hawk_output_printf(screen->output, ": %s", reason);
		if (thread && hawk_target_stack_overflowed(report->target, thread))
			hawk_output_puts(screen->output, "; the stack has overflowed");
		hawk_output_puts(screen->output, "\n");
	} else if (reason) {
		put_field(screen, "fault");
		hawk_output_printf(screen->output, "%s\n", reason);
	} else if (process->sender_pid && process->sender_pid == process->pid) {
		put_field(screen, "cause");
		hawk_output_printf(screen->output, "the process itself, by %s\n",
				   own_call(process));
	} else if (process->sender_pid) {
		put_field(screen, "cause");
		hawk_output_printf(screen->output, "sent by process %u\n", process->sender_pid);
	}
}

/** Returns the first line behind the frames of abort(), which are the same in every abort. */
static size_t first_telling_line(const struct hawk_stack *stack)
{
	static const char *const names[] = {"__pthread_kill_implementation",
					    "__pthread_kill_internal",
					    "__GI___pthread_kill",
					    "pthread_kill",
					    "__GI_raise",
					    "raise",
					    "gsignal",
					    "__GI_abort",
					    "abort"};
	size_t i;

	for (i = 0; i + 1 < stack->count; i++) {
		const char *symbol = stack->lines[i].name.function;
		bool known = false;

		for (size_t j = 0; symbol && j < sizeof(names) / sizeof(names[0]); j++)
			known = known || !strncmp(symbol, names[j], strlen(names[j]));
		if (!known)
			return i;
	}
	return 0;
}

static void put_more(const struct hawk_screen *screen, const struct hawk_stack *stack, size_t start,
		     size_t end)
{
	uint64_t frames = 0;

	for (size_t i = start; i < end; i++)
		frames += stack->lines[i].left_out ? stack->lines[i].left_out : 1;
	if (frames)
		hawk_output_printf(screen->output, "    ... and %s more frames (--full)\n",
				   hawk_quantity_count(frames).text);
}

/** Returns the first line outside all omitted frames, 0 if none were omitted. */
static size_t start_of_outer(const struct hawk_stack *stack)
{
	size_t i = stack->count;

	while (i && !stack->lines[i - 1].left_out)
		i--;
	return i;
}

/** Returns the first line from `first` on that stands for others. */
static size_t find_left_out(const struct hawk_stack *stack, size_t first)
{
	while (first < stack->count && !stack->lines[first].left_out)
		first++;
	return first;
}

static bool is_cut(const struct hawk_stack *stack)
{
	for (size_t i = 0; i < stack->count; i++)
		if (stack->lines[i].kind == HAWK_LINE_CUT)
			return true;
	return false;
}

static void put_lines(const struct hawk_screen *screen, const struct hawk_stack *stack,
		      size_t start, size_t end)
{
	for (size_t i = start; i < end; i++)
		hawk_screen_stack_line(screen, &stack->lines[i], 4);
}

/** Returns the first line of the cycle that line `repeat` stands for. */
static size_t start_of_cycle(const struct hawk_stack *stack, size_t repeat)
{
	uint32_t frame = stack->lines[repeat].frame - stack->lines[repeat].period;
	size_t i = repeat;

	while (i && stack->lines[i - 1].frame >= frame && !stack->lines[i - 1].left_out)
		i--;
	return i;
}

/** Prints a cycle, from line `start` on, and line `repeat` with its number of repetitions. */
static void put_cycle(const struct hawk_screen *screen, const struct hawk_stack *stack,
		      size_t start, size_t repeat, size_t depth)
{
	size_t cycle = start_of_cycle(stack, repeat);

	if (cycle > start) {
		put_more(screen, stack, start, cycle);
		start = cycle + depth < repeat ? cycle + depth : repeat;
		put_lines(screen, stack, cycle, start);
	}
	put_more(screen, stack, start, repeat);
	put_lines(screen, stack, repeat, repeat + 1);
}

/** Prints a recursion: its innermost frames, the cycle, and the outer frames, each in about `depth`
 * lines. */
static void put_folded(const struct hawk_screen *screen, const struct hawk_stack *stack,
		       size_t first, size_t depth)
{
	size_t outer = start_of_outer(stack), repeat = find_left_out(stack, first);
	size_t head = first + depth < repeat ? first + depth : repeat;

	put_lines(screen, stack, first, head);
	if (is_cut(stack)) { /* nothing repeats: show only the ends */
		if (stack->count - outer > 2 * depth)
			outer = stack->count - 2 * depth;
		put_more(screen, stack, head, outer);
		hawk_screen_stack(screen, stack, outer, 0, 4);
		return;
	}
	put_cycle(screen, stack, head, repeat, depth);
	if (repeat + 1 < outer)
		put_cycle(screen, stack, repeat + 1, outer - 1, depth);
	if (stack->count - outer > 2 * depth) {
		put_lines(screen, stack, outer, outer + depth);
		put_more(screen, stack, outer + depth, stack->count - depth);
		outer = stack->count - depth;
	}
	hawk_screen_stack(screen, stack, outer, 0, 4);
}

static void put_end(const struct hawk_screen *screen, const struct hawk_stack *stack)
{
	if (stack->end == HAWK_UNWIND_END_LOST)
		hawk_output_puts(screen->output, "    (could not be unwound further)\n");
	else if (stack->end == HAWK_UNWIND_END_LIMIT)
		hawk_output_printf(screen->output,
				   "    (stopped after %s frames: there may be more)\n",
				   hawk_quantity_count(stack->frame_count).text);
}

/** Prints about `depth` lines of a stack (0 = all) from `first` on. */
static void put_stack(const struct hawk_screen *screen, const struct hawk_stack *stack,
		      size_t first, size_t depth)
{
	bool folded = start_of_outer(stack) > first;

	if (depth && stack->count == first + depth + 1)
		depth++; // the remark would take as much room as the frame
	if (depth && folded)
		put_folded(screen, stack, first, depth);
	else
		hawk_screen_stack(screen, stack, first, depth, 4);
	if (depth && !folded && stack->count > first + depth)
		put_more(screen, stack, first + depth, stack->count);
	else
		put_end(screen, stack);
}

/** Ends the line above a stack. */
static void put_frame_count(const struct hawk_screen *screen, const struct hawk_stack *stack)
{
	if (start_of_outer(stack))
		hawk_output_printf(screen->output, " (%s frames)",
				   hawk_quantity_count(stack->frame_count).text);
	hawk_output_puts(screen->output, "\n");
}

void hawk_report_put_thread(const struct hawk_thread *thread, const struct hawk_screen *screen)
{
	hawk_output_printf(screen->output, "thread %u", thread->tid);
	if (!thread->name[0])
		return;
	hawk_output_puts(screen->output, " ");
	hawk_screen_foreign(screen, thread->name);
}

static void put_crashed_thread(const struct hawk_report *report, const struct hawk_screen *screen)
{
	const struct hawk_process *process = hawk_target_process(report->target);
	const struct hawk_thread *thread = hawk_target_crashed_thread(report->target);
	struct hawk_stack stack = {0};
	size_t count;

	hawk_target_threads(report->target, &count);
	put_field(screen, count == 1 ? "thread" : "threads");
	if (!thread) {
		hawk_output_puts(screen->output, "none found\n");
		return;
	}
	hawk_output_printf(screen->output, "%s; ", hawk_quantity_count(count).text);
	hawk_report_put_thread(thread, screen);
	hawk_output_puts(screen->output,
			 process->signal && !process->live ? " died in" : " was in");
	hawk_stack_of_thread(report->symbols, thread, &stack);
	put_frame_count(screen, &stack);
	put_stack(screen, &stack, first_telling_line(&stack),
		  report->depth ? report->depth : CRASH_LINES);
	hawk_stack_deinit(&stack);
}

enum { ARGUMENTS_KEPT = 79 }; /* characters of a command line, by the kernel */

/** Prints one line if the command line begins with the program's path, as often. */
static void put_command(const struct hawk_process *process, const struct hawk_screen *screen)
{
	CLEANUP(text) struct hawk_text command = {0};
	size_t length = strlen(process->program);

	if (length && strncmp(process->arguments, process->program, length) != 0) {
		put_field(screen, "program");
		hawk_screen_wrapped(screen, process->program, FIELD_COLUMN, FIELD_COLUMN);
	}
	if (process->arguments[0]) {
		hawk_text_printf(&command, "%s%s", process->arguments,
				 strlen(process->arguments) >= ARGUMENTS_KEPT ? "..." : "");
		put_field(screen, "command");
		hawk_screen_wrapped(screen, command.bytes ? command.bytes : process->arguments,
				    FIELD_COLUMN, FIELD_COLUMN);
	}
}

/** Prints the size of the process, for comparison with top or ps. */
static void put_memory(const struct hawk_report *report, const struct hawk_screen *screen)
{
	const struct hawk_process *process = hawk_target_process(report->target);
	const struct hawk_heap *heap = report->heap;

	if (process->resident_bytes) {
		put_field(screen, "memory");
		hawk_output_printf(screen->output, "%s resident (RES in top), %s at its peak",
				   hawk_quantity_bytes(process->resident_bytes).text,
				   hawk_quantity_bytes(process->peak_resident_bytes).text);
		if (process->swapped_bytes)
			hawk_output_printf(screen->output, ", %s swapped out",
					   hawk_quantity_bytes(process->swapped_bytes).text);
		hawk_output_puts(screen->output, "\n");
	} else if (!process->live && heap->accounting.measured) {
		put_field(screen, "memory");
		hawk_output_printf(screen->output,
				   "%s in non-zero pages (RES in top also counts file pages)\n",
				   hawk_quantity_bytes(heap->accounting.touched_bytes).text);
	}
}

void hawk_report_process(const struct hawk_report *report, const struct hawk_screen *screen)
{
	const struct hawk_process *process = hawk_target_process(report->target);

	put_title(report, screen);
	put_command(process, screen);
	if (hawk_target_pause_ns(report->target)) { // absent in a snapshot of a process
		put_field(screen, "paused");
		hawk_output_printf(
			screen->output, "for %s\n",
			hawk_quantity_nanoseconds(hawk_target_pause_ns(report->target)).text);
	}
	put_memory(report, screen);
	put_cause(report, screen);
	if (!screen->full && !process->table_file) // else all threads follow, or none exist
		put_crashed_thread(report, screen);
	if (report->threads)
		hawk_threads_report_line(&(struct hawk_threads_report){.target = report->target,
								       .threads = report->threads},
					 screen);
}

void hawk_report_threads(const struct hawk_report *report, const struct hawk_screen *screen)
{
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(report->target, &count);
	struct hawk_stack stack = {0};

	hawk_screen_heading(screen, "Threads: %s", hawk_quantity_count(count).text);
	for (size_t i = 0; i < count; i++) {
		const char *signal = hawk_signal_name(threads[i].signal);

		hawk_output_puts(screen->output, "  ");
		hawk_report_put_thread(&threads[i], screen);
		if (threads[i].crashed && hawk_target_process(report->target)->signal)
			hawk_output_printf(screen->output, ", crashed%s%s", signal ? " by " : "",
					   signal ? signal : "");
		hawk_stack_of_thread(report->symbols, &threads[i], &stack);
		put_frame_count(screen, &stack);
		put_stack(screen, &stack, 0, 0);
	}
	hawk_stack_deinit(&stack);
}
