/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Call frame information: byte programs and expressions written by hand, and every rule of the C
 * library compared with what libdw says.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>

#include "test.h"
#include "symbols/dwarf_cfi.h"
#include "symbols/elf.h"

#define RUN(row, address, ...)                                                                     \
	run_program(row, address, (const uint8_t[]){__VA_ARGS__},                                  \
		    sizeof((const uint8_t[]){__VA_ARGS__}))

/** Runs `bytes` after a usual CIE (CFA = rsp + 8, return address at CFA - 8), from address 0. */
static bool run_program(struct hawk_cfi_row *row, uint64_t address, const uint8_t *bytes,
			size_t size)
{
	static const uint8_t initial[] = {DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1};
	const struct hawk_cie cie = {.code_alignment = 1,
				     .data_alignment = -8,
				     .return_register = 16,
				     .program = hawk_cursor_over(initial, sizeof(initial))};

	return hawk_cfi_run(&cie, hawk_cursor_over(bytes, size), 0, address, row);
}

TEST(restore_goes_back_to_the_common_rule)
{
	struct hawk_cfi_row row;

	assert_true(RUN(&row, 0, DW_CFA_undefined, 16));
	assert_int_equal(row.registers[16].kind, HAWK_CFI_UNDEFINED);
	assert_true(RUN(&row, 0, DW_CFA_undefined, 16, DW_CFA_restore | 16));
	assert_int_equal(row.registers[16].kind, HAWK_CFI_OFFSET);
}

TEST(damaged_programs_are_refused)
{
	uint8_t remember[1000];
	struct hawk_cfi_row row;

	assert_false(RUN(&row, 0, DW_CFA_restore_state));
	assert_false(RUN(&row, 0, 0x3f));
	assert_false(RUN(&row, 0, DW_CFA_def_cfa, 7));
	assert_false(RUN(&row, 0, DW_CFA_def_cfa_expression, 100, 1));
	assert_false(RUN(&row, 0, DW_CFA_def_cfa_expression, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			 0xff, 0xff, 0xff, 0x01));
	memset(remember, DW_CFA_remember_state, sizeof(remember));
	assert_false(run_program(&row, 0, remember, sizeof(remember)));
}

TEST(rules_for_registers_beyond_the_general_ones_are_ignored)
{
	struct hawk_cfi_row row;

	assert_true(RUN(&row, 0, DW_CFA_offset_extended, 0xff, 0xff, 0xff, 0xff, 0x0f, 1,
			DW_CFA_expression, 17, 1, DW_OP_lit1, DW_CFA_def_cfa_offset, 24));
	assert_int_equal(row.cfa_offset, 24);
}

static bool read_none(void *context, uint64_t address, void *to, size_t bytes)
{
	uint64_t value = 0x1122334455667788;

	(void)context;
	memcpy(to, &value, bytes);
	return address == 0x1000;
}

