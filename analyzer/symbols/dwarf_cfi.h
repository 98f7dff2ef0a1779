/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Call frame information of one file: the places of a caller's registers, from .eh_frame (found by
 * PT_GNU_EH_FRAME) and .debug_frame.
 *
 * Own reader: it works on a file as well as on an image from memory, and every table, program and
 * expression in it is hostile, so each has a limit. All addresses are link-time addresses.
 */
#ifndef HAWK_ANALYZER_SYMBOLS_DWARF_CFI_H
#define HAWK_ANALYZER_SYMBOLS_DWARF_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawk/base/cursor.h"
#include "hawk/target/arch.h"
#include "elf.h"

enum { HAWK_CFI_REGISTERS = HAWK_CFI_REGISTERS_MAX };

enum hawk_cfi_rule_kind {
	HAWK_CFI_UNSPECIFIED = 0, /**< unspecified: as in the ABI */
	HAWK_CFI_UNDEFINED,
	HAWK_CFI_SAME,
	HAWK_CFI_OFFSET,     /**< saved at CFA + offset */
	HAWK_CFI_VAL_OFFSET, /**< is CFA + offset */
	HAWK_CFI_REGISTER,   /**< is in register `offset` */
	HAWK_CFI_EXPRESSION, /**< saved at the expression's result, an address */
	HAWK_CFI_VAL_EXPRESSION,
};

struct hawk_cfi_rule {
	enum hawk_cfi_rule_kind kind;
	int64_t offset;
	const uint8_t *expression; /**< in the file */
	size_t expression_bytes;
};

/** The unwinding rules at one address. */
struct hawk_cfi_row {
	bool cfa_is_expression;
	uint32_t cfa_register;
	int64_t cfa_offset;
	const uint8_t *cfa_expression;
	size_t cfa_expression_bytes;
	struct hawk_cfi_rule registers[HAWK_CFI_REGISTERS];
	uint32_t return_register;
	bool signal_frame; /**< the caller was interrupted by a signal */
};

struct hawk_cfi;

/**
 * Creates the information. `debug` may be NULL. Both files must outlive the result. Returns NULL
 * without such tables, or if memory runs out.
 */
struct hawk_cfi *hawk_cfi_create(const struct hawk_elf *binary, const struct hawk_elf *debug);

/** Accepts NULL. */
void hawk_cfi_destroy(struct hawk_cfi *cfi);

/** Finds the rules at `address`; returns false if no entry covers it, or the entry is damaged. */
bool hawk_cfi_find(const struct hawk_cfi *cfi, uint64_t address, struct hawk_cfi_row *row);

/** Finds the extent of the entry that covers `address`: a function, or a part of one. */
bool hawk_cfi_function(const struct hawk_cfi *cfi, uint64_t address, uint64_t *start,
		       uint64_t *end);

/*
 * dwarf_cfi_program.c: the byte programs inside call frame information: rules by address
 * (DW_CFA_*), and expressions (DW_OP_*) that compute a value from registers and memory. Steps and
 * depths are bounded.
 */

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

/** Reads a little-endian number of 1 to 8 bytes. */
uint64_t hawk_cfi_fixed(struct hawk_cursor *cursor, unsigned bytes, bool is_signed);

/** Runs both programs up to `address`; returns false for damage or an unknown instruction. */
bool hawk_cfi_run(const struct hawk_cie *cie, struct hawk_cursor program, uint64_t start,
		  uint64_t address, struct hawk_cfi_row *row);

/** The input of an expression. */
struct hawk_expression_source {
	const uint64_t *registers; /**< HAWK_CFI_REGISTERS values */
	uint64_t known;            /**< bit per register that has a value */
	uint64_t bias;             /**< added to DW_OP_addr */
	bool (*read)(void *context, uint64_t address, void *to, size_t bytes);
	void *context;
};

/** Evaluates [bytes, bytes + size) with `first` on the stack (if `push_first`); returns false for
 * damage. */
bool hawk_expression_evaluate(const struct hawk_expression_source *source, const uint8_t *bytes,
			      size_t size, bool push_first, uint64_t first, uint64_t *ret);

#endif
