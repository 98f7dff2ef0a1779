/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * One step from a frame to its caller, for hawk_symbols_unwind(). By call frame information; else
 * by what is known without: CPython's trampolines, the kernel's frame of a signal handler, a call
 * through a bad pointer; else by the frame pointer.
 *
 * The memory is that of a crashed process: whatever a step yields is believed only if the return
 * address lies in code and the stack pointer grew.
 */
#ifndef HAWK_THREAD_UNWIND_H
#define HAWK_THREAD_UNWIND_H

#include "dwarf_cfi.h"
#include "symbols_state.h"

/** Registers of a frame, numbered as DWARF does. */
struct hawk_unwind_state {
	uint64_t registers[HAWK_CFI_REGISTERS];
	uint32_t known; /**< bit per register whose value is known */
	bool exact;     /**< the program counter is not a return address */
};

enum hawk_unwind_result {
	HAWK_UNWIND_CALLER = 0, /**< `state` is the caller's now */
	HAWK_UNWIND_OUTERMOST,  /**< there is no caller */
	HAWK_UNWIND_LOST,       /**< there is one, but it cannot be found */
	HAWK_UNWIND_NO_MEMORY,
};

enum hawk_unwind_way {
	HAWK_UNWIND_BY_RULE = 0,
	HAWK_UNWIND_BY_SIGNAL, /**< from the frame that the kernel built to call a handler */
	/** Nothing is known of the function that was left. If it does not keep the frame pointer,
	 * frames are missing. */
	HAWK_UNWIND_BY_FRAME_POINTER,
};

/** Replaces `state` by its caller's. */
enum hawk_unwind_result hawk_unwind_step(struct hawk_symbols *symbols,
					 struct hawk_unwind_state *state,
					 enum hawk_unwind_way *way);

/** thread_unwind_rules.c: applies the rules of a row; NO_MEMORY never. */
enum hawk_unwind_result hawk_unwind_by_row(const struct hawk_symbols *symbols,
					   const struct hawk_cfi_row *row, uint64_t bias,
					   struct hawk_unwind_state *state);

/** True if `address` lies in a module or in memory that may be executed. */
bool hawk_unwind_is_code(const struct hawk_symbols *symbols, uint64_t address);

/** Reads a word of the target; false = it is not there. */
bool hawk_unwind_read(const struct hawk_symbols *symbols, uint64_t address, uint64_t *ret);

#endif
