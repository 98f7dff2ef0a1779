/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Walks with all registers, from the tracer's own frame to the requested one.
 */
#include "unwind_full.h"

enum {
	/** Frames on the way: the stack's own, the tracer's and a few. */
	WALK_FRAMES_MAX = HAWK_STACK_FRAMES + 64,
};

/** Inputs and outputs of one step. */
struct full_step {
	struct hawk_readable_range *range;
	struct hawk_scratch *scratch;
	const struct hawk_registers *from;
	struct hawk_registers *to;
	uint64_t cfa;
};

static bool evaluate(const struct full_step *step, int64_t block, bool push_cfa, uint64_t *ret)
{
	struct hawk_cfi_evaluation *evaluation = &step->scratch->full.evaluation;

	evaluation->registers = step->from->value;
	evaluation->known = step->from->known;
	evaluation->range = step->range;
	evaluation->depth = push_cfa;
	evaluation->stack[0] = step->cfa;
	return hawk_cfi_evaluate(evaluation, hawk_cfi_block_at(block), ret);
}

static bool knows(const struct hawk_registers *registers, uint64_t number)
{
	return number < HAWK_CFI_REGISTERS && (registers->known >> number & 1);
}

static bool find_cfa(struct full_step *step, const struct hawk_cfi_row *row)
{
	if (row->cfa_is_expression)
		return evaluate(step, row->cfa_value, false, &step->cfa);
	if (!knows(step->from, row->cfa_register))
		return false;
	step->cfa = step->from->value[row->cfa_register] + (uint64_t)row->cfa_value;
	return true;
}

/** Finds the caller's value of one register. Returns false if it is unknowable. */
static bool find_register(const struct full_step *step, const struct hawk_cfi_row *row,
			  unsigned number, uint64_t *ret)
{
	int64_t value = row->value[number];
	uint64_t address;

	switch (row->how[number]) {
	case HAWK_CFI_UNSPECIFIED:
		if (number == HAWK_CFI_RSP) {
			*ret = step->cfa;
			return true;
		}
		*ret = step->from->value[number];
		return number != HAWK_CFI_RIP && (HAWK_CFI_KNOWN_AFTER_CALL >> number & 1) &&
		       knows(step->from, number);
	case HAWK_CFI_SAME:
		*ret = step->from->value[number];
		return knows(step->from, number);
	case HAWK_CFI_OFFSET:
		return hawk_walk_read_anywhere(step->range, step->cfa + (uint64_t)value, ret);
	case HAWK_CFI_VALUE_OFFSET:
		*ret = step->cfa + (uint64_t)value;
		return true;
	case HAWK_CFI_IN_REGISTER:
		if (!knows(step->from, (uint64_t)value))
			return false;
		*ret = step->from->value[value];
		return true;
	case HAWK_CFI_EXPRESSION:
		return evaluate(step, value, true, &address) &&
		       hawk_walk_read_anywhere(step->range, address, ret);
	case HAWK_CFI_VALUE_EXPRESSION:
		return evaluate(step, value, true, ret);
	default:
		return false;
	}
}

/** Steps where the return address lies `offset` above rsp and all other registers are unchanged. */
static enum hawk_step step_by_stack_pointer(const struct full_step *step, uint64_t offset)
{
	uint64_t sp = step->from->value[HAWK_CFI_RSP];
	struct hawk_registers *to = step->to;

	*to = *step->from;
	to->known &= HAWK_CFI_KNOWN_AFTER_CALL;
	if (!hawk_walk_read(step->range, sp + offset, &to->value[HAWK_CFI_RIP]))
		return HAWK_STEP_STUCK;
	to->value[HAWK_CFI_RSP] = sp + offset + 8;
	to->known |= 1 << HAWK_CFI_RSP | 1 << HAWK_CFI_RIP;
	to->exact = false;
	return HAWK_STEP_NEXT;
}

/** Steps without call frame information, by rbp if it leads on. */
static enum hawk_step step_without_cfi(const struct full_step *step)
{
	uint64_t pc = step->from->value[HAWK_CFI_RIP];
	uint64_t bp = step->from->value[HAWK_CFI_RBP];
	struct hawk_registers *to = step->to;

	if (hawk_walk_is_null_call(pc, step->from->exact))
		return step_by_stack_pointer(step, 0);
	if (!step->from->exact && hawk_rules_is_trampoline(pc))
		return step_by_stack_pointer(step, 8);
	if (!knows(step->from, HAWK_CFI_RBP) || bp & 7 ||
	    bp - step->from->value[HAWK_CFI_RSP] >= HAWK_WALK_FRAME_BYTES_MAX ||
	    !hawk_walk_read(step->range, bp, &to->value[HAWK_CFI_RBP]) ||
	    !hawk_walk_read(step->range, bp + 8, &to->value[HAWK_CFI_RIP]))
		return HAWK_STEP_STUCK;
	to->value[HAWK_CFI_RSP] = bp + 16;
	to->known = 1 << HAWK_CFI_RBP | 1 << HAWK_CFI_RSP | 1 << HAWK_CFI_RIP;
	to->exact = false;
	return HAWK_STEP_NEXT;
}

