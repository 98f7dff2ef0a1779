/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Collects threads, groups equal ones, and follows locks to their owners. Each thread waits for at
 * most one other, so a circle is found by following each thread once.
 */
#include "hawk/analysis/threads.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "threads_kept.h"

enum {
	LOCK_FRAMES = 8,         /* innermost lines in which a lock's function is looked for */
	FRAME_BYTES_MAX = 65536, /* of a frame that are searched for pointers */
	OUTERMOST_BYTES = 1024,  /* of the last frame, whose end is not known */
	FRAME_BLOCKS_MAX = 8,    /* listed of one frame */
	THREAD_BLOCKS_MAX = 64,  /* of one thread */
	BLOCKS_MAX = 1 << 20,    /* of all */
	BATCH_WORDS = 512,
};

/** Blocks of one frame, as they are found. */
struct collector {
	const struct hawk_threads_wish *wish;
	struct hawk_threads *threads;
	struct hawk_thread_work *state;
	uint32_t frame;
	unsigned in_frame;
	struct hawk_error *err;
};

static bool has_block(const struct collector *collector, uint32_t block)
{
	for (size_t i = 0; i < collector->state->block_count; i++)
		if (collector->threads->blocks[collector->state->block_first + i].block == block)
			return true;
	return false;
}

static void take_word(struct collector *collector, uint64_t word)
{
	const struct hawk_block_index *index = &collector->wish->heap->index;
	struct hawk_threads *threads = collector->threads;
	bool interior;
	uint32_t block;

	if (collector->err || collector->in_frame == FRAME_BLOCKS_MAX ||
	    collector->state->block_count == THREAD_BLOCKS_MAX ||
	    threads->block_count == BLOCKS_MAX)
		return;
	block = hawk_block_index_find(index, word, &interior);
	if (block == HAWK_BLOCK_NOWHERE || has_block(collector, block))
		return;
	if (!hawk_array_reserve(&threads->blocks, threads->block_count, &threads->block_capacity,
				sizeof(*threads->blocks))) {
		collector->err = &hawk_enomem;
		return;
	}
	threads->blocks[threads->block_count++] = (struct hawk_frame_block){
		.frame = collector->frame,
		.block = block,
		.type = hawk_block_type(
			collector->wish->types,
			&(struct hawk_block){.start = hawk_block_start(index, block),
					     .size = hawk_block_size(index, block),
					     .trace = index->traces[block]})};
	collector->state->block_count++;
	collector->in_frame++;
}

static void take_memory(struct collector *collector, uint64_t start, uint64_t end)
{
	uint64_t words[BATCH_WORDS];
	size_t bytes = sizeof(words);

	for (start = (start + 7) & -UINT64_C(8); start + 8 <= end && bytes == sizeof(words);
	     start += sizeof(words)) {
		bytes = end - start < sizeof(words) ? (size_t)(end - start) : sizeof(words);
		bytes = hawk_target_read_some(collector->wish->target, start, words, bytes);
		for (size_t i = 0; i < bytes / sizeof(*words); i++)
			take_word(collector, words[i]);
	}
}

/* Returns the end of the frame's memory that is searched. */
static uint64_t end_of(const struct hawk_thread_frames *frames, size_t i)
{
	uint64_t sp = frames->frames[i].sp;
	uint64_t next =
		i + 1 < frames->count ? frames->frames[i + 1].sp : sp + (uint64_t)OUTERMOST_BYTES;

	/* A signal handler may have its own stack, and a guess lies behind what is not known. */
	return next < sp || next - sp > FRAME_BYTES_MAX ? sp + OUTERMOST_BYTES : next;
}

static struct hawk_error *find_blocks(const struct hawk_threads_wish *wish,
				      const struct hawk_thread_frames *frames,
				      struct hawk_threads *threads, struct hawk_thread_work *state)
{
	struct collector collector = {.wish = wish, .threads = threads, .state = state};
	const struct hawk_arch *arch = hawk_target_arch(wish->target);

