/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * libunwind, loaded privately, as a stepper that can do its host no harm.
 *
 * It walks this process as a remote one: registers, memory and where call frame information is are
 * handed to it by functions of ours, which read nothing that cannot be read. It runs on a stack of
 * its own, one thread at a time and with all signals blocked: so no lock of its is ever held by a
 * thread that was interrupted, and what a fork may leave behind in a child is never touched there.
 */
#ifndef HAWK_LIBUNWIND_H
#define HAWK_LIBUNWIND_H

#include "hawk_cfi.h"

/** A walk in progress. */
struct hawk_libunwind {
	/** Of the frame to begin with: callee-saved ones, rsp and rip. Filled by the caller. */
	uint64_t registers[HAWK_CFI_REGISTERS];
	uint64_t cursor[128 + 64]; /**< unw_cursor_t is 127 words */
	uint64_t pages[64];        /**< that were readable when this walk asked: address | 1 */
};

/** For the library's constructor only: loading allocates. False: not there, or not usable. */
bool hawk_libunwind_load(void);

/**
 * Calls `function` where libunwind may be used, with a walk that is all zeros but for the caller's
 * `registers`. False: another thread has been there for too long, and the function was not called.
 * Takes few bytes of the caller's stack; errno is kept.
 */
bool hawk_libunwind_run(const uint64_t *registers,
			void (*function)(struct hawk_libunwind *walk, void *data), void *data);

/* Only within hawk_libunwind_run(). */

/** Sets out from the walk's registers. */
bool hawk_libunwind_start(struct hawk_libunwind *walk);

/** One frame outwards: 1, 0 at the end of the stack, negative: it cannot go on. */
int hawk_libunwind_step(struct hawk_libunwind *walk);

/** A register of the frame at hand. */
bool hawk_libunwind_get(struct hawk_libunwind *walk, int number, uint64_t *ret);

/** Where in memory that register was saved; 0: nowhere. */
uint64_t hawk_libunwind_slot(struct hawk_libunwind *walk, int number);

#endif
