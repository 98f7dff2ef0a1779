/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The loop over the frames of a thread, and the ways to find a caller without call frame
 * information.
 */
#include "thread_unwind.h"

#include <stdlib.h>
#include <string.h>

#include "dwarf_cfi_program.h"

enum {
	FRAMES_FIRST = 64,
	SIGNALS_MAX = 32,                   /**< nested handlers on one stack */
	FRAME_BYTES_MAX = 64 * 1024 * 1024, /**< of one frame found by frame pointer */
	USER_CODE_SEGMENT = 0x33,
	/* struct ucontext of the kernel, x86-64: offsets of the registers. */
	CONTEXT_REGISTERS = 40,
	CONTEXT_WORDS = 19, /**< r8 to the segment registers */
	CONTEXT_SEGMENTS = 18,
	CONTEXT_FLAGS_MAX = 7,
};

/** HAWK_* register of each DWARF number. */
static const uint8_t register_numbers[HAWK_CFI_REGISTERS] = {
	HAWK_RAX, HAWK_RDX, HAWK_RCX, HAWK_RBX, HAWK_RSI, HAWK_RDI, HAWK_RBP, HAWK_RSP, HAWK_R8,
	HAWK_R9,  HAWK_R10, HAWK_R11, HAWK_R12, HAWK_R13, HAWK_R14, HAWK_R15, HAWK_RIP};

/** DWARF number of each register of struct sigcontext, in its order. */
static const uint8_t context_numbers[] = {8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16};

bool hawk_unwind_read(const struct hawk_symbols *symbols, uint64_t address, uint64_t *ret)
{
	return hawk_target_read_some(symbols->target, address, ret, sizeof(*ret)) == sizeof(*ret);
}

bool hawk_unwind_is_code(const struct hawk_symbols *symbols, uint64_t address)
{
	const struct hawk_mapping *mapping = hawk_target_mapping_at(symbols->target, address);

	/* gcore leaves out what it does not dump, such as program text: no rights are known then.
	 */
	if (!mapping)
		return hawk_target_module_at(symbols->target, address) != NULL;
	return mapping->flags & HAWK_MAPPING_EXEC || (mapping->flags == 0 && mapping->path);
}

static enum hawk_unwind_result unwind_by_cfi(struct hawk_symbols *symbols,
					     struct hawk_unwind_state *state, bool *signal,
					     bool *found)
{
	uint64_t pc = state->registers[HAWK_CFI_RIP];
	uint64_t address = state->exact ? pc : pc - 1;
	struct hawk_symbol_module module;
	struct hawk_symbol_file *file;
	struct hawk_cfi_row row;
	struct hawk_error *err;
	uint64_t bias;

	*found = false;
	if (!hawk_symbols_module_at(symbols, address, &module))
		return HAWK_UNWIND_LOST;
	err = hawk_symbols_file(symbols, &module, &file);
	if (err) {
		hawk_error_destroy(err);
		return HAWK_UNWIND_NO_MEMORY;
	}
	if (!file->cfi_tried)
		file->cfi = hawk_cfi_create(file->binary, file->debug);
	file->cfi_tried = true;
	if (!file->cfi)
		return HAWK_UNWIND_LOST;
	bias = hawk_symbols_bias(file, &module);
	/* The trampoline of signal handlers may begin at the return address: nobody called it. */
	if (!hawk_cfi_find(file->cfi, address - bias, &row) &&
	    (state->exact || !hawk_cfi_find(file->cfi, pc - bias, &row) || !row.signal_frame))
		return HAWK_UNWIND_LOST;
	*found = true;
	*signal = row.signal_frame;
	return hawk_unwind_by_row(symbols, &row, bias, state);
}

/** A handler returns to code that has no rules: the kernel's frame is known by its contents. */
static bool unwind_by_context(const struct hawk_symbols *symbols, struct hawk_unwind_state *state)
{
	uint64_t sp = state->registers[HAWK_CFI_RSP];
	struct hawk_unwind_state next = {.exact = true};
	uint64_t words[CONTEXT_WORDS];
	uint64_t flags, word;

	if (state->exact || !hawk_unwind_read(symbols, sp, &flags) || flags > CONTEXT_FLAGS_MAX ||
	    hawk_target_read_some(symbols->target, sp + CONTEXT_REGISTERS, words, sizeof(words)) !=
		    sizeof(words))
		return false;
	if ((words[CONTEXT_SEGMENTS] & UINT16_MAX) != USER_CODE_SEGMENT)
		return false;
	for (size_t i = 0; i < sizeof(context_numbers); i++)
		next.registers[context_numbers[i]] = words[i];
	next.known = (1u << HAWK_CFI_REGISTERS) - 1;
	if (!hawk_unwind_is_code(symbols, next.registers[HAWK_CFI_RIP]) ||
	    !hawk_unwind_read(symbols, next.registers[HAWK_CFI_RSP], &word))
		return false;
	*state = next;
	return true;
}

