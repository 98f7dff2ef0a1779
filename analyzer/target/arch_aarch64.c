/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The row of AArch64. Sources: the kernel's ptrace.h, sigcontext.h, signal.c; AAPCS64 (6.1 for
 * registers); AADWARF64 (4.1 for DWARF numbers); ELF for AArch64, chapter "TLS"; the Arm ARM, C6.2
 * (BL, BLR, BLRAA, SVC).
 */
#include "arch_aarch64.h"

#include <elf.h>
#include <string.h>

enum {
	/* struct user_fpsimd_state */
	VECTORS_END = 512,
	VECTORS_STATE_END = 520,
};

#define DATA(number) [HAWK_X0 + number] = {"x" #number, HAWK_REGISTER_DATA}

static const struct hawk_arch_register registers[HAWK_AARCH64_REGISTERS] = {
	DATA(0),
	DATA(1),
	DATA(2),
	DATA(3),
	DATA(4),
	DATA(5),
	DATA(6),
	DATA(7),
	DATA(8),
	DATA(9),
	DATA(10),
	DATA(11),
	DATA(12),
	DATA(13),
	DATA(14),
	DATA(15),
	DATA(16),
	DATA(17),
	DATA(18),
	DATA(19),
	DATA(20),
	DATA(21),
	DATA(22),
	DATA(23),
	DATA(24),
	DATA(25),
	DATA(26),
	DATA(27),
	DATA(28),
	DATA(29),
	DATA(30),
	[HAWK_SP] = {"sp", HAWK_REGISTER_PLACE},
	[HAWK_PC] = {"pc", HAWK_REGISTER_PLACE},
	[HAWK_CPSR] = {"cpsr", HAWK_REGISTER_STATE},
	[HAWK_TPIDR] = {"tpidr", HAWK_REGISTER_PLACE},
};

/* DWARF, NT_PRSTATUS and struct sigcontext number registers alike: x0 to x30, sp, pc. */
static const uint8_t numbers[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
				  11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
				  22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};

/* BL, or BLR with or without authentication. */
static bool ends_in_call(const uint8_t *bytes)
{
	uint32_t word;

	memcpy(&word, bytes + HAWK_CALL_BYTES - sizeof(word), sizeof(word));
	return (word & 0xfc000000) == 0x94000000 || (word & 0xfffffc1f) == 0xd63f0000 ||
	       (word & 0xfefff800) == 0xd63f0800;
}

const struct hawk_arch hawk_arch_aarch64 = {
	.name = "aarch64",
	.machine = EM_AARCH64,
	.address_bits = 48,
	.tls_variant = HAWK_TLS_ABOVE,
	.page_bytes = 4096,
	.page_bytes_max = 65536,
	.tls_head_bytes = 16,
	.status_signal = 12,
	.status_tid = 32,
	.status_times = 48,
	.status_registers = 112,
	.status_count = HAWK_TPIDR,
	.register_count = HAWK_AARCH64_REGISTERS,
	.registers = registers,
	.pc = HAWK_PC,
	.sp = HAWK_SP,
	.thread_pointer = HAWK_TPIDR,
	.thread_pointer_note = NT_ARM_TLS,
	.code_mask_note = NT_ARM_PAC_MASK,
	.call = HAWK_X0 + 8,
	.call_instruction = 0xd4000001, /* svc #0 */
	.call_arguments = {0, 1, 2, 3, 4, 5},
	.ends_in_call = ends_in_call,
	.vectors = {{"v", {0, VECTORS_END}, 16}},
	.vectors_kept = {{VECTORS_END, VECTORS_STATE_END}},
	.cfi = {.count = sizeof(numbers),
		.pc = HAWK_PC,
		.sp = HAWK_SP,
		.fp = HAWK_X0 + 29,
		.link = HAWK_X0 + 30,
		/* x19 to x29; x30 in a leaf function */
		.callee_saved = UINT64_C(0xfff) << 19,
		.registers = numbers},
	/* Behind a siginfo_t. The mark is the header of the floating-point registers, which the
	 * kernel always writes first: FPSIMD_MAGIC and a size. */
	.context = {.above_sp = 128,
		    .flags_max = 0,
		    .link = 8,
		    .stack = 16,
		    .stack_bytes = 32,
		    .registers = 184,
		    .sp = 432,
		    .mark = 464,
		    .bytes = 472,
		    .count = sizeof(numbers),
		    .cfi = numbers,
		    .mark_low = 0x8001,
		    .mark_value = UINT64_C(0x0000021046508001)},
};
