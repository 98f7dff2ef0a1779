/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Where numbers can be cut: the search's trees are one behind the other, each from a block under
 * the virtual root on, and all dominators of a block are in its tree.
 */
#include "dominators_state.h"

#include "hawk/base/parallel.h"

enum { NUMBERS_MIN = 4096 /* not worth a thread */ };

static unsigned count_wanted(uint32_t count)
{
	unsigned threads = hawk_parallel_threads();
	unsigned wish = threads < HAWK_STRETCHES_MAX ? threads : HAWK_STRETCHES_MAX;

	return wish > count / NUMBERS_MIN ? count / NUMBERS_MIN : wish;
}

struct hawk_dominators_stretches hawk_dominators_cut(const uint32_t *parents, uint32_t count)
{
	struct hawk_dominators_stretches ret = {.first = {1}};
	unsigned wish = count_wanted(count);

	for (unsigned i = 1; i < wish; i++) {
		uint32_t number = (uint32_t)((uint64_t)count * i / wish);

		if (number <= ret.first[ret.count])
			continue; /* the tree before it is a large one */
		while (number <= count && parents[number])
			number++;
		if (number <= count)
			ret.first[++ret.count] = number;
	}
	ret.first[++ret.count] = count + 1;
	return ret;
}
