/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Thread pointers that a core lacks: qemu-user writes no note of them.
 */
#ifndef HAWK_ANALYZER_LIBC_THREAD_POINTERS_H
#define HAWK_ANALYZER_LIBC_THREAD_POINTERS_H

#include "hawk/target/target.h"

/** Finds the descriptors of threads without a thread pointer, and sets those pointers. Adds a
 * finding for threads without one. Does nothing if all have one. */
struct hawk_error *hawk_thread_pointers_find(struct hawk_target *target,
					     struct hawk_findings *findings);

#endif
