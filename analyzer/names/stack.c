/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Stacks with names.
 */
#include "hawk/names/stack.h"

#include "hawk/names/class_name.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "hawk/names/function_name.h"
#include "hawk/symbols/dwarf_types.h"
#include "stack_fold.h"

enum { NAMELESS_MAX = 3 }; /* lines without a name that a wrapper may have called */

void hawk_stack_deinit(struct hawk_stack *stack)
{
	free(stack->lines);
	hawk_stack_init(stack);
}

/** Keeps the memory of its lines. */
static void clear(struct hawk_stack *stack)
{
	*stack = (struct hawk_stack){
		.lines = stack->lines, .capacity = stack->capacity, .end = HAWK_UNWIND_END_LOST};
}

static void append(struct hawk_stack *stack, const struct hawk_stack_line *line)
{
	if (hawk_array_reserve(&stack->lines, stack->count, &stack->capacity, sizeof(*line)))
		stack->lines[stack->count++] = *line;
	else
		hawk_enomem_swallow();
}

/** Appends the lines of the real frame that `line` describes: at least one. */
static void append_frame(struct hawk_symbols *symbols, struct hawk_stack *stack,
			 struct hawk_stack_line line)
{
	const struct hawk_frame *frames = NULL;
	size_t count = 0;

	if (line.has_module)
		hawk_error_swallow(hawk_symbols_lookup(symbols, &line.module, line.pc, line.exact,
						       &frames, &count));
	for (size_t i = 0; i < count; i++) {
		line.name = frames[i];
		append(stack, &line);
	}
	if (!count)
		append(stack, &line);
}

static struct hawk_symbol_module module_of_log(const struct hawk_table_module *module)
{
	return (struct hawk_symbol_module){
		.path = module->path,
		.bias = module->bias,
		.start = module->start,
		.end = module->end,
		.build_id = module->build_id,
		.build_id_bytes = module->build_id_bytes,
		.main = module->flags & HAWK_MODULE_MAIN,
	};
}

/** Appends the scopes of `trace` that lie directly inside of a frame, from the innermost. */
static void append_scopes(const struct hawk_table *table, const struct hawk_trace *trace,
			  uint16_t frames_outside, struct hawk_stack *stack)
{
	for (uint32_t i = 0; i < trace->mark_count; i++) {
		const struct hawk_table_label *label =
			hawk_table_label(table, trace->marks[i].label);
		struct hawk_stack_line line = {
			.name.function = label->name,
			.frame = frames_outside < trace->frame_count
					 ? trace->frame_count - frames_outside
					 : 0,
			.kind = HAWK_LINE_SCOPE,
			.unplaced = frames_outside == HAWK_MARK_UNPLACED,
		};

		if (label->kind == HAWK_LABEL_SCOPE &&
		    trace->marks[i].frames_outside == frames_outside)
			append(stack, &line);
	}
}

/** An address of the code that calls or is at `pc`: a return address behind a call that never
 * returns may lie just past its module. */
static uint64_t address_in(uint64_t pc, bool exact)
{
	return pc - (exact ? 0 : 1);
}

void hawk_stack_of_trace(struct hawk_symbols *symbols, const struct hawk_table *table, uint32_t id,
			 struct hawk_stack *stack)
{
	CLEANUP(free_ptr) struct hawk_trace *trace = malloc(sizeof(*trace));

	clear(stack);
	if (!trace)
		hawk_enomem_swallow();
	if (!trace || !id)
		return;
	if (!hawk_table_trace(table, id, trace)) {
		stack->trace_flags = trace->flags & HAWK_TRACE_NOT_SAMPLED;
		return;
	}
	stack->trace_flags = trace->flags;
	stack->type = hawk_table_type(table, id);
	append_scopes(table, trace, HAWK_MARK_UNPLACED, stack);
	for (uint32_t i = 0; i < trace->frame_count; i++) {
		struct hawk_stack_line line = {
			.pc = trace->frames[i] & ~HAWK_PC_EXACT,
			.exact = trace->frames[i] & HAWK_PC_EXACT,
			.frame = i,
		};
		uint64_t address = address_in(line.pc, line.exact);
		const struct hawk_table_module *module =
			hawk_table_module_at(table, address, trace->generation);

		if (module)
			line.module = module_of_log(module);
		line.has_module = module || hawk_symbols_copy_at(symbols, address, &line.module);
		append_scopes(table, trace, (uint16_t)(trace->frame_count - i), stack);
		append_frame(symbols, stack, line);
	}
	append_scopes(table, trace, 0, stack);
}

static void append_sample(struct hawk_symbols *symbols, const struct hawk_class *class,
			  struct hawk_stack *stack)
{
	for (uint32_t i = 0; i < class->frame_count; i++) {
		struct hawk_stack_line line = {.pc = class->frames[i], .frame = i};

		line.has_module = hawk_symbols_module_at(symbols, address_in(line.pc, line.exact),
							 &line.module);
		append_frame(symbols, stack, line);
	}
}

