/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The DW_CFA_* interpreter (DWARF 5, section 6.4.2, and the GNU additions), and the DW_OP_* stack
 * machine as far as call frame information uses it (section 2.5; no locations, no types, no calls).
 * PLT entries and the signal trampoline need the latter.
 */
#include "dwarf_cfi.h"

#include <string.h>

#include <dwarf.h>

enum {
	REMEMBERED_MAX = 16,
	STEPS_MAX = 100000,
	STACK_MAX = 64,
	EXPRESSION_STEPS_MAX = 1000, /**< DW_OP_bra and DW_OP_skip can go round in circles */
	CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
	CFA_AARCH64_NEGATE_RA_STATE = 0x2d,
	OPERAND = 0x3f, /**< the low bits of the three instructions that carry an operand there */
};

struct machine {
	const struct hawk_cie *cie;
	struct hawk_cfi_row *row;
	const struct hawk_cfi_row *initial; /**< NULL while the CIE's own program runs */
	uint64_t location;
	uint64_t address;
	struct hawk_cfi_row remembered[REMEMBERED_MAX];
	size_t depth;
};

/** Reads a LEB128 number and its last byte; `*shift` is the number of its bits. */
static uint64_t read_leb(struct hawk_cursor *cursor, unsigned *shift, uint8_t *last)
{
	uint64_t value = 0;

	*shift = 0;
	do {
		*last = hawk_cursor_u8(cursor);
		if (*shift < 64)
			value |= (uint64_t)(*last & 0x7f) << *shift;
		*shift += 7;
	} while (*last & 0x80);
	return value;
}

uint64_t hawk_cfi_uleb(struct hawk_cursor *cursor)
{
	unsigned shift;
	uint8_t last;

	return read_leb(cursor, &shift, &last);
}

int64_t hawk_cfi_sleb(struct hawk_cursor *cursor)
{
	unsigned shift;
	uint8_t last;
	uint64_t value = read_leb(cursor, &shift, &last);

	if (shift < 64 && last & 0x40)
		value |= UINT64_MAX << shift;
	return (int64_t)value;
}

uint64_t hawk_cfi_fixed(struct hawk_cursor *cursor, unsigned bytes, bool is_signed)
{
	unsigned unused = 64 - 8 * bytes;
	uint64_t value = 0;

	hawk_cursor_copy(cursor, &value, bytes);
	return is_signed ? (uint64_t)((int64_t)(value << unused) >> unused) : value;
}

/** Reads a block of bytes behind its length; NULL (and failed) if it is cut off. */
static const uint8_t *read_block(struct hawk_cursor *cursor, size_t *size)
{
	*size = hawk_cfi_uleb(cursor);
	return hawk_cursor_bytes(cursor, *size);
}

static void set_rule(struct machine *machine, uint64_t number, struct hawk_cfi_rule rule)
{
	if (number < HAWK_CFI_REGISTERS) /* others (vector registers) do not matter */
		machine->row->registers[number] = rule;
}

static int64_t factored(const struct machine *machine, uint64_t offset)
{
	return (int64_t)(offset * (uint64_t)machine->cie->data_alignment);
}

static void restore(struct machine *machine, uint64_t number)
{
	if (number < HAWK_CFI_REGISTERS && machine->initial)
		set_rule(machine, number, machine->initial->registers[number]);
}

static void set_cfa(struct machine *machine, uint64_t number, int64_t offset)
{
	machine->row->cfa_is_expression = false;
	machine->row->cfa_register = number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
	machine->row->cfa_offset = offset;
}

static bool remember(struct machine *machine)
{
	if (machine->depth == REMEMBERED_MAX)
		return false;
	machine->remembered[machine->depth++] = *machine->row;
	return true;
}

static bool recall(struct machine *machine)
{
	if (!machine->depth)
		return false;
	*machine->row = machine->remembered[--machine->depth];
	return true;
}

/** Runs an instruction for a single register; returns false for any other. */
static bool run_register(struct machine *machine, struct hawk_cursor *cursor, uint8_t code)
{
	enum operand { NOTHING, NUMBER, FACTORED, FACTORED_SIGNED, FACTORED_NEGATIVE, BLOCK };
	static const struct {
		uint8_t code;
		enum hawk_cfi_rule_kind kind;
		enum operand operand;
	} instructions[] = {
		{DW_CFA_offset_extended, HAWK_CFI_OFFSET, FACTORED},
		{DW_CFA_val_offset, HAWK_CFI_VAL_OFFSET, FACTORED},
		{DW_CFA_offset_extended_sf, HAWK_CFI_OFFSET, FACTORED_SIGNED},
		{DW_CFA_val_offset_sf, HAWK_CFI_VAL_OFFSET, FACTORED_SIGNED},
		{DW_CFA_GNU_negative_offset_extended, HAWK_CFI_OFFSET, FACTORED_NEGATIVE},
		{DW_CFA_undefined, HAWK_CFI_UNDEFINED, NOTHING},
		{DW_CFA_same_value, HAWK_CFI_SAME, NOTHING},
		{DW_CFA_register, HAWK_CFI_REGISTER, NUMBER},
		{DW_CFA_expression, HAWK_CFI_EXPRESSION, BLOCK},
		{DW_CFA_val_expression, HAWK_CFI_VAL_EXPRESSION, BLOCK},
	};
	struct hawk_cfi_rule rule = {0};
	size_t i = 0;
	uint64_t number;

	while (i < sizeof(instructions) / sizeof(*instructions) && instructions[i].code != code)
		i++;
	if (i == sizeof(instructions) / sizeof(*instructions))
		return false;
	rule.kind = instructions[i].kind;
	number = hawk_cfi_uleb(cursor);
	switch (instructions[i].operand) {
	case NOTHING:
		break;
	case NUMBER:
		rule.offset = (int64_t)hawk_cfi_uleb(cursor);
		break;
	case FACTORED:
		rule.offset = factored(machine, hawk_cfi_uleb(cursor));
		break;
	case FACTORED_SIGNED:
		rule.offset = factored(machine, (uint64_t)hawk_cfi_sleb(cursor));
		break;
	case FACTORED_NEGATIVE:
		rule.offset = factored(machine, -hawk_cfi_uleb(cursor));
		break;
	case BLOCK:
		rule.expression = read_block(cursor, &rule.expression_bytes);
		break;
	}
	set_rule(machine, number, rule);
	return true;
}

