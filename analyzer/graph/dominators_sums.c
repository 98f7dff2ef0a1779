/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Sizes of subtrees, and their sums by group: passes over arrays in the order of numbers, stretch
 * by stretch. Only the virtual root belongs to all stretches.
 */
#include "dominators_state.h"

#include <assert.h>
#include <stdlib.h>

#include "hawk_cleanup.h"
#include "hawk_parallel.h"
#include "hawk_progress.h"

/** What to do in each stretch. */
struct passes {
	const struct hawk_block_index *index;
	struct hawk_dominators *dominators;
	uint64_t bytes[HAWK_STRETCHES_MAX]; /**< under the virtual root */
};

/* Dominators have smaller numbers: descending, every block is complete when it is added to its
 * dominator. */
static void add_up_stretch(void *context, unsigned stretch)
{
	struct passes *passes = context;
	const struct hawk_dominators *dominators = passes->dominators;
	uint32_t first = dominators->stretches.first[stretch];
	uint32_t end = dominators->stretches.first[stretch + 1];
	uint64_t *retained = dominators->retained;
	uint32_t *sizes = dominators->sizes;
	uint64_t top_bytes = 0;
	uint64_t bytes = 0; /* of what is below, if that is the number before */
	uint32_t size = 0;

	memset(retained + first, 0, (end - first) * sizeof(*retained));
	memset(sizes + first, 0, (end - first) * sizeof(*sizes));
	for (uint32_t number = end; number-- > first;) {
		uint32_t above = dominators->dominators[number];

		hawk_progress_tick(number);
		bytes += retained[number] +
			 hawk_block_size(passes->index, dominators->blocks[number]);
		size += sizes[number] + 1;
		retained[number] = bytes;
		sizes[number] = size;
		if (!above) {
			top_bytes += bytes;
		} else if (above == number - 1) {
			/* In a chain what was added is wanted at once: memory would be waited
			 * for. */
			continue;
		} else {
			retained[above] += bytes;
			sizes[above] += size;
		}
		bytes = 0;
		size = 0;
	}
	passes->bytes[stretch] = top_bytes;
}

void hawk_dominators_add_up(const struct hawk_block_index *index,
			    struct hawk_dominators *dominators)
{
	struct passes passes = {.index = index, .dominators = dominators};
	struct hawk_progress progress;

	hawk_progress_begin(&progress, "adding up what blocks retain", dominators->count + 1);
	hawk_parallel_run(dominators->stretches.count, add_up_stretch, &passes);
	hawk_progress_end(&progress);
	dominators->sizes[0] = dominators->count + 1;
	dominators->retained[0] = 0;
	for (unsigned i = 0; i < dominators->stretches.count; i++)
		dominators->retained[0] += passes.bytes[i];
}

/* What is under the virtual root in front of the stretch is all that is in front of it. */
static void order_stretch(void *context, unsigned stretch)
{
	const struct hawk_dominators *dominators = context;
	uint32_t first = dominators->stretches.first[stretch];
	uint32_t end = dominators->stretches.first[stretch + 1];
	uint32_t *next = hawk_workspace_lane(dominators->workspace, HAWK_DOMINATORS_LANE_FREE);
	uint32_t *order = hawk_workspace_lane(dominators->workspace, 6);
	uint32_t top = first;
	uint32_t position = first;

	for (uint32_t number = first; number < end; number++) {
		uint32_t above = dominators->dominators[number];
		uint32_t size = dominators->sizes[number];

		if (!above) {
			position = top;
			top += size;
		} else {
			/* The one before is the last that was put somewhere: no need to wait for
			 * memory. */
			if (above != number - 1)
				position = next[above];
			next[above] = position + size;
		}
		hawk_progress_tick(number);
		order[position] = number;
		next[number] = ++position;
	}
}

/* The numbers in an order in which every subtree is a stretch of its size. */
static uint32_t *make_order(const struct hawk_dominators *dominators)
{
	uint32_t *order = hawk_workspace_lane(dominators->workspace, 6);
	struct hawk_progress progress;

	hawk_progress_begin(&progress, "ordering blocks", dominators->count + 1);
	hawk_parallel_run(dominators->stretches.count, order_stretch,
			  (void *)(uintptr_t)dominators);
	hawk_progress_end(&progress);
	order[0] = 0;
	return order;
}

/** Sums by group, an array for each stretch. */
struct grouping {
	const struct hawk_dominators *dominators;
	const struct hawk_block_index *index;
	const struct hawk_dominators_groups *groups;
	const uint32_t *order;
	uint64_t *sums;
	uint32_t *ends; /* behind the last topmost block of the group */
};

static void group_stretch(void *context, unsigned stretch)
{
	const struct grouping *grouping = context;
	const struct hawk_dominators *dominators = grouping->dominators;
	uint32_t group_count = grouping->groups->group_count;
	uint64_t *sums = grouping->sums + (size_t)stretch * group_count;
	uint32_t *ends = grouping->ends + (size_t)stretch * group_count;
	uint32_t end = dominators->stretches.first[stretch + 1];

	for (uint32_t position = dominators->stretches.first[stretch]; position < end; position++) {
		uint32_t number = grouping->order[position];
		uint32_t group = hawk_dominators_group(grouping->groups, grouping->index,
						       dominators->blocks[number]);

		hawk_progress_tick(position);
		/* Behind the end of the last topmost block of this group? */
		if (group >= group_count || position < ends[group])
			continue;
		sums[group] += dominators->retained[number];
		ends[group] = position + dominators->sizes[number];
	}
}

struct hawk_error *hawk_dominators_retained_by_group(const struct hawk_dominators *dominators,
						     const struct hawk_block_index *index,
						     const struct hawk_dominators_groups *groups,
						     uint64_t *ret)
{
	size_t count = (size_t)dominators->stretches.count * groups->group_count;
	CLEANUP(free_ptr) uint64_t *sums = calloc(count + 1, sizeof(*sums));
	CLEANUP(free_ptr) uint32_t *ends = calloc(count + 1, sizeof(*ends));
	struct grouping grouping = {
		.dominators = dominators,
		.index = index,
		.groups = groups,
		.sums = sums,
		.ends = ends,
	};
	struct hawk_progress progress;

	if (!sums || !ends)
		return &hawk_enomem;
	assert(!dominators->numbers);
	grouping.order = make_order(dominators);
	hawk_progress_begin(&progress, "adding up what sites retain", dominators->count + 1);
	hawk_parallel_run(dominators->stretches.count, group_stretch, &grouping);
	hawk_progress_end(&progress);
	for (size_t i = 0; i < count; i++)
		ret[i % groups->group_count] += sums[i];
	return NULL;
}

static void number_stretch(void *context, unsigned stretch)
{
	const struct hawk_dominators *dominators = context;
	uint32_t end = dominators->stretches.first[stretch + 1];

	for (uint32_t number = dominators->stretches.first[stretch]; number < end; number++) {
		dominators->numbers[dominators->blocks[number]] = number;
		hawk_progress_tick(number);
	}
}

void hawk_dominators_number_blocks(struct hawk_dominators *dominators)
{
	struct hawk_progress progress;

	dominators->numbers = hawk_workspace_lane(dominators->workspace, 6);
	hawk_progress_begin(&progress, "numbering blocks", dominators->count + 1);
	hawk_parallel_run(dominators->stretches.count, number_stretch, dominators);
	hawk_progress_end(&progress);
}
