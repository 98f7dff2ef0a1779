/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Takes the lowest block of all walks, and holds it back until the next block shows that nothing
 * lies in it. Blocks of a single source pass unchanged.
 */
#include "join.h"

#include "hawk/base/cleanup.h"

#include <stdlib.h>

struct hawk_error *hawk_join_begin(const struct hawk_heap *heap, unsigned threads,
				   struct hawk_damages *damages, struct hawk_join *ret)
{
	const struct hawk_heap_source *source = heap->found[0].source;
	unsigned count = heap->found_count;
	struct hawk_block *room = calloc((size_t)(count + 1) * HAWK_HEAP_BATCH, sizeof(*room));

	*ret = (struct hawk_join){.heap = heap, .damages = damages};
	if (!room)
		return &hawk_enomem;
	ret->out = room;
	for (unsigned i = 0; i < count; i++)
		ret->walks[i] = (struct hawk_heap_walk){
			.found = &heap->found[i],
			.threads = threads,
			.damages = damages,
			.batch = room + (size_t)(i + 1) * HAWK_HEAP_BATCH,
		};
	if (count == 1 && source->doing)
		hawk_progress_begin(&ret->progress, source->doing, 0);
	else
		hawk_progress_begin_bytes(&ret->progress, "reading memory", 0);
	return NULL;
}

static void report_progress(const struct hawk_join *join)
{
	uint64_t done = 0, all = 0;

	for (unsigned i = 0; i < join->heap->found_count; i++) {
		done += join->walks[i].done;
		all += join->walks[i].all;
	}
	if (all)
		hawk_progress_reach_of(done, all);
}

static struct hawk_error *look_ahead(struct hawk_join *join, unsigned i)
{
	struct hawk_heap_walk *walk = &join->walks[i];
	struct hawk_error *err;

	if (join->views[i].count || join->views[i].ended)
		return NULL;
	err = walk->found->source->walk(walk, &join->views[i].blocks, &join->views[i].count);
	join->views[i].ended = err || !join->views[i].count;
	report_progress(join);
	return err;
}

static uint64_t end_of(const struct hawk_block *block)
{
	return block->start + (block->size ? block->size : 1);
}

/* Returns true if the block may follow the blocks given out: carved out of the last one or behind
 * it. */
static bool follows(const struct hawk_join *join, const struct hawk_block *block, uint64_t start,
		    uint64_t end)
{
	return block->start >= (block->depth ? start : end) &&
	       !(block->start & ((1u << hawk_block_index_granule_log2(&join->heap->index)) - 1)) &&
	       end_of(block) > block->start;
}

/* Returns true if the blocks of the only source can pass unchanged. */
static bool are_in_order(struct hawk_join *join, const struct hawk_block *blocks, size_t count)
{
	uint64_t start = join->start, end = join->end;

	for (size_t i = 0; i < count; i++) {
		if (!follows(join, &blocks[i], start, end))
			return false;
		start = blocks[i].start + 1;
		if (!blocks[i].depth || end_of(&blocks[i]) > end)
			end = end_of(&blocks[i]);
	}
	join->start = start;
	join->end = end;
	return true;
}

/* Orders blocks by address. At one address the larger block is the outer one and comes first. Among
 * equals the earlier source knows better: its block comes later. */
static bool is_before(const struct hawk_block *a, const struct hawk_block *b)
{
	return a->start != b->start ? a->start < b->start : a->size >= b->size;
}

static struct hawk_error *choose(struct hawk_join *join, unsigned *ret)
{
	*ret = HAWK_HEAP_SOURCES_MAX;
	for (unsigned i = 0; i < join->heap->found_count; i++) {
		struct hawk_error *err = look_ahead(join, i);

		if (err)
			return err;
		if (join->views[i].count &&
		    (*ret == HAWK_HEAP_SOURCES_MAX ||
		     is_before(join->views[i].blocks, join->views[*ret].blocks)))
			*ret = i;
	}
	return NULL;
}

static void give_pending(struct hawk_join *join, size_t *count)
{
	if (!join->has_pending)
		return;
	join->out[(*count)++] = join->pending;
	join->start = join->pending.start + 1;
	if (!join->pending.depth || end_of(&join->pending) > join->end)
		join->end = end_of(&join->pending);
	join->has_pending = false;
}

static void leave_out(struct hawk_join *join, const struct hawk_block *block, unsigned source)
{
	hawk_damages_add(join->damages, &(struct hawk_damage){
						.address = block->start,
						.neighbour = join->has_pending ? join->pending.start
									       : join->start - 1,
						.kind = HAWK_DAMAGE_CONFLICT,
						.source = (uint8_t)source,
					});
}

/* Returns the next block of source `source`, with the heap's number. */
static struct hawk_block take(struct hawk_join *join, unsigned source)
{
	const struct hawk_heap *heap = join->heap;
	const struct hawk_heap_found *found = &heap->found[source];
	struct hawk_block block = *join->views[source].blocks++;
	uint32_t first = source ? heap->origins[source - 1].end : 0;

	join->views[source].count--;
	if (block.trace < found->class_count)
		block.trace += first;
	else
		block.trace = found->knows & HAWK_HEAP_STACKS ? UINT32_MAX : first;
	return block;
}

static void place(struct hawk_join *join, unsigned source, size_t *count)
{
	struct hawk_block block = take(join, source);
	bool same = join->has_pending && source == join->pending_source;

	if (join->has_pending && (block.start >= end_of(&join->pending) || (same && block.depth)))
		give_pending(join, count);
	else if (join->has_pending && !same && end_of(&block) <= end_of(&join->pending))
		join->has_pending = false; /* a chunk around it */
	if (join->has_pending || !follows(join, &block, join->start, join->end)) {
		leave_out(join, &block, source);
		return;
	}
	join->pending = block;
	join->pending_source = source;
	join->has_pending = true;
}

static struct hawk_error *join_batch(struct hawk_join *join, size_t *count)
{
	unsigned source;

	*count = 0;
	while (*count < HAWK_HEAP_BATCH - 1) {
		struct hawk_error *err = choose(join, &source);

		if (err)
			return err;
		if (source == HAWK_HEAP_SOURCES_MAX) {
			give_pending(join, count);
			return NULL;
		}
		place(join, source, count);
	}
	return NULL;
}

struct hawk_error *hawk_join_next(struct hawk_join *join, const struct hawk_block **ret,
				  size_t *count)
{
	struct hawk_error *err;

	if (join->heap->found_count == 1 && !join->has_pending) {
		err = look_ahead(join, 0);
		*ret = join->views[0].blocks;
		*count = join->views[0].count;
		if (err || are_in_order(join, *ret, *count)) {
			join->views[0].count = 0;
			return err;
		}
	}
	*ret = join->out;
	return join_batch(join, count);
}

static void add_sums(struct hawk_heap_sums *to, const struct hawk_heap_sums *from)
{
	to->clipped += from->clipped;
	to->header_bytes += from->header_bytes;
}

void hawk_join_end(struct hawk_join *join, struct hawk_heap *heap)
{
	for (unsigned i = 0; i < join->heap->found_count; i++) {
		const struct hawk_heap_source *source = join->walks[i].found->source;

		add_sums(&heap->sums, &join->walks[i].sums);
		if (join->walks[i].allocator.name)
			heap->allocators[heap->allocator_count++] = join->walks[i].allocator;
		if (source->leave)
			source->leave(&join->walks[i]);
	}
	hawk_progress_end(&join->progress);
	free(join->out);
}
