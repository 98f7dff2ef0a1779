/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The full stepper: every callee-saved register, every rule and expression of DWARF.
 *
 * Slow (about a microsecond per frame between the tracer and the frame in question) and rarely
 * needed: lazy binding (CFA on rbx), hand-written assembly.
 */
#ifndef HAWK_UNWIND_FULL_H
#define HAWK_UNWIND_FULL_H

#include "hawk_scratch.h"
#include "hawk_walk.h"

/**
 * Steps from `frame` to `next` (state and exact). The frame must be one of the calling thread's own
 * stack: its callee-saved registers are found by walking from here to it.
 */
enum hawk_step hawk_unwind_full(const struct hawk_stack_frame *frame,
				struct hawk_stack_frame *next);

/** One step with all registers. `scratch->full.machine` and `.evaluation` are overwritten. */
enum hawk_step hawk_unwind_full_step(struct hawk_readable_range *range,
				     struct hawk_scratch *scratch,
				     const struct hawk_registers *registers,
				     struct hawk_registers *caller);

/** The registers of the function in which this is expanded; callee-saved ones, rsp and rip. */
#define HAWK_CAPTURE_REGISTERS(value)                                                              \
	__asm__ volatile("movq %%rbx, 24(%0)\n\tmovq %%rbp, 48(%0)\n\tmovq %%rsp, 56(%0)\n\t"      \
			 "movq %%r12, 96(%0)\n\tmovq %%r13, 104(%0)\n\tmovq %%r14, 112(%0)\n\t"    \
			 "movq %%r15, 120(%0)\n\tleaq 0(%%rip), %%rcx\n\tmovq %%rcx, 128(%0)"      \
			 :                                                                         \
			 : "a"(value)                                                              \
			 : "rcx", "memory")

#endif
