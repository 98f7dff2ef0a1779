/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A sweep whose blocks another thread takes: the same blocks, and the taker's errors.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hawk_sweep_beside.h"
#include "synthetic_heap.h"

/** Blocks as they came, and when to refuse them. */
struct taken {
	size_t count;
	size_t refuse_at;
	uint64_t sum;
};

static struct hawk_error *take_blocks(void *context, const struct hawk_block *blocks, size_t count)
{
	struct taken *taken = context;

	if (taken->count >= taken->refuse_at)
		return hawk_error_create(HAWK_ERROR_USAGE, "enough");
	for (size_t i = 0; i < count; i++)
		taken->sum = taken->sum * 31 + blocks[i].start + blocks[i].size;
	taken->count += count;
	return NULL;
}

static void another_thread_takes_the_same_blocks_in_the_same_order(void **state)
{
	enum { BLOCKS = 100000, STEP = 48 };
	struct synthetic_heap *heap = synthetic_heap_create((BLOCKS + 1) * STEP);
	struct taken taken[2] = {{.refuse_at = SIZE_MAX}, {.refuse_at = SIZE_MAX}};
	struct taken refusing = {.refuse_at = 5000};
	struct hawk_sweep_result results[2];
	struct hawk_sweep_plan plan = {
		.key = heap->table->header.key, .trace_count = 1, .birth_max = 1};
	struct hawk_target *target;
	struct hawk_error *err;
	char *path;

	(void)state;
	for (unsigned i = 0; i < BLOCKS; i++)
		synthetic_heap_add_block(
			heap, (struct synthetic_block){.start = SYNTHETIC_HEAP + 16 + STEP * i,
						       .size = i % 32});
	path = synthetic_heap_write(heap);
	assert_null(hawk_target_open_core(path, NULL, &target));
	for (unsigned i = 0; i < 2; i++)
		assert_null(hawk_sweep_beside(target, &plan, i + 1, take_blocks, &taken[i], NULL,
					      NULL, NULL, &results[i]));
	assert_int_equal(taken[0].count, BLOCKS);
	assert_int_equal(taken[1].count, BLOCKS);
	assert_int_equal(taken[0].sum, taken[1].sum);
	assert_memory_equal(&results[0], &results[1], sizeof(results[0]));
	err = hawk_sweep_beside(target, &plan, 2, take_blocks, &refusing, NULL, NULL, NULL,
				&results[0]);
	assert_non_null(err);
	assert_string_equal(hawk_error_message(err), "enough");
	hawk_error_destroy(err);
	hawk_target_close(target);
	synthetic_heap_destroy(heap);
	synthetic_core_remove(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_thread_takes_the_same_blocks_in_the_same_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
