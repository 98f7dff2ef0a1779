/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The row of x86-64. Sources: the kernel's elfcore.h, user_64.h, sigcontext.h; the psABI (3.2.1 for
 * registers, 3.6.2 for DWARF numbers, 3.2.2 for the red zone); Intel's manual, volume 1, 13.4 for
 * the XSAVE area.
 */
#include "arch_x86_64.h"

#include <elf.h>

enum {
	NT_X86_XSAVE_LAYOUT_NOTE = 0x205,
	/* XSAVE area: legacy region with XCOMP mask, header, extended components. */
	XMM_START = 160,
	XMM_END = 416,
	MASK_START = 464,
	MASK_END = 472,
	HEADER_START = 512,
	HEADER_END = 576,
	YMM_END = 832,
};

#define DATA(name)                                                                                 \
	{                                                                                          \
		name, HAWK_REGISTER_DATA                                                           \
	}
#define PLACE(name)                                                                                \
	{                                                                                          \
		name, HAWK_REGISTER_PLACE                                                          \
	}
#define STATE(name)                                                                                \
	{                                                                                          \
		name, HAWK_REGISTER_STATE                                                          \
	}

static const struct hawk_arch_register registers[HAWK_REGISTER_COUNT] = {
	[HAWK_R15] = DATA("r15"),
	[HAWK_R14] = DATA("r14"),
	[HAWK_R13] = DATA("r13"),
	[HAWK_R12] = DATA("r12"),
	[HAWK_RBP] = DATA("rbp"),
	[HAWK_RBX] = DATA("rbx"),
	[HAWK_R11] = DATA("r11"),
	[HAWK_R10] = DATA("r10"),
	[HAWK_R9] = DATA("r9"),
	[HAWK_R8] = DATA("r8"),
	[HAWK_RAX] = DATA("rax"),
	[HAWK_RCX] = DATA("rcx"),
	[HAWK_RDX] = DATA("rdx"),
	[HAWK_RSI] = DATA("rsi"),
	[HAWK_RDI] = DATA("rdi"),
	[HAWK_ORIG_RAX] = STATE("orig_rax"), /* the number of a system call */
	[HAWK_RIP] = PLACE("rip"),
	[HAWK_CS] = STATE("cs"),
	[HAWK_EFLAGS] = STATE("eflags"),
	[HAWK_RSP] = PLACE("rsp"),
	[HAWK_SS] = STATE("ss"),
	[HAWK_FS_BASE] = PLACE("fs_base"),
	[HAWK_GS_BASE] = PLACE("gs_base"),
	[HAWK_DS] = STATE("ds"),
	[HAWK_ES] = STATE("es"),
	[HAWK_FS] = STATE("fs"),
	[HAWK_GS] = STATE("gs"),
};

static const uint8_t cfi_registers[] = {HAWK_RAX, HAWK_RDX, HAWK_RCX, HAWK_RBX, HAWK_RSI, HAWK_RDI,
					HAWK_RBP, HAWK_RSP, HAWK_R8,  HAWK_R9,  HAWK_R10, HAWK_R11,
					HAWK_R12, HAWK_R13, HAWK_R14, HAWK_R15, HAWK_RIP};

/* r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip of struct sigcontext; then flags,
 * segments. */
static const uint8_t context_registers[] = {8, 9, 10, 11, 12, 13, 14, 15, 5,
					    4, 6, 3,  1,  0,  2,  7,  16};

/* Returns the bytes of an indirect call with this ModRM byte. */
static unsigned call_bytes(uint8_t modrm)
{
	unsigned mode = modrm >> 6, operand = modrm & 7;
	unsigned sib = operand == 4;

	if (mode == 0)
		return operand == 5 ? 6 : 2 + sib;
	if (mode == 3)
		return 2;
	return (mode == 1 ? 3 : 6) + sib;
}

/* call rel32 (e8), or call r/m64 (ff /2). */
static bool ends_in_call(const uint8_t *bytes)
{
	const uint8_t *end = bytes + HAWK_CALL_BYTES;

	if (end[-5] == 0xe8)
		return true;
	for (unsigned count = 2; count <= HAWK_CALL_BYTES; count++)
		if (end[-(int)count] == 0xff && (end[1 - (int)count] >> 3 & 7) == 2 &&
		    call_bytes(end[1 - (int)count]) == count)
			return true;
	return false;
}

const struct hawk_arch hawk_arch_x86_64 = {
	.name = "x86_64",
	.machine = EM_X86_64,
	.address_bits = 47,
	.tls_variant = HAWK_TLS_BELOW,
	.page_bytes = 4096,
	.page_bytes_max = 4096,
	.red_zone_bytes = 128,
	.status_signal = 12,
	.status_tid = 32,
	.status_times = 48,
	.status_registers = 112,
	.status_count = HAWK_REGISTER_COUNT,
	.register_count = HAWK_REGISTER_COUNT,
	.registers = registers,
	.pc = HAWK_RIP,
	.sp = HAWK_RSP,
	.thread_pointer = HAWK_FS_BASE,
	.call = HAWK_ORIG_RAX,
	.call_arguments = {HAWK_RDI, HAWK_RSI, HAWK_RDX, HAWK_R10, HAWK_R8, HAWK_R9},
	.ends_in_call = ends_in_call,
	.vectors_note = NT_X86_XSTATE,
	.vectors_layout_note = NT_X86_XSAVE_LAYOUT_NOTE,
	.vectors = {{"xmm", {XMM_START, XMM_END}, 16},
		    {"ymm", {HEADER_END, YMM_END}, 16},
		    {"vector state", {YMM_END, UINT32_MAX}, 0}},
	.vectors_kept = {{MASK_START, MASK_END}, {HEADER_START, HEADER_END}},
	.cfi = {.count = sizeof(cfi_registers),
		.pc = 16,
		.sp = 7,
		.fp = 6,
		.link = 16,
		/* rbx, rbp, r12 to r15 */
		.callee_saved = 1u << 3 | 1u << 6 | 1u << 12 | 1u << 13 | 1u << 14 | 1u << 15,
		.registers = cfi_registers},
	.context = {.flags_max = 7,
		    .link = 8,
		    .stack = 16,
		    .stack_bytes = 32,
		    .registers = 40,
		    .sp = 160,
		    .mark = 184,
		    .bytes = 192,
		    .count = sizeof(context_registers),
		    .cfi = context_registers,
		    .mark_low = 0x33,
		    .mark_value = UINT64_C(0x002b000000000033)},
};