	state->block_first = threads->block_count;
	if (wish->is_brief || !(wish->heap->knows & HAWK_HEAP_CONTENTS))
		return NULL;
	for (size_t i = 0; i < arch->register_count; i++)
		if (arch->registers[i].use == HAWK_REGISTER_DATA)
			take_word(&collector, state->thread->registers[i]);
	for (size_t i = 0; i < frames->count && state->block_count < THREAD_BLOCKS_MAX; i++) {
		if (i) {
			collector.frame = (uint32_t)i;
			collector.in_frame = 0;
		}
		take_memory(&collector, frames->frames[i].sp, end_of(frames, i));
	}
	return collector.err;
}

static enum hawk_lock_kind kind_of(const struct hawk_stack *stack)
{
	enum hawk_lock_kind kind = HAWK_LOCK_NONE;

	for (size_t i = 0; i < stack->count && i < LOCK_FRAMES && !kind; i++) {
		const struct hawk_frame *name = &stack->lines[i].name;
		const char *function = name->symbol ? name->symbol : name->function;

		if (function)
			kind = hawk_lock_kind_of(function);
	}
	return kind;
}

static void find_lock(const struct hawk_target *target, const struct hawk_stack *stack,
		      struct hawk_thread_work *state)
{
	struct hawk_futex futex = {
		.thread = state->thread,
		.address = state->call.arguments[0],
		.operation = (unsigned)state->call.arguments[1],
		.kind = kind_of(stack),
	};

	if (state->call.is_inside && !strcmp(state->call.name, "futex"))
		hawk_lock_find(target, &futex, &state->lock);
}

/** What threads of one group have in common. */
struct key {
	uint64_t frames, guest; /**< hashes */
	uint64_t call, lock, kind, owner;
};

/** A group in the making. */
struct maker {
	struct key key;
	struct hawk_thread_group group;
	uint32_t number; /**< in the order of making */
	int rank;        /**< lower ones are printed first */
};

struct makers {
	struct maker *items;
	size_t count, capacity;
};

static struct key key_of(const struct hawk_thread_work *state,
			 const struct hawk_thread_frames *frames,
			 const struct hawk_guest_frames *guest)
{
	struct key key = {.call = state->call.is_inside ? state->call.number : UINT64_MAX,
			  .kind = state->lock.kind,
			  .owner = state->lock.owner_tid};

	for (size_t i = 0; i < frames->count; i++)
		key.frames = XXH3_64bits_withSeed(&frames->frames[i].pc,
						  sizeof(frames->frames[i].pc), key.frames);
	/* Their strings have one address each. */
	for (size_t i = 0; i < guest->count; i++) {
		const struct hawk_guest_frame *frame = &guest->items[i];
		uint64_t words[] = {(uintptr_t)frame->function, (uintptr_t)frame->file,
				    frame->line};

		key.guest = XXH3_64bits_withSeed(words, sizeof(words), key.guest);
	}
	/* Idle workers wait for something of their own each. */
	key.lock = state->lock.owner_tid ? state->lock.address : 0;
	return key;
}

/* Puts the thread into its group, which takes over stack and guest if it is new. */
static struct hawk_error *group(struct makers *makers, struct hawk_thread_work *state,
				uint32_t number, const struct hawk_thread_frames *frames,
				struct hawk_stack *stack, struct hawk_guest_frames *guest)
{
	struct key key = key_of(state, frames, guest);
	size_t i = 0;

	while (i < makers->count && memcmp(&makers->items[i].key, &key, sizeof(key)) != 0)
		i++;
	state->group = (uint32_t)i;
	if (i == makers->count) {
		if (!hawk_array_reserve(&makers->items, makers->count, &makers->capacity,
					sizeof(*makers->items)))
			return &hawk_enomem;
		makers->items[makers->count++] =
			(struct maker){.key = key,
				       .group = {.first = number, .stack = *stack, .guest = *guest},
				       .number = (uint32_t)i};
		*stack = (struct hawk_stack){0};
		*guest = (struct hawk_guest_frames){0};
	}
	makers->items[i].group.count++;
	return NULL;
}

