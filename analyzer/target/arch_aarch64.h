/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Registers of AArch64. Private to its row, and to tests that make threads.
 */
#ifndef HAWK_ANALYZER_TARGET_ARCH_AARCH64_H
#define HAWK_ANALYZER_TARGET_ARCH_AARCH64_H

#include "hawk/target/arch.h"

/** General registers in the order of struct user_pt_regs, as NT_PRSTATUS has them; then the thread
 * pointer, which has a note of its own. */
enum hawk_aarch64_register {
	HAWK_X0, /**< x0 to x30 */
	HAWK_SP = 31,
	HAWK_PC,
	HAWK_CPSR,
	HAWK_TPIDR,
	HAWK_AARCH64_REGISTERS
};

extern const struct hawk_arch hawk_arch_aarch64;

#endif
