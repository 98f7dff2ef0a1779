/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Stacks that ended threads have left: glibc keeps them for the next thread, and what lies in them
 * is as dead as what lies below a stack pointer. Internal to graph/.
 */
#ifndef HAWK_ROOTS_STACKS_H
#define HAWK_ROOTS_STACKS_H

#include "hawk_target.h"
#include "hawk_sweep.h"

/**
 * If a mapping is a stack that glibc has made, of a thread that has ended: the stack itself,
 * without its guard and without `struct pthread` at its end, above which there is nothing of
 * interest, and below which thread-local storage lies. `guard` is the mapping before it.
 */
bool hawk_roots_ended_stack(const struct hawk_target *target, const struct hawk_mapping *guard,
			    const struct hawk_mapping *mapping, struct hawk_span *ret);

#endif