static struct hawk_error *take_thread(const struct hawk_threads_wish *wish,
				      const struct hawk_thread *thread, struct makers *makers,
				      struct hawk_threads *ret)
{
	struct hawk_thread_work *state = &ret->items[ret->count];
	struct hawk_thread_frames frames;
	struct hawk_guest_frames guest = {0};
	struct hawk_stack stack = {0};
	struct hawk_error *err;

	state->thread = thread;
	state->owner = HAWK_NO_THREAD;
	err = wish->is_brief ? hawk_symbols_unwind(wish->symbols, thread, LOCK_FRAMES, &frames)
			     : hawk_symbols_unwind_whole(wish->symbols, thread, &frames);
	hawk_stack_of_frames(wish->symbols, &frames, &stack);
	if (!hawk_target_snapshot(wish->target)) {
		hawk_system_call_find(wish->target, wish->symbols, thread, &state->call);
		find_lock(wish->target, &stack, state);
	}
	if (state->lock.address)
		hawk_whatis_find(wish->heap, wish->types, state->lock.address, &state->object);
	if (!err)
		err = find_blocks(wish, &frames, ret, state);
	if (!err && !wish->is_brief)
		err = hawk_guest_frames_read(wish->heap, wish->symbols, thread, &guest);
	if (!err)
		err = group(makers, state, ret->count, &frames, &stack, &guest);
	hawk_guest_frames_deinit(&guest);
	hawk_thread_frames_deinit(&frames);
	hawk_stack_deinit(&stack);
	ret->count++;
	return err;
}

/** A thread by the number that locks have. */
struct inner {
	uint32_t tid, number;
};

static int compare_inner(const void *left, const void *right)
{
	const struct inner *a = left, *b = right;

	return (a->tid > b->tid) - (a->tid < b->tid);
}

/* Finds the owners' threads. From then on, locks have the target's numbers of threads. */
static struct hawk_error *find_owners(const struct hawk_target *target, struct hawk_threads *ret)
{
	bool is_kept = hawk_target_snapshot(target); /* it has the target's numbers */
	CLEANUP(free_ptr) struct inner *by_tid = calloc(ret->count + 1, sizeof(*by_tid));

	if (!by_tid)
		return &hawk_enomem;
	for (uint32_t i = 0; i < ret->count; i++) {
		const struct hawk_thread *thread = ret->items[i].thread;

		by_tid[i] =
			(struct inner){is_kept ? thread->tid : hawk_lock_tid_of(target, thread), i};
	}
	qsort(by_tid, ret->count, sizeof(*by_tid), compare_inner);
	for (uint32_t i = 0; i < ret->count; i++) {
		struct hawk_thread_work *work = &ret->items[i];
		const struct inner key = {.tid = work->lock.owner_tid};
		const struct inner *found =
			key.tid ? bsearch(&key, by_tid, ret->count, sizeof(key), compare_inner)
				: NULL;

		if (found) {
			work->owner = found->number;
			work->lock.owner_tid = ret->items[found->number].thread->tid;
		} else if (key.tid && !hawk_target_is_incomplete(target)) {
			work->owner_ended = true;
			ret->ended_owners++;
		}
	}
	return NULL;
}

/* Follows owners from each thread; a thread that is met again on the same way is in a circle. */
static struct hawk_error *find_deadlocks(struct hawk_threads *ret)
{
	CLEANUP(free_ptr) uint32_t *seen = calloc(ret->count + 1, sizeof(*seen));

