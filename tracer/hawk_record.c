/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Recording. The usual path: read the slot from TLS, mark it busy, verify the previous stack,
 * count, unmark.
 */
#include "hawk_record.h"

#include <time.h>

#include "hawk_file.h"
#include "hawk_marks.h"
#include "hawk_known.h"
#include "hawk_modules.h"
#include "hawk_options.h"
#include "hawk_sampler.h"
#include "hawk_threads.h"
#include "hawk_tops.h"
#include "hawk_traces.h"

enum {
	SCRATCH_COUNT = 16, /**< nested or gone threads recording at the same moment; more map
			       their own */
	/** One in so many stacks that are found by their tops is walked all the same: the thread's
	 * last stack, which is found sooner, is then one of those that come now. */
	ADOPTION_INTERVAL = 1024,
	CLOCK_INTERVAL_MAX = 64,
	CLOCK_SPACING_NS = 4000000, /**< aim: one reading in as much time, per thread */
};

/** Flat stacks for callers that must not touch their slot. */
struct scratch {
	uint64_t pcs[HAWK_STACK_FRAMES];
};

uint8_t hawk_birth_now;

static struct scratch *scratches;
static uint32_t scratch_taken;

bool hawk_record_init(void)
{
	scratches = hawk_arena_private(SCRATCH_COUNT * sizeof(*scratches), HAWK_EXTENT_PRIVATE);
	return scratches != NULL;
}

