/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Stacks that overflow into a guard page inside of their mapping.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "synthetic_world.h"

enum { PAGE = 4096, BYTES = 16 * PAGE };

#define STACK UINT64_C(0x7f0000020000)

/* Whether a thread with the stack pointer `sp` in the mapping died of an overflow. */
static bool overflowed(struct world *world, int code, uint64_t fault, uint64_t sp, uint32_t flags)
{
	uint64_t registers[HAWK_REGISTER_COUNT] = {0};
	size_t count;
	const struct hawk_thread *threads;
	bool result;

	registers[HAWK_RSP] = sp;
	synthetic_core_add_thread(world->core, 4711, SIGSEGV, registers);
	synthetic_core_add_siginfo(world->core, SIGSEGV, code, fault);
	synthetic_core_add_segment(world->core,
				   (struct synthetic_segment){.address = STACK,
							      .dumped_bytes = BYTES,
							      .flags = SYNTHETIC_READ | flags});
	world_open(world);
	threads = hawk_target_threads(world->target, &count);
	assert_int_equal(count, 1);
	result = hawk_target_stack_overflowed(world->target, &threads[0]);
	assert_int_equal(hawk_target_stack_start(world->target, &threads[0]), sp);
	return result;
}

static void a_guard_page_inside_of_the_mapping_is_hit(void **state)
{
	assert_true(overflowed(*state, SEGV_MAPERR, STACK + 2 * PAGE - 8, STACK + 2 * PAGE,
			       SYNTHETIC_WRITE));
}

/* The stack pointer may be below the guard, where another stack is. */
static void so_is_it_by_a_large_frame(void **state)
{
	assert_true(overflowed(*state, SEGV_MAPERR, STACK + 2 * PAGE - 8, STACK + PAGE - 256,
			       SYNTHETIC_WRITE));
}

/* Code that was called on a stack: its memory may not be executed. */
static void memory_that_is_not_permitted_is_no_guard(void **state)
{
	assert_false(overflowed(*state, SEGV_ACCERR, STACK + 2 * PAGE - 8, STACK + 2 * PAGE,
				SYNTHETIC_WRITE));
}

static void memory_that_cannot_be_a_stack_has_none(void **state)
{
	assert_false(overflowed(*state, SEGV_MAPERR, STACK + 2 * PAGE - 8, STACK + 2 * PAGE, 0));
}

static void a_fault_far_from_the_stack_is_another(void **state)
{
	assert_false(overflowed(*state, SEGV_MAPERR, STACK + PAGE, STACK + (UINT64_C(1) << 32),
				SYNTHETIC_WRITE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_guard_page_inside_of_the_mapping_is_hit),
		WORLD_TEST(so_is_it_by_a_large_frame),
		WORLD_TEST(memory_that_is_not_permitted_is_no_guard),
		WORLD_TEST(memory_that_cannot_be_a_stack_has_none),
		WORLD_TEST(a_fault_far_from_the_stack_is_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