static void set_caller(struct hawk_unwind_state *state, uint64_t pc, uint64_t sp)
{
	state->registers[HAWK_CFI_RIP] = pc;
	state->registers[HAWK_CFI_RSP] = sp;
	state->exact = false;
}

/**
 * CPython 3.12 and later with -X perf calls each Python function by a copy of its trampoline
 * (Python/asm_trampoline.S): sub $8, %rsp; call *%rcx; add $8, %rsp; ret.
 */
static bool unwind_by_trampoline(const struct hawk_symbols *symbols,
				 struct hawk_unwind_state *state)
{
	enum { BEFORE = 6, SLOT = 8 };
	static const uint8_t code[] = {0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3};
	uint8_t found[sizeof(code)];
	uint64_t sp = state->registers[HAWK_CFI_RSP], pc;

	if (state->exact ||
	    hawk_target_read_some(symbols->target, state->registers[HAWK_CFI_RIP] - BEFORE, found,
				  sizeof(found)) != sizeof(found) ||
	    memcmp(found, code, sizeof(code)) != 0 || !hawk_unwind_read(symbols, sp + SLOT, &pc))
		return false;
	set_caller(state, pc, sp + SLOT + sizeof(pc));
	return true;
}

/** A call through a bad pointer: the return address was pushed, nothing else happened. */
static bool unwind_bad_call(const struct hawk_symbols *symbols, struct hawk_unwind_state *state)
{
	uint64_t sp = state->registers[HAWK_CFI_RSP];
	uint64_t pc;

	if (!state->exact || hawk_unwind_is_code(symbols, state->registers[HAWK_CFI_RIP]) ||
	    !hawk_unwind_read(symbols, sp, &pc) || !hawk_unwind_is_code(symbols, pc - 1))
		return false;
	set_caller(state, pc, sp + sizeof(pc));
	return true;
}

static enum hawk_unwind_result unwind_by_frame_pointer(const struct hawk_symbols *symbols,
						       struct hawk_unwind_state *state)
{
	uint64_t sp = state->registers[HAWK_CFI_RSP];
	uint64_t bp = state->registers[HAWK_CFI_RBP];
	uint64_t saved_bp, pc;

	if (!(state->known & 1u << HAWK_CFI_RBP) || bp < sp || bp - sp > FRAME_BYTES_MAX ||
	    bp % sizeof(bp) || !hawk_unwind_read(symbols, bp, &saved_bp) ||
	    !hawk_unwind_read(symbols, bp + sizeof(bp), &pc))
		return HAWK_UNWIND_LOST;
	set_caller(state, pc, bp + 2 * sizeof(bp));
	state->registers[HAWK_CFI_RBP] = saved_bp;
	state->known = 1u << HAWK_CFI_RBP | 1u << HAWK_CFI_RSP | 1u << HAWK_CFI_RIP;
	return HAWK_UNWIND_CALLER;
}

enum hawk_unwind_result hawk_unwind_step(struct hawk_symbols *symbols,
					 struct hawk_unwind_state *state, enum hawk_unwind_way *way)
{
	enum hawk_unwind_result result;
	bool found, signal = false;

	result = unwind_by_cfi(symbols, state, &signal, &found);
	*way = signal ? HAWK_UNWIND_BY_SIGNAL : HAWK_UNWIND_BY_RULE;
	if (found || result == HAWK_UNWIND_NO_MEMORY)
		return result;
	if (unwind_by_trampoline(symbols, state))
		return HAWK_UNWIND_CALLER;
	if (unwind_by_context(symbols, state)) {
		*way = HAWK_UNWIND_BY_SIGNAL;
		return HAWK_UNWIND_CALLER;
	}
	if (unwind_bad_call(symbols, state))
		return HAWK_UNWIND_CALLER;
	*way = HAWK_UNWIND_BY_FRAME_POINTER;
	return unwind_by_frame_pointer(symbols, state);
}

