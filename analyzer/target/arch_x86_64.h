/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Registers of x86-64. Private to its row, and to tests that make threads.
 */
#ifndef HAWK_ANALYZER_TARGET_ARCH_X86_64_H
#define HAWK_ANALYZER_TARGET_ARCH_X86_64_H

#include "hawk/target/arch.h"

/** General registers in the order of struct user_regs_struct, as NT_PRSTATUS has them. */
enum hawk_x86_64_register {
	HAWK_R15,
	HAWK_R14,
	HAWK_R13,
	HAWK_R12,
	HAWK_RBP,
	HAWK_RBX,
	HAWK_R11,
	HAWK_R10,
	HAWK_R9,
	HAWK_R8,
	HAWK_RAX,
	HAWK_RCX,
	HAWK_RDX,
	HAWK_RSI,
	HAWK_RDI,
	HAWK_ORIG_RAX,
	HAWK_RIP,
	HAWK_CS,
	HAWK_EFLAGS,
	HAWK_RSP,
	HAWK_SS,
	HAWK_FS_BASE,
	HAWK_GS_BASE,
	HAWK_DS,
	HAWK_ES,
	HAWK_FS,
	HAWK_GS,
	HAWK_REGISTER_COUNT
};

extern const struct hawk_arch hawk_arch_x86_64;

#endif
