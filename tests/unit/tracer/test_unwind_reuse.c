/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The verified reuse of the previous stack: after every change, large or small, the merged stack is
 * what libunwind and a walk from nothing say it is.
 */
#include "unwind_oracle.h"

#if HAWK_HAVE_LIBUNWIND

#include <alloca.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { RANDOM_CHECKS = 6000 };

static volatile int sink;

static uint32_t random_state;

static uint32_t next_random(void)
{
	random_state = random_state * 1664525 + 1013904223;
	return random_state >> 8;
}

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

static void random_walks_agree_with_the_oracle(void **state)
{
	uint64_t before = frames_reused;

	(void)state;
	with_rbx = false;
	wander_randomly(1, RANDOM_CHECKS, 40);
	assert_true(frames_reused - before > RANDOM_CHECKS * 8);
}

static void random_walks_with_complex_frames_agree(void **state)
{
	(void)state;
	with_rbx = true;
	wander_randomly(2, RANDOM_CHECKS / 4, 12);
	with_rbx = false;
}

static void random_walks_with_small_depths_agree(void **state)
{
	(void)state;
	for (uint32_t depth = 1; depth < 40; depth += depth < 8 ? 1 : 7) {
		hawk_unwind_options.depth = depth;
		wander_randomly(depth, RANDOM_CHECKS / 20, 24);
	}
	hawk_unwind_options.depth = HAWK_STACK_FRAMES;
}

static void random_walks_of_unwinds_by_libunwind_agree(void **state)
{
	(void)state;
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

static void check(void)
{
	check_here();
}

static void check_five_times_up_and_down(void)
{
	for (int i = 0; i < 5; i++) {
		recurse(i, check);
		check_here();
	}
}

static void deep_recursion_is_cut_off_at_the_depth(void **state)
{
	static const uint32_t depths[] = {512, 511, 100, 2, 1};

	(void)state;
	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		hawk_unwind_options.depth = depths[i];
		recurse(10000, check_five_times_up_and_down);
		assert_int_equal(kept_stack->count, depths[i]);
		assert_int_equal(kept_stack->flags, HAWK_TRACE_TRUNCATED);
	}
	hawk_unwind_options.depth = HAWK_STACK_FRAMES;
}

static void a_stack_of_just_the_depth_is_complete(void **state)
{
	uint32_t count;

	(void)state;
	recurse(5, check);
	count = kept_stack->count;
	for (uint32_t depth = count - 2; depth < count + 3; depth++) {
		hawk_unwind_options.depth = depth;
		for (int i = 3; i < 8; i++)
			recurse(i, check);
		recurse(5, check);
		assert_int_equal(kept_stack->flags, depth < count ? HAWK_TRACE_TRUNCATED : 0);
	}
	hawk_unwind_options.depth = HAWK_STACK_FRAMES;
}

static struct hawk_walk_result last_result;

static NOINLINE bool walk_here(void)
{
	struct hawk_frame_state start = CALLER_STATE();
	bool same = hawk_walk(kept_stack, &start, &last_result);

	NO_TAIL_CALL();
	return same;
}

static void do_nothing(void)
{
}

static void raise_generation(void)
{
	module_generation++;
}

static struct hawk_walk_result results[4];
static bool same[4];
static uint64_t misses[4];

/** Walks four times from one place, which no compiler can turn into two. */
static NOINLINE void walk_around(void (*event)(void))
{
	void (*volatile events[])(void) = {do_nothing, do_nothing, event, do_nothing};

	volatile int rounds = 4;

	for (int i = 0; i < rounds; i++) {
		events[i]();
		misses[i] = hawk_unwind_stats.rule_misses;
		same[i] = walk_here();
		results[i] = last_result;
		misses[i] = hawk_unwind_stats.rule_misses - misses[i];
	}
}

static void a_new_generation_is_no_longer_the_same_stack(void **state)
{
	(void)state;
	walk_around(raise_generation);
	assert_true(same[1]);
	assert_int_equal(results[1].hash, results[0].hash);
	assert_false(same[2]);
	assert_int_equal(results[2].kept, 0);
	assert_int_equal(results[2].count, results[1].count);
	assert_int_equal(results[2].generation, results[1].generation + 1);
	assert_int_not_equal(results[2].hash, results[1].hash);
	assert_true(same[3]);
	assert_int_equal(results[3].hash, results[2].hash);
	check_here();
}

