/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Stacks as glibc knows them: where those of live threads begin and end, and which are left over
 * from ended threads. Their mappings do not tell: the kernel joins neighbours, and from glibc 2.42
 * on (MADV_GUARD_INSTALL) guard pages no longer keep them apart. Internal to graph/.
 */
#ifndef HAWK_ANALYZER_GRAPH_ROOTS_STACKS_H
#define HAWK_ANALYZER_GRAPH_ROOTS_STACKS_H

#include "hawk/target/target.h"

/** The memory of one thread but the first, which the kernel gave its stack. */
struct hawk_stack {
	uint64_t start;      /**< with the guard, if it has one */
	uint64_t descriptor; /**< struct pthread, also the thread pointer: frames and TLS are below
			      */
	uint64_t end;
	bool ended; /**< its thread has: no frame on it, no thread-local variable is in use */
};

struct hawk_stacks {
	struct hawk_stack *items; /**< sorted by start; of a damaged core they may overlap */
	size_t count;
	size_t capacity;
	/** Threads have such stacks, but a descriptor does not say where, or glibc's lists cannot
	 * be followed to their end: ended threads may have left others. */
	bool incomplete;
};

/** `*ret` starts as zeros and is to be deinitialized, also after an error. */
struct hawk_error *hawk_stacks_find(const struct hawk_target *target, struct hawk_stacks *ret);
void hawk_stacks_deinit(struct hawk_stacks *stacks);

/** The stack of the live thread with this thread pointer; NULL = not known. */
const struct hawk_stack *hawk_stacks_of(const struct hawk_stacks *stacks, uint64_t descriptor);

/** Where the first stack begins at or above `address`; UINT64_MAX = there is none. */
uint64_t hawk_stacks_next(const struct hawk_stacks *stacks, uint64_t address);

#endif
