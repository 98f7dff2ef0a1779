/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The stacks of the sites that one list shows, each below its site's own line: from the first frame
 * that is the program's own, and as many frames as it takes to tell every site from the others.
 */
#ifndef HAWK_SITE_STACK_H
#define HAWK_SITE_STACK_H

#include "hawk_screen.h"

struct hawk_site_stacks;

/**
 * Compares the stacks of `sites` (indices into the heap's sites; the same one may come twice), but
 * not for a full screen. `depth` lines are shown of each in any case, 0 = all. All but `sites` are
 * used until the destroy.
 */
struct hawk_error *hawk_site_stacks_create(const struct hawk_screen *screen,
					   struct hawk_symbols *symbols,
					   const struct hawk_heap *heap, const uint32_t *sites,
					   size_t count, size_t depth,
					   struct hawk_site_stacks **ret);
/** Accepts NULL. */
void hawk_site_stacks_destroy(struct hawk_site_stacks *stacks);

/** Prints the stack of `site`, indented by 6 columns, or in a few words why it has none. */
struct hawk_error *hawk_site_stacks_put(struct hawk_site_stacks *stacks, uint32_t site);

static inline void hawk_cleanup_site_stacks(struct hawk_site_stacks **stacks)
{
	hawk_site_stacks_destroy(*stacks);
}

#endif
