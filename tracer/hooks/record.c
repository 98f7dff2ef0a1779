/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Records allocations and frees. The usual path: read the slot from TLS, mark it busy, verify the
 * previous stack, count, unmark.
 */
#include "record.h"

#include "table/clock.h"
#include "table/file.h"
#include "table/traces.h"
#include "table/marks.h"
#include "base/options.h"
#include "table/sampler.h"
#include "unwind/unwind_full.h"
#include "table/threads.h"
#include "unwind/tops.h"

enum {
	/** One in this many stacks found by their tops is walked all the same. That makes a current
	 * stack the thread's last one, which is found sooner. */
	ADOPTION_INTERVAL = 1024,
	/** Once the table is full, at least one stack in this many plus one is still looked up. */
	WALKS_SKIPPED_MAX = 63,
};

static uint64_t stack_pc(const struct hawk_frames *self, uint32_t index)
{
	const struct hawk_stack *stack = self->frames;
	const struct hawk_stack_frame *frame = &stack->frames[self->count - 1 - index];

	return frame->state.pc | (frame->exact ? HAWK_PC_EXACT : 0);
}

/** Interns a stack that is not recorded as our own unwinder sees it. */
static __attribute__((noinline)) uint32_t intern_flat(const struct hawk_frame_state *caller)
{
	struct hawk_scratch *scratch = hawk_scratch_take();
	struct hawk_walk_result walk;
	uint32_t trace;

	if (!scratch)
		return 0;
	hawk_walk_stateless(caller, scratch->pcs, hawk_unwind_options.depth, &walk);
	trace = hawk_flat_intern(scratch->pcs, &walk);
	hawk_scratch_give(scratch);
	return trace;
}

/** Returns the table's id for a stack that this thread has not looked up lately. */
static __attribute__((noinline)) uint32_t intern_stack(struct hawk_stack *stack,
						       const struct hawk_frame_state *caller,
						       const struct hawk_walk_result *walk)
{
	if (hawk_options.collapse || hawk_unwind_options.mode == HAWK_UNWIND_LIBUNWIND)
		return intern_flat(caller);
	return hawk_traces_intern(&(struct hawk_frames){.frames = stack,
							.pc = stack_pc,
							.count = stack->count,
							.flags = walk->flags,
							.generation = stack->generation,
							.tail_trace = stack->trace,
							.tail_count = stack->trace ? walk->kept : 0,
							.hash = walk->hash});
}

/** Returns the id of a stack that differs from the thread's last one. */
static inline uint32_t look_up_stack(struct hawk_slot *slot, const struct hawk_frame_state *caller,
				     const struct hawk_walk_result *walk)
{
	/* Flags distinguish stacks too. */
	uint64_t check = walk->check ^ walk->flags;
	uint32_t trace = hawk_known_find(walk->hash, check);

	slot->changed_stacks++;
	if (__builtin_expect(!trace, 0)) {
		slot->looked_up_stacks++;
		trace = intern_stack(&slot->stack, caller, walk);
		if (trace)
			hawk_known_add(walk->hash, check, trace);
	}
	slot->stack.trace = trace;
	return trace;
}

/** Doubles the number of walks to skip after a failed lookup, halves it after a successful one. */
static inline void adjust_backoff(struct hawk_slot *slot, uint32_t trace)
{
	if (__builtin_expect(!trace, 0))
		slot->walk_backoff = (2 * slot->walk_backoff + 1) & WALKS_SKIPPED_MAX;
	else if (__builtin_expect(slot->walk_backoff != 0, 0))
		slot->walk_backoff /= 2;
	slot->walks_to_skip = slot->walk_backoff;
}

static inline uint32_t walk_stack(struct hawk_slot *slot, const struct hawk_frame_state *caller)
{
	struct hawk_walk_result walk;
	uint32_t trace;

	if (hawk_walk(&slot->stack, caller, &walk) && slot->stack.trace)
		return slot->stack.trace;
	trace = look_up_stack(slot, caller, &walk);
	hawk_tops_note(&slot->stack, caller, &walk, trace);
	adjust_backoff(slot, trace);
	return trace;
}

