/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Shared by all tests of the unwinder: modules without a module log, and libunwind as the oracle
 * for the caller's stack.
 *
 * Included once by each test program. The functions on the way are never inlined: the oracle starts
 * in one of them and steps to the frame that is being checked.
 */
#ifndef HAWK_UNWIND_ORACLE_H
#define HAWK_UNWIND_ORACLE_H

#include "test.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

#if HAWK_HAVE_LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif

#include "hawk_trace_table.h"
#include "unwind/unwind.h"

#ifdef __clang__
#define NOINLINE __attribute__((noinline, unused))
#else
#define NOINLINE __attribute__((noinline, noclone, unused))
#endif
/** Keeps the compiler from making a tail call of the call before it. */
#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

enum { ORACLE_FRAMES_MAX = 20000 };

/** Code that a test has made itself; found before the loader's modules. */
static struct hawk_code_range synthetic_module;
static uint32_t module_generation;

bool hawk_modules_find(uint64_t pc, struct hawk_code_range *ret)
{
	struct dl_find_object object;

	if (pc >= synthetic_module.start && pc < synthetic_module.end) {
		*ret = synthetic_module;
		return true;
	}
	if (_dl_find_object((void *)pc, &object))
		return false;
	*ret = (struct hawk_code_range){(uint64_t)object.dlfo_map_start,
					(uint64_t)object.dlfo_map_end,
					(uint64_t)object.dlfo_eh_frame};
	return true;
}

uint32_t hawk_modules_generation(void)
{
	return module_generation;
}

struct oracle_stack {
	uint32_t count;
	bool ended; /**< the oracle met the outermost frame */
	struct hawk_frame_state frames[ORACLE_FRAMES_MAX];
};

static __thread struct oracle_stack *oracle;
/** The stack that is kept from check to check, and the one that is always new. */
static __thread struct hawk_stack *kept_stack;
static __thread struct hawk_stack *new_stack;
static __attribute__((unused)) uint64_t checks_done;
static __attribute__((unused)) uint64_t frames_reused;

static uint32_t random_state = 1;

static __attribute__((unused)) uint32_t next_random(void)
{
	random_state = random_state * 1664525 + 1013904223;
	return random_state >> 8;
}

static void *allocate(size_t size)
{
	size_t line = _Alignof(struct hawk_stack);
	void *memory = aligned_alloc(line, (size + line - 1) / line * line);

	if (!memory)
		abort();
	return memset(memory, 0, size);
}

static NOINLINE void prepare_thread(void)
{
	if (oracle)
		return;
	oracle = allocate(sizeof(*oracle));
	kept_stack = allocate(sizeof(*kept_stack));
	new_stack = allocate(sizeof(*new_stack));
}

static NOINLINE void release_thread(void)
{
	free(oracle);
	free(kept_stack);
	free(new_stack);
	oracle = NULL;
}

static int set_up_unwinder(void **state)
{
	(void)state;
	hawk_unwind_options.mode = HAWK_UNWIND_CFI;
	hawk_unwind_options.depth = HAWK_STACK_FRAMES;
	prepare_thread();
	return hawk_unwind_init() ? 0 : -1;
}

__attribute__((constructor)) static void add_unwinder(void)
{
	test_add_group(set_up_unwinder, NULL);
}

#define CALLER_STATE()                                                                             \
	((struct hawk_frame_state){                                                                \
		.pc = (uint64_t)__builtin_return_address(0),                                       \
		.sp = (uint64_t)__builtin_dwarf_cfa(),                                             \
		.bp = *(const uint64_t *)__builtin_frame_address(0),                               \
	})

/** Of walk_here(). */
static struct hawk_walk_result last_result;

/** Brings `kept_stack` up to date with the caller's stack, without the oracle. */
static NOINLINE bool walk_here(void)
{
	struct hawk_frame_state start = CALLER_STATE();
	bool same = hawk_walk(kept_stack, &start, &last_result);

	NO_TAIL_CALL();
	return same;
}

