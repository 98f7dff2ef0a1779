/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Runs call frame programs (DWARF 5, section 6.4.2) up to one program counter.
 */
#include "cfi.h"

enum call_frame_instruction {
	CFA_ADVANCE_LOC = 0x40, /**< high two bits; operand in the low six */
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

/** One program being run. */
struct run {
	const struct hawk_cfi_function *function;
	struct hawk_cfi_machine *machine;
	struct hawk_cfi_reader reader;
	uint64_t location; /**< code address that the row belongs to */
	bool initial;      /**< the CIE's program: no location, nothing to restore */
};

static int64_t factored(const struct run *run, int64_t value)
{
	return (int64_t)((uint64_t)value * (uint64_t)run->function->data_alignment);
}

/** Registers beyond rip (vector registers and such) are parsed and forgotten. */
static void set_register(struct run *run, uint64_t number, enum hawk_cfi_how how, int64_t value)
{
	struct hawk_cfi_row *row = &run->machine->row;

	if (number >= HAWK_CFI_REGISTERS)
		return;
	row->how[number] = (uint8_t)how;
	row->value[number] = value;
}

static void restore_register(struct run *run, uint64_t number)
{
	const struct hawk_cfi_row *initial = &run->machine->initial;

	if (run->initial)
		run->reader.failed = true;
	else if (number < HAWK_CFI_REGISTERS)
		set_register(run, number, initial->how[number], initial->value[number]);
}

/** Returns the address of a block and skips its bytes. */
static int64_t take_block(struct run *run)
{
	int64_t address = (int64_t)run->reader.at;

	hawk_cfi_skip(&run->reader, hawk_cfi_uleb(&run->reader));
	return address;
}

static void define_cfa(struct run *run, uint64_t number, int64_t offset)
{
	struct hawk_cfi_row *row = &run->machine->row;

	if (number >= HAWK_CFI_REGISTERS)
		run->reader.failed = true;
	row->cfa_is_expression = false;
	row->cfa_register = (uint8_t)number;
	row->cfa_value = offset;
}

static void change_cfa_offset(struct run *run, int64_t offset)
{
	struct hawk_cfi_row *row = &run->machine->row;

	if (row->cfa_is_expression)
		run->reader.failed = true;
	row->cfa_value = offset;
}

static void remember(struct run *run)
{
	struct hawk_cfi_machine *machine = run->machine;

	if (machine->remembered_count == HAWK_CFI_REMEMBERED)
		run->reader.failed = true;
	else
		machine->remembered[machine->remembered_count++] = machine->row;
}

static void recall(struct run *run)
{
	struct hawk_cfi_machine *machine = run->machine;

	if (!machine->remembered_count)
		run->reader.failed = true;
	else
		machine->row = machine->remembered[--machine->remembered_count];
}

/** Runs an instruction that sets the CFA. Returns false for any other. */
static bool run_cfa_instruction(struct run *run, uint8_t opcode)
{
	struct hawk_cfi_reader *reader = &run->reader;
	struct hawk_cfi_row *row = &run->machine->row;
	uint64_t number;

	switch (opcode) {
	case CFA_DEF_CFA:
		number = hawk_cfi_uleb(reader);
		define_cfa(run, number, (int64_t)hawk_cfi_uleb(reader));
		return true;
	case CFA_DEF_CFA_SF:
		number = hawk_cfi_uleb(reader);
		define_cfa(run, number, factored(run, hawk_cfi_sleb(reader)));
		return true;
	case CFA_DEF_CFA_REGISTER:
		if (row->cfa_is_expression)
			reader->failed = true;
		define_cfa(run, hawk_cfi_uleb(reader), row->cfa_value);
		return true;
	case CFA_DEF_CFA_OFFSET:
		change_cfa_offset(run, (int64_t)hawk_cfi_uleb(reader));
		return true;
	case CFA_DEF_CFA_OFFSET_SF:
		change_cfa_offset(run, factored(run, hawk_cfi_sleb(reader)));
		return true;
	case CFA_DEF_CFA_EXPRESSION:
		row->cfa_is_expression = true;
		row->cfa_value = take_block(run);
		return true;
	default:
		return false;
	}
}

/** Runs an instruction that says where a register is saved. Returns false for any other. */
static bool run_register_instruction(struct run *run, uint8_t opcode)
{
	struct hawk_cfi_reader *reader = &run->reader;
	uint64_t number;

	if (opcode < CFA_OFFSET_EXTENDED || opcode == CFA_REMEMBER_STATE ||
	    opcode == CFA_RESTORE_STATE || opcode == CFA_GNU_ARGS_SIZE)
		return false;
	number = hawk_cfi_uleb(reader);
	switch (opcode) {
	case CFA_OFFSET_EXTENDED:
		set_register(run, number, HAWK_CFI_OFFSET,
			     factored(run, (int64_t)hawk_cfi_uleb(reader)));
		return true;
	case CFA_OFFSET_EXTENDED_SF:
		set_register(run, number, HAWK_CFI_OFFSET, factored(run, hawk_cfi_sleb(reader)));
		return true;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		set_register(
			run, number, HAWK_CFI_OFFSET,
			(int64_t)(0 - (uint64_t)factored(run, (int64_t)hawk_cfi_uleb(reader))));
		return true;
	case CFA_VAL_OFFSET:
		set_register(run, number, HAWK_CFI_VALUE_OFFSET,
			     factored(run, (int64_t)hawk_cfi_uleb(reader)));
		return true;
	case CFA_VAL_OFFSET_SF:
		set_register(run, number, HAWK_CFI_VALUE_OFFSET,
			     factored(run, hawk_cfi_sleb(reader)));
		return true;
	case CFA_RESTORE_EXTENDED:
		restore_register(run, number);
		return true;
	case CFA_UNDEFINED:
		set_register(run, number, HAWK_CFI_UNDEFINED, 0);
		return true;
	case CFA_SAME_VALUE:
		set_register(run, number, HAWK_CFI_SAME, 0);
		return true;
	case CFA_REGISTER:
		set_register(run, number, HAWK_CFI_IN_REGISTER, (int64_t)hawk_cfi_uleb(reader));
		return true;
	case CFA_EXPRESSION:
		set_register(run, number, HAWK_CFI_EXPRESSION, take_block(run));
		return true;
	case CFA_VAL_EXPRESSION:
		set_register(run, number, HAWK_CFI_VALUE_EXPRESSION, take_block(run));
		return true;
	default:
		return false;
	}
}

static void run_other_instruction(struct run *run, uint8_t opcode)
{
	switch (opcode) {
	case CFA_NOP:
		return;
	case CFA_REMEMBER_STATE:
		remember(run);
		return;
	case CFA_RESTORE_STATE:
		recall(run);
		return;
	case CFA_GNU_ARGS_SIZE:
		hawk_cfi_uleb(&run->reader);
		return;
	default:
		run->reader.failed = true;
	}
}

/** Runs an instruction that moves the location. Returns false for any other. */
static bool run_location_instruction(struct run *run, uint8_t opcode)
{
	struct hawk_cfi_reader *reader = &run->reader;
	uint64_t distance;

	if (opcode == CFA_SET_LOC) {
		run->location = hawk_cfi_pointer(reader, run->function->pointer_encoding, 0);
		return true;
	}
	if ((opcode & 0xc0) == CFA_ADVANCE_LOC)
		distance = opcode & 0x3f;
	else if (opcode == CFA_ADVANCE_LOC1)
		distance = hawk_cfi_number(reader, 1);
	else if (opcode == CFA_ADVANCE_LOC2)
		distance = hawk_cfi_number(reader, 2);
	else if (opcode == CFA_ADVANCE_LOC4)
		distance = hawk_cfi_number(reader, 4);
	else
		return false;
	run->location += distance * run->function->code_alignment;
	return true;
}

static bool run_until(struct run *run, uint64_t pc)
{
	struct hawk_cfi_reader *reader = &run->reader;

	for (unsigned steps = 0; reader->at < reader->end; steps++) {
		uint8_t opcode = (uint8_t)hawk_cfi_number(reader, 1);

		if (steps == HAWK_CFI_PROGRAM_STEPS)
			return false;
		if (run_location_instruction(run, opcode)) {
			if (run->initial)
				return false;
			if (run->location > pc)
				break;
		} else if ((opcode & 0xc0) == CFA_OFFSET) {
			set_register(run, opcode & 0x3f, HAWK_CFI_OFFSET,
				     factored(run, (int64_t)hawk_cfi_uleb(reader)));
		} else if ((opcode & 0xc0) == CFA_RESTORE) {
			restore_register(run, opcode & 0x3f);
		} else if (!run_cfa_instruction(run, opcode) &&
			   !run_register_instruction(run, opcode)) {
			run_other_instruction(run, opcode);
		}
		if (reader->failed)
			return false;
	}
	return !reader->failed;
}

bool hawk_cfi_run(const struct hawk_cfi_function *function, uint64_t pc,
		  struct hawk_cfi_machine *machine)
{
	struct run run = {
		.function = function,
		.machine = machine,
		.reader = {.at = function->initial_program, .end = function->initial_program_end},
		.location = function->start,
		.initial = true,
	};

	machine->row = (struct hawk_cfi_row){.cfa_register = HAWK_CFI_REGISTERS};
	machine->remembered_count = 0;
	if (!run_until(&run, pc))
		return false;
	machine->initial = machine->row;
	run.reader =
		(struct hawk_cfi_reader){.at = function->program, .end = function->program_end};
	run.initial = false;
	if (!run_until(&run, pc))
		return false;
	return machine->row.cfa_is_expression || machine->row.cfa_register < HAWK_CFI_REGISTERS;
}

struct hawk_cfi_block hawk_cfi_block_at(int64_t address)
{
	/* The program's reader already checked these bytes. */
	struct hawk_cfi_reader reader = {.at = (const uint8_t *)address,
					 .end = (const uint8_t *)UINT64_MAX};
	uint64_t size = hawk_cfi_uleb(&reader);

	return (struct hawk_cfi_block){.bytes = reader.at, .size = size};
}
