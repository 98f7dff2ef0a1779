/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The DW_OP_* stack machine, as far as call frame information uses it (DWARF 5, section 2.5; no
 * locations, no types, no calls). PLT entries and the signal trampoline need it.
 */
#include <string.h>

#include <dwarf.h>

#include "dwarf_cfi_program.h"

enum {
	STACK_MAX = 64,
	STEPS_MAX = 1000, /**< DW_OP_bra and DW_OP_skip can go round in circles */
};

struct evaluation {
	const struct hawk_expression_source *source;
	uint64_t stack[STACK_MAX];
	size_t depth;
	bool failed;
};

static void push(struct evaluation *evaluation, uint64_t value)
{
	if (evaluation->depth == STACK_MAX)
		evaluation->failed = true;
	else
		evaluation->stack[evaluation->depth++] = value;
}

static uint64_t pop(struct evaluation *evaluation)
{
	if (!evaluation->depth) {
		evaluation->failed = true;
		return 0;
	}
	return evaluation->stack[--evaluation->depth];
}

static uint64_t peek(struct evaluation *evaluation, size_t below)
{
	if (below >= evaluation->depth) {
		evaluation->failed = true;
		return 0;
	}
	return evaluation->stack[evaluation->depth - 1 - below];
}

static void push_register(struct evaluation *evaluation, uint64_t number, int64_t offset)
{
	if (number >= HAWK_CFI_REGISTERS || !(evaluation->source->known & 1u << number))
		evaluation->failed = true;
	else
		push(evaluation, evaluation->source->registers[number] + (uint64_t)offset);
}

static void dereference(struct evaluation *evaluation, size_t bytes)
{
	const struct hawk_expression_source *source = evaluation->source;
	uint64_t address = pop(evaluation);
	uint64_t value = 0;

	if (evaluation->failed || !bytes || bytes > sizeof(value) ||
	    !source->read(source->context, address, &value, bytes))
		evaluation->failed = true;
	push(evaluation, value);
}

static bool run_constant(struct evaluation *evaluation, struct hawk_cursor *cursor, uint8_t code)
{
	switch (code) {
	case DW_OP_addr:
		push(evaluation, hawk_cursor_u64(cursor) + evaluation->source->bias);
		return true;
	case DW_OP_const1u:
		push(evaluation, hawk_cursor_u8(cursor));
		return true;
	case DW_OP_const1s:
		push(evaluation, (uint64_t)(int8_t)hawk_cursor_u8(cursor));
		return true;
	case DW_OP_const2u:
		push(evaluation, hawk_cursor_u16(cursor));
		return true;
	case DW_OP_const2s:
		push(evaluation, (uint64_t)(int16_t)hawk_cursor_u16(cursor));
		return true;
	case DW_OP_const4u:
		push(evaluation, hawk_cursor_u32(cursor));
		return true;
	case DW_OP_const4s:
		push(evaluation, (uint64_t)(int32_t)hawk_cursor_u32(cursor));
		return true;
	case DW_OP_const8u:
	case DW_OP_const8s:
		push(evaluation, hawk_cursor_u64(cursor));
		return true;
	case DW_OP_constu:
		push(evaluation, hawk_cfi_uleb(cursor));
		return true;
	case DW_OP_consts:
		push(evaluation, (uint64_t)hawk_cfi_sleb(cursor));
		return true;
	default:
		return false;
	}
}

static bool run_stack(struct evaluation *evaluation, struct hawk_cursor *cursor, uint8_t code)
{
	uint64_t a, b, c;

	switch (code) {
	case DW_OP_dup:
		push(evaluation, peek(evaluation, 0));
		return true;
	case DW_OP_drop:
		pop(evaluation);
		return true;
	case DW_OP_over:
		push(evaluation, peek(evaluation, 1));
		return true;
	case DW_OP_pick:
		push(evaluation, peek(evaluation, hawk_cursor_u8(cursor)));
		return true;
	case DW_OP_swap:
		a = pop(evaluation);
		b = pop(evaluation);
		push(evaluation, a);
		push(evaluation, b);
		return true;
	case DW_OP_rot:
		a = pop(evaluation);
		b = pop(evaluation);
		c = pop(evaluation);
		push(evaluation, a);
		push(evaluation, c);
		push(evaluation, b);
		return true;
	case DW_OP_deref:
		dereference(evaluation, 8);
		return true;
	case DW_OP_deref_size:
		dereference(evaluation, hawk_cursor_u8(cursor));
		return true;
	case DW_OP_plus_uconst:
		push(evaluation, pop(evaluation) + hawk_cfi_uleb(cursor));
		return true;
	case DW_OP_neg:
		push(evaluation, -pop(evaluation));
		return true;
	case DW_OP_not:
		push(evaluation, ~pop(evaluation));
		return true;
	case DW_OP_abs:
		a = pop(evaluation);
		push(evaluation, a >> 63 ? -a : a);
		return true;
	case DW_OP_nop:
		return true;
	default:
		return false;
	}
}

