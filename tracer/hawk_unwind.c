/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The unwinder's start-up and the end of an epoch.
 */
#include "hawk_rules.h"
#include "hawk_scratch.h"
#include "hawk_syscall.h"
#include "hawk_tops.h"
#include "hawk_walk.h"

uint32_t hawk_unwind_epoch;
uint32_t hawk_unwind_era;
struct hawk_unwind_stats hawk_unwind_stats;

bool hawk_unwind_init(void)
{
	const uint64_t bytes = HAWK_RULES_BYTES + HAWK_SCRATCH_BYTES;
	char *memory = hawk_unwind_options.map ? hawk_unwind_options.map(bytes)
					       : hawk_map(0, bytes, false);

	if (!memory)
		return false;
	hawk_scratch_init(memory + HAWK_RULES_BYTES);
	hawk_rules_init(memory);
	hawk_walk_init();
	return true;
}

void hawk_unwind_invalidate(void)
{
	/* First the epoch: whoever stores a rule of before looks at the epoch after storing. */
	__atomic_fetch_add(&hawk_unwind_epoch, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&hawk_unwind_era, 1, __ATOMIC_SEQ_CST);
	if (hawk_rules_table)
		hawk_rules_flush();
	hawk_tops_forget_callers();
}

void hawk_unwind_note_generation(void)
{
	__atomic_fetch_add(&hawk_unwind_era, 1, __ATOMIC_SEQ_CST);
}
