/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The verified reuse of the previous stack: after every change, large or small, the merged stack is
 * what libunwind and a walk from nothing say it is.
 */
#include "unwind_oracle.h"

#include <alloca.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { RANDOM_CHECKS = 6000 };

static volatile int sink;

/** How much of a random walk is left, and how deep it may go. */
static int checks_left, depth_limit;

static NOINLINE void wander(int depth);

static NOINLINE void wander_plainly(int depth)
{
	wander(depth + 1);
	NO_TAIL_CALL();
}

static NOINLINE void wander_with_locals(int depth)
{
	volatile char local[72] = {0};

	wander(depth + 1);
	sink += local[depth % 72];
}

static NOINLINE void wander_on_rbp(int depth)
{
	volatile char *memory = alloca(16 + next_random() % 64);

	memory[0] = 0;
	wander(depth + 1);
	sink += memory[0];
}

static NOINLINE void wander_aligned(int depth, long a, long b, long c, long d, long e, long f)
{
	volatile long local[8] __attribute__((aligned(64))) = {a, b, c, d, e, f};
	volatile char *memory = alloca(16 + next_random() % 64);

	memory[0] = 0;
	wander(depth + 1);
	sink += memory[0] + (int)local[depth % 8];
}

/** CFA on rbx: the full stepper. */
__asm__(".text\n.type wander_on_rbx, @function\nwander_on_rbx:\n.cfi_startproc\n\t"
	"push %rbx\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_rel_offset rbx, 0\n\t"
	"mov %rsp, %rbx\n\t.cfi_def_cfa_register rbx\n\t"
	"and $-64, %rsp\n\tcall *%rsi\n\t"
	"mov %rbx, %rsp\n\t.cfi_def_cfa_register rsp\n\t"
	"pop %rbx\n\t.cfi_adjust_cfa_offset -8\n\t.cfi_restore rbx\n\tret\n"
	".cfi_endproc\n.size wander_on_rbx, .-wander_on_rbx\n");
extern void wander_on_rbx(int depth, void (*function)(int)) __asm__("wander_on_rbx");

static bool with_rbx;

static NOINLINE void wander(int depth)
{
	for (uint32_t rounds = 1 + next_random() % 4; rounds > 0 && checks_left > 0; rounds--) {
		if (next_random() % 2) {
			checks_left--;
			check_here();
		}
		if (depth >= depth_limit)
			continue;
		switch (next_random() % 8) {
		case 0:
		case 1:
		case 2:
			wander_plainly(depth);
			break;
		case 3:
		case 4:
			wander_with_locals(depth);
			break;
		case 5:
			wander_on_rbp(depth);
			break;
		case 6:
			wander_aligned(depth, 1, 2, 3, 4, 5, 6);
			break;
		default:
			if (with_rbx)
				wander_on_rbx(depth, wander_plainly);
		}
	}
}

static void wander_randomly(uint32_t seed, int checks, int limit)
{
	random_state = seed;
	checks_left = checks;
	depth_limit = limit;
	while (checks_left > 0)
		wander(0);
}

TEST(random_walks_agree_with_the_oracle)
{
	uint64_t before = frames_reused;

	with_rbx = false;
	wander_randomly(1, RANDOM_CHECKS, 40);
	assert_true(frames_reused - before > RANDOM_CHECKS * 8);
}

TEST(random_walks_with_complex_frames_agree)
{
	with_rbx = true;
	wander_randomly(2, RANDOM_CHECKS / 4, 12);
	with_rbx = false;
}

TEST(random_walks_with_small_depths_agree)
{
	for (uint32_t depth = 1; depth < 40; depth += depth < 8 ? 1 : 7) {
		hawk_unwind_options.depth = depth;
		wander_randomly(depth, RANDOM_CHECKS / 20, 24);
	}
	hawk_unwind_options.depth = HAWK_STACK_FRAMES;
}

TEST(random_walks_of_unwinds_by_libunwind_agree)
{
	assert_true(hawk_unwind_load_libunwind());
	hawk_unwind_options.mode = HAWK_UNWIND_LIBUNWIND;
	wander_randomly(3, RANDOM_CHECKS / 10, 20);
	hawk_unwind_options.depth = 9;
	wander_randomly(4, RANDOM_CHECKS / 20, 20);
	hawk_unwind_options.depth = HAWK_STACK_FRAMES;
	hawk_unwind_options.mode = HAWK_UNWIND_CFI;
}

static NOINLINE int recurse(int depth, void (*function)(void))
{
	int result = 1;

	if (depth)
		result += recurse(depth - 1, function);
	else
		function();
	NO_TAIL_CALL();
	return result;
}

static void check_plainly(void)
{
	check_here();
}

static void check_five_times_up_and_down(void)
{
	for (int i = 0; i < 5; i++) {
		recurse(i, check_plainly);
		check_here();
	}
}

TEST(deep_recursion_is_cut_off_at_the_depth)
{
	static const uint32_t depths[] = {512, 511, 100, 2, 1};

	for (size_t i = 0; i < COUNT_OF(depths); i++) {
		hawk_unwind_options.depth = depths[i];
		recurse(10000, check_five_times_up_and_down);
		assert_int_equal(kept_stack->count, depths[i]);
		assert_int_equal(kept_stack->flags, HAWK_TRACE_TRUNCATED);
	}
	hawk_unwind_options.depth = HAWK_STACK_FRAMES;
}