static struct hawk_unwind_state first_state(const struct hawk_thread *thread)
{
	struct hawk_unwind_state state = {.known = (1u << HAWK_CFI_REGISTERS) - 1, .exact = true};

	for (size_t i = 0; i < HAWK_CFI_REGISTERS; i++)
		state.registers[i] = thread->registers[register_numbers[i]];
	return state;
}

/** Whether the new frame makes sense after the one at `sp`. */
static enum hawk_unwind_result check(const struct hawk_symbols *symbols,
				     const struct hawk_unwind_state *state, uint64_t sp,
				     bool signal)
{
	uint64_t pc = state->registers[HAWK_CFI_RIP];

	/* Threads begin with a zero return address, and rbp = 0 marks the outermost frame. */
	if (pc == 0 && !signal)
		return state->registers[HAWK_CFI_RBP] == 0 ? HAWK_UNWIND_OUTERMOST
							   : HAWK_UNWIND_LOST;
	if (signal) /* may be anywhere: another stack, a jump to nowhere */
		return HAWK_UNWIND_CALLER;
	if (state->registers[HAWK_CFI_RSP] <= sp || !hawk_unwind_is_code(symbols, pc - 1))
		return HAWK_UNWIND_LOST;
	return HAWK_UNWIND_CALLER;
}

static bool append_frame(struct hawk_thread_frames *to, size_t *capacity,
			 const struct hawk_unwind_state *state)
{
	if (to->count == *capacity) {
		size_t more = *capacity ? 2 * *capacity : FRAMES_FIRST;
		struct hawk_stack_frame *frames = realloc(to->frames, more * sizeof(*frames));

		if (!frames)
			return false;
		to->frames = frames;
		*capacity = more;
	}
	to->frames[to->count++] = (struct hawk_stack_frame){.pc = state->registers[HAWK_CFI_RIP],
							    .sp = state->registers[HAWK_CFI_RSP],
							    .exact = state->exact};
	return true;
}

struct hawk_error *hawk_symbols_unwind(struct hawk_symbols *symbols,
				       const struct hawk_thread *thread, size_t max,
				       struct hawk_thread_frames *ret)
{
	struct hawk_unwind_state state = first_state(thread);
	enum hawk_unwind_result result = HAWK_UNWIND_CALLER;
	size_t signals = 0, capacity = 0;

	*ret = (struct hawk_thread_frames){0};
	if (symbols->frames_unwound >= HAWK_UNWIND_FRAMES_TOTAL && max > HAWK_UNWIND_FRAMES_LATER)
		max = HAWK_UNWIND_FRAMES_LATER;
	while (result == HAWK_UNWIND_CALLER && ret->count < max && symbols->target) {
		uint64_t sp = state.registers[HAWK_CFI_RSP];
		enum hawk_unwind_way way;
		bool signal;

		if (!append_frame(ret, &capacity, &state))
			return &hawk_enomem;
		result = hawk_unwind_step(symbols, &state, &way);
		signal = way == HAWK_UNWIND_BY_SIGNAL;
		if (signal)
			ret->frames[ret->count - 1].exact = true;
		if (signal && ++signals > SIGNALS_MAX)
			result = HAWK_UNWIND_LOST;
		if (result == HAWK_UNWIND_CALLER)
			result = check(symbols, &state, sp, signal);
		if (result == HAWK_UNWIND_CALLER && way == HAWK_UNWIND_BY_FRAME_POINTER)
			ret->guessed = true;
	}
	symbols->frames_unwound += ret->count;
	if (result == HAWK_UNWIND_NO_MEMORY)
		return &hawk_enomem;
	ret->end = result == HAWK_UNWIND_OUTERMOST ? HAWK_UNWIND_END_OUTERMOST
		   : result == HAWK_UNWIND_LOST    ? HAWK_UNWIND_END_LOST
						   : HAWK_UNWIND_END_LIMIT;
	return NULL;
}

void hawk_thread_frames_deinit(struct hawk_thread_frames *frames)
{
	free(frames->frames);
	*frames = (struct hawk_thread_frames){0};
}

