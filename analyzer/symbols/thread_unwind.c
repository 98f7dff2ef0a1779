/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The frames of a thread, step by step: by call frame information; else by known patterns:
 * CPython's trampolines, the kernel's signal frame, a call through a bad pointer; else by the frame
 * pointer. Where all of these fail, the frames of the first return address that leads to the
 * thread's start can be guessed.
 *
 * A crashed process's memory is untrusted: a step is accepted only if the return address lies in
 * code and the stack pointer grew.
 */
#include <stdlib.h>
#include <string.h>

#include "dwarf_cfi.h"
#include "hawk/base/array.h"
#include "answers.h"
#include "state.h"

enum {
	SIGNALS_MAX = 32,                   /**< nested handlers on one stack */
	FRAME_BYTES_MAX = 64 * 1024 * 1024, /**< upper limit on a frame found by frame pointer */
	CONTEXT_WORDS_MAX = 128,
	SEARCH_BYTES_MAX = 8 * 1024 * 1024, /**< of a stack, behind a lost frame */
	SEARCH_DEPTH_MAX = 4096,            /**< frames of one guess */
	SEARCH_FRAMES_MAX = 1 << 17,        /**< frames of all guesses */
};

/** Registers of a frame, numbered as DWARF does. */
struct state {
	uint64_t registers[HAWK_CFI_REGISTERS];
	uint64_t known; /**< bit per register whose value is known */
	bool exact;     /**< the program counter is not a return address */
};

enum result {
	CALLER = 0, /**< the state is the caller's now */
	OUTERMOST,  /**< no caller exists */
	LOST,       /**< a caller exists but cannot be found */
	NO_MEMORY,
};

enum way {
	BY_RULE = 0,
	BY_SIGNAL, /**< by the frame that the kernel built to call a handler */
	/** The callee is unknown. Frames are missing if it does not keep the frame pointer. */
	BY_FRAME_POINTER,
};

static uint64_t bit(uint64_t number)
{
	return UINT64_C(1) << number;
}

static const struct hawk_arch_cfi *cfi_of(const struct hawk_symbols *symbols)
{
	return &hawk_target_arch(symbols->target)->cfi;
}

static bool read_word(const struct hawk_symbols *symbols, uint64_t address, uint64_t *ret)
{
	return hawk_target_read_some(symbols->target, address, ret, sizeof(*ret)) == sizeof(*ret);
}

/** Returns true if `address` lies in a module or in executable memory. */
static bool is_code(const struct hawk_symbols *symbols, uint64_t address)
{
	const struct hawk_mapping *mapping = hawk_target_mapping_at(symbols->target, address);

	/* gcore omits memory that it does not dump, such as program text: its rights are unknown.
	 */
	if (!mapping)
		return hawk_target_module_at(symbols->target, address) != NULL;
	return mapping->flags & HAWK_MAPPING_EXEC || (mapping->flags == 0 && mapping->path);
}

static bool read_memory(void *context, uint64_t address, void *to, size_t bytes)
{
	const struct hawk_symbols *symbols = context;

	return hawk_target_read_some(symbols->target, address, to, bytes) == bytes;
}

/** Finds the frame's address (CFA) by the rule of `row`; returns false if unknown. */
static bool find_cfa(const struct hawk_expression_source *callee, const struct hawk_cfi_row *row,
		     uint64_t *ret)
{
	if (row->cfa_is_expression)
		return hawk_expression_evaluate(callee, row->cfa_expression,
						row->cfa_expression_bytes, false, 0, ret);
	if (row->cfa_register >= HAWK_CFI_REGISTERS || !(callee->known & bit(row->cfa_register)))
		return false;
	*ret = callee->registers[row->cfa_register] + (uint64_t)row->cfa_offset;
	return true;
}

