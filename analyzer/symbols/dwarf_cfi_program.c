/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The DW_CFA_* interpreter (DWARF 5, section 6.4.2, and the GNU additions).
 */
#include "dwarf_cfi_program.h"

#include <string.h>

#include <dwarf.h>

enum {
	REMEMBERED_MAX = 16,
	STEPS_MAX = 100000,
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

/** All bytes of a number, and the one that ends it; `*shift`: how many bits they had. */
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

static void set_rule(struct machine *machine, uint64_t number, enum hawk_cfi_rule_kind kind,
		     int64_t offset)
{
	if (number < HAWK_CFI_REGISTERS) /* others (vector registers) do not matter */
		machine->row->registers[number] =
			(struct hawk_cfi_rule){.kind = kind, .offset = offset};
}

static int64_t factored(const struct machine *machine, uint64_t offset)
{
	return (int64_t)(offset * (uint64_t)machine->cie->data_alignment);
}

static void restore(struct machine *machine, uint64_t number)
{
	if (number < HAWK_CFI_REGISTERS && machine->initial)
		machine->row->registers[number] = machine->initial->registers[number];
}

static void set_cfa(struct machine *machine, uint64_t number, int64_t offset)
{
	machine->row->cfa_is_expression = false;
	machine->row->cfa_register = number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
	machine->row->cfa_offset = offset;
}

static void set_expression(struct machine *machine, struct hawk_cursor *cursor, uint64_t number,
			   enum hawk_cfi_rule_kind kind)
{
	uint64_t size = hawk_cfi_uleb(cursor);
	const uint8_t *bytes = hawk_cursor_bytes(cursor, size > SIZE_MAX ? SIZE_MAX : (size_t)size);

	if (!bytes || number >= HAWK_CFI_REGISTERS)
		return;
	machine->row->registers[number] = (struct hawk_cfi_rule){
		.kind = kind, .expression = bytes, .expression_bytes = (size_t)size};
}

static void set_cfa_expression(struct machine *machine, struct hawk_cursor *cursor)
{
	uint64_t size = hawk_cfi_uleb(cursor);
	const uint8_t *bytes = hawk_cursor_bytes(cursor, size > SIZE_MAX ? SIZE_MAX : (size_t)size);

	if (!bytes)
		return;
	machine->row->cfa_is_expression = true;
	machine->row->cfa_expression = bytes;
	machine->row->cfa_expression_bytes = (size_t)size;
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

/** Rules for single registers; false = not one of them. */
static bool run_register(struct machine *machine, struct hawk_cursor *cursor, uint8_t code)
{
	uint64_t number;

	switch (code) {
	case DW_CFA_offset_extended:
	case DW_CFA_val_offset:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_val_offset_sf:
	case DW_CFA_GNU_negative_offset_extended:
	case DW_CFA_restore_extended:
	case DW_CFA_undefined:
	case DW_CFA_same_value:
	case DW_CFA_register:
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		break;
	default:
		return false;
	}
	number = hawk_cfi_uleb(cursor);
	if (code == DW_CFA_offset_extended)
		set_rule(machine, number, HAWK_CFI_OFFSET,
			 factored(machine, hawk_cfi_uleb(cursor)));
	else if (code == DW_CFA_val_offset)
		set_rule(machine, number, HAWK_CFI_VAL_OFFSET,
			 factored(machine, hawk_cfi_uleb(cursor)));
	else if (code == DW_CFA_offset_extended_sf)
		set_rule(machine, number, HAWK_CFI_OFFSET,
			 factored(machine, (uint64_t)hawk_cfi_sleb(cursor)));
	else if (code == DW_CFA_val_offset_sf)
		set_rule(machine, number, HAWK_CFI_VAL_OFFSET,
			 factored(machine, (uint64_t)hawk_cfi_sleb(cursor)));
	else if (code == DW_CFA_GNU_negative_offset_extended)
		set_rule(machine, number, HAWK_CFI_OFFSET,
			 factored(machine, -hawk_cfi_uleb(cursor)));
	else if (code == DW_CFA_restore_extended)
		restore(machine, number);
	else if (code == DW_CFA_undefined)
		set_rule(machine, number, HAWK_CFI_UNDEFINED, 0);
	else if (code == DW_CFA_same_value)
		set_rule(machine, number, HAWK_CFI_SAME, 0);
	else if (code == DW_CFA_register)
		set_rule(machine, number, HAWK_CFI_REGISTER, (int64_t)hawk_cfi_uleb(cursor));
	else
		set_expression(machine, cursor, number,
			       code == DW_CFA_expression ? HAWK_CFI_EXPRESSION
							 : HAWK_CFI_VAL_EXPRESSION);
	return true;
}

static bool run_other(struct machine *machine, struct hawk_cursor *cursor, uint8_t code)
{
	uint64_t number;

	switch (code) {
	case DW_CFA_nop:
		return true;
	case DW_CFA_advance_loc1:
		machine->location += hawk_cursor_u8(cursor) * machine->cie->code_alignment;
		return true;
	case DW_CFA_advance_loc2:
		machine->location += hawk_cursor_u16(cursor) * machine->cie->code_alignment;
		return true;
	case DW_CFA_advance_loc4:
		machine->location += hawk_cursor_u32(cursor) * machine->cie->code_alignment;
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
		set_cfa_expression(machine, cursor);
		return true;
	case DW_CFA_GNU_args_size:
		hawk_cfi_uleb(cursor);
		return true;
	default: /* DW_CFA_set_loc too: no compiler for x86-64 writes it */
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
			set_rule(machine, operand, HAWK_CFI_OFFSET,
				 factored(machine, hawk_cfi_uleb(&cursor)));
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
