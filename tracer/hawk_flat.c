/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Recursion is collapsed in one pass from the leaf: a cycle that repeats the one before it is
 * dropped as soon as its last frame is there.
 */
#include "hawk_flat.h"

#include "hawk_options.h"
#include "hawk_trace_table.h"
#include "hawk_traces.h"

static uint64_t pc_at(const struct hawk_frames *self, uint32_t index)
{
	return ((const uint64_t *)self->frames)[index];
}

static uint64_t hash_of(const uint64_t *pcs, uint32_t count, uint32_t generation)
{
	uint64_t hash = generation + UINT64_C(0x452821e638d01377);

	for (uint32_t i = 0; i < count; i++) {
		unsigned __int128 product =
			(unsigned __int128)(hash ^ pcs[i]) * UINT64_C(0x9e3779b97f4a7c15);

		hash = (uint64_t)product ^ (uint64_t)(product >> 64) ^ UINT64_C(0xbe5466cf34e90c6c);
	}
	return hash ? hash : 1;
}

/** Whether the `cycle` frames before `end` (exclusive) repeat the `cycle` frames before those. */
static bool repeats(const uint64_t *pcs, uint32_t end, uint32_t cycle)
{
	if (end < 2 * cycle)
		return false;
	for (uint32_t i = 0; i < cycle; i++)
		if (pcs[end - 1 - i] != pcs[end - 1 - cycle - i])
			return false;
	return true;
}

/** Leaves one of every run of equal cycles of up to `longest` frames, in place. Returns the new
 * count. */
static uint32_t collapse_cycles(uint64_t *pcs, uint32_t count, uint32_t longest)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < count; i++) {
		pcs[used++] = pcs[i];
		for (uint32_t cycle = 1; cycle <= longest; cycle++) {
			if (!repeats(pcs, used, cycle))
				continue;
			used -= cycle;
			break;
		}
	}
	return used;
}

uint32_t hawk_flat_intern(uint64_t *pcs, const struct hawk_walk_result *walk)
{
	struct hawk_frames frames = {.frames = pcs,
				     .pc = pc_at,
				     .count = walk->count,
				     .flags = walk->flags,
				     .generation = walk->generation,
				     .hash = walk->hash};

	if (hawk_options.collapse) {
		frames.count = collapse_cycles(pcs, walk->count, hawk_options.collapse);
		if (frames.count != walk->count)
			frames.flags |= HAWK_TRACE_COLLAPSED;
		frames.hash = hash_of(pcs, frames.count, walk->generation);
	}
	return hawk_traces_intern(&frames);
}
