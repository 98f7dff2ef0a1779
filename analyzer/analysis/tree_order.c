/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Making the order of blocks that a kept tree goes with.
 */
#include "hawk_tree_order.h"

#include <stdlib.h>

#include "hawk_block_graph.h"
#include "hawk_cleanup.h"
#include "hawk_prefetch.h"
#include "hawk_progress.h"

enum { BLOCKS_AHEAD = 16 };

/** In the making. */
struct ordering {
	const struct hawk_block_index *index;
	const struct hawk_dominators *dominators;
	const uint32_t *nodes;
	unsigned node_bits;
	uint32_t *next; /**< by number: where the next block goes that it dominates */
	uint32_t *blocks, *sizes, *steps;
};

static uint32_t step_of(const struct ordering *ordering, uint32_t block)
{
	const struct hawk_block_index *index = ordering->index;
	uint32_t most = hawk_step_bytes_max(ordering->node_bits);
	uint32_t bytes = index->sizes[block];

	/* A part of a carved block is counted in its own way. */
	if (bytes > most || (index->part_count && hawk_block_index_part(index, block)))
		bytes = most;
	return bytes << ordering->node_bits | ordering->nodes[block];
}

static void prefetch_block(const struct ordering *ordering, uint32_t block)
{
	hawk_prefetch(&ordering->nodes[block]);
	hawk_prefetch(&ordering->index->sizes[block]);
}

/* What is under the virtual root in front of a block is all that is in front of it. */
static void order_blocks(const struct ordering *ordering)
{
	const struct hawk_dominators *dominators = ordering->dominators;
	uint32_t *next = ordering->next;
	uint32_t top = 0;

	for (uint32_t number = 1; number <= dominators->count; number++) {
		uint32_t above = dominators->dominators[number];
		uint32_t *place = above ? &next[above] : &top;
		uint32_t position = *place;

		hawk_progress_tick(number);
		if (dominators->count - number > BLOCKS_AHEAD)
			prefetch_block(ordering, dominators->blocks[number + BLOCKS_AHEAD]);
		*place += dominators->sizes[number];
		next[number] = position + 1;
		ordering->blocks[position] = dominators->blocks[number];
		ordering->sizes[position] = dominators->sizes[number];
		ordering->steps[position] = step_of(ordering, dominators->blocks[number]);
	}
}

/* Of blocks whose order is known. */
static void step_blocks(const struct ordering *ordering)
{
	uint32_t count = ordering->dominators->count;

	for (uint32_t i = 0; i < count; i++) {
		hawk_progress_tick(i);
		if (count - i > BLOCKS_AHEAD)
			prefetch_block(ordering, ordering->blocks[i + BLOCKS_AHEAD]);
		ordering->steps[i] = step_of(ordering, ordering->blocks[i]);
	}
}

static struct hawk_error *make_area(struct hawk_area *area, uint64_t words)
{
	uint64_t bytes = (words + 1) * sizeof(uint32_t);
	struct hawk_error *err = hawk_area_create(area, bytes);

	if (!err)
		err = hawk_area_grow(area, bytes);
	if (err)
		hawk_area_destroy(area);
	return err;
}

struct hawk_error *hawk_tree_order_make(const struct hawk_block_index *index,
					const struct hawk_dominators *dominators,
					const uint32_t *nodes, uint32_t node_count,
					const struct hawk_tree_order *same,
					struct hawk_tree_order *ret)
{
	size_t count = dominators->count;
	CLEANUP(free_ptr) uint32_t *next = same ? NULL : malloc((count + 1) * sizeof(*next));
	struct ordering ordering = {
		.index = index,
		.dominators = dominators,
		.nodes = nodes,
		.node_bits = hawk_step_node_bits(node_count),
		.next = next,
	};
	struct hawk_progress progress;
	struct hawk_area area;
	struct hawk_error *err = make_area(&area, (same ? 1 : 3) * (uint64_t)count);

	if (!err && !same && !next) {
		hawk_area_destroy(&area);
		err = &hawk_enomem;
	}
	if (err)
		return err;
	ordering.steps = area.bytes;
	ordering.blocks = same ? (uint32_t *)same->blocks : ordering.steps + count;
	ordering.sizes = same ? (uint32_t *)same->sizes : ordering.steps + 2 * count;
	hawk_progress_begin(&progress, "ordering blocks by what dominates them", count);
	(same ? step_blocks : order_blocks)(&ordering);
	hawk_progress_end(&progress);
	*ret = (struct hawk_tree_order){
		.blocks = ordering.blocks,
		.sizes = ordering.sizes,
		.steps = ordering.steps,
		.area = area,
	};
	return NULL;
}

void hawk_tree_order_deinit(struct hawk_tree_order *order)
{
	hawk_area_destroy(&order->area);
	*order = (struct hawk_tree_order){0};
}

void hawk_tree_steps_deinit(struct hawk_tree_steps *steps)
{
	hawk_area_destroy(&steps->area);
	*steps = (struct hawk_tree_steps){0};
}

bool hawk_tree_order_fits(const struct hawk_tree_order *order, const struct hawk_tree_fold *fold)
{
	return order->blocks && fold->nodes && order->groups == fold->groups;
}

bool hawk_tree_steps_fit(const struct hawk_tree_steps *steps, const struct hawk_tree_fold *fold)
{
	return steps->nodes && fold->nodes && steps->groups == fold->groups;
}
