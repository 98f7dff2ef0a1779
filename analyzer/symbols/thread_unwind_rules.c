/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Applying a row of call frame information: the frame's address (CFA), then each register of the
 * caller from it.
 */
#include "dwarf_cfi_program.h"
#include "thread_unwind.h"

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