static bool run_other(struct machine *machine, struct hawk_cursor *cursor, uint8_t code)
{
	uint64_t number;

	switch (code) {
	case DW_CFA_nop:
		return true;
	case DW_CFA_advance_loc1:
	case DW_CFA_advance_loc2:
	case DW_CFA_advance_loc4:
		machine->location +=
			hawk_cfi_fixed(cursor, 1u << (code - DW_CFA_advance_loc1), false) *
			machine->cie->code_alignment;
		return true;
	case DW_CFA_remember_state:
		return remember(machine);
	case DW_CFA_restore_state:
		return recall(machine);
	case DW_CFA_def_cfa:
		number = hawk_cfi_uleb(cursor);
		set_cfa(machine, number, (int64_t)hawk_cfi_uleb(cursor));
		return true;
	case DW_CFA_def_cfa_sf:
		number = hawk_cfi_uleb(cursor);
		set_cfa(machine, number, factored(machine, (uint64_t)hawk_cfi_sleb(cursor)));
		return true;
	case DW_CFA_def_cfa_register:
		set_cfa(machine, hawk_cfi_uleb(cursor), machine->row->cfa_offset);
		return true;
	case DW_CFA_def_cfa_offset:
		machine->row->cfa_offset = (int64_t)hawk_cfi_uleb(cursor);
		return true;
	case DW_CFA_def_cfa_offset_sf:
		machine->row->cfa_offset = factored(machine, (uint64_t)hawk_cfi_sleb(cursor));
		return true;
	case DW_CFA_def_cfa_expression:
		machine->row->cfa_expression =
			read_block(cursor, &machine->row->cfa_expression_bytes);
		machine->row->cfa_is_expression = true;
		return true;
	case DW_CFA_restore_extended:
		restore(machine, hawk_cfi_uleb(cursor));
		return true;
	case DW_CFA_GNU_args_size:
		hawk_cfi_uleb(cursor);
		return true;
	case CFA_AARCH64_NEGATE_RA_STATE: /* signed or not, a return address is stripped */
	case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
		return true;
	default: /* DW_CFA_set_loc too: no compiler writes it for these machines */
		return false;
	}
}

/** Runs until the location passes the address or the program ends. */
static bool run(struct machine *machine, struct hawk_cursor cursor)
{
	for (int steps = 0; hawk_cursor_left(&cursor) && machine->location <= machine->address;
	     steps++) {
		uint8_t code = hawk_cursor_u8(&cursor);
		uint8_t operand = code & OPERAND;
		bool ok = true;

		if ((code & ~OPERAND) == DW_CFA_advance_loc) {
			machine->location += operand * machine->cie->code_alignment;
			continue;
		}
		if ((code & ~OPERAND) == DW_CFA_offset)
			set_rule(machine, operand,
				 (struct hawk_cfi_rule){
					 .kind = HAWK_CFI_OFFSET,
					 .offset = factored(machine, hawk_cfi_uleb(&cursor))});
		else if ((code & ~OPERAND) == DW_CFA_restore)
			restore(machine, operand);
		else
			ok = run_register(machine, &cursor, code) ||
			     run_other(machine, &cursor, code);
		if (!ok || cursor.failed || steps > STEPS_MAX)
			return false;
	}
	return true;
}

bool hawk_cfi_run(const struct hawk_cie *cie, struct hawk_cursor program, uint64_t start,
		  uint64_t address, struct hawk_cfi_row *row)
{
	struct machine machine = {.cie = cie, .row = row, .location = start, .address = address};
	struct hawk_cfi_row initial;

	memset(row, 0, sizeof(*row));
	row->cfa_register = UINT32_MAX;
	row->return_register = cie->return_register;
	row->signal_frame = cie->signal_frame;
	if (!run(&machine, cie->program))
		return false;
	initial = *row;
	machine.initial = &initial;
	machine.depth = 0;
	return run(&machine, program);
}

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
	if (number >= HAWK_CFI_REGISTERS || !(evaluation->source->known >> number & 1))
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

/** Applies a binary operator; `a` was pushed first. Returns false for other operators. */
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
	} else if (code == DW_OP_addr) {
		push(evaluation, hawk_cursor_u64(cursor) + evaluation->source->bias);
	} else if (code >= DW_OP_const1u && code <= DW_OP_const8s) {
		number = code - DW_OP_const1u; /* 1 byte, unsigned and signed, 2 bytes ... */
		push(evaluation, hawk_cfi_fixed(cursor, 1u << number / 2, number % 2));
	} else if (code == DW_OP_constu) {
		push(evaluation, hawk_cfi_uleb(cursor));
	} else if (code == DW_OP_consts) {
		push(evaluation, (uint64_t)hawk_cfi_sleb(cursor));
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
	} else if (!run_stack(evaluation, cursor, code)) {
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
		if (evaluation.failed || cursor.failed || steps > EXPRESSION_STEPS_MAX)
			return false;
	}
	*ret = pop(&evaluation);
	return !evaluation.failed;
}
