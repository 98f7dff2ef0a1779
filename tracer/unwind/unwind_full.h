/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The full stepper: every callee-saved register, every rule and expression of DWARF.
 *
 * Slow (about a microsecond per frame between the tracer and the frame in question) and rarely
 * needed: lazy binding (CFA on rbx), hand-written assembly.
 *
 * Also scratch, a pool of 4 KiB pieces for data too big for the host's stack, so that 16 KiB
 * threads and 8 KiB signal stacks unwind too. Lock-free and async-signal-safe: one compare-and-swap
 * takes a piece. When all are taken (many threads at once, or handlers that jumped out of the
 * tracer), a piece is mapped for a single use.
 */
#ifndef HAWK_TRACER_UNWIND_UNWIND_FULL_H
#define HAWK_TRACER_UNWIND_UNWIND_FULL_H

#include "cfi.h"
#include "walk.h"

enum {
	HAWK_SCRATCH_PIECES = 64,
	HAWK_SCRATCH_PIECE_BYTES = 4096,
	HAWK_SCRATCH_BYTES = HAWK_SCRATCH_PIECES * HAWK_SCRATCH_PIECE_BYTES,
};

/** All registers of a frame. */
struct hawk_registers {
	uint64_t value[HAWK_CFI_REGISTERS];
	uint32_t known; /**< bit i: value[i] is known */
	bool exact;     /**< value[HAWK_CFI_RIP] is not a return address */
};

struct hawk_scratch {
	union {
		struct {
			struct hawk_cfi_machine machine;
			struct hawk_cfi_evaluation evaluation;
			struct hawk_registers registers;
			struct hawk_registers caller;
		} full;                          /**< rules use the machine only */
		uint64_t pcs[HAWK_STACK_FRAMES]; /**< of a whole stack, see hawk_flat_intern() */
	};
};
_Static_assert(sizeof(struct hawk_scratch) <= HAWK_SCRATCH_PIECE_BYTES, "a piece each");

/** Sets the pool's memory, HAWK_SCRATCH_BYTES. */
void hawk_scratch_init(void *memory);

/** Returns a piece with undefined contents; NULL without memory. Give it back with
 * hawk_scratch_give(). */
struct hawk_scratch *hawk_scratch_take(void);

void hawk_scratch_give(struct hawk_scratch *scratch);

/**
 * Steps from `frame` to `next` (state and exact). The frame must be on the calling thread's own
 * stack: its callee-saved registers are found by walking from here to it.
 */
enum hawk_step hawk_unwind_full(const struct hawk_stack_frame *frame,
				struct hawk_stack_frame *next);

/** Steps once with all registers. Overwrites `scratch->full.machine` and `.evaluation`. */
enum hawk_step hawk_unwind_full_step(struct hawk_readable_range *range,
				     struct hawk_scratch *scratch,
				     const struct hawk_registers *registers,
				     struct hawk_registers *caller);

/** Stores the registers of the expanding function: callee-saved ones, rsp and rip. */
#define HAWK_CAPTURE_REGISTERS(value)                                                              \
	__asm__ volatile("movq %%rbx, 24(%0)\n\tmovq %%rbp, 48(%0)\n\tmovq %%rsp, 56(%0)\n\t"      \
			 "movq %%r12, 96(%0)\n\tmovq %%r13, 104(%0)\n\tmovq %%r14, 112(%0)\n\t"    \
			 "movq %%r15, 120(%0)\n\tleaq 0(%%rip), %%rcx\n\tmovq %%rcx, 128(%0)"      \
			 :                                                                         \
			 : "a"(value)                                                              \
			 : "rcx", "memory")

#endif