#define EVALUATE(result, ...)                                                                      \
	evaluate(result, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

/** rsp (7) is 0x1000, rip (16) is 0x2001, nothing else is known; the CFA, 0x3000, comes first. */
static bool evaluate(uint64_t *result, const uint8_t *bytes, size_t size)
{
	const uint64_t registers[HAWK_CFI_REGISTERS] = {[7] = 0x1000, [16] = 0x2001};
	const struct hawk_expression_source source = {
		.registers = registers, .known = 1u << 7 | 1u << 16, .read = read_none};

	return hawk_expression_evaluate(&source, bytes, size, true, 0x3000, result);
}

TEST(expressions_yield_their_top)
{
	uint64_t result;

	assert_true(EVALUATE(&result, DW_OP_breg7, 8));
	assert_int_equal(result, 0x1008);
	assert_true(EVALUATE(&result, DW_OP_plus_uconst, 0x80, 0x01));
	assert_int_equal(result, 0x3080);
	assert_true(EVALUATE(&result, DW_OP_breg7, 0, DW_OP_deref_size, 2));
	assert_int_equal(result, 0x7788);
	assert_true(EVALUATE(&result, DW_OP_const1s, 0xff, DW_OP_minus));
	assert_int_equal(result, 0x3001);
	assert_true(EVALUATE(&result, DW_OP_lit1, DW_OP_swap, DW_OP_drop));
	assert_int_equal(result, 1);
	/* What the linker writes for the procedure linkage table. */
	assert_true(EVALUATE(&result, DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and,
			     DW_OP_lit11, DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus));
	assert_int_equal(result, 0x1008);
}

TEST(expressions_cannot_trap)
{
	uint64_t result;

	assert_true(EVALUATE(&result, DW_OP_lit0, DW_OP_div));
	assert_true(EVALUATE(&result, DW_OP_lit0, DW_OP_mod));
	assert_true(EVALUATE(&result, DW_OP_lit1, DW_OP_const1u, 63, DW_OP_shl, DW_OP_const1s, 0xff,
			     DW_OP_div));
	assert_true(EVALUATE(&result, DW_OP_const1u, 200, DW_OP_shl));
	assert_int_equal(result, 0);
	assert_true(EVALUATE(&result, DW_OP_const1u, 200, DW_OP_shra));
}

TEST(damaged_expressions_are_refused)
{
	uint8_t many[200];
	uint64_t result;

	assert_false(EVALUATE(&result, DW_OP_drop));
	assert_false(EVALUATE(&result, DW_OP_drop, DW_OP_plus));
	assert_false(EVALUATE(&result, DW_OP_breg3, 0)); /* not known */
	assert_false(EVALUATE(&result, DW_OP_bregx, 99, 0));
	assert_false(EVALUATE(&result, DW_OP_deref)); /* not readable */
	assert_false(EVALUATE(&result, DW_OP_breg7, 0, DW_OP_deref_size, 9));
	assert_false(EVALUATE(&result, DW_OP_pick, 70));
	assert_false(EVALUATE(&result, DW_OP_const4u, 1));
	assert_false(EVALUATE(&result, DW_OP_fbreg, 0));
	assert_false(EVALUATE(&result, DW_OP_skip, 0xfd, 0xff)); /* for ever */
	assert_false(EVALUATE(&result, DW_OP_skip, 0, 0x80));
	memset(many, DW_OP_dup, sizeof(many));
	assert_false(evaluate(&result, many, sizeof(many)));
}

static void expect_same_rule(Dwarf_Frame *frame, const struct hawk_cfi_row *row, int number)
{
	const struct hawk_cfi_rule *rule = &row->registers[number];
	Dwarf_Op memory[3];
	Dwarf_Op *operations;
	size_t count;

	assert_int_equal(dwarf_frame_register(frame, number, memory, &operations, &count), 0);
	switch (rule->kind) {
	case HAWK_CFI_OFFSET: /* libdw: call_frame_cfa, plus_uconst */
		assert_in_range(count, 1, 2);
		assert_int_equal(operations[0].atom, DW_OP_call_frame_cfa);
		assert_int_equal(count == 2 ? (int64_t)operations[1].number : 0, rule->offset);
		break;
	case HAWK_CFI_EXPRESSION:
	case HAWK_CFI_VAL_EXPRESSION:
		assert_true(count > 0);
		break;
	case HAWK_CFI_SAME:
	case HAWK_CFI_UNDEFINED:
		assert_int_equal(count, 0);
		break;
	default:
		break;
	}
}

static void expect_same_row(Dwarf_Frame *frame, const struct hawk_cfi_row *row)
{
	Dwarf_Op *operations;
	size_t count;
	bool signal;

	assert_int_equal(dwarf_frame_info(frame, NULL, NULL, &signal), 16);
	assert_int_equal(signal, row->signal_frame);
	assert_int_equal(dwarf_frame_cfa(frame, &operations, &count), 0);
	if (row->cfa_is_expression) {
		assert_true(count > 1);
	} else {
		assert_int_equal(count, 1);
		assert_int_equal(operations[0].atom, DW_OP_bregx);
		assert_int_equal(operations[0].number, row->cfa_register);
		assert_int_equal((int64_t)operations[0].number2, row->cfa_offset);
	}
	for (int number = 0; number < HAWK_CFI_REGISTERS; number++)
		expect_same_rule(frame, row, number);
}

static const char *const c_library_paths[] = {"/lib/x86_64-linux-gnu/libc.so.6",
					      "/usr/lib64/libc.so.6", "/usr/lib/libc.so.6"};

static struct hawk_elf *open_c_library(void)
{
	struct hawk_elf *elf = NULL;

	elf_version(EV_CURRENT);
	for (size_t i = 0; i < sizeof(c_library_paths) / sizeof(c_library_paths[0]) && !elf; i++) {
		const char *why;

		assert_null(hawk_elf_open(c_library_paths[i], &why, &elf));
	}
	if (!elf) {
		print_message("the C library was not found\n");
		skip();
	}
	return elf;
}

TEST(rules_of_the_c_library_are_those_of_libdw)
{
	struct hawk_elf *elf = open_c_library();
	struct hawk_cfi *cfi = hawk_cfi_create(elf, NULL);
	Dwarf_CFI *reference = dwarf_getcfi_elf(elf->elf);
	size_t compared = 0;

	assert_non_null(cfi);
	assert_non_null(reference);
	for (size_t i = 0; i < elf->segment_count; i++) {
		const struct hawk_elf_segment *segment = &elf->segments[i];

		/* 13 and 16 have no common factor: all positions in functions come up. */
		for (uint64_t at = segment->start; segment->executable && at < segment->end;
		     at += 13) {
			struct hawk_cfi_row row;
			Dwarf_Frame *frame = NULL;
			bool found = hawk_cfi_find(cfi, at, &row);

			assert_int_equal(dwarf_cfi_addrframe(reference, at, &frame) == 0, found);
			if (found)
				expect_same_row(frame, &row);
			compared += found;
			free(frame);
		}
	}
	assert_true(compared > 10000);
	dwarf_cfi_end(reference);
	hawk_cfi_destroy(cfi);
	hawk_elf_close(elf);
}
