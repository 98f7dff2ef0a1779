/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Where dominators that come from elsewhere are cut for threads: no dominator lies in another
 * stretch, and stretches are about as long as each other where trees are short.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "hawk_dominators.h"
#include "synthetic_heap.h"

enum { ROUNDS = 60, COUNT_MAX = 60000, THREADS_MAX = 10 };

/** Trees one behind the other, of `longest` numbers at most. */
static void fill(struct hawk_dominators *dominators, uint32_t longest, uint64_t *seed)
{
	uint32_t first = 1, end = 1;

	for (uint32_t i = 1; i <= dominators->count; i++) {
		uint64_t random = synthetic_random(seed);

		if (i == end) {
			first = i;
			end = i + 1 + (uint32_t)(random >> 32) % longest;
		}
		/* Within a tree, too, there are blocks under the virtual root. */
		dominators->dominators[i] = i == first || random % 8 == 0
						    ? 0
						    : first + (uint32_t)(random >> 8) % (i - first);
	}
}

static void expect_apart(const struct hawk_dominators *dominators)
{
	const struct hawk_dominators_stretches *stretches = &dominators->stretches;

	assert_in_range(stretches->count, 1, HAWK_STRETCHES_MAX);
	assert_int_equal(stretches->first[0], 1);
	assert_int_equal(stretches->first[stretches->count], dominators->count + 1);
	for (unsigned i = 0; i < stretches->count; i++) {
		uint32_t first = stretches->first[i], end = stretches->first[i + 1];

		assert_true(first < end || !dominators->count);
		for (uint32_t number = first; number < end; number++)
			assert_true(!dominators->dominators[number] ||
				    dominators->dominators[number] >= first);
	}
}

static void no_dominator_lies_in_another_stretch(void **state)
{
	struct hawk_dominators dominators = {
		.dominators = calloc(COUNT_MAX + 1, sizeof(uint32_t)),
	};
	uint64_t seed = 31;
	unsigned cut = 0;

	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned threads = 1 + i % THREADS_MAX;

		dominators.count = (uint32_t)(synthetic_random(&seed) % (COUNT_MAX + 1));
		fill(&dominators, UINT32_C(1) << synthetic_random(&seed) % 17, &seed);
		hawk_dominators_cut_again(&dominators, threads);
		expect_apart(&dominators);
		assert_true(dominators.stretches.count <= threads);
		cut += dominators.stretches.count > 1;
	}
	assert_true(cut > ROUNDS / 4);
	free(dominators.dominators);
}

static void short_trees_are_shared_out_evenly(void **state)
{
	struct hawk_dominators dominators = {
		.count = COUNT_MAX,
		.dominators = calloc(COUNT_MAX + 1, sizeof(uint32_t)),
	};
	uint64_t seed = 32;

	(void)state;
	for (unsigned threads = 1; threads <= HAWK_STRETCHES_MAX; threads++) {
		fill(&dominators, 100, &seed);
		hawk_dominators_cut_again(&dominators, threads);
		expect_apart(&dominators);
		assert_int_equal(dominators.stretches.count, threads);
		for (unsigned i = 0; i < threads; i++)
			assert_in_range(dominators.stretches.first[i + 1] -
						dominators.stretches.first[i],
					COUNT_MAX / threads - 200, COUNT_MAX / threads + 200);
	}
	free(dominators.dominators);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_dominator_lies_in_another_stretch),
		cmocka_unit_test(short_trees_are_shared_out_evenly),
	};

	return cmocka_run_group_tests_name("dominators_stretches", tests, NULL, NULL);
}
