/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A claim is the thread id of its owner; whoever waits sleeps on it.
 */
#include "hawk_claim.h"

#include <limits.h>
#include <linux/futex.h>
#include <time.h>

#include "hawk_syscall.h"

enum {
	PAUSE_NS = 10000000,
#ifdef HAWK_MODEL
	PAUSES_MAX = 1, /**< so that the model checker sees claims being taken over */
#else
	PAUSES_MAX = 100,
#endif
};

static uint32_t self(void)
{
	return (uint32_t)hawk_syscall3(SYS_gettid, 0, 0, 0);
}

static void pause_for(const uint32_t *claim, uint32_t owner)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	/* Where a sandbox forbids this, claims are taken over sooner. */
	hawk_syscall6(SYS_futex, (long)claim, FUTEX_WAIT_PRIVATE, owner, (long)&pause, 0, 0);
}

bool hawk_claim_take(uint32_t *claim, const uint64_t *made, uint64_t seen)
{
	uint32_t tid = self(), last = 0;
	unsigned pauses = 0;

	for (;;) {
		uint32_t owner = 0;

		if (__atomic_compare_exchange_n(claim, &owner, tid, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED) ||
		    owner == tid)
			return true;
		if (__atomic_load_n(made, __ATOMIC_ACQUIRE) != seen)
			return false;
		if (owner != last)
			pauses = 0;
		last = owner;
		if (pauses++ == PAUSES_MAX &&
		    __atomic_compare_exchange_n(claim, &owner, tid, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return true;
		pause_for(claim, owner);
	}
}

void hawk_claim_end(uint32_t *claim)
{
	uint32_t tid = self();

	if (__atomic_compare_exchange_n(claim, &tid, 0, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		hawk_syscall3(SYS_futex, (long)claim, FUTEX_WAKE_PRIVATE, INT_MAX);
}
