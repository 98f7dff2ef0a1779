/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Call frame information in .eh_frame: finding the description of a function, running its program
 * up to one program counter, evaluating its expressions.
 *
 * All of this is the cold path: once per program counter, or for frames that no packed rule can
 * describe (unwind/rules.h). This code never allocates; the caller provides state of more than a
 * few words. Registers have their DWARF numbers. Malformed input counts as "no information" and
 * never faults: every byte is checked against the module's range, every program and expression has
 * a limit.
 *
 * A reader that runs past its end is `failed`: it then returns zeros and never moves, so that
 * callers check once after a group of reads.
 */
#ifndef HAWK_TRACER_UNWIND_CFI_H
#define HAWK_TRACER_UNWIND_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind.h"

struct hawk_cfi_reader {
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
};

/** Reads a little-endian number of 1 to 8 bytes. */
static inline uint64_t hawk_cfi_number(struct hawk_cfi_reader *reader, unsigned bytes)
{
	uint64_t value = 0;

	if (reader->failed || (uint64_t)(reader->end - reader->at) < bytes) {
		reader->failed = true;
		return 0;
	}
	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)reader->at[i] << (8 * i);
	reader->at += bytes;
	return value;
}

/** As above, sign-extended. */
static inline int64_t hawk_cfi_signed_number(struct hawk_cfi_reader *reader, unsigned bytes)
{
	unsigned shift = 64 - 8 * bytes;

	return (int64_t)(hawk_cfi_number(reader, bytes) << shift) >> shift;
}

static inline void hawk_cfi_skip(struct hawk_cfi_reader *reader, uint64_t bytes)
{
	if (reader->failed || (uint64_t)(reader->end - reader->at) < bytes)
		reader->failed = true;
	else
		reader->at += bytes;
}

/** Reads an unsigned LEB128 number; drops bits above 63. */
uint64_t hawk_cfi_uleb(struct hawk_cfi_reader *reader);

/** Reads a signed LEB128 number. */
int64_t hawk_cfi_sleb(struct hawk_cfi_reader *reader);

/**
 * Reads a pointer in encoding DW_EH_PE_*; "datarel" is relative to `data_base`. Refuses indirect
 * pointers: no field used here has them.
 */
uint64_t hawk_cfi_pointer(struct hawk_cfi_reader *reader, uint8_t encoding, uint64_t data_base);

enum hawk_cfi_register {
	HAWK_CFI_RBX = 3,
	HAWK_CFI_RBP = 6,
	HAWK_CFI_RSP = 7,
	HAWK_CFI_R12 = 12,
	HAWK_CFI_R15 = 15,
	HAWK_CFI_RIP = 16,
	HAWK_CFI_REGISTERS = 17,
	/** Bit i: a function preserves register i for its caller. */
	HAWK_CFI_KNOWN_AFTER_CALL =
		1 << HAWK_CFI_RBX | 1 << HAWK_CFI_RBP | 1 << HAWK_CFI_RSP | 0xf << HAWK_CFI_R12,
};

enum {
	HAWK_CFI_REMEMBERED = 8, /**< deepest nesting of DW_CFA_remember_state */
	HAWK_CFI_EXPRESSION_STACK = 32,
	HAWK_CFI_EXPRESSION_STEPS = 512,
	HAWK_CFI_PROGRAM_STEPS = 100000,
};

/** A function's description, FDE and CIE together. Pointers lead into the module. */
struct hawk_cfi_function {
	uint64_t start, end; /**< code addresses covered */
	const uint8_t *initial_program, *initial_program_end;
	const uint8_t *program, *program_end;
	uint64_t code_alignment;
	int64_t data_alignment;
	uint8_t pointer_encoding;
	uint8_t return_register;
	bool signal; /**< a signal trampoline: its caller was interrupted, its pc is exact */
};

/** The binary search table of .eh_frame_hdr. */
struct hawk_cfi_table {
	const uint8_t *entries; /**< 8 bytes each: start of a function and its FDE, both relative to
				   the header */
	uint64_t count;
};

/** Finds the table. Returns false if it is missing or malformed. */
bool hawk_cfi_find_table(const struct hawk_code_range *module, struct hawk_cfi_table *ret);

/**
 * Finds the description that covers `pc` through the binary search table of .eh_frame_hdr. Returns
 * false if it is missing or malformed.
 */
bool hawk_cfi_find(const struct hawk_code_range *module, uint64_t pc,
		   struct hawk_cfi_function *ret);

/** Place of the caller's value of a register. */
enum hawk_cfi_how {
	HAWK_CFI_UNSPECIFIED = 0, /**< callee-saved: unchanged; others: lost */
	HAWK_CFI_UNDEFINED,
	HAWK_CFI_SAME,
	HAWK_CFI_OFFSET,           /**< in memory at CFA + value */
	HAWK_CFI_VALUE_OFFSET,     /**< CFA + value */
	HAWK_CFI_IN_REGISTER,      /**< in register `value` */
	HAWK_CFI_EXPRESSION,       /**< in memory at the result of the block at `value` */
	HAWK_CFI_VALUE_EXPRESSION, /**< the result of the block at `value` */
};

/** One row of the unwind table. A block is a ULEB128 length and that many bytes, already checked to
 * be readable.
 */
struct hawk_cfi_row {
	uint8_t how[HAWK_CFI_REGISTERS];
	bool cfa_is_expression;
	uint8_t cfa_register;
	int64_t cfa_value; /**< offset from cfa_register, or address of a block */
	int64_t value[HAWK_CFI_REGISTERS];
};

/** Room for one run of a program; the result is in `row`. 1.7 KiB: not for the host's stack. */
struct hawk_cfi_machine {
	struct hawk_cfi_row row;
	struct hawk_cfi_row initial;
	struct hawk_cfi_row remembered[HAWK_CFI_REMEMBERED];
	uint32_t remembered_count;
};

/** Computes the row of `pc`, which `function` covers. Returns false if malformed. */
bool hawk_cfi_run(const struct hawk_cfi_function *function, uint64_t pc,
		  struct hawk_cfi_machine *machine);

/** The bytes of a block whose address is in a row. */
struct hawk_cfi_block {
	const uint8_t *bytes;
	uint64_t size;
};
struct hawk_cfi_block hawk_cfi_block_at(int64_t address);

/** Inputs of an expression, and its stack. */
struct hawk_cfi_evaluation {
	const uint64_t *registers;         /**< [HAWK_CFI_REGISTERS] */
	uint32_t known;                    /**< bit i: registers[i] is known */
	struct hawk_readable_range *range; /**< see unwind/walk.h */
	uint32_t depth;
	uint64_t stack[HAWK_CFI_EXPRESSION_STACK];
};

/** Evaluates a block on top of the stack's contents. Returns false if it is malformed, or needs an
 * unknown register or unreadable memory. */
bool hawk_cfi_evaluate(struct hawk_cfi_evaluation *evaluation, struct hawk_cfi_block block,
		       uint64_t *ret);

#endif
