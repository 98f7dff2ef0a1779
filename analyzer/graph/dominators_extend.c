/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * From the dominators by start pointers to those by all pointers, without a second search, where
 * interior pointers change little.
 *
 * A tree's ancestors dominate if for every edge the parent of its target is its source or above
 * that: no path gets past it. Where that is not so, the target is hung higher, under the lowest
 * block that is above both its parent and the source; then the edges of all that hangs below it
 * are looked at again. No more is taken away than must be: a block's dominators are among those
 * of every block that points to it. So in the end, when all edges are as they should be, the
 * ancestors are the dominators.
 *
 * Blocks apart get a tree of their own first (dominators_join.c). They are few: their edges are
 * looked at again until nothing changes.
 */
#include "dominators_state.h"

#include <stdlib.h>

#include "hawk_progress.h"

enum {
	STEPS_SPARE = 1000,
	ROUNDS_MAX = 8, /* most of a round costs no steps; two are usual */
};

struct extension {
	const struct hawk_graph *graph;
	struct hawk_dominators *dominators;
	uint32_t apart; /* as in base */
	/* As the tree was: the subtree of a number is the stretch of positions from its end minus
	 * its size on. Blocks leave it, none is added. */
	const uint32_t *ends;
	const uint32_t *sizes;
	/* Of blocks that are not apart. Below the first `settled` all edges were looked at. */
	struct hawk_extension_move *moves;
	size_t move_count;
	size_t move_capacity;
	size_t settled;
	bool changed;   /* anything, in this round */
	uint64_t steps; /* left; one costs about as much as one of the search */
};

static bool spend(struct extension *extension)
{
	if (!extension->steps)
		return false;
	hawk_progress_tick(extension->steps--);
	return true;
}

static bool hang(struct extension *extension, uint32_t number, uint32_t parent)
{
	uint32_t *slot = &extension->dominators->dominators[number];

	extension->changed = true;
	if (number < extension->apart) {
		if (extension->move_count == extension->move_capacity) {
			size_t capacity = 2 * extension->move_capacity + 64;
			struct hawk_extension_move *moves =
				reallocarray(extension->moves, capacity, sizeof(*moves));

			if (!moves)
				return false;
			extension->moves = moves;
			extension->move_capacity = capacity;
		}
		extension->moves[extension->move_count++] =
			(struct hawk_extension_move){number, *slot, parent};
	}
	*slot = parent;
	return true;
}

/* Makes the parent of `target` one that is above `source` too, or `source`. False = too dear. */
static bool take_edge(struct extension *extension, uint32_t source, uint32_t target)
{
	const uint32_t *parents = extension->dominators->dominators;
	uint32_t above = source;
	uint32_t parent = parents[target];

	/* What is above has a smaller number. */
	while (above != parent) {
		if (!spend(extension))
			return false;
		if (above > parent)
			above = parents[above];
		else
			parent = parents[parent];
	}
	return parent == parents[target] || hang(extension, target, parent);
}

/* All edges of a block. */
static bool take_edges(struct extension *extension, uint32_t source)
{
	const struct hawk_graph *graph = extension->graph;
	const uint32_t *numbers = extension->dominators->numbers;
	uint32_t block = extension->dominators->blocks[source];

	for (uint32_t i = graph->offsets[block]; i < graph->offsets[block + 1]; i++) {
		uint32_t target = numbers[graph->edges[i] >> 1];

		if (!spend(extension))
			return false;
		if (target != source && !take_edge(extension, source, target))
			return false;
	}
	return true;
}

/* How far behind the beginning of `top`'s subtree; if below its size, the number is in it. */
static uint32_t distance(const struct extension *extension, uint32_t top, uint32_t number)
{
	return extension->ends[number] - extension->sizes[number] -
	       (extension->ends[top] - extension->sizes[top]);
}

/* Until nothing changes. What is below a number has larger ones, mostly the next. */
static bool settle(struct extension *extension)
{
	while (extension->settled < extension->move_count) {
		uint32_t top = extension->moves[extension->settled++].number;
		uint32_t left = extension->sizes[top];

		for (uint32_t number = top; left; number++) {
			if (!spend(extension))
				return false;
			if (distance(extension, top, number) >= extension->sizes[top])
				continue;
			left--;
			if (!take_edges(extension, number))
				return false;
		}
	}
	return true;
}

/* An edge that start pointers do not have, of blocks that are not apart. */
static bool add_edge(struct extension *extension, uint32_t source, uint32_t target)
{
	uint32_t parent = extension->dominators->dominators[target];

	/* Is it as it should be? The tree as it was tells nothing once something has changed, or of
	 * what has just been joined. */
	if (target < extension->apart && !extension->move_count &&
	    distance(extension, parent, source) < extension->sizes[parent])
		return true;
	return take_edge(extension, source, target) && settle(extension);
}

static bool add_edges(struct extension *extension, const struct hawk_roots *roots)
{
	const uint32_t *numbers = extension->dominators->numbers;
	struct hawk_interior_walk walk = {.interior = &extension->dominators->interior};

	for (size_t i = 0; i < roots->count; i++)
		if (!hawk_root_is_strong(&roots->items[i]) &&
		    !add_edge(extension, 0, numbers[roots->items[i].edge >> 1]))
			return false;
	while (hawk_interior_next(&walk)) {
		uint32_t target = numbers[hawk_interior_target(&walk)];
		uint32_t source = numbers[hawk_interior_source(&walk)];

		if (source != target && source < extension->apart &&
		    !add_edge(extension, source, target))
			return false;
	}
	return true;
}

