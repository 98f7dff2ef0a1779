/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Stacks of threads as the C library knows them. Mappings do not show them: the kernel joins
 * neighbours, and from glibc 2.42 on (MADV_GUARD_INSTALL) guard pages no longer separate them.
 */
#ifndef HAWK_ANALYZER_LIBC_STACKS_H
#define HAWK_ANALYZER_LIBC_STACKS_H

#include "hawk/base/span.h"
#include "hawk/libc/version.h"
#include "hawk/target/target.h"

/** The memory of one thread. The first thread has none: its stack is the kernel's. */
struct hawk_stack {
	uint64_t start;      /**< of the guard, if it has one */
	uint64_t descriptor; /**< struct pthread: frames are below, and TLS on one side of it */
	uint64_t end;
	uint64_t described; /**< address of the words in the descriptor that hold these values */
	bool ended; /**< its thread ended: no frame and no thread-local variable is in use */
};

struct hawk_stacks {
	const struct hawk_thread_layout *layout; /**< of the descriptors; NULL = none was found */
	uint64_t below;           /**< bytes from a descriptor to the thread pointer */
	struct hawk_stack *items; /**< sorted by start; may overlap in a damaged core */
	size_t count;
	size_t capacity;
	/** True if a descriptor does not name its stack, or the C library's lists cannot be
	 * followed to their end. Ended threads may then have left other stacks. */
	bool incomplete;
};

/** Fills `*ret`, which must be zeros. Deinitialize it, also after an error. */
struct hawk_error *hawk_stacks_find(const struct hawk_target *target, struct hawk_stacks *ret);
void hawk_stacks_deinit(struct hawk_stacks *stacks);

/** Returns the stack of the live thread with this thread pointer, or NULL if it is not known. */
const struct hawk_stack *hawk_stacks_of(const struct hawk_stacks *stacks, uint64_t thread_pointer);

/** Returns the start of the first stack at or above `address`, or UINT64_MAX. */
uint64_t hawk_stacks_next(const struct hawk_stacks *stacks, uint64_t address);

/**
 * Lists the numbers in descriptors by which stacks are found, for a copy of the core that must keep
 * them. They are unsorted and may repeat. The caller frees them.
 */
struct hawk_error *hawk_stacks_numbers(const struct hawk_target *target, struct hawk_span **ret,
				       size_t *count);

#endif
