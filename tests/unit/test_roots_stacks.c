/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Stacks that ended threads have left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "roots_stacks.h"
#include "synthetic_world.h"

enum {
	STACK_BYTES = 32 << 10,
	GUARD_BYTES = 4096,
	DESCRIPTOR = STACK_BYTES / 8 - 296, /* words */
	TID = 90,
	BLOCK = 210,
};

#define GUARD UINT64_C(0x7f0000020000)
#define STACK (GUARD + GUARD_BYTES)

/* A stack as glibc keeps it, of a thread with `tid`. */
static void make_stack(uint64_t *words, int32_t tid)
{
	for (unsigned i = 0; i < STACK_BYTES / 8; i++)
		words[i] = 0x1234567890 + i;
	words[DESCRIPTOR] = words[DESCRIPTOR + 2] = STACK + 8 * DESCRIPTOR;
	words[DESCRIPTOR + TID] = (uint32_t)tid | UINT64_C(7) << 32;
	words[DESCRIPTOR + BLOCK] = GUARD;
	words[DESCRIPTOR + BLOCK + 1] = GUARD_BYTES + STACK_BYTES;
	words[DESCRIPTOR + BLOCK + 2] = GUARD_BYTES;
}

static bool find(struct world *world, const uint64_t *words, uint32_t guard_flags,
		 struct hawk_span *ret)
{
	const struct hawk_mapping *guard, *stack;

	synthetic_core_add_segment(world->core,
				   (struct synthetic_segment){.address = GUARD,
							      .memory_bytes = GUARD_BYTES,
							      .flags = guard_flags});
	synthetic_core_add_memory(world->core, STACK, words, STACK_BYTES);
	world_open(world);
	guard = hawk_target_mapping_at(world->target, GUARD);
	stack = hawk_target_mapping_at(world->target, STACK);
	assert_non_null(guard);
	assert_non_null(stack);
	return hawk_roots_ended_stack(world->target, guard, stack, ret);
}

static void the_stack_of_an_ended_thread_is_found(void **state)
{
	uint64_t words[STACK_BYTES / 8];
	struct hawk_span span;

	make_stack(words, 0);
	assert_true(find(*state, words, 0, &span));
	assert_int_equal(span.start, STACK);
	assert_int_equal(span.end, STACK + 8 * DESCRIPTOR);
}

static void so_is_that_of_one_that_was_joined(void **state)
{
	uint64_t words[STACK_BYTES / 8];
	struct hawk_span span;

	make_stack(words, -1);
	assert_true(find(*state, words, 0, &span));
}

static void a_thread_that_runs_has_its_stack(void **state)
{
	uint64_t words[STACK_BYTES / 8];
	struct hawk_span span;

	make_stack(words, 4711);
	assert_false(find(*state, words, 0, &span));
}

static void memory_that_the_program_has_provided_is_its_own(void **state)
{
	uint64_t words[STACK_BYTES / 8];
	struct hawk_span span;

	make_stack(words, 0);
	words[DESCRIPTOR + BLOCK] = STACK; /* no guard */
	words[DESCRIPTOR + BLOCK + 1] = STACK_BYTES;
	words[DESCRIPTOR + BLOCK + 2] = 0;
	assert_false(find(*state, words, 0, &span));
}

static void what_lies_behind_readable_memory_has_no_guard(void **state)
{
	uint64_t words[STACK_BYTES / 8];
	struct hawk_span span;

	make_stack(words, 0);
	assert_false(find(*state, words, SYNTHETIC_READ, &span));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(the_stack_of_an_ended_thread_is_found),
		WORLD_TEST(so_is_that_of_one_that_was_joined),
		WORLD_TEST(a_thread_that_runs_has_its_stack),
		WORLD_TEST(memory_that_the_program_has_provided_is_its_own),
		WORLD_TEST(what_lies_behind_readable_memory_has_no_guard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
