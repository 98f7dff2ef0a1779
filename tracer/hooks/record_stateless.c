/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Records without a slot, and looks up flat stacks. Recursion is collapsed in one pass from the
 * leaf: a cycle that repeats the previous one is dropped as soon as its last frame is reached.
 *
 * A call made while the thread's slot is busy may find that it would stay busy for ever, and
 * recovers it.
 */
#include "record.h"

#include "table/file.h"
#include "table/traces.h"
#include "table/marks.h"
#include "base/options.h"
#include "table/sampler.h"
#include "unwind/unwind_full.h"
#include "table/threads.h"

static uint64_t pc_at(const struct hawk_frames *self, uint32_t index)
{
	return ((const uint64_t *)self->frames)[index];
}

/** Returns true if the `cycle` frames before `end` (exclusive) repeat the `cycle` frames before
 * them. */
static bool repeats(const uint64_t *pcs, uint32_t end, uint32_t cycle)
{
	if (end < 2 * cycle)
		return false;
	for (uint32_t i = 0; i < cycle; i++)
		if (pcs[end - 1 - i] != pcs[end - 1 - cycle - i])
			return false;
	return true;
}

/** Reduces every run of equal cycles of up to `longest` frames to one, in place. Returns the new
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
		frames.hash = hawk_hash_words(pcs, frames.count, walk->generation);
	}
	return hawk_traces_intern(&frames);
}

/**
 * Returns true if the thread's busy call can never continue because a handler jumped out of it: the
 * stack pointer is beyond that call, and the stack is known completely and holds no frame of the
 * tracer.
 */
static bool is_abandoned(const struct hawk_frame_state *caller, const uint64_t *pcs,
			 const struct hawk_walk_result *walk)
{
	extern const char hawk_image_start[] __asm__("__ehdr_start");
	extern const char hawk_image_end[] __asm__("etext");
	uint64_t start = (uint64_t)hawk_image_start, end = (uint64_t)hawk_image_end;
	struct hawk_slot *slot = hawk_thread_slot;

	if ((uintptr_t)slot <= 1 || hawk_threads_is_idle(slot) || caller->sp <= slot->hold->busy ||
	    walk->flags & (HAWK_TRACE_TRUNCATED | HAWK_TRACE_INCOMPLETE))
		return false;
	for (uint32_t i = 0; i < walk->count; i++)
		if ((pcs[i] & ~HAWK_PC_EXACT) - start < end - start)
			return false;
	return true;
}

/** Returns the calling thread's open scopes; NULL if none. */
static const struct hawk_scopes *open_scopes(void)
{
	const struct hawk_slot *slot = hawk_thread_slot;

	return (uintptr_t)slot > 1 && slot->scope_key ? &slot->scopes : NULL;
}

/** Like mark_scopes() in hooks/record.c, for a stack of which only program counters are known. */
static uint32_t mark_unplaced(const struct hawk_frame_state *caller, uint32_t base)
{
	const struct hawk_scopes *scopes = open_scopes();
	uint64_t marks[HAWK_SCOPES_DEPTH];
	uint32_t count, trace;

	if (!scopes)
		return base;
	count = hawk_scopes_marks(scopes, NULL, caller->sp, false, marks);
	if (!count)
		return hawk_marks_none(base);
	trace = hawk_marks_intern(base, marks, count);
	return trace ? trace : base;
}

/** Recovers an abandoned slot when not every call takes a stack, which would reveal it. */
static void recover_abandoned(const struct hawk_frame_state *caller)
{
	const struct hawk_slot *slot = hawk_thread_slot;
	struct hawk_walk_result walk;
	struct hawk_scratch *scratch;

	if ((uintptr_t)slot <= 1 || hawk_threads_is_idle(slot) || caller->sp <= slot->hold->busy)
		return;
	scratch = hawk_scratch_take();
	if (!scratch)
		return;
	hawk_walk_stateless(caller, scratch->pcs, HAWK_STACK_FRAMES, &walk);
	if (is_abandoned(caller, scratch->pcs, &walk))
		hawk_threads_recover(hawk_thread_slot);
	hawk_scratch_give(scratch);
}

/** Returns a trace's id, or 0 if no stack is wanted or could be taken. */
static uint32_t find_trace(const struct hawk_frame_state *caller, uint64_t bytes)
{
	struct hawk_walk_result walk;
	struct hawk_scratch *scratch;
	uint32_t trace = 0;

	if (!hawk_options.stacks || (hawk_options.only_scopes && !open_scopes()))
		return 0;
	if (hawk_sampler_mean && !hawk_sampler_wants_stateless(bytes))
		return hawk_sampler_skipped;
	scratch = hawk_scratch_take();
	if (scratch) {
		hawk_walk_stateless(caller, scratch->pcs, hawk_unwind_options.depth, &walk);
		if (is_abandoned(caller, scratch->pcs, &walk))
			hawk_threads_recover(hawk_thread_slot);
		trace = hawk_flat_intern(scratch->pcs, &walk);
		hawk_scratch_give(scratch);
	}
	if (!trace)
		hawk_record_dropped(bytes);
	return trace ? mark_unplaced(caller, trace) : 0;
}

static void count(uint32_t trace, uint64_t bytes)
{
	if (!trace) {
		__atomic_fetch_add(&hawk_table_header->orphan_alloc_objects, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&hawk_table_header->orphan_alloc_bytes, bytes, __ATOMIC_RELAXED);
		return;
	}
	hawk_counters_add_allocations(trace, 1, bytes);
	if (hawk_sampler_mean && trace != hawk_sampler_skipped)
		hawk_sampler_count_allocation(trace, bytes);
}

void *hawk_record_stateless(const struct hawk_frame_state *caller, struct hawk_new_block block)
{
	uint64_t bytes = hawk_header_size(block.word0);
	uint32_t trace;

	hawk_file_check_fork();
	if (hawk_options.selective)
		recover_abandoned(caller);
	trace = find_trace(caller, bytes);
	hawk_header_seal(block.pointer, block.word0, trace);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	count(trace, bytes);
	return block.pointer;
}
