/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * DWARF expressions (DWARF 5, section 2.5) as far as call frame information may use them, on a
 * bounded stack and for a bounded number of steps. Reads only readable memory.
 */
#include "cfi.h"

#include "walk.h"

enum operation {
	OP_ADDR = 0x03,
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08, /**< 1, 2, 4, 8 bytes, each unsigned and signed */
	OP_CONST8S = 0x0f,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_DUP = 0x12,
	OP_DROP = 0x13,
	OP_OVER = 0x14,
	OP_PICK = 0x15,
	OP_SWAP = 0x16,
	OP_ROT = 0x17,
	OP_ABS = 0x19,
	OP_AND = 0x1a,
	OP_DIV = 0x1b,
	OP_MINUS = 0x1c,
	OP_MOD = 0x1d,
	OP_MUL = 0x1e,
	OP_NEG = 0x1f,
	OP_NOT = 0x20,
	OP_OR = 0x21,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_SHR = 0x25,
	OP_SHRA = 0x26,
	OP_XOR = 0x27,
	OP_BRA = 0x28,
	OP_EQ = 0x29,
	OP_GE = 0x2a,
	OP_GT = 0x2b,
	OP_LE = 0x2c,
	OP_LT = 0x2d,
	OP_NE = 0x2e,
	OP_SKIP = 0x2f,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
	OP_DEREF_SIZE = 0x94,
	OP_NOP = 0x96,
};

struct machine {
	struct hawk_cfi_evaluation *evaluation;
	struct hawk_cfi_reader reader;
	const uint8_t *start;
};

static void push(struct machine *machine, uint64_t value)
{
	struct hawk_cfi_evaluation *evaluation = machine->evaluation;

	if (evaluation->depth == HAWK_CFI_EXPRESSION_STACK)
		machine->reader.failed = true;
	else
		evaluation->stack[evaluation->depth++] = value;
}

static uint64_t pop(struct machine *machine)
{
	struct hawk_cfi_evaluation *evaluation = machine->evaluation;

	if (evaluation->depth)
		return evaluation->stack[--evaluation->depth];
	machine->reader.failed = true;
	return 0;
}

static void push_register(struct machine *machine, uint64_t number)
{
	const struct hawk_cfi_evaluation *evaluation = machine->evaluation;
	uint64_t offset = (uint64_t)hawk_cfi_sleb(&machine->reader);

	if (number >= HAWK_CFI_REGISTERS || !(evaluation->known >> number & 1))
		machine->reader.failed = true;
	else
		push(machine, evaluation->registers[number] + offset);
}

/** Copies the value `index` below the top. */
static void pick(struct machine *machine, uint64_t index)
{
	const struct hawk_cfi_evaluation *evaluation = machine->evaluation;

	if (index >= evaluation->depth)
		machine->reader.failed = true;
	else
		push(machine, evaluation->stack[evaluation->depth - 1 - index]);
}

static void dereference(struct machine *machine, uint64_t bytes)
{
	uint64_t value;

	if (!bytes || bytes > 8 ||
	    !hawk_walk_read_anywhere(machine->evaluation->range, pop(machine), &value))
		machine->reader.failed = true;
	else
		push(machine, bytes == 8 ? value : value & ((UINT64_C(1) << (8 * bytes)) - 1));
}

static void jump(struct machine *machine, bool taken)
{
	int64_t distance = hawk_cfi_signed_number(&machine->reader, 2);

	if (machine->reader.failed || !taken)
		return;
	if (distance > machine->reader.end - machine->reader.at ||
	    distance < machine->start - machine->reader.at)
		machine->reader.failed = true;
	else
		machine->reader.at += distance;
}

static void run_constant(struct machine *machine, uint8_t operation)
{
	struct hawk_cfi_reader *reader = &machine->reader;
	uint64_t value = operation - OP_LIT0;

	if (operation == OP_ADDR)
		value = hawk_cfi_number(reader, 8);
	else if (operation == OP_CONSTU)
		value = hawk_cfi_uleb(reader);
	else if (operation == OP_CONSTS)
		value = (uint64_t)hawk_cfi_sleb(reader);
	else if (operation < OP_LIT0 && (operation - OP_CONST1U) % 2)
		value = (uint64_t)hawk_cfi_signed_number(reader,
							 1u << (operation - OP_CONST1U) / 2);
	else if (operation < OP_LIT0)
		value = hawk_cfi_number(reader, 1u << (operation - OP_CONST1U) / 2);
	push(machine, value);
}