static void an_invalidation_makes_the_stack_forget(void **state)
{
	(void)state;
	walk_around(hawk_unwind_invalidate);
	assert_true(same[1]);
	assert_false(same[2]);
	assert_int_equal(results[2].kept, 0);
	assert_int_equal(misses[1], 0);
	assert_int_equal(misses[2], results[2].count);
	assert_true(same[3]);
	assert_int_equal(results[3].hash, results[0].hash);
	check_here();
}

/*
 * Two libraries, one after the other, at the same address: their functions differ in the size of
 * their frames. .eh_frame_hdr, .eh_frame and code are written by hand into one page.
 */

enum { CODE_OFFSET = 0x800, EH_FRAME_OFFSET = 0x100 };

static uint8_t *put(uint8_t *at, const void *bytes, size_t size)
{
	memcpy(at, bytes, size);
	return at + size;
}

static uint8_t *put_number(uint8_t *at, int64_t value, size_t size)
{
	return put(at, &value, size);
}

/** void function(void (*callee)(void)): sub $frame, %rsp; call *%rdi; add $frame, %rsp; ret */
static void write_library(uint8_t *page, uint8_t frame)
{
	const uint8_t code[] = {0x48, 0x83, 0xec, frame, 0xff, 0xd7, 0x48, 0x83, 0xc4, frame, 0xc3};
	const uint8_t cie[] = {1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0};
	/* advance 4; def_cfa_offset frame + 8; advance 6; def_cfa_offset 8 */
	const uint8_t program[] = {0x44, 0x0e, (uint8_t)(frame + 8), 0x46, 0x0e, 8, 0};
	uint8_t *hdr = page, *at = page + EH_FRAME_OFFSET;
	uint8_t *fde;

	memset(page, 0, 4096);
	put(page + CODE_OFFSET, code, sizeof(code));
	at = put_number(at, 4 + sizeof(cie), 4);
	at = put_number(at, 0, 4);
	at = put(at, cie, sizeof(cie));
	fde = at;
	at = put_number(at, 4 + 4 + 4 + 1 + sizeof(program), 4);
	at = put_number(at, at - (page + EH_FRAME_OFFSET), 4);
	at = put_number(at, page + CODE_OFFSET - at, 4);
	at = put_number(at, sizeof(code), 4);
	at = put_number(at, 0, 1);
	put(at, program, sizeof(program));
	hdr = put(hdr, (const uint8_t[]){1, 0x1b, 0x03, 0x3b}, 4);
	hdr = put_number(hdr, page + EH_FRAME_OFFSET - hdr, 4);
	hdr = put_number(hdr, 1, 4);
	hdr = put_number(hdr, CODE_OFFSET, 4);
	put_number(hdr, fde - page, 4);
	synthetic_module =
		(struct hawk_code_range){(uint64_t)page, (uint64_t)page + 4096, (uint64_t)page};
}

static uint32_t frames_seen;
static struct hawk_frame_state library_frame, above_library;

static void look(void)
{
	walk_here();
	frames_seen = last_result.count;
	for (uint32_t i = 1; i < last_result.count; i++) {
		const struct hawk_stack_frame *frame = &kept_stack->frames[i];

		if (frame->state.pc < synthetic_module.start ||
		    frame->state.pc >= synthetic_module.end)
			continue;
		library_frame = frame->state;
		above_library = kept_stack->frames[i - 1].state;
		return;
	}
	fail_msg("the library's frame is missing");
}

static NOINLINE void call_library(uint8_t *page, uint8_t frame)
{
	void (*function)(void (*)(void)) = (void (*)(void (*)(void)))(page + CODE_OFFSET);

	above_library.sp = 0;
	function(look);
	assert_int_equal(above_library.sp - library_frame.sp, frame + 8);
	assert_int_equal(last_result.flags, 0);
}

static void a_library_at_the_address_of_another_has_its_own_rules(void **state)
{
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t complete;

	(void)state;
	assert_true(page != MAP_FAILED);
	write_library(page, 8);
	call_library(page, 8);
	complete = frames_seen;
	for (int i = 0; i < 50; i++) {
		uint8_t frame = (uint8_t)(8 + 16 * (i % 6));

		write_library(page, frame);
		hawk_unwind_invalidate();
		call_library(page, frame);
		assert_int_equal(frames_seen, complete);
		call_library(page, frame);
	}
	synthetic_module = (struct hawk_code_range){0};
	munmap(page, 4096);
}

