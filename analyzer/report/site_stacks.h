/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The stacks of the sites that one list shows, each below its site's own line: from the first frame
 * that is the program's own, and as many frames as it takes to tell every site from the others.
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
	size_t depth;                 /**< lines shown of each in any case; 0 = all */
	struct hawk_site_item *items; /**< by site once all are compared */
	size_t count, capacity;
	struct hawk_stack stack;
};

/** With nothing to compare yet. */
static inline struct hawk_site_stacks hawk_site_stacks_on(const struct hawk_screen *screen,
							  struct hawk_symbols *symbols,
							  const struct hawk_heap *heap,
							  size_t depth)
{
	return (struct hawk_site_stacks){
		.screen = screen, .symbols = symbols, .heap = heap, .depth = depth};
}

/** `site` is an index into the heap's sites; the same one may come twice. On a full screen nothing
 * is compared. */
void hawk_site_stacks_add(struct hawk_site_stacks *stacks, uint32_t site);

/** Finds what tells the stacks from each other. */
void hawk_site_stacks_compare(struct hawk_site_stacks *stacks);

/** Prints the stack of `site`, indented by 6 columns, or in a few words why it has none. */
void hawk_site_stacks_put(struct hawk_site_stacks *stacks, uint32_t site);

void hawk_site_stacks_deinit(struct hawk_site_stacks *stacks);

static inline void hawk_cleanup_site_stacks(struct hawk_site_stacks *stacks)
{
	hawk_site_stacks_deinit(stacks);
}

#endif