/** a / b and a % b without the two cases that trap. */
static uint64_t divide(struct machine *machine, uint64_t a, uint64_t b, bool remainder)
{
	if (!b) {
		machine->reader.failed = true;
		return 0;
	}
	if (remainder)
		return a % b;
	return b == UINT64_MAX ? 0 - a : (uint64_t)((int64_t)a / (int64_t)b);
}

static uint64_t compute(struct machine *machine, uint8_t operation, uint64_t a, uint64_t b)
{
	switch (operation) {
	case OP_AND:
		return a & b;
	case OP_DIV:
	case OP_MOD:
		return divide(machine, a, b, operation == OP_MOD);
	case OP_MINUS:
		return a - b;
	case OP_MUL:
		return a * b;
	case OP_OR:
		return a | b;
	case OP_PLUS:
		return a + b;
	case OP_SHL:
		return b < 64 ? a << b : 0;
	case OP_SHR:
		return b < 64 ? a >> b : 0;
	case OP_SHRA:
		return (uint64_t)((int64_t)a >> (b < 63 ? b : 63));
	case OP_XOR:
		return a ^ b;
	case OP_EQ:
		return a == b;
	case OP_GE:
		return (int64_t)a >= (int64_t)b;
	case OP_GT:
		return (int64_t)a > (int64_t)b;
	case OP_LE:
		return (int64_t)a <= (int64_t)b;
	case OP_LT:
		return (int64_t)a < (int64_t)b;
	case OP_NE:
		return a != b;
	default:
		machine->reader.failed = true;
		return 0;
	}
}

/** Moves the top value below the next `count` - 1 values. */
static void rotate(struct machine *machine, unsigned count)
{
	uint64_t first = pop(machine), second = pop(machine), third;

	if (count == 2) {
		push(machine, first);
		push(machine, second);
		return;
	}
	third = pop(machine);
	push(machine, first);
	push(machine, third);
	push(machine, second);
}

static void run_operation(struct machine *machine, uint8_t operation)
{
	uint64_t value;

	if (operation >= OP_BREG0 && operation <= OP_BREG31) {
		push_register(machine, operation - OP_BREG0);
		return;
	}
	if (operation == OP_ADDR || (operation >= OP_CONST1U && operation <= OP_CONSTS) ||
	    (operation >= OP_LIT0 && operation <= OP_LIT31)) {
		run_constant(machine, operation);
		return;
	}
	switch (operation) {
	case OP_BREGX:
		push_register(machine, hawk_cfi_uleb(&machine->reader));
		return;
	case OP_NOP:
		return;
	case OP_DUP:
		pick(machine, 0);
		return;
	case OP_DROP:
		pop(machine);
		return;
	case OP_OVER:
		pick(machine, 1);
		return;
	case OP_PICK:
		pick(machine, hawk_cfi_number(&machine->reader, 1));
		return;
	case OP_SWAP:
		rotate(machine, 2);
		return;
	case OP_ROT:
		rotate(machine, 3);
		return;
	case OP_SKIP:
		jump(machine, true);
		return;
	case OP_BRA:
		jump(machine, pop(machine) != 0);
		return;
	case OP_ABS:
		value = pop(machine);
		push(machine, (int64_t)value < 0 ? 0 - value : value);
		return;
	case OP_NEG:
		push(machine, 0 - pop(machine));
		return;
	case OP_NOT:
		push(machine, ~pop(machine));
		return;
	case OP_PLUS_UCONST:
		value = pop(machine);
		push(machine, value + hawk_cfi_uleb(&machine->reader));
		return;
	case OP_DEREF:
		dereference(machine, 8);
		return;
	case OP_DEREF_SIZE:
		dereference(machine, hawk_cfi_number(&machine->reader, 1));
		return;
	default:
		value = pop(machine);
		push(machine, compute(machine, operation, pop(machine), value));
	}
}

bool hawk_cfi_evaluate(struct hawk_cfi_evaluation *evaluation, struct hawk_cfi_block block,
		       uint64_t *ret)
{
	struct machine machine = {
		.evaluation = evaluation,
		.reader = {.at = block.bytes, .end = block.bytes + block.size},
		.start = block.bytes,
	};

	for (unsigned steps = 0; machine.reader.at < machine.reader.end; steps++) {
		if (steps == HAWK_CFI_EXPRESSION_STEPS)
			return false;
		run_operation(&machine, (uint8_t)hawk_cfi_number(&machine.reader, 1));
		if (machine.reader.failed)
			return false;
	}
	if (!evaluation->depth)
		return false;
	*ret = evaluation->stack[evaluation->depth - 1];
	return true;
}