/** Finds the caller's value of register `number`; returns false if unknown. */
static bool apply_rule(const struct hawk_expression_source *callee, const struct hawk_cfi_row *row,
		       uint64_t cfa, uint32_t number, uint64_t *ret)
{
	const struct hawk_arch_cfi *cfi = cfi_of(callee->context);
	const struct hawk_cfi_rule *rule = &row->registers[number];
	uint64_t address = cfa + (uint64_t)rule->offset;

	switch (rule->kind) {
	case HAWK_CFI_UNSPECIFIED:
		*ret = number == cfi->sp ? cfa : callee->registers[number];
		return number == cfi->sp || (callee->known & cfi->callee_saved & bit(number));
	case HAWK_CFI_SAME:
		*ret = callee->registers[number];
		return callee->known & bit(number);
	case HAWK_CFI_OFFSET:
		return read_memory(callee->context, address, ret, sizeof(*ret));
	case HAWK_CFI_VAL_OFFSET:
		*ret = address;
		return true;
	case HAWK_CFI_REGISTER:
		if ((uint64_t)rule->offset >= HAWK_CFI_REGISTERS)
			return false;
		*ret = callee->registers[rule->offset];
		return callee->known & bit(rule->offset);
	case HAWK_CFI_EXPRESSION:
	case HAWK_CFI_VAL_EXPRESSION:
		if (!hawk_expression_evaluate(callee, rule->expression, rule->expression_bytes,
					      true, cfa, ret))
			return false;
		return rule->kind == HAWK_CFI_VAL_EXPRESSION ||
		       read_memory(callee->context, *ret, ret, sizeof(*ret));
	case HAWK_CFI_UNDEFINED:
	default:
		return false;
	}
}

/** Replaces the state by its caller's, using a row's rules. */
static enum result unwind_by_row(const struct hawk_symbols *symbols, const struct hawk_cfi_row *row,
				 uint64_t bias, struct state *state)
{
	const struct hawk_arch_cfi *cfi = cfi_of(symbols);
	struct state caller = {.exact = row->signal_frame};
	struct hawk_expression_source callee = {.registers = state->registers,
						.known = state->known,
						.bias = bias,
						.read = read_memory,
						.context = (void *)symbols};
	uint64_t cfa;

	if (row->return_register >= HAWK_CFI_REGISTERS)
		return LOST;
	if (row->registers[row->return_register].kind == HAWK_CFI_UNDEFINED)
		return OUTERMOST;
	if (!find_cfa(&callee, row, &cfa))
		return LOST;
	for (uint32_t i = 0; i < cfi->count; i++)
		if (apply_rule(&callee, row, cfa, i, &caller.registers[i]))
			caller.known |= bit(i);
	if (!(caller.known & bit(row->return_register)) || !(caller.known & bit(cfi->sp)))
		return LOST;
	caller.registers[cfi->pc] =
		hawk_target_code_address(symbols->target, caller.registers[row->return_register]);
	caller.known |= bit(cfi->pc);
	*state = caller;
	return CALLER;
}

static enum result unwind_by_cfi(struct hawk_symbols *symbols, struct state *state, bool *signal,
				 bool *found)
{
	uint64_t pc = state->registers[cfi_of(symbols)->pc];
	uint64_t address = state->exact ? pc : pc - 1;
	struct hawk_symbol_module module;
	struct hawk_symbol_file *file;
	const struct hawk_cfi *cfi;
	struct hawk_cfi_row row;
	struct hawk_error *err;
	uint64_t bias;

	*found = false;
	if (!hawk_symbols_module_at(symbols, address, &module))
		return LOST;
	err = hawk_symbols_file(symbols, &module, &file);
	if (err) {
		hawk_error_destroy(err);
		return NO_MEMORY;
	}
	cfi = hawk_symbols_file_cfi(file);
	if (!cfi)
		return LOST;
	bias = hawk_symbols_bias(file, &module);
	/* The trampoline of signal handlers may begin at the return address, since no call leads to
	 * it. */
	if (!hawk_cfi_find(cfi, address - bias, &row) &&
	    (state->exact || !hawk_cfi_find(cfi, pc - bias, &row) || !row.signal_frame))
		return LOST;
	*found = true;
	*signal = row.signal_frame;
	return unwind_by_row(symbols, &row, bias, state);
}

