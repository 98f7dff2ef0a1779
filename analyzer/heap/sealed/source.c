/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The source of blocks with sealed headers: the table gives the plan, the sweep finds the blocks.
 */
#include "hawk/heap/heap.h"

#include "hawk/target/extent.h"
#include "sweep.h"

#include <stdlib.h>

/** The state of a heap that was found. */
struct state {
	struct hawk_sweep_plan plan;
	struct hawk_span *excluded;
};

/* Finds the tracer's own memory without the blocks that it handed out itself. Overlapping extents
 * of a damaged table become one span. */
static struct hawk_error *find_metadata(const struct hawk_table *table,
					struct hawk_heap_found *found)
{
	struct state *state = found->state;
	size_t count;
	const struct hawk_table_extent *extents = hawk_table_extents(table, &count);
	struct hawk_span *spans = calloc(count + 1, sizeof(*spans));
	struct hawk_error *err = spans ? NULL : &hawk_enomem;
	size_t used = 0;

	state->excluded = spans;
	for (size_t i = 0; !err && i < count; i++) {
		struct hawk_span span = {extents[i].address, extents[i].address + extents[i].bytes};

		if (extents[i].kind == HAWK_EXTENT_BOOTSTRAP)
			continue;
		if (!used || span.start > spans[used - 1].end)
			spans[used++] = span;
		else if (span.end > spans[used - 1].end)
			spans[used - 1].end = span.end;
	}
	for (size_t i = 0; !err && i < used; i++)
		err = hawk_heap_spans_add(&found->spans,
					  (struct hawk_heap_span){.start = spans[i].start,
								  .end = spans[i].end,
								  .kind = HAWK_SPAN_METADATA});
	state->plan.excluded = spans;
	state->plan.excluded_count = used;
	return err;
}

/* Only the constant parts of the twin are usable. */
static struct hawk_error *find_undumped(const struct hawk_table *table,
					struct hawk_heap_found *found)
{
	const struct hawk_table_header *header = hawk_table_header(table);
	struct hawk_error *err = NULL;

	if (hawk_table_is_twin(table))
		return NULL;
	found->undumped_known = header->undumped_watched == 1 && !header->undumped_lost;
	for (size_t i = 0; !err && i < HAWK_TABLE_UNDUMPED; i++) {
		const struct hawk_table_undumped *range = &header->undumped[i];

		if (range->start && range->end)
			err = hawk_heap_spans_add(
				&found->spans, (struct hawk_heap_span){.start = range->start,
								       .end = range->end,
								       .kind = HAWK_SPAN_UNDUMPED});
		else if (range->start)
			found->undumped_known = false;
	}
	return err;
}

static struct hawk_error *use_table(const struct hawk_table *table, struct hawk_heap_found *found)
{
	const struct hawk_table_header *header = hawk_table_header(table);
	struct state *state = calloc(1, sizeof(*state));
	struct hawk_error *err;

	if (!state)
		return &hawk_enomem;
	found->state = state;
	found->class_count = header->trace_count;
	found->knows = HAWK_HEAP_STACKS | HAWK_HEAP_COUNTERS;
	found->blocks_apart = true;
	if (!hawk_target_process(found->target)->table_file)
		found->knows |= HAWK_HEAP_AGES | HAWK_HEAP_CONTENTS | HAWK_HEAP_EXACT |
				HAWK_HEAP_BLOCKS | HAWK_HEAP_ACCOUNTING | HAWK_HEAP_HEADERS;
	state->plan.key = header->key;
	state->plan.trace_count = hawk_table_trace_limit(table);
	state->plan.birth_max = hawk_table_birth_limit(table);
	err = find_undumped(table, found);
	return err ? err : find_metadata(table, found);
}

static struct hawk_error *find(const struct hawk_heap_search *search, struct hawk_heap_found *ret,
			       bool *is_there)
{
	struct hawk_error *err =
		hawk_table_find(hawk_target_table(search->target), search->findings, &ret->table);

	*is_there = ret->table;
	return err || !ret->table ? err : use_table(ret->table, ret);
}

