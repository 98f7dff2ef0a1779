/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The stack of a site below the site's own line, or in a few words why it has none.
 */
#ifndef HAWK_SITE_STACK_H
#define HAWK_SITE_STACK_H

#include "hawk_screen.h"

/**
 * Prints `depth` lines (0 = all) of the stack of `site`, an index into the heap's sites or none of
 * them, indented by 6 columns. Where not everything is to be shown it begins at the line that
 * `first` chooses (hawk_stack_first_line(), hawk_stack_telling_line()).
 */
struct hawk_error *hawk_site_stack_put(const struct hawk_screen *screen,
				       struct hawk_symbols *symbols, const struct hawk_heap *heap,
				       uint32_t site,
				       size_t (*first)(const struct hawk_stack *stack),
				       size_t depth);

#endif
