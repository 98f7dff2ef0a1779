/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Filling the cache of known stacks, and letting it grow with the table.
 */
#include "hawk_known.h"

#include "hawk_arena.h"

enum {
	SETS_MAX = 1 << HAWK_KNOWN_SETS_LOG2_MAX,
	TRACES_PER_SET = 3, /**< of four entries: more, and many sets would overflow */
};

struct hawk_known hawk_known = {.set_mask = (1 << HAWK_KNOWN_SETS_LOG2_MIN) - 1};

bool hawk_known_init(void)
{
	hawk_known.entries = hawk_arena_private(
		SETS_MAX * HAWK_KNOWN_WAYS * sizeof(*hawk_known.entries), HAWK_EXTENT_PRIVATE);
	return hawk_known.entries != NULL;
}

/** Sets for all traces that there are. Racing threads may set it back once: no harm. */
static void grow(void)
{
	uint64_t traces = __atomic_load_n(&hawk_table_header->trace_count, __ATOMIC_RELAXED);
	uint64_t mask = __atomic_load_n(&hawk_known.set_mask, __ATOMIC_RELAXED);

	while (traces > (mask + 1) * TRACES_PER_SET && mask + 1 < SETS_MAX)
		mask = 2 * mask + 1;
	if (mask != hawk_known.set_mask)
		__atomic_store_n(&hawk_known.set_mask, mask, __ATOMIC_RELAXED);
}

void hawk_known_add(uint64_t hash, uint64_t check, uint32_t trace)
{
	uint64_t low = check << 32 | trace;
	struct hawk_known_entry *set, *victim;

	grow();
	set = &hawk_known.entries[(hash & __atomic_load_n(&hawk_known.set_mask, __ATOMIC_RELAXED)) *
				  HAWK_KNOWN_WAYS];
	victim = &set[check >> 32 & (HAWK_KNOWN_WAYS - 1)];
	for (unsigned i = 0; i < HAWK_KNOWN_WAYS; i++)
		if (!__atomic_load_n(&set[i].words[1], __ATOMIC_RELAXED)) {
			victim = &set[i];
			break;
		}
	__atomic_store_n(&victim->words[1], low, __ATOMIC_RELAXED);
	__atomic_store_n(&victim->words[0], hash ^ low, __ATOMIC_RELAXED);
}