static struct hawk_error *walk(struct hawk_heap_walk *walk, const struct hawk_block **ret,
			       size_t *count)
{
	const struct state *state = walk->found->state;
	struct hawk_sweep *sweep = walk->state;
	struct hawk_error *err = NULL;

	if (!sweep) {
		err = hawk_sweep_begin(walk->found->target, &state->plan, walk->threads,
				       walk->damages, &sweep);
		if (err)
			return err;
		walk->state = sweep;
		walk->all = hawk_sweep_bytes(sweep);
	}
	err = hawk_sweep_next(sweep, ret, count);
	walk->sums = hawk_sweep_result(sweep)->sums;
	walk->done = hawk_sweep_result(sweep)->swept_bytes;
	return err;
}

static void leave(struct hawk_heap_walk *walk)
{
	hawk_sweep_end(walk->state);
}

/* Keeps the whole table: its names (paths, scopes, types, options) are the program's. A damaged
 * length must not keep memory behind the tracer's. */
static struct hawk_error *keep(const struct hawk_heap *heap, const struct hawk_heap_found *found,
			       hawk_keep_function *take, void *context)
{
	size_t count;
	const struct hawk_table_extent *extents = hawk_table_extents(heap->table, &count);
	struct hawk_error *err = NULL;

	for (size_t i = 0; !err && i < count; i++) {
		uint64_t start = extents[i].address;
		struct hawk_extent memory;

		if (extents[i].kind != HAWK_EXTENT_PRIVATE &&
		    extents[i].kind != HAWK_EXTENT_BOOTSTRAP &&
		    hawk_extent_at(found->target, start, &memory) &&
		    extents[i].bytes <= memory.end - start)
			err = take(context, start, start + extents[i].bytes);
	}
	return err;
}

static void forget(struct hawk_heap_found *found)
{
	struct state *state = found->state;

	if (state)
		free(state->excluded);
	free(state);
	found->state = NULL;
}

/* Returns the state of the heap's tracer, or NULL. */
static const struct state *state_of(const struct hawk_heap *heap)
{
	for (unsigned i = 0; i < heap->found_count; i++)
		if (heap->found[i].source == &hawk_heap_sealed)
			return heap->found[i].state;
	return NULL;
}

bool hawk_sealed_dead_at(const struct hawk_heap *heap, uint64_t start, uint64_t address,
			 struct hawk_block *ret)
{
	const struct state *state = state_of(heap);

	return state && hawk_sweep_find_dead(heap->target, &state->plan, start, address, ret);
}

bool hawk_sealed_recover(const struct hawk_heap *heap, uint64_t address, uint64_t room,
			 uint64_t word1, uint64_t *ret)
{
	enum { SIZES_MIN = 32, SIZES_MAX = 1024, SIZES_SHARE = 4 };
	const struct state *state = state_of(heap);
	uint64_t most = room - HAWK_HEADER_BYTES, count = most / SIZES_SHARE;

	if (!state || room < HAWK_HEADER_BYTES || most > HAWK_SIZE_MAX ||
	    hawk_header_trace(word1) >= state->plan.trace_count || !(word1 >> 32))
		return false;
	count = count < SIZES_MIN ? SIZES_MIN : count > SIZES_MAX ? SIZES_MAX : count;
	for (uint64_t size = most; size <= most && most - size <= count; size--)
		for (unsigned kind = HAWK_KIND_MALLOC; kind < HAWK_KIND_POOL; kind++)
			for (unsigned birth = 0; birth <= state->plan.birth_max; birth++) {
				*ret = hawk_header_word0(kind, 4, (uint8_t)birth, size);
				if (hawk_header_is_live(&state->plan.key, *ret, word1, address))
					return true;
			}
	return false;
}

const struct hawk_heap_source hawk_heap_sealed = {
	.name = "sweep",
	.find = find,
	.walk = walk,
	.leave = leave,
	.keep = keep,
	.forget = forget,
};