/** `a` was pushed first. False = not a binary operator. */
static bool combine(uint8_t code, uint64_t a, uint64_t b, uint64_t *ret)
{
	int64_t left = (int64_t)a;
	int64_t right = (int64_t)b;

	switch (code) {
	case DW_OP_and:
		return *ret = a & b, true;
	case DW_OP_or:
		return *ret = a | b, true;
	case DW_OP_xor:
		return *ret = a ^ b, true;
	case DW_OP_plus:
		return *ret = a + b, true;
	case DW_OP_minus:
		return *ret = a - b, true;
	case DW_OP_mul:
		return *ret = a * b, true;
	case DW_OP_div: /* INT64_MIN / -1 traps */
		return *ret = b == UINT64_MAX ? -a : b ? (uint64_t)(left / right) : 0, true;
	case DW_OP_mod:
		return *ret = b ? a % b : 0, true;
	case DW_OP_shl:
		return *ret = b < 64 ? a << b : 0, true;
	case DW_OP_shr:
		return *ret = b < 64 ? a >> b : 0, true;
	case DW_OP_shra:
		return *ret = (uint64_t)(left >> (b < 64 ? b : 63)), true;
	case DW_OP_eq:
		return *ret = a == b, true;
	case DW_OP_ne:
		return *ret = a != b, true;
	case DW_OP_lt:
		return *ret = left < right, true;
	case DW_OP_le:
		return *ret = left <= right, true;
	case DW_OP_gt:
		return *ret = left > right, true;
	case DW_OP_ge:
		return *ret = left >= right, true;
	default:
		return false;
	}
}

static void jump(struct hawk_cursor *cursor, int16_t distance)
{
	int64_t to = (int64_t)cursor->at + distance;

	hawk_cursor_seek(cursor, to < 0 ? UINT64_MAX : (uint64_t)to);
}

static void step(struct evaluation *evaluation, struct hawk_cursor *cursor)
{
	uint8_t code = hawk_cursor_u8(cursor);
	uint64_t value, number;
	int16_t distance;

	if (code >= DW_OP_lit0 && code <= DW_OP_lit31) {
		push(evaluation, code - DW_OP_lit0);
	} else if (code >= DW_OP_breg0 && code <= DW_OP_breg31) {
		push_register(evaluation, code - DW_OP_breg0, hawk_cfi_sleb(cursor));
	} else if (code == DW_OP_bregx) {
		number = hawk_cfi_uleb(cursor);
		push_register(evaluation, number, hawk_cfi_sleb(cursor));
	} else if (code == DW_OP_skip || code == DW_OP_bra) {
		distance = (int16_t)hawk_cursor_u16(cursor);
		if (code == DW_OP_skip || pop(evaluation))
			jump(cursor, distance);
	} else if (combine(code, 0, 1, &value)) {
		value = pop(evaluation);
		number = pop(evaluation);
		combine(code, number, value, &value);
		push(evaluation, value);
	} else if (!run_constant(evaluation, cursor, code) &&
		   !run_stack(evaluation, cursor, code)) {
		evaluation->failed = true;
	}
}

bool hawk_expression_evaluate(const struct hawk_expression_source *source, const uint8_t *bytes,
			      size_t size, bool push_first, uint64_t first, uint64_t *ret)
{
	struct evaluation evaluation = {.source = source};
	struct hawk_cursor cursor = hawk_cursor_over(bytes, size);

	if (push_first)
		push(&evaluation, first);
	for (int steps = 0; hawk_cursor_left(&cursor); steps++) {
		step(&evaluation, &cursor);
		if (evaluation.failed || cursor.failed || steps > STEPS_MAX)
			return false;
	}
	*ret = pop(&evaluation);
	return !evaluation.failed;
}