/** Unwinds a handler that returns to code without rules: the kernel's frame is recognized by its
 * contents. */
static bool unwind_by_context(const struct hawk_symbols *symbols, struct state *state)
{
	const struct hawk_arch *arch = hawk_target_arch(symbols->target);
	const struct hawk_arch_context *context = &arch->context;
	uint64_t sp = state->registers[arch->cfi.sp] + context->above_sp;
	size_t bytes = context->bytes - context->registers;
	struct state next = {.exact = true};
	uint64_t words[CONTEXT_WORDS_MAX];
	uint64_t flags, word;

	if (state->exact || !read_word(symbols, sp, &flags) || flags > context->flags_max ||
	    hawk_target_read_some(symbols->target, sp + context->registers, words, bytes) != bytes)
		return false;
	word = words[(context->mark - context->registers) / sizeof(word)];
	if ((word & UINT16_MAX) != context->mark_low)
		return false;
	for (size_t i = 0; i < context->count; i++)
		next.registers[context->cfi[i]] = words[i];
	next.known = bit(arch->cfi.count) - 1;
	if (!is_code(symbols, next.registers[arch->cfi.pc]) ||
	    !read_word(symbols, next.registers[arch->cfi.sp], &word))
		return false;
	*state = next;
	return true;
}

static void set_caller(const struct hawk_symbols *symbols, struct state *state, uint64_t pc,
		       uint64_t sp)
{
	const struct hawk_arch_cfi *cfi = cfi_of(symbols);

	state->registers[cfi->pc] = hawk_target_code_address(symbols->target, pc);
	state->registers[cfi->sp] = sp;
	state->exact = false;
}

/**
 * CPython 3.12 and later with -X perf calls each Python function by a copy of its trampoline
 * (Python/asm_trampoline.S): sub $8, %rsp; call *%rcx; add $8, %rsp; ret.
 */
static bool unwind_by_trampoline(const struct hawk_symbols *symbols, struct state *state)
{
	enum { BEFORE = 6, SLOT = 8 };
	static const uint8_t code[] = {0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3};
	uint8_t found[sizeof(code)];
	const struct hawk_arch_cfi *cfi = cfi_of(symbols);
	uint64_t sp = state->registers[cfi->sp], pc;

	if (state->exact ||
	    hawk_target_read_some(symbols->target, state->registers[cfi->pc] - BEFORE, found,
				  sizeof(found)) != sizeof(found) ||
	    memcmp(found, code, sizeof(code)) != 0 || !read_word(symbols, sp + SLOT, &pc))
		return false;
	set_caller(symbols, state, pc, sp + SLOT + sizeof(pc));
	return true;
}

/** Undoes a call through a bad pointer: only the return address was stored. */
static bool unwind_bad_call(const struct hawk_symbols *symbols, struct state *state)
{
	const struct hawk_arch_cfi *cfi = cfi_of(symbols);
	uint64_t sp = state->registers[cfi->sp];
	uint64_t pc = state->registers[cfi->link];

	if (!state->exact || is_code(symbols, state->registers[cfi->pc]))
		return false;
	if (cfi->link == cfi->pc) {
		if (!read_word(symbols, sp, &pc))
			return false;
		sp += sizeof(pc);
	}
	if (!is_code(symbols, hawk_target_code_address(symbols->target, pc) - 1))
		return false;
	set_caller(symbols, state, pc, sp);
	return true;
}

/* Returns the caller's stack pointer by the record { caller's frame pointer, return address } at
 * `record`. If calls push nothing, a record ends its own frame only: the caller's frame begins
 * with the record of that, as compilers have it. */