	if (!seen)
		return &hawk_enomem;
	for (uint32_t i = 0; i < ret->count; i++) {
		uint32_t at = i;

		while (at != HAWK_NO_THREAD && !seen[at]) {
			seen[at] = i + 1;
			at = ret->items[at].owner;
		}
		if (at == HAWK_NO_THREAD || seen[at] != i + 1)
			continue;
		ret->deadlocks++;
		for (; !ret->items[at].deadlock; at = ret->items[at].owner)
			ret->items[at].deadlock = ret->deadlocks;
	}
	return NULL;
}

static int compare_makers(const void *left, const void *right)
{
	const struct maker *a = left, *b = right;

	if (a->rank != b->rank)
		return a->rank - b->rank;
	if (a->group.count != b->group.count)
		return a->group.count < b->group.count ? 1 : -1;
	return (a->number > b->number) - (a->number < b->number);
}

/* Moves the groups to `ret`, in the order in which they are printed. */
static struct hawk_error *order_groups(struct makers *makers, struct hawk_threads *ret)
{
	CLEANUP(free_ptr) uint32_t *moved = calloc(makers->count + 1, sizeof(*moved));

	ret->groups = calloc(makers->count + 1, sizeof(*ret->groups));
	if (!moved || !ret->groups)
		return &hawk_enomem;
	for (size_t i = 0; i < makers->count; i++)
		makers->items[i].rank = 2;
	for (uint32_t i = 0; i < ret->count; i++) {
		struct maker *maker = &makers->items[ret->items[i].group];

		if (ret->items[i].thread->crashed)
			maker->rank = 0;
		else if (ret->items[i].deadlock && maker->rank)
			maker->rank = 1;
	}
	qsort(makers->items, makers->count, sizeof(*makers->items), compare_makers);
	for (size_t i = 0; i < makers->count; i++) {
		moved[makers->items[i].number] = (uint32_t)i;
		ret->groups[i] = makers->items[i].group;
		makers->items[i].group.stack = (struct hawk_stack){0};
		makers->items[i].group.guest = (struct hawk_guest_frames){0};
	}
	ret->group_count = makers->count;
	for (uint32_t i = 0; i < ret->count; i++)
		ret->items[i].group = moved[ret->items[i].group];
	return NULL;
}

struct hawk_error *hawk_threads_make(const struct hawk_threads_wish *wish, struct hawk_threads *ret)
{
	size_t count;
	const struct hawk_thread *threads = hawk_target_threads(wish->target, &count);
	struct makers makers = {0};
	struct hawk_error *err;

	ret->items = calloc(count + 1, sizeof(*ret->items));
	err = ret->items ? NULL : &hawk_enomem;
	if (!err && hawk_target_snapshot(wish->target))
		ret->waits_unknown = !hawk_threads_read(wish->target, ret->items, count);
	if (ret->waits_unknown)
		memset(ret->items, 0, count * sizeof(*ret->items));
	for (size_t i = 0; i < count && !err; i++)
		err = take_thread(wish, &threads[i], &makers, ret);
	if (!err)
		err = find_owners(wish->target, ret);
	if (!err)
		err = find_deadlocks(ret);
	if (!err)
		err = order_groups(&makers, ret);
	for (size_t i = 0; i < makers.count; i++) {
		hawk_stack_deinit(&makers.items[i].group.stack);
		hawk_guest_frames_deinit(&makers.items[i].group.guest);
	}
	free(makers.items);
	return err;
}

void hawk_threads_resolve(const struct hawk_threads_wish *wish, struct hawk_threads *threads)
{
	for (uint32_t i = 0; i < threads->count; i++)
		if (threads->items[i].object.mapping)
			hawk_whatis_resolve(wish->symbols, wish->types, &threads->items[i].object);
}

void hawk_threads_deinit(struct hawk_threads *threads)
{
	for (size_t i = 0; i < threads->group_count; i++) {
		hawk_stack_deinit(&threads->groups[i].stack);
		hawk_guest_frames_deinit(&threads->groups[i].guest);
	}
	free(threads->groups);
	free(threads->items);
	free(threads->blocks);
	*threads = (struct hawk_threads){0};
}
