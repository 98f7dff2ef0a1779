/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Stack traces: of sites, which each block names by its serial number, and of threads. A frame's
 * class is its module.
 */
#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "hawk/names/function_name.h"
#include "hprof_plan.h"

enum { FIRST_TRACE = HAWK_HPROF_NO_TRACE + 1 };

static uint32_t take_stack(struct hawk_hprof_plan *plan, const struct hawk_stack *stack)
{
	return hawk_profile_stack(plan->profile, 0, stack, 0);
}

/** Takes the stacks of sites that have one: a class of untraced blocks is none. */
static void take_sites(struct hawk_hprof_plan *plan, struct hawk_stack *stack)
{
	const struct hawk_heap *heap = plan->graph->heap;

	for (size_t i = 0; i < heap->site_count; i++) {
		const struct hawk_class *class = hawk_heap_class(heap, heap->sites[i].trace);

		if (class && !class->frame_count)
			continue;
		hawk_stack_of_blocks(plan->objects->symbols, heap, heap->sites[i].trace, stack);
		plan->site_steps[i] = take_stack(plan, stack);
	}
}

/** Finds the line of a frame's holder, and names it. */
static void place_frame(struct hawk_hprof_plan *plan, const struct hawk_stack *stack, uint32_t tid,
			struct hawk_hprof_holder *holder)
{
	CLEANUP(text) struct hawk_text name = {0};
	const char *function = NULL;

	for (size_t i = 0; i < stack->count && holder->line == UINT32_MAX; i++)
		if (stack->lines[i].kind == HAWK_LINE_FUNCTION &&
		    stack->lines[i].frame == holder->frame) {
			holder->line = (uint32_t)i;
			function = stack->lines[i].name.function;
		}
	hawk_text_printf(&name, "thread %u, frame %u", tid, holder->frame);
	if (function) {
		hawk_text_puts(&name, " `");
		hawk_function_name_append(&name, function, SIZE_MAX);
		hawk_text_puts(&name, "`");
	}
	holder->name = hawk_profile_string(plan->profile, hawk_text_string(&name));
}

/** Takes the stacks of threads. Holders of frames are sorted by thread. */
static void take_threads(struct hawk_hprof_plan *plan, struct hawk_stack *stack)
{
	size_t count, at = HAWK_HPROF_FIRST_THREAD + plan->thread_count;
	const struct hawk_thread *threads = hawk_target_threads(plan->graph->heap->target, &count);

	for (uint32_t i = 0; i < plan->thread_count; i++) {
		hawk_stack_of_thread(plan->objects->symbols, &threads[i], stack);
		plan->thread_steps[i] = take_stack(plan, stack);
		for (; at < plan->holder_count &&
		       plan->holders[at].tag == HAWK_HPROF_ROOT_JAVA_FRAME &&
		       plan->holders[at].thread == i;
		     at++)
			place_frame(plan, stack, threads[i].tid, &plan->holders[at]);
	}
}

struct hawk_error *hawk_hprof_take_stacks(struct hawk_hprof_plan *plan)
{
	struct hawk_stack stack;

	plan->site_steps = calloc(plan->graph->heap->site_count + 1, sizeof(*plan->site_steps));
	plan->thread_steps = calloc((size_t)plan->thread_count + 1, sizeof(*plan->thread_steps));
	if (!plan->site_steps || !plan->thread_steps)
		return &hawk_enomem;
	hawk_stack_init(&stack);
	take_sites(plan, &stack);
	take_threads(plan, &stack);
	hawk_stack_deinit(&stack);
	return NULL;
}

uint32_t hawk_hprof_site_trace(const struct hawk_hprof_plan *plan, uint32_t site)
{
	return site < plan->graph->heap->site_count && plan->site_steps[site] ? FIRST_TRACE + site
									      : HAWK_HPROF_NO_TRACE;
}

uint32_t hawk_hprof_thread_trace(const struct hawk_hprof_plan *plan, uint32_t thread)
{
	return FIRST_TRACE + (uint32_t)plan->graph->heap->site_count + thread;
}