void hawk_stack_of_blocks(struct hawk_symbols *symbols, const struct hawk_heap *heap,
			  uint32_t trace, struct hawk_stack *stack)
{
	struct hawk_stack_line line = {.kind = HAWK_LINE_CLASS};
	const struct hawk_class *class = hawk_heap_class(heap, trace);

	if (!class) {
		hawk_stack_of_trace(symbols, heap->table, trace, stack);
		return;
	}
	clear(stack);
	if (class->kind == HAWK_CLASS_SAMPLE)
		append_sample(symbols, class, stack);
	line.name.function = hawk_class_name(symbols, class);
	if (line.name.function)
		append(stack, &line);
}

static void append_entry(struct hawk_symbols *symbols, const struct hawk_fold_entry *entry,
			 const struct hawk_stack_frame *frames, struct hawk_stack *stack)
{
	static const enum hawk_stack_line_kind kinds[] = {
		[HAWK_FOLD_FRAME] = HAWK_LINE_FUNCTION,
		[HAWK_FOLD_REPEAT] = HAWK_LINE_REPEAT,
		[HAWK_FOLD_CUT] = HAWK_LINE_CUT,
	};
	struct hawk_stack_line line = {.frame = (uint32_t)entry->frame,
				       .kind = kinds[entry->kind],
				       .period = entry->period,
				       .times = entry->times,
				       .left_out = entry->frames};

	if (line.kind == HAWK_LINE_FUNCTION) {
		line.pc = frames[entry->frame].pc;
		line.exact = frames[entry->frame].exact;
		line.confidence = frames[entry->frame].confidence;
		line.has_module = hawk_symbols_module_at(symbols, address_in(line.pc, line.exact),
							 &line.module);
	}
	append_frame(symbols, stack, line);
}

void hawk_stack_of_frames(struct hawk_symbols *symbols, const struct hawk_thread_frames *frames,
			  struct hawk_stack *stack)
{
	CLEANUP(free_ptr) struct hawk_fold_entry *entries = NULL;
	size_t count = 0;

	clear(stack);
	hawk_error_swallow(hawk_stack_fold(frames->frames, frames->count, &entries, &count));
	for (size_t i = 0; i < count; i++)
		append_entry(symbols, &entries[i], frames->frames, stack);
	stack->frame_count = frames->count;
	stack->end = frames->end;
	stack->has_guesses =
		frames->count && frames->frames[frames->count - 1].confidence == HAWK_FRAME_GUESS;
	stack->trace_flags = frames->guessed ? HAWK_TRACE_GUESSED : 0;
}

void hawk_stack_of_thread(struct hawk_symbols *symbols, const struct hawk_thread *thread,
			  struct hawk_stack *stack)
{
	struct hawk_thread_frames frames;

	hawk_error_swallow(hawk_symbols_unwind_whole(symbols, thread, &frames));
	hawk_stack_of_frames(symbols, &frames, stack);
	hawk_thread_frames_deinit(&frames);
}

static bool begins_with(const char *string, const char *start)
{
	return !strncmp(string, start, strlen(start));
}

/** Headers of the system and of standard libraries: what they inline is nobody's own code. */
static bool is_library_source(const char *file)
{
	return begins_with(file, "/usr/include/") || begins_with(file, "/usr/lib/gcc/") ||
	       begins_with(file, "/rustc/") || strstr(file, "/include/c++/");
}

static bool passes_on(const struct hawk_stack_line *line)
{
	const char *function = line->name.function;

	return (function && (hawk_function_name_is_plumbing(function) ||
			     hawk_function_name_is_wrapper(function))) ||
	       (line->name.file && is_library_source(line->name.file));
}

static bool is_nameless(const struct hawk_stack_line *line)
{
	return !line->name.function && !line->name.file;
}

/** Returns true for a function of the C library that only its debug file would name. */
static bool is_hidden_in_c_library(const struct hawk_stack_line *line)
{
	return is_nameless(line) && line->has_module && line->module.path &&
	       hawk_dwarf_is_c_library(&line->module);
}

static bool same_module(const struct hawk_stack_line *a, const struct hawk_stack_line *b)
{
	return a->has_module == b->has_module && a->module.start == b->module.start &&
	       a->module.bias == b->module.bias;
}

size_t hawk_stack_telling_line(const struct hawk_stack *stack)
{
	size_t nameless = stack->count; /* the first of a run without names */

	for (size_t i = 0; i < stack->count; i++) {
		const struct hawk_stack_line *line = &stack->lines[i];

		if (line->kind != HAWK_LINE_FUNCTION)
			continue;
		if (nameless < i &&
		    (!same_module(line, &stack->lines[nameless]) || i - nameless > NAMELESS_MAX))
			return nameless;
		if (passes_on(line) || is_hidden_in_c_library(line))
			nameless = stack->count; /* what it calls in its module belongs to it */
		else if (!is_nameless(line))
			return nameless < i ? nameless : i;
		else if (nameless == stack->count)
			nameless = i;
	}
	return nameless < stack->count ? nameless : 0;
}
