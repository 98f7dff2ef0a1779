/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Sums by group after a few moves, without going through the whole tree again.
 *
 * A group's sum is that of all blocks that are below one of its blocks, or are one. When a block is
 * hung higher, only groups of the blocks between its old and its new dominator can lose any: those
 * that have no block further up lose what, below the block that moved, is below none of theirs.
 */
#include "dominators_state.h"

#include <stdlib.h>

#include "hawk_cleanup.h"

enum { STEPS_SPARE = 1000 };

/* Of a block below the one that moves. */
enum {
	ELSEWHERE = 0, /* it moved away before, or never was there */
	UNCOVERED = 1,
	COVERED = 2, /* by a block of the group */
};

struct regroup {
	const struct hawk_dominators *dominators;
	const struct hawk_block_index *index;
	const struct hawk_dominators_groups *groups;
	const uint32_t *ends; /* as in an extension */
	uint64_t *sums;
	uint64_t *seen;  /* by group: the last move that found it */
	uint8_t *covers; /* by number, from the one that moves on */
	uint64_t steps;  /* left */
};

static bool spend(struct regroup *regroup)
{
	if (!regroup->steps)
		return false;
	regroup->steps--;
	return true;
}

static uint32_t group_of(const struct regroup *regroup, uint32_t number)
{
	return hawk_dominators_group(regroup->groups, regroup->index,
				     regroup->dominators->blocks[number]);
}

/* Takes from the sum what is below `top` and below no block of the group there. */
static bool lose(struct regroup *regroup, uint32_t group, uint32_t top)
{
	const struct hawk_dominators *dominators = regroup->dominators;
	const uint32_t *sizes = dominators->sizes;
	uint32_t first = regroup->ends[top] - sizes[top];
	uint64_t bytes = 0;
	uint32_t left = sizes[top];

	for (uint32_t number = top; left; number++) {
		uint32_t above = dominators->dominators[number];
		uint8_t cover = number == top ? UNCOVERED : ELSEWHERE;

		if (!spend(regroup))
			return false;
		left -= regroup->ends[number] - sizes[number] - first < sizes[top];
		if (number != top && above >= top)
			cover = regroup->covers[above - top];
		if (cover != ELSEWHERE && group_of(regroup, number) == group)
			cover = COVERED;
		if (cover == UNCOVERED)
			bytes += hawk_block_size(regroup->index, dominators->blocks[number]);
		regroup->covers[number - top] = cover;
	}
	regroup->sums[group] -= bytes;
	return true;
}

static bool move(struct regroup *regroup, const struct hawk_extension_move *move, uint64_t name)
{
	const uint32_t *parents = regroup->dominators->dominators;
	uint32_t count = regroup->groups->group_count;

	for (uint32_t above = move->to; above; above = parents[above]) {
		uint32_t group = group_of(regroup, above);

		if (!spend(regroup))
			return false;
		if (group < count)
			regroup->seen[group] = name;
	}
	for (uint32_t above = move->from; above != move->to; above = parents[above]) {
		uint32_t group = group_of(regroup, above);

		if (!spend(regroup))
			return false;
		if (group >= count || regroup->seen[group] == name)
			continue;
		regroup->seen[group] = name;
		if (!lose(regroup, group, move->number))
			return false;
	}
	return true;
}

bool hawk_dominators_regroup(const struct hawk_dominators *dominators,
			     const struct hawk_block_index *index,
			     const struct hawk_dominators_groups *groups, const uint32_t *ends,
			     const struct hawk_extension_move *moves, size_t move_count,
			     uint64_t *sums)
{
	uint64_t steps = dominators->count / 16 + STEPS_SPARE;
	CLEANUP(free_ptr)
	uint64_t *seen = calloc((size_t)groups->group_count + 1, sizeof(*seen));
	CLEANUP(free_ptr) uint8_t *covers = malloc(steps);
	struct regroup regroup = {
		.dominators = dominators,
		.index = index,
		.groups = groups,
		.ends = ends,
		.sums = sums,
		.seen = seen,
		.covers = covers,
		.steps = steps,
	};
	bool done = seen && covers;

	for (size_t i = move_count; i--;)
		dominators->dominators[moves[i].number] = moves[i].from;
	for (size_t i = 0; i < move_count; i++) {
		done = done && move(&regroup, &moves[i], i + 1);
		dominators->dominators[moves[i].number] = moves[i].to;
	}
	return done;
}
