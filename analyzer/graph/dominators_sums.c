/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Sizes of subtrees, and their sums by group: passes over arrays in the order of numbers, range by
 * range. Only the virtual root belongs to all ranges.
 */
#include "dominators_state.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/parallel.h"
#include "hawk/base/progress.h"

/** Arguments of the pass over each range. */
struct passes {
	const struct hawk_block_index *index;
	struct hawk_dominators *dominators;
	uint64_t bytes[HAWK_STRETCHES_MAX]; /**< under the virtual root */
};

/* Dominators have smaller numbers: descending, every block is complete when it is added to its
 * dominator. */
static void add_up_range(void *context, unsigned range)
{
	struct passes *passes = context;
	const struct hawk_dominators *dominators = passes->dominators;
	uint32_t first = dominators->ranges.first[range];
	uint32_t end = dominators->ranges.first[range + 1];
	uint64_t *retained = dominators->retained;
	uint32_t *sizes = dominators->sizes;
	uint64_t top_bytes = 0;
	uint64_t bytes = 0; /* of the subtree, if the number before is a child */
	uint32_t size = 0;

	memset(retained + first, 0, (end - first) * sizeof(*retained));
	memset(sizes + first, 0, (end - first) * sizeof(*sizes));
	for (uint32_t number = end; number-- > first;) {
		uint32_t above = dominators->dominators[number];

		hawk_progress_tick(number);
		bytes += retained[number] +
			 hawk_block_own_bytes(passes->index, dominators->blocks[number]);
		size += sizes[number] + 1;
		retained[number] = bytes;
		sizes[number] = size;
		if (!above) {
			top_bytes += bytes;
		} else if (above == number - 1) {
			/* A chain needs each sum at once: keep it in a register rather than wait
			 * for memory. */
			continue;
		} else {
			retained[above] += bytes;
			sizes[above] += size;
		}
		bytes = 0;
		size = 0;
	}
	passes->bytes[range] = top_bytes;
}

static void number_range(void *context, unsigned range)
{
	const struct hawk_dominators *dominators = context;
	uint32_t end = dominators->ranges.first[range + 1];

	for (uint32_t number = dominators->ranges.first[range]; number < end; number++) {
		dominators->numbers[dominators->blocks[number]] = number;
		hawk_progress_tick(number);
	}
}

void hawk_dominators_add_up(const struct hawk_block_index *index,
			    struct hawk_dominators *dominators)
{
	struct passes passes = {.index = index, .dominators = dominators};
	struct hawk_progress progress;

	hawk_progress_begin(&progress, "adding up what blocks retain", dominators->count + 1);
	hawk_parallel_run(dominators->ranges.count, add_up_range, &passes);
	hawk_progress_end(&progress);
	dominators->sizes[0] = dominators->count + 1;
	dominators->retained[0] = 0;
	for (unsigned i = 0; i < dominators->ranges.count; i++)
		dominators->retained[0] += passes.bytes[i];
	hawk_progress_begin(&progress, "numbering blocks", dominators->count + 1);
	hawk_parallel_run(dominators->ranges.count, number_range, dominators);
	hawk_progress_end(&progress);
}

/** Numbers in an order in which every subtree is a range of its size. */
struct order {
	const struct hawk_dominators *dominators;
	struct hawk_area numbers; /**< by position */
	struct hawk_area next;    /**< by number: where its next subtree begins */
};

static void hawk_cleanup_order(struct order *order)
{
	hawk_area_destroy(&order->numbers);
	hawk_area_destroy(&order->next);
}

/* Subtrees under the virtual root fill all positions before the range. */
static void order_range(void *context, unsigned range)
{
	const struct order *order = context;
	const struct hawk_dominators *dominators = order->dominators;
	uint32_t first = dominators->ranges.first[range];
	uint32_t end = dominators->ranges.first[range + 1];
	uint32_t *next = order->next.bytes;
	uint32_t *numbers = order->numbers.bytes;
	uint32_t top = first;
	uint32_t position = first;

	for (uint32_t number = first; number < end; number++) {
		uint32_t above = dominators->dominators[number];
		uint32_t size = dominators->sizes[number];

		if (!above) {
			position = top;
			top += size;
		} else {
			/* The number before was placed last: keep its position rather than wait for
			 * memory. */
			if (above != number - 1)
				position = next[above];
			next[above] = position + size;
		}
		hawk_progress_tick(number);
		numbers[position] = number;
		next[number] = ++position;
	}
}