static uint64_t sp_behind(const struct hawk_arch_cfi *cfi, uint64_t record, uint64_t caller_fp)
{
	uint64_t end = record + 2 * sizeof(record);

	return cfi->link != cfi->pc && caller_fp > end && caller_fp - end < FRAME_BYTES_MAX
		       ? caller_fp
		       : end;
}

static enum result unwind_by_frame_pointer(const struct hawk_symbols *symbols, struct state *state)
{
	const struct hawk_arch_cfi *cfi = cfi_of(symbols);
	uint64_t sp = state->registers[cfi->sp];
	uint64_t bp = state->registers[cfi->fp];
	uint64_t saved_bp, pc;

	if (!(state->known & bit(cfi->fp)) || bp < sp || bp - sp > FRAME_BYTES_MAX ||
	    bp % sizeof(bp) || !read_word(symbols, bp, &saved_bp) ||
	    !read_word(symbols, bp + sizeof(bp), &pc))
		return LOST;
	set_caller(symbols, state, pc, sp_behind(cfi, bp, saved_bp));
	state->registers[cfi->fp] = saved_bp;
	state->known = bit(cfi->fp) | bit(cfi->sp) | bit(cfi->pc);
	return CALLER;
}

/** Replaces the state by its caller's. */
static enum result step(struct hawk_symbols *symbols, struct state *state, enum way *way)
{
	enum result result;
	bool found, signal = false;

	result = unwind_by_cfi(symbols, state, &signal, &found);
	*way = signal ? BY_SIGNAL : BY_RULE;
	if (found || result == NO_MEMORY)
		return result;
	if (unwind_by_trampoline(symbols, state))
		return CALLER;
	if (unwind_by_context(symbols, state)) {
		*way = BY_SIGNAL;
		return CALLER;
	}
	if (unwind_bad_call(symbols, state))
		return CALLER;
	*way = BY_FRAME_POINTER;
	return unwind_by_frame_pointer(symbols, state);
}

static struct state first_state(const struct hawk_arch_cfi *cfi, const struct hawk_thread *thread)
{
	struct state state = {.known = bit(cfi->count) - 1, .exact = true};

	for (size_t i = 0; i < cfi->count; i++)
		state.registers[i] = thread->registers[cfi->registers[i]];
	return state;
}

/** Checks that the new frame is plausible after `callee`. */
static enum result check(const struct hawk_symbols *symbols, const struct state *state,
			 const struct state *callee, bool signal)
{
	const struct hawk_arch_cfi *cfi = cfi_of(symbols);
	uint64_t pc = state->registers[cfi->pc], sp = callee->registers[cfi->sp];
	/* A function that calls none need not have a frame, if calls push nothing. */
	bool frameless = callee->exact && cfi->link != cfi->pc;

	/* Threads begin with a zero return address, and a frame pointer of 0 marks the outermost
	 * frame. */
	if (pc == 0 && !signal)
		return state->registers[cfi->fp] == 0 ? OUTERMOST : LOST;
	if (signal) /* any place is plausible: another stack, a jump to nowhere */
		return CALLER;
	if (state->registers[cfi->sp] < sp + !frameless)
		return LOST;
	/* A handler returns to the trampoline, which may begin a mapping. */
	return is_code(symbols, pc - 1) || is_code(symbols, pc) ? CALLER : LOST;
}

struct visitor {
	hawk_frame_function *visit;
	void *context;
};

/* The CFA is the caller's stack pointer, by the ABIs of all machines. */
static void show_frame(const struct visitor *visitor, uint32_t number, const struct state *frame,
		       const struct state *caller, const struct hawk_arch_cfi *cfi)
{
	const struct hawk_frame_state shown = {.pc = frame->registers[cfi->pc],
					       .exact = frame->exact,
					       .registers = frame->registers,
					       .known = frame->known,
					       .cfa = caller ? caller->registers[cfi->sp] : 0};

	visitor->visit(visitor->context, number, &shown);
}

/* Appends the frames from `state` on, at most `max` in all, and sets the end. Shows them to
 * `visitor` unless it is NULL. */