/**
 * Returns the id of a stack that matches neither the last one nor a top. Returns 0 if the table is
 * full, or was full for the thread's latest stacks, so that a walk is most likely in vain.
 */
static inline uint32_t find_by_walk(struct hawk_slot *slot, const struct hawk_frame_state *caller)
{
	if (__builtin_expect(slot->walks_to_skip != 0, 0)) {
		slot->walks_to_skip--;
		return 0;
	}
	return walk_stack(slot, caller);
}

/** Makes a stack known by its top the thread's last one. */
static __attribute__((noinline)) uint32_t adopt_stack(struct hawk_slot *slot,
						      const struct hawk_frame_state *caller)
{
	struct hawk_walk_result walk;

	if (hawk_walk(&slot->stack, caller, &walk) && slot->stack.trace)
		return slot->stack.trace;
	return look_up_stack(slot, caller, &walk);
}

/**
 * Returns the id of trace `base`, which starts at `caller`, within the scopes open around it.
 * Returns its id without scopes if no open scope is on this stack, and `base` if the table is full.
 */
static __attribute__((noinline)) uint32_t
mark_scopes(struct hawk_slot *slot, const struct hawk_frame_state *caller, uint32_t base)
{
	struct hawk_scope_memo *memo = hawk_scopes_memo(&slot->scopes, slot->scope_key, base);
	uint64_t *marks = (uint64_t *)slot->stack.fresh; /* free between walks */
	uint32_t count, trace;

	static_assert(sizeof(slot->stack.fresh) >= HAWK_SCOPES_DEPTH * sizeof(*marks), "room");

	if (memo->key == slot->scope_key && memo->base == base && memo->sp == caller->sp)
		return memo->trace;
	walk_stack(slot, caller); /* the base may come from the tops, over another stack's frames */
	count = hawk_scopes_marks(&slot->scopes, &slot->stack, caller->sp, !hawk_options.collapse,
				  marks);
	trace = count ? hawk_marks_intern(base, marks, count) : hawk_marks_none(base);
	if (count && !trace)
		return base; /* table full: keep the trace without its scopes */
	/* A handler may jump out of here, so the key is written last: an entry with a key is
	 * complete. */
	memo->key = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	memo->sp = caller->sp;
	memo->base = base;
	memo->trace = trace;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	memo->key = slot->scope_key;
	return trace;
}

/** Counts a dropped block. A child forked by a signal handler leaves its parent's table file first;
 * without a table of its own it then has no slot. */
static __attribute__((noinline)) void count_dropped(struct hawk_slot *slot, uint64_t bytes)
{
	hawk_file_check_fork();
	if (hawk_thread_slot == slot)
		hawk_threads_count_dropped(slot, bytes);
	else
		hawk_record_dropped(bytes);
}

static inline __attribute__((always_inline)) uint32_t
find_stack(struct hawk_slot *slot, const struct hawk_frame_state *caller, uint64_t bytes)
{
	uint32_t trace = slot->stack.trace;

	if (!trace || !hawk_walk_holds(&slot->stack, caller)) {
		const struct hawk_stack_top *top = hawk_tops_find(&slot->stack, caller);

		trace = top ? top->trace : find_by_walk(slot, caller);
	}
	if (__builtin_expect(!trace, 0))
		count_dropped(slot, bytes);
	else if (__builtin_expect(slot->scope_key != 0, 0))
		trace = mark_scopes(slot, caller, trace);
	return trace;
}

/** Finds the stack of a block that the sample selected, when not every block gets one. */
static __attribute__((noinline)) uint32_t
find_selected(struct hawk_slot *slot, const struct hawk_frame_state *caller, uint64_t bytes)
{
	uint32_t trace;

	if (!hawk_options.stacks || (hawk_options.only_scopes && !slot->scope_key))
		return 0;
	trace = find_stack(slot, caller, bytes);
	if (trace && hawk_sampler_mean)
		hawk_sampler_count_allocation(trace, bytes);
	return trace;
}

static inline uint64_t bytes_of(struct hawk_new_block block)
{
	return hawk_header_size(block.word0);
}

