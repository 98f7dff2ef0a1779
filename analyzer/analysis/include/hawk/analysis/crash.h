/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A crash inside of the allocator: the function that was called, its message, and the pointer that
 * it was given.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_CRASH_H
#define HAWK_ANALYZER_ANALYSIS_CRASH_H

#include "hawk/heap/heap.h"
#include "hawk/libc/abort.h"
#include "hawk/symbols/symbols.h"

struct hawk_crash {
	/** The allocator's function in which the thread died: "free"; NULL = it died elsewhere. */
	const char *function;
	struct hawk_abort_message message; /**< of the C library's; "" = none */
	const struct hawk_thread *thread;  /**< that died there */
	/** Range of its stack with the frames of that function. */
	uint64_t stack_start, stack_end;
};

/** Recognizes the crash by the frames of the thread that died. Reads the target. */
void hawk_crash_find(const struct hawk_target *target, struct hawk_symbols *symbols,
		     struct hawk_crash *ret);

#endif