static struct hawk_error *follow(struct hawk_symbols *symbols, struct state state, size_t max,
				 bool guess, const struct visitor *visitor,
				 struct hawk_thread_frames *ret)
{
	const struct hawk_arch_cfi *cfi = cfi_of(symbols);
	uint8_t confidence = guess ? HAWK_FRAME_GUESS : HAWK_FRAME_CFI;
	size_t signals = 0, first = ret->count;
	enum result result = CALLER;
	struct state frame;

	while (result == CALLER && ret->count < max) {
		uint64_t sp = state.registers[cfi->sp];
		enum way way;
		bool signal;

		if (!hawk_array_reserve(&ret->frames, ret->count, &ret->capacity,
					sizeof(*ret->frames)))
			return &hawk_enomem;
		ret->frames[ret->count++] =
			(struct hawk_stack_frame){.pc = state.registers[cfi->pc],
						  .sp = sp,
						  .exact = state.exact,
						  .confidence = confidence};
		frame = state;
		result = step(symbols, &state, &way);
		signal = way == BY_SIGNAL;
		if (signal)
			ret->frames[ret->count - 1].exact = true;
		if (signal && ++signals > SIGNALS_MAX)
			result = LOST;
		if (result == CALLER)
			result = check(symbols, &state, &frame, signal);
		if (visitor)
			show_frame(visitor, (uint32_t)ret->count - 1, &frame,
				   result == CALLER && way == BY_RULE ? &state : NULL, cfi);
		if (result == CALLER && way == BY_FRAME_POINTER)
			ret->guessed = true;
		if (!guess)
			confidence = way == BY_FRAME_POINTER ? HAWK_FRAME_FP : HAWK_FRAME_CFI;
		/* Zeros look like a thread's start, and anything like frame pointers. */
		else if (ret->guessed || state.registers[cfi->pc] == 0)
			result = LOST;
	}
	symbols->frames_unwound += ret->count - first;
	if (result == NO_MEMORY)
		return &hawk_enomem;
	ret->end = result == OUTERMOST ? HAWK_UNWIND_END_OUTERMOST
		   : result == LOST    ? HAWK_UNWIND_END_LOST
				       : HAWK_UNWIND_END_LIMIT;
	return NULL;
}

static struct hawk_error *unwind(struct hawk_symbols *symbols, const struct hawk_thread *thread,
				 size_t max, const struct visitor *visitor,
				 struct hawk_thread_frames *ret)
{
	*ret = (struct hawk_thread_frames){.end = HAWK_UNWIND_END_LIMIT};
	if (symbols->answers)
		return hawk_answers_unwind(symbols, thread, max, ret);
	if (!symbols->target)
		return NULL;
	if (symbols->frames_unwound >= HAWK_UNWIND_FRAMES_TOTAL && max > HAWK_UNWIND_FRAMES_LATER)
		max = HAWK_UNWIND_FRAMES_LATER;
	return follow(symbols, first_state(cfi_of(symbols), thread), max, false, visitor, ret);
}

struct hawk_error *hawk_symbols_unwind_frames(struct hawk_symbols *symbols,
					      const struct hawk_thread *thread, size_t max,
					      hawk_frame_function *visit, void *context,
					      struct hawk_thread_frames *ret)
{
	const struct visitor visitor = {visit, context};

	return unwind(symbols, thread, max, &visitor, ret);
}

struct hawk_error *hawk_symbols_unwind(struct hawk_symbols *symbols,
				       const struct hawk_thread *thread, size_t max,
				       struct hawk_thread_frames *ret)
{
	return unwind(symbols, thread, max, NULL, ret);
}

/* Returns true if `pc` is where a call returns to. */
static bool is_return_address(struct hawk_symbols *symbols, uint64_t pc)
{
	const struct hawk_arch *arch = hawk_target_arch(symbols->target);
	uint8_t bytes[HAWK_CALL_BYTES];

	pc = hawk_target_code_address(symbols->target, pc);
	return pc >= sizeof(bytes) && is_code(symbols, pc - sizeof(bytes)) &&
	       hawk_symbols_read_code(symbols, pc - sizeof(bytes), bytes, sizeof(bytes)) &&
	       arch->ends_in_call(bytes);
}

