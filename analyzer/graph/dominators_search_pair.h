/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What two searches at a time have in common: the roots and numbers that are left, and the runs of
 * the second one. Internal to graph/.
 */
#ifndef HAWK_DOMINATORS_SEARCH_PAIR_H
#define HAWK_DOMINATORS_SEARCH_PAIR_H

#include <pthread.h>

#include "dominators_state.h"

enum { HAWK_SEARCH_RUNS_MAX = 1024 };

/** Roots [first_root, end_root) and the second search's numbers (first, end]. */
struct hawk_search_run {
	size_t first_root;
	uint32_t first;
	uint32_t end;
	uint64_t first_edge;
	uint64_t end_edge;
	bool touched;    /* it came to blocks of the first search */
	uint32_t lost;   /* numbers, to the first search or to later runs */
	uint32_t behind; /* the first of its numbers if no run had lost any, minus 1 */
	uint32_t final;  /* the first of its numbers in the end, minus 1 */
};

struct hawk_search_pair {
	struct hawk_dominator_state *first;
	struct hawk_dominator_state second;
	struct hawk_error *err; /* the first search's */

	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Under the lock. */
	size_t front, back; /* roots that nobody has taken: [front, back) */
	uint32_t spare;     /* numbers that nobody has taken */
	bool running;       /* the second search */
	bool stop;          /* it is to end */
	bool half_moved;    /* of the blocks in its runs, the later ones */

	/* The second search's, then everybody's. */
	struct hawk_search_run runs[HAWK_SEARCH_RUNS_MAX];
	unsigned run_count; /* the last of them was finished */
};

/** dominators_search_merge.c: behind both searches, makes of what they found what the first would
 * have found alone. */
struct hawk_error *hawk_dominators_merge_searches(struct hawk_search_pair *pair);

#endif
