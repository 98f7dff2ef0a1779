/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Where numbers can be cut: the search's trees are one behind the other, each from a block under
 * the virtual root on, and all dominators of a block are in its tree.
 */
#include "dominators_state.h"

enum { NUMBERS_MIN = 4096 /* not worth a thread */ };

static unsigned count_wanted(uint32_t count, unsigned threads)
{
	unsigned wish = threads < HAWK_STRETCHES_MAX ? threads : HAWK_STRETCHES_MAX;

	return wish > count / NUMBERS_MIN ? count / NUMBERS_MIN : wish;
}

struct hawk_dominators_stretches hawk_dominators_cut(const uint32_t *parents, uint32_t count,
						     unsigned threads)
{
	struct hawk_dominators_stretches ret = {.first = {1}};
	unsigned wish = count_wanted(count, threads);

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

void hawk_dominators_cut_again(struct hawk_dominators *dominators, unsigned threads)
{
	struct hawk_dominators_stretches *stretches = &dominators->stretches;
	unsigned wish = count_wanted(dominators->count, threads), left = wish;
	uint32_t lowest = UINT32_MAX; /* that dominates one of those behind */
	uint32_t cuts[HAWK_STRETCHES_MAX];
	unsigned count = 0;

	for (uint32_t number = dominators->count; number > 1 && left > 1; number--) {
		uint32_t above = dominators->dominators[number];

		if (above && above < lowest)
			lowest = above;
		if (above || lowest < number ||
		    number > (uint64_t)dominators->count * (left - 1) / wish)
			continue;
		cuts[count++] = number;
		while (left > 1 && number <= (uint64_t)dominators->count * (left - 1) / wish)
			left--;
	}
	*stretches = (struct hawk_dominators_stretches){.first = {1}};
	while (count)
		stretches->first[++stretches->count] = cuts[--count];
	stretches->first[++stretches->count] = dominators->count + 1;
}
