/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The pool is a bit mask: bit i is set while piece i is taken.
 */
#include "hawk_scratch.h"

#include "hawk_syscall.h"

static char *pool;
static uint64_t taken;

void hawk_scratch_init(void *memory)
{
	pool = memory;
}

struct hawk_scratch *hawk_scratch_take(void)
{
	uint64_t now = __atomic_load_n(&taken, __ATOMIC_RELAXED);

	while (pool && ~now) {
		unsigned piece = (unsigned)__builtin_ctzll(~now);

		if (__atomic_compare_exchange_n(&taken, &now, now | UINT64_C(1) << piece, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return (struct hawk_scratch *)(pool +
						       (size_t)piece * HAWK_SCRATCH_PIECE_BYTES);
	}
	return hawk_map(0, HAWK_SCRATCH_PIECE_BYTES, false);
}

void hawk_scratch_give(struct hawk_scratch *scratch)
{
	size_t offset = (size_t)((uint64_t)scratch - (uint64_t)pool);

	if (!pool || offset >= HAWK_SCRATCH_BYTES)
		hawk_unmap(scratch, HAWK_SCRATCH_PIECE_BYTES);
	else
		__atomic_fetch_and(&taken, ~(UINT64_C(1) << (offset / HAWK_SCRATCH_PIECE_BYTES)),
				   __ATOMIC_RELEASE);
}
