/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The stack is looked up for each site anew: sites that are printed are few.
 */
#include "hawk_site_stack.h"

#include "hawk_site_names.h"

enum { INDENT = 6 };

struct hawk_error *hawk_site_stack_put(const struct hawk_screen *screen,
				       struct hawk_symbols *symbols, const struct hawk_heap *heap,
				       uint32_t site,
				       size_t (*first)(const struct hawk_stack *stack),
				       size_t depth)
{
	struct hawk_error *err = NULL;
	struct hawk_stack stack;

	hawk_stack_init(&stack);
	if (site < heap->site_count)
		err = hawk_stack_of_trace(symbols, heap->table, heap->sites[site].trace, &stack);
	if (!err && stack.count)
		hawk_screen_stack(screen, &stack, screen->full ? 0 : first(&stack), depth, INDENT);
	else if (!err)
		hawk_output_printf(screen->output, "%*s%s\n", INDENT, "",
				   hawk_site_no_stack(heap, site));
	hawk_stack_deinit(&stack);
	return err;
}
