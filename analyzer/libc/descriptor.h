/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * One thread's descriptor, read by a layout. Internal to libc/.
 */
#ifndef HAWK_ANALYZER_LIBC_DESCRIPTOR_H
#define HAWK_ANALYZER_LIBC_DESCRIPTOR_H

#include "hawk/libc/stacks.h"

/** Descriptors in the memory of `target`. */
struct hawk_descriptors {
	const struct hawk_target *target;
	const struct hawk_thread_layout *layout; /**< NULL = no thread pointer leads to one */
	uint64_t below; /**< bytes from a descriptor to the thread pointer */
};

/** Returns how to find descriptors in the target. */
struct hawk_descriptors hawk_descriptors_of(const struct hawk_target *target);

/** Returns the address of the thread's descriptor, or 0 if its thread pointer leads to none. There
 * must be a layout. */
uint64_t hawk_descriptor_of(const struct hawk_descriptors *descriptors,
			    const struct hawk_thread *thread);

/** Returns true if a descriptor lies at `address`. */
bool hawk_is_descriptor(const struct hawk_descriptors *descriptors, uint64_t address);

/** Fills `*ret` with the memory that the descriptor names. Returns false if it names none, like the
 * first thread's. */
bool hawk_descriptor_read(const struct hawk_descriptors *descriptors, uint64_t descriptor,
			  struct hawk_stack *ret);

#endif
