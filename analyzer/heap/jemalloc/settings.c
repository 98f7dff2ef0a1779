/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds the arenas' settings: how long pages that became free stay resident. An arena has two of
 * these states, for dirty and for muzzy pages, at most 0x900 bytes apart.
 *
 *     decay:  | milliseconds | a 200th in nanoseconds | last time | random number | next time | ...
 *
 * The next time lies one or two intervals after the last. -1 milliseconds is never, 0 at once.
 */
#include "jemalloc.h"

enum {
	DECAY_BYTES = 0x28,
	DECAY_MIN = 0x400, /* bytes from the first to the second */
	DECAY_MAX = 0x900,
	STEPS = 200, /* of a decay */
	ARENA_BYTES = 256 << 10,
	NS_A_MS = 1000000,
};

static const uint64_t most_ms = UINT64_C(1) << 40; /* 35 years */

/* Reads the decay at `at`; returns false if none is there. Pointers are no times. */
static bool read_decay(const struct hawk_target *target, struct hawk_near *near, uint64_t at,
		       uint64_t *ms)
{
	uint64_t words[DECAY_BYTES / 8], interval, wait;

	if (hawk_near_read(near, at, words, sizeof(words)) != sizeof(words) || !words[2])
		return false;
	*ms = words[0];
	interval = words[0] == UINT64_MAX ? 0 : words[0] * (NS_A_MS / STEPS);
	wait = words[4] - words[2];
	return (words[0] == UINT64_MAX || words[0] < most_ms) && words[1] == interval &&
	       wait >= interval && wait <= 2 * interval &&
	       !hawk_target_mapping_at(target, words[2]);
}

struct hawk_error *hawk_jemalloc_read_decay(struct hawk_jemalloc *jemalloc, struct hawk_near *near,
					    const struct hawk_claim *base)
{
	const struct hawk_target *target = jemalloc->heap.target;
	uint64_t end =
		base->end - base->start < ARENA_BYTES ? base->end : base->start + ARENA_BYTES;
	uint64_t dirty, muzzy;

	for (uint64_t at = base->start; at < end; at += 8) {
		if (!read_decay(target, near, at, &dirty))
			continue;
		for (uint64_t next = at + DECAY_MIN; next <= at + DECAY_MAX; next += 8) {
			if (!read_decay(target, near, next, &muzzy))
				continue;
			jemalloc->dirty_decay_ms = dirty;
			jemalloc->muzzy_decay_ms = muzzy;
			return hawk_claims_add(&jemalloc->bases, base->start, base->end);
		}
	}
	return NULL;
}

void hawk_jemalloc_describe(const void *state, struct hawk_allocator *ret)
{
	const struct hawk_jemalloc *jemalloc = state;

	hawk_slab_heap_describe(state, ret);
	ret->arenas = jemalloc->bases.count;
	ret->settings[0].name = "dirty_decay_ms";
	ret->settings[0].value = jemalloc->dirty_decay_ms;
	ret->settings[1].name = "muzzy_decay_ms";
	ret->settings[1].value = jemalloc->muzzy_decay_ms;
	ret->setting_count = jemalloc->bases.count ? 2 : 0;
}