static struct hawk_error *make_order(struct order *order)
{
	uint64_t bytes = ((uint64_t)order->dominators->count + 1) * sizeof(uint32_t);
	struct hawk_progress progress;
	struct hawk_error *err = hawk_area_create(&order->numbers, bytes);

	if (!err)
		err = hawk_area_grow(&order->numbers, bytes);
	if (!err)
		err = hawk_area_create(&order->next, bytes);
	if (!err)
		err = hawk_area_grow(&order->next, bytes);
	if (err)
		return err;
	hawk_progress_begin(&progress, "ordering blocks", order->dominators->count + 1);
	hawk_parallel_run(order->dominators->ranges.count, order_range, order);
	hawk_progress_end(&progress);
	return NULL;
}

/** Sums by group, an array for each range. */
struct summing {
	const struct hawk_dominators *dominators;
	const struct hawk_block_groups *groups;
	const uint64_t *chosen;
	const uint32_t *order;
	uint64_t *sums;
	uint32_t *ends; /**< behind the last topmost block of the group */
};

/* UINT32_MAX = the block does not count. */
static uint32_t group_of(const struct summing *summing, uint32_t block)
{
	if (summing->chosen && !(summing->chosen[block / 64] >> block % 64 & 1))
		return UINT32_MAX;
	return hawk_block_group(summing->groups, block);
}

static void sum_range(void *context, unsigned range)
{
	const struct summing *summing = context;
	const struct hawk_dominators *dominators = summing->dominators;
	size_t group_count = summing->groups->count;
	uint64_t *sums = summing->sums + range * group_count;
	uint32_t *ends = summing->ends + range * group_count;
	uint32_t end = dominators->ranges.first[range + 1];

	for (uint32_t position = dominators->ranges.first[range]; position < end; position++) {
		uint32_t number = summing->order[position];
		uint32_t group = group_of(summing, dominators->blocks[number]);

		hawk_progress_tick(position);
		/* A block in the subtree of this group's last topmost block does not count. */
		if (group >= group_count || position < ends[group])
			continue;
		sums[group] += dominators->retained[number];
		ends[group] = position + dominators->sizes[number];
	}
}

struct hawk_error *hawk_dominators_retained_by(const struct hawk_dominators *dominators,
					       const struct hawk_block_groups *groups,
					       const uint64_t *chosen, uint64_t *ret)
{
	size_t count = (size_t)dominators->ranges.count * groups->count;
	CLEANUP(free_ptr) uint64_t *sums = calloc(count + 1, sizeof(*sums));
	CLEANUP(free_ptr) uint32_t *ends = calloc(count + 1, sizeof(*ends));
	CLEANUP(order) struct order order = {.dominators = dominators};
	struct hawk_error *err = sums && ends ? make_order(&order) : &hawk_enomem;
	struct summing summing = {
		.dominators = dominators,
		.groups = groups,
		.chosen = chosen,
		.order = order.numbers.bytes,
		.sums = sums,
		.ends = ends,
	};
	struct hawk_progress progress;

	if (err)
		return err;
	hawk_progress_begin(&progress, "adding up what groups of blocks retain",
			    dominators->count + 1);
	hawk_parallel_run(dominators->ranges.count, sum_range, &summing);
	hawk_progress_end(&progress);
	for (size_t i = 0; i < count; i++)
		ret[i % groups->count] += sums[i];
	return NULL;
}

uint64_t hawk_dominators_retained(const struct hawk_dominators *dominators, uint32_t block)
{
	return dominators->retained[dominators->numbers[block]];
}