enum {
	/** rbx, rbp, r12 to r15: what a function must leave as it was (x86-64 psABI, 3.2.1). */
	CALLEE_SAVED = 1u << 3 | 1u << 6 | 1u << 12 | 1u << 13 | 1u << 14 | 1u << 15,
};

struct application {
	const struct hawk_symbols *symbols;
	const struct hawk_unwind_state *callee;
	struct hawk_expression_source source;
	uint64_t cfa;
};

static bool read_memory(void *context, uint64_t address, void *to, size_t bytes)
{
	const struct hawk_symbols *symbols = context;

	return hawk_target_read_some(symbols->target, address, to, bytes) == bytes;
}

static bool find_cfa(struct application *application, const struct hawk_cfi_row *row)
{
	const struct hawk_unwind_state *callee = application->callee;

	if (row->cfa_is_expression)
		return hawk_expression_evaluate(&application->source, row->cfa_expression,
						row->cfa_expression_bytes, false, 0,
						&application->cfa);
	if (row->cfa_register >= HAWK_CFI_REGISTERS || !(callee->known & 1u << row->cfa_register))
		return false;
	application->cfa = callee->registers[row->cfa_register] + (uint64_t)row->cfa_offset;
	return true;
}

/** The caller's value of a register; false = not known. */
static bool apply_rule(const struct application *application, const struct hawk_cfi_row *row,
		       uint32_t number, uint64_t *ret)
{
	const struct hawk_unwind_state *callee = application->callee;
	const struct hawk_cfi_rule *rule = &row->registers[number];
	uint64_t address = application->cfa + (uint64_t)rule->offset;

	switch (rule->kind) {
	case HAWK_CFI_UNSPECIFIED:
		*ret = number == HAWK_CFI_RSP ? application->cfa : callee->registers[number];
		return number == HAWK_CFI_RSP || (callee->known & CALLEE_SAVED & 1u << number);
	case HAWK_CFI_SAME:
		*ret = callee->registers[number];
		return callee->known & 1u << number;
	case HAWK_CFI_OFFSET:
		return hawk_unwind_read(application->symbols, address, ret);
	case HAWK_CFI_VAL_OFFSET:
		*ret = address;
		return true;
	case HAWK_CFI_REGISTER:
		if ((uint64_t)rule->offset >= HAWK_CFI_REGISTERS)
			return false;
		*ret = callee->registers[rule->offset];
		return callee->known & 1u << rule->offset;
	case HAWK_CFI_EXPRESSION:
		return hawk_expression_evaluate(&application->source, rule->expression,
						rule->expression_bytes, true, application->cfa,
						&address) &&
		       hawk_unwind_read(application->symbols, address, ret);
	case HAWK_CFI_VAL_EXPRESSION:
		return hawk_expression_evaluate(&application->source, rule->expression,
						rule->expression_bytes, true, application->cfa,
						ret);
	case HAWK_CFI_UNDEFINED:
	default:
		return false;
	}
}

enum hawk_unwind_result hawk_unwind_by_row(const struct hawk_symbols *symbols,
					   const struct hawk_cfi_row *row, uint64_t bias,
					   struct hawk_unwind_state *state)
{
	struct hawk_unwind_state caller = {.exact = row->signal_frame};
	struct application application = {.symbols = symbols,
					  .callee = state,
					  .source = {.registers = state->registers,
						     .known = state->known,
						     .bias = bias,
						     .read = read_memory,
						     .context = (void *)symbols}};

	if (row->return_register >= HAWK_CFI_REGISTERS)
		return HAWK_UNWIND_LOST;
	if (row->registers[row->return_register].kind == HAWK_CFI_UNDEFINED)
		return HAWK_UNWIND_OUTERMOST;
	if (!find_cfa(&application, row))
		return HAWK_UNWIND_LOST;
	for (uint32_t i = 0; i < HAWK_CFI_REGISTERS; i++)
		if (apply_rule(&application, row, i, &caller.registers[i]))
			caller.known |= 1u << i;
	if (!(caller.known & 1u << row->return_register) || !(caller.known & 1u << HAWK_CFI_RSP))
		return HAWK_UNWIND_LOST;
	caller.registers[HAWK_CFI_RIP] = caller.registers[row->return_register];
	caller.known |= 1u << HAWK_CFI_RIP;
	*state = caller;
	return HAWK_UNWIND_CALLER;
}
