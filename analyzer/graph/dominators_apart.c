/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Blocks apart: some leaks have leaders by start pointers and none by all pointers, because an
 * interior pointer leads there. Only such a leader keeps the blocks apart in the tree by start
 * pointers, and nothing of that may be left when the other tree is made of it.
 *
 * So the tree is found without the pointers that lead out of there, as if what is apart were a heap
 * of its own; then these pointers are added as what they are to all other blocks: pointers from the
 * virtual root, since nothing on the way dominates any of them. Each block that this frees of its
 * dominators is noted, and can be put back.
 *
 * Whom it frees: those to which a path from such a pointer's target leads over blocks none of which
 * is higher in the tree (Ramalingam and Reps, "An incremental algorithm for maintaining the
 * dominator tree of a reducible flowgraph", POPL 1994). Lowest first, no block is visited twice.
 */
#include "dominators_state.h"

#include <stdlib.h>

/* More than that is found sooner by a second search. */
static bool is_much(const struct hawk_dominator_state *state)
{
	enum { BLOCKS_SPARE = 100, OUTWARD_SPARE = 100 };

	return state->count - (state->base.apart - 1) > state->count / 8 + BLOCKS_SPARE ||
	       state->outward_count > state->count / 64 + OUTWARD_SPARE;
}

/* Out of the list. Without `outward` these are edges as all others that lead into older trees. */
static void take_outward(struct hawk_dominator_state *state)
{
	uint64_t *edges = state->edges;
	uint64_t kept = state->apart_edges;
	size_t count = 0;

	for (uint64_t i = state->apart_edges; i < state->edge_count; i++) {
		uint32_t target = (uint32_t)edges[i];

		if (target >= state->base.apart)
			edges[kept++] = edges[i];
		else if (state->outward)
			state->outward[count++] = target;
		else
			state->semi[target] = 0;
	}
	state->edge_count = kept;
}

struct hawk_error *hawk_dominators_part(struct hawk_dominator_state *state)
{
	const uint64_t *edges = state->edges;
	uint32_t apart = state->base.apart;
	uint64_t count = 0;

	if (!state->all || apart > state->count) {
		state->base.extendable = state->all;
		state->base.apart = state->count + 1;
		return NULL;
	}
	for (uint64_t i = state->apart_edges; i < state->edge_count; i++)
		count += (uint32_t)edges[i] < apart;
	state->outward_count = (size_t)count;
	if (is_much(state)) {
		take_outward(state);
		state->outward_count = 0;
		state->base.apart = state->count + 1;
		return NULL;
	}
	state->base.extendable = true;
	if (!count)
		return NULL;
	state->outward = malloc(count * sizeof(*state->outward));
	if (!state->outward)
		return &hawk_enomem;
	take_outward(state);
	return NULL;
}

enum {
	WAITING = 1, /* will lose its dominator */
	VISITED = 2, /* its edges were looked at, or will be */
};

/** In lanes of the workspace that only the link needs. */
struct release {
	struct hawk_dominator_state *state;
	uint32_t *numbers; /* by block */
	uint32_t *depths;  /* by number, in the tree as it was; of the virtual root 0 */
	uint8_t *marks;    /* by number */
	uint32_t *stack;
	/* A heap: the lowest block in the tree is the first of those that wait. */
	uint32_t *waiting;
	uint32_t waiting_count;
	size_t moves_capacity;
};

static void add_waiting(struct release *release, uint32_t number)
{
	uint32_t *heap = release->waiting;
	uint32_t at = release->waiting_count++;

	release->marks[number] |= WAITING;
	for (; at && release->depths[heap[(at - 1) / 2]] < release->depths[number];
	     at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = number;
}

static uint32_t take_waiting(struct release *release)
{
	uint32_t *heap = release->waiting;
	uint32_t taken = heap[0];
	uint32_t last = heap[--release->waiting_count];
	uint32_t at = 0;

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= release->waiting_count)
			break;
		if (child + 1 < release->waiting_count &&
		    release->depths[heap[child + 1]] > release->depths[heap[child]])
			child++;
		if (release->depths[heap[child]] <= release->depths[last])
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = last;
	return taken;
}

static struct hawk_error *move_to_root(struct release *release, uint32_t number)
{
	struct hawk_dominators_base *base = &release->state->base;
	uint32_t *dominators = release->state->dominators;

	if (base->move_count == release->moves_capacity) {
		size_t capacity = release->moves_capacity ? 2 * release->moves_capacity : 64;
		struct hawk_dominators_move *moves =
			reallocarray(base->moves, capacity, sizeof(*moves));

		if (!moves)
			return &hawk_enomem;
		base->moves = moves;
		release->moves_capacity = capacity;
	}
	base->moves[base->move_count++] = (struct hawk_dominators_move){number, dominators[number]};
	dominators[number] = 0;
	return NULL;
}

/* What `number` points to. Deeper blocks are on the way; others lose their dominator, unless it is
 * the virtual root. */
static uint32_t visit(struct release *release, uint32_t number, uint32_t depth, uint32_t stacked)
{
	const struct hawk_graph *graph = release->state->graph;
	uint32_t block = release->state->blocks[number];

	for (uint32_t i = graph->offsets[block]; i < graph->offsets[block + 1]; i++) {
		uint32_t target;

		if (graph->edges[i] & HAWK_EDGE_INTERIOR)
			continue;
		target = release->numbers[graph->edges[i] >> 1];
		if (release->marks[target])
			continue;
		if (release->depths[target] > depth) {
			release->marks[target] = VISITED;
			release->stack[stacked++] = target;
		} else if (release->depths[target] > 1) {
			add_waiting(release, target);
		}
	}
	return stacked;
}

static struct hawk_error *release_all(struct release *release)
{
	while (release->waiting_count) {
		uint32_t number = take_waiting(release);
		uint32_t depth = release->depths[number];
		struct hawk_error *err = move_to_root(release, number);
		uint32_t stacked = 0;

		if (err)
			return err;
		release->marks[number] |= VISITED;
		release->stack[stacked++] = number;
		while (stacked) {
			uint32_t next = release->stack[--stacked];

			stacked = visit(release, next, depth, stacked);
		}
	}
	return NULL;
}

static void fill(struct release *release)
{
	struct hawk_dominator_state *state = release->state;

	memset(release->marks, 0, (size_t)state->count + 1);
	release->depths[0] = 0;
	for (uint32_t number = 1; number <= state->count; number++) {
		release->depths[number] = release->depths[state->dominators[number]] + 1;
		release->numbers[state->blocks[number]] = number;
	}
	for (size_t i = 0; i < state->outward_count; i++)
		if (state->dominators[state->outward[i]] && !release->marks[state->outward[i]])
			add_waiting(release, state->outward[i]);
}

struct hawk_error *hawk_dominators_add_outward(struct hawk_dominator_state *state)
{
	struct release release = {
		.state = state,
		.numbers = state->source_offsets,
		.depths = state->semi,
		.marks = (uint8_t *)(void *)state->best,
		.stack = state->parents,
		.waiting = state->last_lane,
	};
	bool any = false;

	for (size_t i = 0; i < state->outward_count; i++)
		any |= state->dominators[state->outward[i]] != 0;
	if (!any)
		return NULL;
	fill(&release);
	return release_all(&release);
}