static bool stop_filling;

/** Keeps the cache full of rules of the synthetic library, as fast as it can. */
static void *fill_rules(void *data)
{
	uint64_t pcs[4];
	uint64_t stack[64] = {0};
	struct hawk_frame_state start = {.pc = *(const uint64_t *)data, .sp = (uint64_t)stack};
	struct hawk_walk_result result;

	while (!__atomic_load_n(&stop_filling, __ATOMIC_RELAXED))
		hawk_walk_stateless(&start, pcs, 4, &result);
	return NULL;
}

static void no_stale_rule_survives_a_flush(void **state)
{
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t pc = (uint64_t)page + CODE_OFFSET + 6;
	uint64_t stack[64], pcs[4];
	struct hawk_frame_state start = {.pc = pc, .sp = (uint64_t)stack};
	struct hawk_walk_result result;
	pthread_t thread;

	(void)state;
	write_library(page, 8);
	stop_filling = false;
	assert_int_equal(pthread_create(&thread, NULL, fill_rules, &pc), 0);
	for (int i = 0; i < 2000; i++) {
		uint8_t frame = (uint8_t)(8 + 16 * (i % 6));

		write_library(page, frame);
		hawk_unwind_invalidate();
		for (int j = 0; j < 64; j++)
			stack[j] = (uint64_t)j << 20;
		/* The filler may have read a half-written description: but never one of before. */
		for (int tries = 0;; tries++) {
			hawk_walk_stateless(&start, pcs, 2, &result);
			if (result.count == 2 && pcs[1] == (uint64_t)(frame / 8) << 20)
				break;
			assert_true(tries < 1);
			hawk_unwind_invalidate();
		}
	}
	__atomic_store_n(&stop_filling, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	synthetic_module = (struct hawk_code_range){0};
	munmap(page, 4096);
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

static void a_thread_with_a_minimal_stack_walks(void **state)
{
	pthread_attr_t attributes;
	pthread_t thread;

	(void)state;
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

static void a_walk_takes_little_of_the_stack(void **state)
{
	volatile int rounds = 3;
	size_t dirty[3];

	(void)state;
	recurse(3, check);
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
	recurse((int)(next_random() % 6), check);
	swapcontext(&coroutine_context, &main_context);
}

static void remapped_coroutine_stacks_are_exact(void **state)
{
	const size_t room = 1 << 20;
	uint8_t *area = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
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
		recurse(i % 3, check);
		assert_true(mmap(area, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
				 0) == area);
	}
	munmap(area, room);
}

static void nonsense_is_refused(void **state)
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

	(void)state;
	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
		assert_false(hawk_walk(new_stack, &nonsense[i], &result));
		assert_true(result.count <= 1);
		assert_int_equal(result.flags, HAWK_TRACE_INCOMPLETE);
		assert_int_not_equal(result.hash, 0);
		hawk_walk_stateless(&nonsense[i], pcs, 8, &result);
		assert_true(result.count <= 1);
		assert_int_equal(result.flags, HAWK_TRACE_INCOMPLETE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_walks_agree_with_the_oracle),
		cmocka_unit_test(random_walks_with_complex_frames_agree),
		cmocka_unit_test(random_walks_with_small_depths_agree),
		cmocka_unit_test(random_walks_of_unwinds_by_libunwind_agree),
		cmocka_unit_test(deep_recursion_is_cut_off_at_the_depth),
		cmocka_unit_test(a_stack_of_just_the_depth_is_complete),
		cmocka_unit_test(a_new_generation_is_no_longer_the_same_stack),
		cmocka_unit_test(an_invalidation_makes_the_stack_forget),
		cmocka_unit_test(a_library_at_the_address_of_another_has_its_own_rules),
		cmocka_unit_test(no_stale_rule_survives_a_flush),
		cmocka_unit_test(a_thread_with_a_minimal_stack_walks),
		cmocka_unit_test(a_walk_takes_little_of_the_stack),
		cmocka_unit_test(remapped_coroutine_stacks_are_exact),
		cmocka_unit_test(nonsense_is_refused),
	};

	return cmocka_run_group_tests(tests, set_up_unwinder, NULL);
}

#else

int main(void)
{
	fputs("skipped: built without libunwind, the oracle\n", stderr);
	return 77;
}

#endif
