/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The stacks of a list's sites, each below its site's line: from the first frame of the program's
 * own code, with as many frames as needed to distinguish every site.
 *
 *     CLEANUP(site_stacks)
 *     struct hawk_site_stacks stacks = hawk_site_stacks_on(screen, symbols, heap, depth);
 *     for each site of the list: hawk_site_stacks_add(&stacks, site);
 *     hawk_site_stacks_compare(&stacks);
 *     for each site of the list: hawk_site_stacks_put(&stacks, site);
 */
#ifndef HAWK_ANALYZER_REPORT_SITE_STACKS_H
#define HAWK_ANALYZER_REPORT_SITE_STACKS_H

#include "hawk/report/screen.h"

struct hawk_site_stacks {
	const struct hawk_screen *screen;
	struct hawk_symbols *symbols;
	const struct hawk_heap *heap;
	size_t depth;                 /**< lines always shown of each; 0 = all */
	struct hawk_site_item *items; /**< by site once all are compared */
	size_t count, capacity;
	struct hawk_stack stack;
};

/** Starts with nothing to compare. */
static inline struct hawk_site_stacks hawk_site_stacks_on(const struct hawk_screen *screen,
							  struct hawk_symbols *symbols,
							  const struct hawk_heap *heap,
							  size_t depth)
{
	return (struct hawk_site_stacks){
		.screen = screen, .symbols = symbols, .heap = heap, .depth = depth};
}

/** Adds `site`, an index into the heap's sites; repeats are allowed. A full screen compares
 * nothing. */
void hawk_site_stacks_add(struct hawk_site_stacks *stacks, uint32_t site);

/** Finds the lines that distinguish the stacks. */
void hawk_site_stacks_compare(struct hawk_site_stacks *stacks);

/** Prints the stack of `site`, indented by 6 columns, or why it has none. */
void hawk_site_stacks_put(struct hawk_site_stacks *stacks, uint32_t site);

void hawk_site_stacks_deinit(struct hawk_site_stacks *stacks);

static inline void hawk_cleanup_site_stacks(struct hawk_site_stacks *stacks)
{
	hawk_site_stacks_deinit(stacks);
}

#endif