/* All edges of blocks apart. */
static bool add_apart(struct extension *extension)
{
	for (uint32_t number = extension->apart; number <= extension->dominators->count; number++)
		if (!take_edges(extension, number))
			return false;
	return settle(extension);
}

static bool add_all(struct extension *extension, const struct hawk_roots *roots)
{
	unsigned rounds = 0;

	do {
		extension->changed = false;
		if (++rounds > ROUNDS_MAX || !add_edges(extension, roots) || !add_apart(extension))
			return false;
	} while (extension->changed && extension->apart <= extension->dominators->count);
	return true;
}

/* Takes what has left it from the sums of every block that it was below. */
static void add_up_moves(struct extension *extension)
{
	struct hawk_dominators *dominators = extension->dominators;
	uint32_t *parents = dominators->dominators;

	for (size_t i = extension->move_count; i--;)
		parents[extension->moves[i].number] = extension->moves[i].from;
	for (size_t i = 0; i < extension->move_count; i++) {
		const struct hawk_extension_move *move = &extension->moves[i];

		for (uint32_t above = move->from; above != move->to; above = parents[above]) {
			dominators->retained[above] -= dominators->retained[move->number];
			dominators->sizes[above] -= dominators->sizes[move->number];
		}
		parents[move->number] = move->to;
	}
}

/* Adds the blocks apart to the sums of what they are below now. Of the virtual root they were below
 * before. */
static bool add_up_apart(struct extension *extension, const struct hawk_block_index *index)
{
	struct hawk_dominators *dominators = extension->dominators;

	for (uint32_t number = extension->apart; number <= dominators->count; number++) {
		dominators->retained[number] = hawk_block_size(index, dominators->blocks[number]);
		dominators->sizes[number] = 1;
	}
	for (uint32_t number = dominators->count; number >= extension->apart; number--) {
		uint32_t above = dominators->dominators[number];

		while (above) {
			dominators->retained[above] += dominators->retained[number];
			dominators->sizes[above] += dominators->sizes[number];
			if (above >= extension->apart)
				break; /* adds its own */
			if (!spend(extension))
				return false;
			above = dominators->dominators[above];
		}
	}
	return true;
}

/* The tree without what blocks apart did to others. */
static void undo_moves(struct hawk_dominators *dominators, const struct hawk_block_index *index)
{
	struct hawk_dominators_base *base = &dominators->base;
	uint32_t *unused;

	if (!base->move_count)
		return;
	for (size_t i = 0; i < base->move_count; i++)
		dominators->dominators[base->moves[i].number] = base->moves[i].dominator;
	hawk_dominators_add_up(index, dominators);
	(void)hawk_dominators_order(dominators, &unused);
	free(base->moves);
	base->moves = NULL;
	base->move_count = 0;
}

static enum hawk_dominators_extension
extend(struct extension *extension, const struct hawk_block_index *index,
       const struct hawk_roots *roots, const struct hawk_reach *all,
       const struct hawk_dominators_groups *groups, uint64_t *sums)
{
	struct hawk_dominators *dominators = extension->dominators;
	bool joined = extension->apart <= dominators->count;
	bool regrouped;

	undo_moves(dominators, index);
	hawk_dominators_number_blocks(dominators);
	if (joined && !hawk_dominators_join(dominators, extension->graph, roots, all))
		return HAWK_DOMINATORS_OTHER;
	if (joined) /* under blocks of any stretch */
		dominators->stretches = hawk_dominators_cut(NULL, dominators->count, 1);
	if (!add_all(extension, roots))
		return HAWK_DOMINATORS_OTHER;
	if (!joined && !extension->move_count)
		return HAWK_DOMINATORS_SAME;
	regrouped =
		!joined && hawk_dominators_regroup(dominators, index, groups, extension->ends,
						   extension->moves, extension->move_count, sums);
	add_up_moves(extension);
	if (joined && !add_up_apart(extension, index))
		hawk_dominators_add_up(index, dominators);
	if (regrouped)
		return HAWK_DOMINATORS_REGROUPED;
	dominators->numbers = NULL;
	return HAWK_DOMINATORS_EXTENDED;
}

enum hawk_dominators_extension
hawk_dominators_extend(struct hawk_dominators *dominators, const struct hawk_block_index *index,
		       const struct hawk_graph *graph, const struct hawk_roots *roots,
		       const struct hawk_reach *all, const struct hawk_dominators_groups *groups,
		       uint64_t *sums)
{
	struct extension extension = {
		.graph = graph,
		.dominators = dominators,
		.apart = dominators->base.apart,
		.ends = hawk_workspace_lane(dominators->workspace, HAWK_DOMINATORS_LANE_FREE),
		.sizes = dominators->sizes,
		.steps = graph->count / 4 + STEPS_SPARE,
	};
	enum hawk_dominators_extension ret = HAWK_DOMINATORS_OTHER;
	struct hawk_progress progress;

	if (dominators->base.extendable) {
		if (!dominators->interior.graph)
			hawk_interior_init(&dominators->interior, graph,
					   dominators->workspace->threads);
		hawk_progress_begin(&progress, "adding interior pointers", extension.steps + 1);
		ret = extend(&extension, index, roots, all, groups, sums);
		hawk_progress_end(&progress);
	}
	hawk_interior_deinit(&dominators->interior);
	free(extension.moves);
	free(dominators->base.moves);
	dominators->base = (struct hawk_dominators_base){0};
	return ret;
}
