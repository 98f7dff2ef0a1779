/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Claims: one thread makes something that all of them want, and the others wait for it instead of
 * making it as well.
 *
 * A claim is no lock. Its owner may be the very thread that a signal handler interrupts, may have
 * been jumped out of, or be left behind by a fork; so a thread never waits for itself, and for
 * others about a second. Then there are two that make the same: whoever claims must be prepared for
 * that, and loses no more than what it made in vain.
 */
#ifndef HAWK_CLAIM_H
#define HAWK_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Waits until the calling thread has `claim` (0 at first; true, look at *made again) or *made is
 * not `seen` any more (false).
 */
bool hawk_claim_take(uint32_t *claim, const uint64_t *made, uint64_t seen);

static inline bool hawk_claim_is_taken(const uint32_t *claim)
{
	return __atomic_load_n(claim, __ATOMIC_ACQUIRE) != 0;
}

/** Ends the calling thread's claim, if nobody has taken it over, and wakes who waits for it. */
void hawk_claim_end(uint32_t *claim);

#endif