#if HAWK_HAVE_LIBUNWIND
/** Fills `oracle` from the frame in state `start` outwards. */
static NOINLINE void ask_oracle(const struct hawk_frame_state *start)
{
	unw_context_t context;
	unw_cursor_t cursor;
	unw_word_t pc, sp, bp;
	bool found = false;
	int step;

	oracle->count = 0;
	unw_getcontext(&context);
	unw_init_local(&cursor, &context);
	while ((step = unw_step(&cursor)) > 0 && oracle->count < ORACLE_FRAMES_MAX) {
		unw_get_reg(&cursor, UNW_X86_64_RIP, &pc);
		unw_get_reg(&cursor, UNW_X86_64_RSP, &sp);
		unw_get_reg(&cursor, UNW_X86_64_RBP, &bp);
		if (!pc)
			break;
		found = found || (pc == start->pc && sp == start->sp);
		if (found)
			oracle->frames[oracle->count++] = (struct hawk_frame_state){pc, sp, bp};
	}
	oracle->ended = step >= 0;
	NO_TAIL_CALL();
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void check_frames(const struct hawk_stack *stack, const struct hawk_walk_result *walk)
{
	uint32_t expected = smaller(oracle->count, hawk_unwind_options.depth);

	for (uint32_t i = 0; i < smaller(walk->count, expected); i++) {
		const struct hawk_stack_frame *frame = &stack->frames[walk->count - 1 - i];

		assert_int_equal(frame->state.pc, oracle->frames[i].pc);
		assert_int_equal(frame->state.sp, oracle->frames[i].sp);
		if (frame->needs_bp)
			assert_int_equal(frame->state.bp, oracle->frames[i].bp);
	}
	assert_int_equal(walk->count, expected);
	assert_int_equal(stack->count, expected);
	if (oracle->ended)
		assert_int_equal(walk->flags, oracle->count > hawk_unwind_options.depth
						      ? HAWK_TRACE_TRUNCATED
						      : 0);
}

static void check_stateless(const struct hawk_frame_state *start,
			    const struct hawk_walk_result *walk)
{
	static __thread uint64_t pcs[HAWK_STACK_FRAMES];
	struct hawk_walk_result stateless;

	hawk_walk_stateless(start, pcs, HAWK_STACK_FRAMES, &stateless);
	assert_int_equal(stateless.count, walk->count);
	for (uint32_t i = 0; i < stateless.count; i++)
		assert_int_equal(pcs[i] & ~HAWK_PC_EXACT, oracle->frames[i].pc);
	assert_int_equal(stateless.hash, walk->hash);
	assert_int_equal(stateless.check, walk->check);
	assert_int_equal(stateless.flags, walk->flags);
	assert_int_equal(stateless.kept, 0);
}

/**
 * Compares the caller's stack, as the unwinder sees it in every way it can be asked, with the
 * oracle's. Returns whether it was the same stack as last time.
 */
static NOINLINE bool check_here(void)
{
	struct hawk_frame_state start = CALLER_STATE();
	uint32_t before = kept_stack->count;
	struct hawk_walk_result walk, again;
	bool same, repeated;

	ask_oracle(&start);
	assert_true(oracle->count > 0);
	same = hawk_walk(kept_stack, &start, &walk);
	check_frames(kept_stack, &walk);
	assert_true(walk.kept <= walk.count && walk.kept <= before);
	frames_reused += walk.kept;
	repeated = hawk_walk(kept_stack, &start, &again);
	assert_true(repeated);
	assert_int_equal(again.hash, walk.hash);
	assert_int_equal(again.kept, walk.count);
	new_stack->count = 0;
	assert_false(hawk_walk(new_stack, &start, &again));
	check_frames(new_stack, &again);
	assert_int_equal(again.hash, walk.hash);
	assert_int_equal(again.kept, 0);
	check_stateless(&start, &walk);
	checks_done++;
	NO_TAIL_CALL();
	return same;
}
#endif

#endif