TEST(a_stack_of_just_the_depth_is_complete)
{
	uint32_t count;

	recurse(5, check_plainly);
	count = kept_stack->count;
	for (uint32_t depth = count - 2; depth < count + 3; depth++) {
		hawk_unwind_options.depth = depth;
		for (int i = 3; i < 8; i++)
			recurse(i, check_plainly);
		recurse(5, check_plainly);
		assert_int_equal(kept_stack->flags, depth < count ? HAWK_TRACE_TRUNCATED : 0);
	}
	hawk_unwind_options.depth = HAWK_STACK_FRAMES;
}

/*
 * Small stacks. libunwind alone needs more than there is: the truth is how often we recursed.
 */

static uint32_t counts[8];

static void note_count(void)
{
	walk_here();
	counts[0] = last_result.count;
}

static void *recurse_on_a_small_stack(void *data)
{
	prepare_thread();
	for (int i = 0; i < 7; i++) {
		recurse(i, note_count);
		counts[i + 1] = counts[0];
		assert_int_equal(last_result.flags, 0);
	}
	release_thread();
	return data;
}

TEST(a_thread_with_a_minimal_stack_walks)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	assert_int_equal(pthread_attr_setstacksize(&attributes, 16384), 0);
	hawk_unwind_invalidate();
	assert_int_equal(pthread_create(&thread, &attributes, recurse_on_a_small_stack, NULL), 0);
	pthread_join(thread, NULL);
	for (int i = 0; i < 6; i++)
		assert_int_equal(counts[i + 2], counts[i + 1] + 1);
}

enum { PAINT_BYTES = 8192, PAINT = 0x5a };

static NOINLINE void paint(void)
{
	volatile uint8_t area[PAINT_BYTES];

	for (size_t i = 0; i < PAINT_BYTES; i++)
		area[i] = PAINT;
	__asm__ volatile("" : : "r"(area) : "memory");
}

/** How far below its own frame the caller's callees have written since paint(). */
static NOINLINE size_t dirty_bytes(void)
{
	volatile uint8_t area[PAINT_BYTES];
	size_t i = 128;

	__asm__ volatile("" : : "r"(area) : "memory");
	while (i < PAINT_BYTES && area[i] == PAINT)
		i++;
	return PAINT_BYTES - i;
}

TEST(a_walk_takes_little_of_the_stack)
{
	volatile int rounds = 3;
	size_t dirty[3];

	recurse(3, check_plainly);
	hawk_unwind_invalidate();
	for (int i = 0; i < rounds; i++) {
		paint();
		walk_here();
		dirty[i] = dirty_bytes();
	}
	assert_in_range(dirty[0], 1, 1024); /* rules had to be made */
	assert_in_range(dirty[2], 1, 384);
}

/*
 * Coroutines whose stacks are unmapped and mapped again with other sizes: what was readable is not
 * any more.
 */

static ucontext_t main_context, coroutine_context;

static void run_coroutine(void)
{
	recurse((int)(next_random() % 6), check_plainly);
	swapcontext(&coroutine_context, &main_context);
}

TEST(remapped_coroutine_stacks_are_exact)
{
	const size_t room = 1 << 20;
	uint8_t *area = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	random_state = 7;
	for (int i = 0; i < 300; i++) {
		size_t size = 131072 + 4096 * (next_random() % 32);
		size_t offset = 4096 * (next_random() % 64);

		assert_int_equal(mprotect(area + offset, size, PROT_READ | PROT_WRITE), 0);
		getcontext(&coroutine_context);
		coroutine_context.uc_stack.ss_sp = area + offset;
		coroutine_context.uc_stack.ss_size = size;
		coroutine_context.uc_link = NULL;
		makecontext(&coroutine_context, run_coroutine, 0);
		swapcontext(&main_context, &coroutine_context);
		recurse(i % 3, check_plainly);
		assert_true(mmap(area, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
				 0) == area);
	}
	munmap(area, room);
}

TEST(nonsense_is_refused)
{
	static const struct hawk_frame_state nonsense[] = {
		{0, 0, 0},
		{UINT64_MAX, UINT64_MAX, UINT64_MAX},
		{0x400000, 1, 0},
		{0x400000, UINT64_MAX - 7, UINT64_MAX - 7},
		{0x400000, 4096, 4096},
		{(1ull << 47) - 1, 4096, 8},
	};
	uint64_t pcs[8];
	struct hawk_walk_result result;

	for (size_t i = 0; i < COUNT_OF(nonsense); i++) {
		assert_false(hawk_walk(new_stack, &nonsense[i], &result));
		assert_true(result.count <= 1);
		assert_int_equal(result.flags, HAWK_TRACE_INCOMPLETE);
		assert_int_not_equal(result.hash, 0);
		hawk_walk_stateless(&nonsense[i], pcs, 8, &result);
		assert_true(result.count <= 1);
		assert_int_equal(result.flags, HAWK_TRACE_INCOMPLETE);
	}
}
