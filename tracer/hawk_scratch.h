/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A pool of 4 KiB pieces of memory for what is too big for the host's stack: 16 KiB threads and 8
 * KiB signal stacks unwind, too.
 *
 * Lock-free and async-signal-safe: one compare-and-swap takes a piece. When all are taken (many
 * threads at once, or handlers that jumped out of the tracer) a piece is mapped for the one use.
 */
#ifndef HAWK_SCRATCH_H
#define HAWK_SCRATCH_H

#include "hawk_cfi.h"
#include "hawk_unwind.h"

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
		} full; /**< hawk_unwind_full.c; rules use the machine only */
		uint64_t pcs[HAWK_STACK_FRAMES]; /**< of a whole stack, see hawk_flat.h */
	};
};
_Static_assert(sizeof(struct hawk_scratch) <= HAWK_SCRATCH_PIECE_BYTES, "a piece each");

/** `memory`: HAWK_SCRATCH_BYTES. */
void hawk_scratch_init(void *memory);

/** A piece with undefined contents; NULL: no memory. Give it back with hawk_scratch_give(). */
struct hawk_scratch *hawk_scratch_take(void);

void hawk_scratch_give(struct hawk_scratch *scratch);

#endif