/* Returns the state of the frame to which the return address `pc` at `address` leads. A function
 * that keeps a frame pointer saved its caller's below. */
static struct state state_at(const struct hawk_symbols *symbols, uint64_t address, uint64_t pc)
{
	const struct hawk_arch_cfi *cfi = cfi_of(symbols);
	struct state state = {.known = bit(cfi->sp) | bit(cfi->pc)};
	uint64_t fp = 0;
	bool has_fp = read_word(symbols, address - sizeof(fp), &fp) && fp > address;

	set_caller(symbols, &state, pc, sp_behind(cfi, address - sizeof(fp), fp));
	if (has_fp) {
		state.registers[cfi->fp] = fp;
		state.known |= bit(cfi->fp);
	}
	return state;
}

/* Searches for the frames behind the last one. */
static struct hawk_error *search(struct hawk_symbols *symbols, struct hawk_thread_frames *frames)
{
	size_t proven = frames->count, tried = 0;
	const struct hawk_mapping *stack;
	uint64_t at, end, pc;
	struct hawk_error *err = NULL;
	bool guessed = frames->guessed;

	if (frames->end != HAWK_UNWIND_END_LOST || !proven || symbols->answers)
		return NULL;
	frames->guessed = false;
	at = (frames->frames[proven - 1].sp + 7) & -UINT64_C(8);
	stack = hawk_target_mapping_at(symbols->target, at);
	end = stack ? stack->end : at;
	if (end - at > SEARCH_BYTES_MAX)
		end = at + SEARCH_BYTES_MAX;
	for (; !err && at < end && tried < SEARCH_FRAMES_MAX; at += sizeof(pc)) {
		if (!read_word(symbols, at, &pc) || !is_return_address(symbols, pc))
			continue;
		err = follow(symbols, state_at(symbols, at, pc), proven + SEARCH_DEPTH_MAX, true,
			     NULL, frames);
		if (!err && frames->end == HAWK_UNWIND_END_OUTERMOST)
			break;
		tried += frames->count - proven;
		frames->count = proven;
		frames->end = HAWK_UNWIND_END_LOST;
		frames->guessed = false;
	}
	frames->guessed = guessed;
	return err;
}

void hawk_symbols_note_incomplete(struct hawk_symbols *symbols, const struct hawk_thread *thread)
{
	size_t count;
	size_t number = (size_t)(thread - hawk_target_threads(symbols->target, &count));

	if (!symbols->noted_threads)
		symbols->noted_threads = calloc(count + 1, sizeof(*symbols->noted_threads));
	if (!symbols->noted_threads) {
		hawk_enomem_swallow();
		return;
	}
	if (number >= count || symbols->noted_threads[number])
		return;
	symbols->noted_threads[number] = true;
	hawk_findings_add(symbols->search.findings, HAWK_FINDING_MISSING, true, "stack-incomplete",
			  "the stack of thread %u could not be unwound to its end: outer frames "
			  "are missing",
			  thread->tid);
}

struct hawk_error *hawk_symbols_unwind_whole(struct hawk_symbols *symbols,
					     const struct hawk_thread *thread,
					     struct hawk_thread_frames *ret)
{
	struct hawk_error *err = hawk_symbols_unwind(symbols, thread, HAWK_UNWIND_FRAMES_MAX, ret);

	if (ret->end != HAWK_UNWIND_END_OUTERMOST)
		hawk_symbols_note_incomplete(symbols, thread);
	return err ? err : search(symbols, ret);
}

void hawk_thread_frames_deinit(struct hawk_thread_frames *frames)
{
	free(frames->frames);
	*frames = (struct hawk_thread_frames){0};
}
