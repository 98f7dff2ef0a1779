/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Stacks that overflow into a guard page inside of their mapping.
 */
#include <signal.h>

#include "test.h"
#include "synthetic_world.h"
#include "target/arch_x86_64.h"

enum { PAGE = 4096, BYTES = 16 * PAGE };

#define STACK UINT64_C(0x7f0000020000)

/* Returns true if a thread with the stack pointer `sp` in the mapping died of an overflow. */
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

WORLD_TEST(a_guard_page_inside_of_the_mapping_is_hit)
{
	static const struct {
		int code;
		uint64_t fault, sp;
		uint32_t flags;
		bool overflowed;
	} cases[] = {
		{SEGV_MAPERR, STACK + 2 * PAGE - 8, STACK + 2 * PAGE, SYNTHETIC_WRITE, true},
		/* By a large frame: the stack pointer is below the guard, where another stack is.
		 */
		{SEGV_MAPERR, STACK + 2 * PAGE - 8, STACK + PAGE - 256, SYNTHETIC_WRITE, true},
		/* Code that was called on a stack: its memory may not be executed. */
		{SEGV_ACCERR, STACK + 2 * PAGE - 8, STACK + 2 * PAGE, SYNTHETIC_WRITE, false},
		/* Memory that cannot be a stack. */
		{SEGV_MAPERR, STACK + 2 * PAGE - 8, STACK + 2 * PAGE, 0, false},
		/* A fault far from the stack. */
		{SEGV_MAPERR, STACK + PAGE, STACK + (UINT64_C(1) << 32), SYNTHETIC_WRITE, false},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		assert_int_equal(overflowed(world, cases[i].code, cases[i].fault, cases[i].sp,
					    cases[i].flags),
				 cases[i].overflowed);
		world_renew(world);
	}
}