/** Seals the block, which may be counted only afterwards: see hawk_record_block(). */
static inline void seal(struct hawk_new_block block, uint32_t trace)
{
	hawk_header_seal(block.pointer, block.word0, trace);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline struct hawk_counter_entry *counter_of(const struct hawk_slot *slot, uint32_t trace)
{
	return &hawk_threads_head(slot)->counters[trace % HAWK_COUNTER_ENTRIES];
}

/** Ends a usual call, whose trace already has a counter. */
static inline void *finish_usual(struct hawk_slot *slot, struct hawk_counter_entry *entry,
				 uint32_t trace, struct hawk_new_block block)
{
	seal(block, trace);
	entry->objects++;
	entry->bytes += bytes_of(block);
	hawk_threads_end(slot);
	return block.pointer;
}

/** Ends a call: seals and counts the block, then releases the slot. */
static inline void *finish(struct hawk_slot *slot, uint32_t trace, struct hawk_new_block block)
{
	seal(block, trace);
	hawk_threads_count(slot, trace, bytes_of(block));
	hawk_threads_end(slot);
	return block.pointer;
}

/** Records when the clock is due, scopes are open, or not every block gets a stack. The slot is
 * busy. */
static __attribute__((noinline)) void *record_rare(struct hawk_slot *slot,
						   const struct hawk_frame_state *caller,
						   struct hawk_new_block block)
{
	uint64_t bytes = bytes_of(block);
	uint32_t trace;

	if (slot->clock_countdown-- == 0)
		hawk_clock_refresh(slot);
	if (!hawk_options.selective)
		trace = find_stack(slot, caller, bytes);
	else if (hawk_sampler_mean && !hawk_sampler_wants(&slot->sampler, bytes))
		trace = hawk_sampler_skipped;
	else
		trace = find_selected(slot, caller, bytes);
	return finish(slot, trace, block);
}

static __attribute__((noinline)) void *record_uncounted(struct hawk_slot *slot, uint32_t trace,
							struct hawk_new_block block)
{
	return finish(slot, trace, block);
}

/** Records a stack that is neither the thread's last one nor has a known top. */
static __attribute__((noinline)) void *record_unknown(struct hawk_slot *slot,
						      const struct hawk_frame_state *caller,
						      struct hawk_new_block block)
{
	uint32_t trace = find_by_walk(slot, caller);

	if (__builtin_expect(!trace, 0))
		count_dropped(slot, bytes_of(block));
	return finish(slot, trace, block);
}

static __attribute__((noinline)) void *record_adopted(struct hawk_slot *slot,
						      const struct hawk_frame_state *caller,
						      struct hawk_new_block block)
{
	uint32_t trace = adopt_stack(slot, caller);

	if (__builtin_expect(!trace, 0))
		count_dropped(slot, bytes_of(block));
	return finish(slot, trace, block);
}

/** Records a stack other than the thread's last one. The slot is busy. */
static __attribute__((noinline)) void *record_changed(struct hawk_slot *slot,
						      const struct hawk_frame_state *caller,
						      struct hawk_new_block block)
{
	const struct hawk_stack_top *top = hawk_tops_find(&slot->stack, caller);
	struct hawk_counter_entry *entry;

	if (!top)
		return record_unknown(slot, caller, block);
	if (__builtin_expect(!(++slot->top_hits % ADOPTION_INTERVAL), 0))
		return record_adopted(slot, caller, block);
	entry = counter_of(slot, top->trace);
	if (__builtin_expect(entry->trace != top->trace || entry->objects == UINT32_MAX, 0))
		return record_uncounted(slot, top->trace, block);
	return finish_usual(slot, entry, top->trace, block);
}

/** Records the thread's first call, or one that must not touch the slot. */
static __attribute__((noinline)) void *record_apart(const struct hawk_frame_state *caller,
						    struct hawk_new_block block)
{
	struct hawk_slot *slot = hawk_threads_current();

	if (!slot || !hawk_threads_is_idle(slot))
		return hawk_record_stateless(caller, block);
	hawk_threads_begin(slot, caller->sp);
	return record_rare(slot, caller, block);
}

/* Unusual cases are called last, so that the usual path saves no register. */
void *hawk_record_block(const struct hawk_frame_state *caller, struct hawk_new_block block)
{
	struct hawk_slot *slot = hawk_thread_slot;
	struct hawk_counter_entry *entry;
	uint32_t trace;

	if (__builtin_expect((uintptr_t)slot <= 1 || !hawk_threads_is_idle(slot), 0))
		return record_apart(caller, block);
	hawk_threads_begin(slot, caller->sp);
	if (__builtin_expect(!slot->clock_countdown || hawk_options.selective || slot->scope_key,
			     0))
		return record_rare(slot, caller, block);
	slot->clock_countdown--;
	trace = slot->stack.trace;
	if (!trace || !hawk_walk_holds(&slot->stack, caller))
		return record_changed(slot, caller, block);
	entry = counter_of(slot, trace);
	if (__builtin_expect(entry->trace != trace || entry->objects == UINT32_MAX, 0))
		return record_uncounted(slot, trace, block);
	return finish_usual(slot, entry, trace, block);
}

/** Counts a free without a slot. `times` is 1, or -1 to take a free back. */
static void free_without_slot(uint32_t trace, uint64_t times, uint64_t bytes)
{
	__atomic_fetch_add(&hawk_table_header->orphan_free_objects, times, __ATOMIC_RELAXED);
	__atomic_fetch_add(&hawk_table_header->orphan_free_bytes, times * bytes, __ATOMIC_RELAXED);
	if (hawk_options.live)
		hawk_counters_add_frees(trace, times, times * bytes);
}

/** Counts a free by trace at once, bypassing the thread's counters (live counters only). */
static void free_at_once(struct hawk_slot *slot, uint32_t trace, uint64_t times, uint64_t bytes)
{
	hawk_file_check_fork();
	if (hawk_file_lost) {
		free_without_slot(trace, times, bytes);
		return;
	}
	hawk_threads_count_free(hawk_threads_head(slot), times, times * bytes);
	hawk_counters_add_frees(trace, times, times * bytes);
}

/** Counts a free by trace as well (live counters only). */
static void free_of(struct hawk_slot *slot, uint32_t trace, uint64_t bytes)
{
	if (!hawk_threads_is_idle(slot)) {
		free_at_once(slot, trace, 1, bytes);
		return;
	}
	hawk_threads_begin(slot, (uint64_t)__builtin_frame_address(0));
	hawk_threads_count_free(hawk_threads_head(slot), 1, bytes);
	if (trace)
		hawk_threads_count_free_of(slot, trace, bytes);
	hawk_threads_end(slot);
}

static void sample_free(uint32_t trace, bool taken_back, uint64_t bytes)
{
	if (hawk_options.live && hawk_sampler_mean && trace && trace != hawk_sampler_skipped)
		hawk_sampler_count_free(trace, taken_back, bytes);
}

void hawk_record_free(uint32_t trace, uint64_t bytes)
{
	struct hawk_slot *slot = hawk_threads_current();

	sample_free(trace, false, bytes);
	if (__builtin_expect(!slot, 0))
		free_without_slot(trace, 1, bytes);
	else if (__builtin_expect(hawk_options.live, 0))
		free_of(slot, trace, bytes);
	else
		hawk_threads_count_free(slot->head, 1, bytes);
}

void hawk_record_free_taken_back(uint32_t trace, uint64_t bytes)
{
	const uint64_t less = UINT64_MAX; /* counters wrap, and so do their sums */
	struct hawk_slot *slot = hawk_threads_current();

	sample_free(trace, true, bytes);
	if (!slot)
		free_without_slot(trace, less, bytes);
	else if (hawk_options.live)
		free_at_once(slot, trace, less, bytes);
	else
		hawk_threads_count_free(slot->head, less, 0 - bytes);
}

void hawk_record_dropped(uint64_t bytes)
{
	hawk_file_check_fork();
	__atomic_fetch_add(&hawk_table_header->dropped_objects, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&hawk_table_header->dropped_bytes, bytes, __ATOMIC_RELAXED);
}

void hawk_record_discarded(int heaps)
{
	hawk_file_check_fork();
	__atomic_fetch_add(&hawk_table_header->discarded_heaps, (uint64_t)(int64_t)heaps,
			   __ATOMIC_RELAXED);
}