static uint64_t read_clock(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_MONOTONIC_COARSE, &now))
		return 0;
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void publish_clock(uint64_t now_ns)
{
	struct hawk_table_header *header = hawk_table_header;
	uint64_t known, units;

	if (now_ns < header->start_monotonic_ns)
		return;
	units = (now_ns - header->start_monotonic_ns) / HAWK_BIRTH_UNIT_NS;
	known = __atomic_load_n(&header->clock_units, __ATOMIC_RELAXED);
	do {
		if (units <= known)
			return; /* others have read a later clock while we did not run */
	} while (!__atomic_compare_exchange_n(&header->clock_units, &known, units, false,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	__atomic_store_n(&hawk_birth_now, hawk_birth_encode(units), __ATOMIC_RELAXED);
}

/**
 * Reads the clock and decides after how many calls to read it again: a thread that allocates rarely
 * reads it every time, a busy one every 64th time. After a pause the first 64 blocks at most can
 * look older than they are.
 */
static void refresh_clock(struct hawk_slot *slot)
{
	uint64_t now = read_clock();
	uint64_t spent = now - slot->clock_last_ns;
	uint32_t interval = slot->clock_interval;

	if (spent < CLOCK_SPACING_NS)
		interval = interval ? 2 * interval : 1;
	else
		interval /= 2;
	if (interval > CLOCK_INTERVAL_MAX)
		interval = CLOCK_INTERVAL_MAX;
	slot->clock_interval = interval;
	slot->clock_countdown = interval;
	slot->clock_last_ns = now;
	publish_clock(now);
}

static uint64_t stack_pc(const struct hawk_frames *self, uint32_t index)
{
	const struct hawk_stack *stack = self->frames;
	const struct hawk_stack_frame *frame = &stack->frames[self->count - 1 - index];

	return frame->state.pc | (frame->exact ? HAWK_PC_EXACT : 0);
}

static uint64_t flat_pc(const struct hawk_frames *self, uint32_t index)
{
	return ((const uint64_t *)self->frames)[index];
}

static uint64_t hash_flat(const uint64_t *pcs, uint32_t count, uint32_t generation)
{
	uint64_t hash = generation + UINT64_C(0x452821e638d01377);

	for (uint32_t i = 0; i < count; i++) {
		unsigned __int128 product =
			(unsigned __int128)(hash ^ pcs[i]) * UINT64_C(0x9e3779b97f4a7c15);

		hash = (uint64_t)product ^ (uint64_t)(product >> 64) ^ UINT64_C(0xbe5466cf34e90c6c);
	}
	return hash ? hash : 1;
}

/** Whether the `cycle` frames before `end` (exclusive) repeat the `cycle` frames before those. */
static bool repeats(const uint64_t *pcs, uint32_t end, uint32_t cycle)
{
	if (end < 2 * cycle)
		return false;
	for (uint32_t i = 0; i < cycle; i++)
		if (pcs[end - 1 - i] != pcs[end - 1 - cycle - i])
			return false;
	return true;
}

/** Leaves one of every run of equal cycles of up to `longest` frames, in place. Returns the new
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

/** One of the pool's, or (with no bit set) one that is mapped for this call. NULL: no memory. */
static struct scratch *take_scratch(uint32_t *bit)
{
	uint32_t taken = __atomic_load_n(&scratch_taken, __ATOMIC_RELAXED);

	while (taken != (1u << SCRATCH_COUNT) - 1) {
		*bit = ~taken & (taken + 1);
		if (__atomic_compare_exchange_n(&scratch_taken, &taken, taken | *bit, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return &scratches[__builtin_ctz(*bit)];
	}
	*bit = 0;
	return hawk_map(0, sizeof(struct scratch), false);
}

static void give_scratch(struct scratch *scratch, uint32_t bit)
{
	if (bit)
		__atomic_fetch_and(&scratch_taken, ~bit, __ATOMIC_RELEASE);
	else
		hawk_unmap(scratch, sizeof(*scratch));
}

static uint32_t intern_flat(uint64_t *pcs, uint32_t count, uint32_t flags, uint64_t hash,
			    uint32_t generation)
{
	if (hawk_options.collapse) {
		uint32_t collapsed = collapse_cycles(pcs, count, hawk_options.collapse);

		if (collapsed != count)
			flags |= HAWK_TRACE_COLLAPSED;
		count = collapsed;
		hash = hash_flat(pcs, count, generation);
	}
	return hawk_traces_intern(&(struct hawk_frames){.frames = pcs,
							.pc = flat_pc,
							.count = count,
							.flags = flags,
							.generation = generation,
							.hash = hash});
}

/**
 * Whether the thread's busy call can never go on, since somebody has jumped out of a handler: the
 * stack pointer is beyond it and none of the tracer's frames is on the stack, all of which is
 * known.
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

/** What remains of a trace that lies in none of the scopes that are open. */
static inline uint32_t outside_of_scopes(uint32_t trace)
{
	return hawk_options.only_scopes ? 0 : trace;
}

/** The scopes that the calling thread has open; NULL: none. */
static const struct hawk_scopes *open_scopes(void)
{
	const struct hawk_slot *slot = hawk_thread_slot;

	return (uintptr_t)slot > 1 && slot->scope_key ? &slot->scopes : NULL;
}

/** As mark_scopes(), for those who know program counters only. */
static uint32_t mark_unplaced(const struct hawk_frame_state *caller, uint32_t base)
{
	const struct hawk_scopes *scopes = open_scopes();
	uint64_t marks[HAWK_SCOPES_DEPTH];
	uint32_t count, trace;

	if (!scopes)
		return base;
	count = hawk_scopes_marks(scopes, NULL, caller->sp, false, marks);
	if (!count)
		return outside_of_scopes(base);
	trace = hawk_marks_intern(base, marks, count);
	return trace ? trace : base;
}

/** Where not every call takes a stack, which would tell. */
static void recover_abandoned(const struct hawk_frame_state *caller)
{
	const struct hawk_slot *slot = hawk_thread_slot;
	struct hawk_walk_result walk;
	struct scratch *scratch;
	uint32_t bit;

	if ((uintptr_t)slot <= 1 || hawk_threads_is_idle(slot) || caller->sp <= slot->hold->busy)
		return;
	scratch = take_scratch(&bit);
	if (!scratch)
		return;
	hawk_walk_stateless(caller, scratch->pcs, HAWK_STACK_FRAMES, &walk);
	if (is_abandoned(caller, scratch->pcs, &walk))
		hawk_threads_recover(hawk_thread_slot);
	give_scratch(scratch, bit);
}

/** For nested and gone callers: no per-thread state, counters go straight into the record. */
static __attribute__((noinline)) uint32_t record_stateless(const struct hawk_frame_state *caller,
							   uint64_t bytes)
{
	struct hawk_walk_result walk;
	struct scratch *scratch;
	uint32_t bit, trace;

	hawk_file_check_fork();
	if (hawk_options.selective)
		recover_abandoned(caller);
	if (!hawk_options.stacks || (hawk_options.only_scopes && !open_scopes()))
		goto no_stack;
	if (hawk_sampler_mean && !hawk_sampler_wants_stateless(bytes)) {
		hawk_counters_add_allocations(hawk_sampler_skipped, 1, bytes);
		return hawk_sampler_skipped;
	}
	scratch = take_scratch(&bit);
	if (!scratch)
		goto dropped;
	hawk_walk_stateless(caller, scratch->pcs, hawk_unwind_options.depth, &walk);
	if (is_abandoned(caller, scratch->pcs, &walk))
		hawk_threads_recover(hawk_thread_slot);
	trace = intern_flat(scratch->pcs, walk.count, walk.flags, walk.hash, walk.generation);
	give_scratch(scratch, bit);
	if (!trace)
		goto dropped;
	trace = mark_unplaced(caller, trace);
	if (!trace)
		goto no_stack;
	hawk_counters_add_allocations(trace, 1, bytes);
	if (hawk_sampler_mean)
		hawk_sampler_count_allocation(trace, bytes);
	return trace;

dropped:
	hawk_record_dropped(bytes);
no_stack:
	__atomic_fetch_add(&hawk_table_header->orphan_alloc_objects, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&hawk_table_header->orphan_alloc_bytes, bytes, __ATOMIC_RELAXED);
	return 0;
}

static __attribute__((noinline)) uint32_t intern_collapsed(const struct hawk_stack *stack,
							   const struct hawk_walk_result *walk)
{
	struct hawk_frames frames = {.frames = stack, .pc = stack_pc, .count = stack->count};
	struct scratch *scratch;
	uint32_t bit, trace;

	scratch = take_scratch(&bit);
	if (!scratch)
		return 0;
	for (uint32_t i = 0; i < stack->count; i++)
		scratch->pcs[i] = stack_pc(&frames, i);
	trace = intern_flat(scratch->pcs, stack->count, walk->flags, walk->hash, stack->generation);
	give_scratch(scratch, bit);
	return trace;
}

/** The table's id for a stack that this thread has not looked up lately. */
static __attribute__((noinline)) uint32_t intern_stack(struct hawk_stack *stack,
						       const struct hawk_walk_result *walk)
{
	if (hawk_options.collapse)
		return intern_collapsed(stack, walk);
	return hawk_traces_intern(&(struct hawk_frames){.frames = stack,
							.pc = stack_pc,
							.count = stack->count,
							.flags = walk->flags,
							.generation = stack->generation,
							.tail_trace = stack->trace,
							.tail_count = stack->trace ? walk->kept : 0,
							.hash = walk->hash});
}

/** A stack that differs from the thread's last one. */
static inline uint32_t look_up_stack(struct hawk_slot *slot, const struct hawk_walk_result *walk)
{
	/* Flags, too, tell stacks apart. */
	uint64_t check = walk->check ^ walk->flags;
	uint32_t trace = hawk_known_find(walk->hash, check);

	slot->changed_stacks++;
	if (__builtin_expect(!trace, 0)) {
		slot->looked_up_stacks++;
		trace = intern_stack(&slot->stack, walk);
		if (trace)
			hawk_known_add(walk->hash, check, trace);
	}
	slot->stack.trace = trace;
	return trace;
}

static inline uint32_t walk_stack(struct hawk_slot *slot, const struct hawk_frame_state *caller)
{
	struct hawk_walk_result walk;
	uint32_t trace;

	if (hawk_walk(&slot->stack, caller, &walk) && slot->stack.trace)
		return slot->stack.trace;
	trace = look_up_stack(slot, &walk);
	hawk_tops_note(&slot->stack, caller, &walk, trace);
	return trace;
}

/** A stack that is known by its top becomes the thread's last one. */
static __attribute__((noinline)) uint32_t adopt_stack(struct hawk_slot *slot,
						      const struct hawk_frame_state *caller)
{
	struct hawk_walk_result walk;

	if (hawk_walk(&slot->stack, caller, &walk) && slot->stack.trace)
		return slot->stack.trace;
	return look_up_stack(slot, &walk);
}

/**
 * The id of trace `base`, which starts at `caller`, in the scopes that are open around it. `base`
 * itself if there are none: none of those that are open is on this stack.
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
	trace = count ? hawk_marks_intern(base, marks, count) : outside_of_scopes(base);
	if (count && !trace)
		return base; /* no room: better without its scopes than not at all */
	/* A handler may jump out of here: an entry with a key is a whole one. */
	memo->key = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	memo->sp = caller->sp;
	memo->base = base;
	memo->trace = trace;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	memo->key = slot->scope_key;
	return trace;
}

static inline __attribute__((always_inline)) uint32_t
find_stack(struct hawk_slot *slot, const struct hawk_frame_state *caller, uint64_t bytes)
{
	uint32_t trace = slot->stack.trace;

	if (!trace || !hawk_walk_holds(&slot->stack, caller)) {
		trace = hawk_tops_find(&slot->stack, caller);
		if (!trace)
			trace = walk_stack(slot, caller);
	}
	if (__builtin_expect(!trace, 0))
		hawk_record_dropped(bytes);
	else if (__builtin_expect(slot->scope_key != 0, 0))
		trace = mark_scopes(slot, caller, trace);
	return trace;
}

/** Where not every block gets a stack, but this one was not left out by the sample. */
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

static inline struct hawk_counter_entry *counter_of(const struct hawk_slot *slot, uint32_t trace)
{
	return &hawk_threads_head(slot)->counters[trace % HAWK_COUNTER_ENTRIES];
}

/** The end of a usual call, whose trace has the counter already. */
static inline uint32_t count_usual(struct hawk_slot *slot, struct hawk_counter_entry *entry,
				   uint32_t trace, uint64_t bytes)
{
	entry->objects++;
	entry->bytes += bytes;
	hawk_threads_end(slot);
	return trace;
}

/** The end of every call: it is counted, and the slot is free again. */
static inline uint32_t finish(struct hawk_slot *slot, uint32_t trace, uint64_t bytes)
{
	hawk_threads_count(slot, trace, bytes);
	hawk_threads_end(slot);
	return trace;
}

/** The clock is due, scopes are open, or not every block gets a stack. The slot is busy. */
static __attribute__((noinline)) uint32_t
record_rare(struct hawk_slot *slot, const struct hawk_frame_state *caller, uint64_t bytes)
{
	uint32_t trace;

	if (slot->clock_countdown-- == 0)
		refresh_clock(slot);
	if (!hawk_options.selective)
		trace = find_stack(slot, caller, bytes);
	else if (hawk_sampler_mean && !hawk_sampler_wants(&slot->sampler, bytes))
		trace = hawk_sampler_skipped;
	else
		trace = find_selected(slot, caller, bytes);
	return finish(slot, trace, bytes);
}

static __attribute__((noinline)) uint32_t record_uncounted(struct hawk_slot *slot, uint32_t trace,
							   uint64_t bytes)
{
	return finish(slot, trace, bytes);
}

/** Not the thread's last stack, nor that of `wrong`, see hawk_tops.h. */
static __attribute__((noinline)) uint32_t record_unexpected(struct hawk_slot *slot,
							    const struct hawk_frame_state *caller,
							    uint64_t bytes,
							    const struct hawk_stack_top *wrong)
{
	uint32_t trace = hawk_tops_search(&slot->stack, caller, wrong);

	if (!trace)
		trace = walk_stack(slot, caller);
	if (__builtin_expect(!trace, 0))
		hawk_record_dropped(bytes);
	return finish(slot, trace, bytes);
}

static __attribute__((noinline)) uint32_t
record_adopted(struct hawk_slot *slot, const struct hawk_frame_state *caller, uint64_t bytes)
{
	uint32_t trace = adopt_stack(slot, caller);

	if (__builtin_expect(!trace, 0))
		hawk_record_dropped(bytes);
	return finish(slot, trace, bytes);
}

/** `top` is the stack's. */
static inline __attribute__((always_inline)) uint32_t
record_top(struct hawk_slot *slot, const struct hawk_frame_state *caller, uint64_t bytes,
	   struct hawk_stack_top *top)
{
	uint32_t trace = hawk_tops_take(&slot->stack, top);
	struct hawk_counter_entry *entry = counter_of(slot, trace);

	if (__builtin_expect(!(++slot->top_hits % ADOPTION_INTERVAL), 0))
		return record_adopted(slot, caller, bytes);
	if (__builtin_expect(entry->trace != trace || entry->objects == UINT32_MAX, 0))
		return record_uncounted(slot, trace, bytes);
	return count_usual(slot, entry, trace, bytes);
}

/** `top` is the stack's if the outer frames are what they were. */
static __attribute__((noinline)) uint32_t record_deep(struct hawk_slot *slot,
						      const struct hawk_frame_state *caller,
						      uint64_t bytes, struct hawk_stack_top *top)
{
	if (!hawk_tops_shared_words_hold(&slot->stack, top))
		return record_unexpected(slot, caller, bytes, top);
	return record_top(slot, caller, bytes, top);
}

/** Not the thread's last stack. The slot is busy. */
static __attribute__((noinline)) uint32_t
record_changed(struct hawk_slot *slot, const struct hawk_frame_state *caller, uint64_t bytes)
{
	struct hawk_stack_top *top = hawk_tops_guess(&slot->stack, caller);

	if (!top)
		return record_unexpected(slot, caller, bytes, NULL);
	/* On its way while words are compared. */
	__builtin_prefetch(counter_of(slot, top->trace));
	if (!hawk_tops_own_words_hold(top))
		return record_unexpected(slot, caller, bytes, top);
	if (top->shared_words)
		return record_deep(slot, caller, bytes, top);
	return record_top(slot, caller, bytes, top);
}

/** The thread's first call, or one that must not touch its slot. */
static __attribute__((noinline)) uint32_t record_apart(const struct hawk_frame_state *caller,
						       uint64_t bytes)
{
	struct hawk_slot *slot = hawk_threads_current();

	if (!slot || !hawk_threads_is_idle(slot))
		return record_stateless(caller, bytes);
	hawk_threads_begin(slot, caller->sp);
	return record_rare(slot, caller, bytes);
}

/* Whatever is not usual is called last, so that the usual path saves no register. */
uint32_t hawk_record_trace(const struct hawk_frame_state *caller, uint64_t bytes)
{
	struct hawk_slot *slot = hawk_thread_slot;
	struct hawk_counter_entry *entry;
	uint32_t trace;

	if (__builtin_expect((uintptr_t)slot <= 1 || !hawk_threads_is_idle(slot), 0))
		return record_apart(caller, bytes);
	hawk_threads_begin(slot, caller->sp);
	if (__builtin_expect(!slot->clock_countdown || hawk_options.selective || slot->scope_key,
			     0))
		return record_rare(slot, caller, bytes);
	slot->clock_countdown--;
	trace = slot->stack.trace;
	if (!trace || !hawk_walk_holds(&slot->stack, caller))
		return record_changed(slot, caller, bytes);
	entry = counter_of(slot, trace);
	if (__builtin_expect(entry->trace != trace || entry->objects == UINT32_MAX, 0))
		return record_uncounted(slot, trace, bytes);
	return count_usual(slot, entry, trace, bytes);
}

static void free_without_slot(uint32_t trace, uint64_t bytes)
{
	__atomic_fetch_add(&hawk_table_header->orphan_free_objects, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&hawk_table_header->orphan_free_bytes, bytes, __ATOMIC_RELAXED);
	if (!hawk_options.live)
		return;
	hawk_counters_add_frees(trace, 1, bytes);
	if (hawk_sampler_mean && trace && trace != hawk_sampler_skipped)
		hawk_sampler_count_free(trace, bytes);
}

/** With live counters: by trace as well. */
static void free_of(struct hawk_slot *slot, uint32_t trace, uint64_t bytes)
{
	if (hawk_sampler_mean && trace && trace != hawk_sampler_skipped)
		hawk_sampler_count_free(trace, bytes);
	if (!hawk_threads_is_idle(slot)) {
		hawk_file_check_fork();
		if (hawk_file_lost) {
			free_without_slot(trace, bytes);
			return;
		}
		hawk_threads_count_free(hawk_threads_head(slot), bytes);
		hawk_counters_add_frees(trace, 1, bytes);
		return;
	}
	hawk_threads_begin(slot, (uint64_t)__builtin_frame_address(0));
	hawk_threads_count_free(hawk_threads_head(slot), bytes);
	if (trace)
		hawk_threads_count_free_of(slot, trace, bytes);
	hawk_threads_end(slot);
}

void hawk_record_free(uint32_t trace, uint64_t bytes)
{
	struct hawk_slot *slot = hawk_threads_current();

	if (__builtin_expect(!slot, 0))
		free_without_slot(trace, bytes);
	else if (__builtin_expect(hawk_options.live, 0))
		free_of(slot, trace, bytes);
	else
		hawk_threads_count_free(slot->head, bytes);
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