/** The serial number of a module's class is 1 more than the module's number; module 0 is none. */
static void put_modules(const struct hawk_hprof_plan *plan, struct hawk_hprof_file *file)
{
	const struct hawk_profile *profile = plan->profile;

	for (uint32_t i = 0; i < profile->module_count; i++) {
		const char *name = hawk_path_base(profile->strings[profile->modules[i].path]);

		hawk_hprof_load_class(file, hawk_hprof_id(HAWK_HPROF_MODULE_CLASS, i),
				      name[0] ? name : "(no module)");
	}
}

static void put_frame(const struct hawk_hprof_plan *plan, struct hawk_hprof_file *file,
		      uint32_t number)
{
	const struct hawk_profile_frame *frame = &plan->profile->frames[number];
	uint64_t method = hawk_hprof_id(HAWK_HPROF_METHOD, number);
	uint64_t source = hawk_hprof_id(HAWK_HPROF_SOURCE, number);
	CLEANUP(text) struct hawk_text name = {0};

	hawk_profile_append_frame(plan->profile, frame, &name);
	hawk_hprof_string(file, method, hawk_text_string(&name));
	hawk_hprof_string(file, source, hawk_path_base(plan->profile->strings[frame->file]));
	hawk_hprof_put(file, 8, hawk_hprof_id(HAWK_HPROF_FRAME, number));
	hawk_hprof_put(file, 8, method);
	hawk_hprof_put(file, 8, hawk_hprof_id(HAWK_HPROF_TEXT, HAWK_HPROF_TEXT_EMPTY));
	hawk_hprof_put(file, 8, source);
	hawk_hprof_put(file, 4, frame->module + 1);
	hawk_hprof_put(file, 4, frame->line);
	hawk_hprof_end_record(file, HAWK_HPROF_FRAME_RECORD);
}

/** `thread`: serial number; 0 = of no thread. */
static bool put_trace(const struct hawk_profile *profile, struct hawk_hprof_file *file,
		      uint32_t serial, uint32_t thread, uint32_t step)
{
	CLEANUP(profile_path) struct hawk_profile_path path = {0};
	uint32_t count = 0;

	if (!hawk_profile_path_of(profile, step, &path))
		return false;
	for (size_t i = 0; i < path.count; i++)
		count += profile->locations[path.locations[i]].count;
	hawk_hprof_put(file, 4, serial);
	hawk_hprof_put(file, 4, thread);
	hawk_hprof_put(file, 4, count);
	for (size_t i = 0; i < path.count; i++) {
		const struct hawk_profile_location *location =
			&profile->locations[path.locations[i]];

		for (uint32_t j = 0; j < location->count; j++)
			hawk_hprof_put(file, 8,
				       hawk_hprof_id(HAWK_HPROF_FRAME,
						     profile->frame_numbers[location->first + j]));
	}
	hawk_hprof_end_record(file, HAWK_HPROF_TRACE_RECORD);
	return true;
}

struct hawk_error *hawk_hprof_write_stacks(const struct hawk_hprof_plan *plan,
					   struct hawk_hprof_file *file)
{
	const struct hawk_profile *profile = plan->profile;
	bool good;

	put_modules(plan, file);
	for (uint32_t i = 1; i < profile->frame_count; i++)
		put_frame(plan, file, i);
	good = put_trace(profile, file, HAWK_HPROF_NO_TRACE, 0, 0);
	for (uint32_t i = 0; i < plan->graph->heap->site_count && good; i++)
		if (plan->site_steps[i])
			good = put_trace(profile, file, hawk_hprof_site_trace(plan, i), 0,
					 plan->site_steps[i]);
	for (uint32_t i = 0; i < plan->thread_count && good; i++)
		good = put_trace(profile, file, hawk_hprof_thread_trace(plan, i), i + 1,
				 plan->thread_steps[i]);
	return good ? NULL : &hawk_enomem;
}
