/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A stack with names: the frames of a trace or thread, each expanded with its inlined callees.
 * Formats nothing. Like all of names/ it cannot fail: out of memory leaves names out, and
 * hawk_enomem_swallowed() reports it.
 */
#ifndef HAWK_ANALYZER_NAMES_STACK_H
#define HAWK_ANALYZER_NAMES_STACK_H

#include "hawk/heap/heap.h"
#include "hawk/symbols/symbols.h"

enum hawk_stack_line_kind {
	HAWK_LINE_FUNCTION = 0,
	HAWK_LINE_SCOPE, /**< a HAWK_SCOPE; name.function is its tag, nothing else is known */
	HAWK_LINE_CLASS, /**< instead of a stack: name.function is the class of the blocks */
	/** Unlisted frames, in thread stacks only: only `left_out` is valid and, for
	 * HAWK_LINE_REPEAT, `period` and `times`. */
	HAWK_LINE_REPEAT, /**< the `period` frames before it occur `times` times in all */
	HAWK_LINE_CUT,
};

/** One printed line of a stack; several have the same `pc` when frames were inlined. */
struct hawk_stack_line {
	struct hawk_frame name; /**< strings belong to the symbols object */
	uint64_t pc;
	struct hawk_symbol_module module; /**< all zero if `has_module` is false: JIT code, say */
	bool has_module;
	bool exact;         /**< `pc` is that of an instruction, not a return address */
	uint8_t confidence; /**< of a thread: enum hawk_frame_confidence */
	uint32_t frame; /**< number of the real frame, 0 = innermost; of a scope: of the next one */
	enum hawk_stack_line_kind kind;
	bool unplaced;     /**< of a scope: the frame that entered it is unknown */
	uint32_t period;   /**< frames of a cycle, without inlined ones */
	uint64_t times;    /**< repetitions of the cycle */
	uint64_t left_out; /**< frames that this line stands for */
};

struct hawk_stack {
	struct hawk_stack_line *lines; /**< innermost first */
	size_t count;
	size_t capacity;
	uint32_t trace_flags; /**< enum hawk_trace_flag; of a thread, only HAWK_TRACE_GUESSED */
	const char *type;     /**< of a trace: the type the program named; or NULL */
	size_t frame_count;   /**< of a thread: all frames, listed or not, without inlined ones */
	enum hawk_unwind_end end; /**< of a thread */
	bool has_guesses;         /**< of a thread: its outer frames were searched for */
};

static inline void hawk_stack_init(struct hawk_stack *stack)
{
	*stack = (struct hawk_stack){0};
}

void hawk_stack_deinit(struct hawk_stack *stack);

/** Fills `stack` anew with trace `id` of `table`; no lines if there is no such trace. */
void hawk_stack_of_trace(struct hawk_symbols *symbols, const struct hawk_table *table, uint32_t id,
			 struct hawk_stack *stack);

/** Fills `stack` anew for blocks with the id `trace`: who allocated them, or what they are, if the
 * heap knows classes instead of stacks. */
void hawk_stack_of_blocks(struct hawk_symbols *symbols, const struct hawk_heap *heap,
			  uint32_t trace, struct hawk_stack *stack);

/** Fills `stack` anew with the frames of `thread`: some hundred lines at most, see stack_fold.h.
 * Outer frames that only a search finds are guesses. Adds the finding "stack-incomplete" if outer
 * frames could not be found. */
void hawk_stack_of_thread(struct hawk_symbols *symbols, const struct hawk_thread *thread,
			  struct hawk_stack *stack);

/** Fills `stack` anew with these frames of a thread. */
void hawk_stack_of_frames(struct hawk_symbols *symbols, const struct hawk_thread_frames *frames,
			  struct hawk_stack *stack);

/**
 * Returns the index of the first line of the program's own code: after standard libraries,
 * unnamed functions of the C library,
 * functions that only wrap an allocator (names/function_name.h), and unnamed functions these call
 * in their own module. 0 if there is none: the stack is shown whole.
 */
size_t hawk_stack_telling_line(const struct hawk_stack *stack);

/**
 * Returns the index of the first line that called a runtime (an interpreter, GLib, Qt's core) in
 * whose module line `first` lies. If it lies in the C library or in a library without source lines,
 * returns the first line of another module that has one, or of the program. Returns `stack->count`
 * if there is none, or if a script called a runtime.
 */
size_t hawk_stack_runtime_caller(const struct hawk_stack *stack, size_t first);

/** Returns true for a function of the C or C++ library, or of the dynamic linker. */
bool hawk_stack_is_c_library(const struct hawk_stack_line *line);

#endif
