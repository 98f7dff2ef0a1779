/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The system call that a thread is in, with its arguments: "epoll_wait(5, 0x7ffd7d40, 64, -1)".
 */
#ifndef HAWK_ANALYZER_NAMES_SYSTEM_CALL_H
#define HAWK_ANALYZER_NAMES_SYSTEM_CALL_H

#include "hawk/base/text.h"
#include "hawk/symbols/symbols.h"
#include "hawk/target/target.h"

struct hawk_system_call {
	bool is_inside; /**< false: the thread ran, or its registers are not known */
	uint64_t number;
	uint64_t arguments[HAWK_CALL_ARGUMENTS];
	bool has_result; /**< the call's result took the place of the first argument */
	char name[32];   /**< "syscall_999" if it has none */
};

/** Tells the call by the thread's registers and code. */
void hawk_system_call_find(const struct hawk_target *target, struct hawk_symbols *symbols,
			   const struct hawk_thread *thread, struct hawk_system_call *ret);

/** Sets the name by the number. */
void hawk_system_call_name(const struct hawk_target *target, struct hawk_system_call *call);

/** Appends the call with its arguments, as far as their meaning is known. Reads times. */
void hawk_system_call_append(const struct hawk_target *target, const struct hawk_system_call *call,
			     struct hawk_text *text);

#endif
