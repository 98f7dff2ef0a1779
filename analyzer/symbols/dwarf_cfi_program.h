/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The byte programs inside call frame information: rules by address (DW_CFA_*), and expressions
 * (DW_OP_*) that compute a value from registers and memory. Steps and depths are bounded.
 */
#ifndef HAWK_DWARF_CFI_PROGRAM_H
#define HAWK_DWARF_CFI_PROGRAM_H

#include "dwarf_cfi.h"
#include "hawk_cursor.h"

/** The common part of entries. */
struct hawk_cie {
	uint64_t code_alignment;
	int64_t data_alignment;
	uint32_t return_register;
	uint8_t pointer_encoding;
	bool has_augmentation;
	bool signal_frame;
	struct hawk_cursor program;
};

uint64_t hawk_cfi_uleb(struct hawk_cursor *cursor);
int64_t hawk_cfi_sleb(struct hawk_cursor *cursor);

/** A little-endian number of 1 to 8 bytes. */
uint64_t hawk_cfi_fixed(struct hawk_cursor *cursor, unsigned bytes, bool is_signed);

/** Runs both programs up to `address`; false = damaged, or an instruction that is not known. */
bool hawk_cfi_run(const struct hawk_cie *cie, struct hawk_cursor program, uint64_t start,
		  uint64_t address, struct hawk_cfi_row *row);

/** Where an expression takes its values from. */
struct hawk_expression_source {
	const uint64_t *registers; /**< HAWK_CFI_REGISTERS values */
	uint32_t known;            /**< bit per register that has a value */
	uint64_t bias;             /**< added to DW_OP_addr */
	bool (*read)(void *context, uint64_t address, void *to, size_t bytes);
	void *context;
};

/** Evaluates [bytes, bytes + size) with `first` on the stack (if `push_first`); false = damaged. */
bool hawk_expression_evaluate(const struct hawk_expression_source *source, const uint8_t *bytes,
			      size_t size, bool push_first, uint64_t first, uint64_t *ret);

#endif