static enum hawk_step step_by_row(struct full_step *step, const struct hawk_cfi_row *row,
				  bool signal)
{
	struct hawk_registers *to = step->to;
	uint64_t sp = step->from->value[HAWK_CFI_RSP];

	if (row->how[HAWK_CFI_RIP] == HAWK_CFI_UNDEFINED)
		return HAWK_STEP_OUTERMOST;
	if (!find_cfa(step, row))
		return HAWK_STEP_STUCK;
	if (step->cfa & 7 || (!signal && step->cfa - sp - 1 >= HAWK_WALK_FRAME_BYTES_MAX))
		return HAWK_STEP_STUCK;
	to->known = 0;
	to->exact = signal;
	for (unsigned i = 0; i < HAWK_CFI_REGISTERS; i++)
		if (find_register(step, row, i, &to->value[i]))
			to->known |= 1u << i;
	if (!knows(to, HAWK_CFI_RIP) || !knows(to, HAWK_CFI_RSP) || to->value[HAWK_CFI_RSP] & 7)
		return HAWK_STEP_STUCK;
	if (!knows(to, HAWK_CFI_RBP)) /* undefined, as some outermost frames say */
		to->value[HAWK_CFI_RBP] = step->from->value[HAWK_CFI_RBP];
	return HAWK_STEP_NEXT;
}

enum hawk_step hawk_unwind_full_step(struct hawk_readable_range *range,
				     struct hawk_scratch *scratch,
				     const struct hawk_registers *registers,
				     struct hawk_registers *caller)
{
	struct full_step step = {
		.range = range, .scratch = scratch, .from = registers, .to = caller};
	uint64_t pc = registers->value[HAWK_CFI_RIP] - !registers->exact;
	struct hawk_cfi_machine *machine = &scratch->full.machine;
	struct hawk_cfi_function function;
	struct hawk_code_range module;
	enum hawk_step result;

	if (!hawk_modules_find(pc, &module) || !hawk_cfi_find(&module, pc, &function))
		result = step_without_cfi(&step);
	else if (!hawk_cfi_run(&function, pc, machine))
		result = HAWK_STEP_STUCK;
	else
		result = step_by_row(&step, &machine->row, function.signal);
	if (result != HAWK_STEP_NEXT)
		return result;
	if (caller->value[HAWK_CFI_RIP] - HAWK_PC_MIN < HAWK_PC_END - HAWK_PC_MIN ||
	    hawk_walk_is_null_call(caller->value[HAWK_CFI_RIP], caller->exact))
		return HAWK_STEP_NEXT;
	return caller->value[HAWK_CFI_RIP] ? HAWK_STEP_STUCK : HAWK_STEP_OUTERMOST;
}

static bool is_at(const struct hawk_registers *registers, const struct hawk_stack_frame *frame)
{
	return registers->value[HAWK_CFI_RIP] == frame->state.pc &&
	       registers->value[HAWK_CFI_RSP] == frame->state.sp &&
	       registers->exact == (frame->exact != 0);
}

/** Walks from scratch->full.registers to `frame` and one step further. */
static enum hawk_step walk_past(struct hawk_readable_range *range, struct hawk_scratch *scratch,
				const struct hawk_stack_frame *frame)
{
	struct hawk_registers *now = &scratch->full.registers;
	struct hawk_registers *then = &scratch->full.caller;

	for (unsigned i = 0; i < WALK_FRAMES_MAX; i++) {
		bool arrived = is_at(now, frame);
		enum hawk_step step = hawk_unwind_full_step(range, scratch, now, then);

		if (arrived)
			return step;
		if (step != HAWK_STEP_NEXT)
			return HAWK_STEP_STUCK;
		*now = *then;
	}
	return HAWK_STEP_STUCK;
}

/* Not inlined, and no tail call at its end: its frame is where the walk begins. */
__attribute__((noinline)) enum hawk_step hawk_unwind_full(const struct hawk_stack_frame *frame,
							  struct hawk_stack_frame *next)
{
	/* Not the frame's range: the tracer's frame may be on another stack, inside a signal
	 * handler. */
	struct hawk_readable_range range = {0};
	struct hawk_scratch *scratch = hawk_scratch_take();
	struct hawk_registers *registers;
	enum hawk_step step;

	if (!scratch)
		return HAWK_STEP_STUCK;
	registers = &scratch->full.registers;
	HAWK_CAPTURE_REGISTERS(registers->value);
	registers->known = HAWK_CFI_KNOWN_AFTER_CALL | 1 << HAWK_CFI_RIP;
	registers->exact = true;
	hawk_walk_enter_stack(&range, registers->value[HAWK_CFI_RSP]);
	step = walk_past(&range, scratch, frame);
	if (step == HAWK_STEP_NEXT) {
		next->state.pc = scratch->full.caller.value[HAWK_CFI_RIP];
		next->state.sp = scratch->full.caller.value[HAWK_CFI_RSP];
		next->state.bp = scratch->full.caller.value[HAWK_CFI_RBP];
		next->exact = scratch->full.caller.exact;
	}
	hawk_scratch_give(scratch);
	return step;
}

/** The pool of scratch; bit i of `taken` is set while piece i is taken. */
static char *pool;
static uint64_t taken;

void hawk_scratch_init(void *memory)
{
	pool = memory;
}

struct hawk_scratch *hawk_scratch_take(void)
{
	uint64_t now = __atomic_load_n(&taken, __ATOMIC_RELAXED);

	while (pool && ~now) {
		unsigned piece = (unsigned)__builtin_ctzll(~now);

		if (__atomic_compare_exchange_n(&taken, &now, now | UINT64_C(1) << piece, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return (struct hawk_scratch *)(pool +
						       (size_t)piece * HAWK_SCRATCH_PIECE_BYTES);
	}
	return hawk_map(0, HAWK_SCRATCH_PIECE_BYTES, false);
}

void hawk_scratch_give(struct hawk_scratch *scratch)
{
	size_t offset = (size_t)((uint64_t)scratch - (uint64_t)pool);

	if (!pool || offset >= HAWK_SCRATCH_BYTES)
		hawk_unmap(scratch, HAWK_SCRATCH_PIECE_BYTES);
	else
		__atomic_fetch_and(&taken, ~(UINT64_C(1) << (offset / HAWK_SCRATCH_PIECE_BYTES)),
				   __ATOMIC_RELEASE);
}
