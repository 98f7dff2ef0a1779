/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * One pass over all blocks, in their order: headers are read as the sweep read them.
 */
#include "hawk_block_choice.h"

#include <stdlib.h>

static void take(const struct hawk_block_graph *graph, uint32_t block, uint32_t site,
		 struct hawk_block_choice *choice)
{
	choice->blocks[block / 64] |= UINT64_C(1) << block % 64;
	/* Of a carved block every part comes here; it is one block. */
	if (!hawk_block_index_counts(&graph->index, block))
		return;
	choice->sites[site].objects++;
	choice->sites[site].bytes += hawk_block_index_left_bytes(&graph->index, block);
}

struct hawk_error *hawk_block_choice_make(const struct hawk_block_graph *graph,
					  hawk_choice_filter *filter, const void *context,
					  struct hawk_block_choice *ret)
{
	struct hawk_block_choice choice = {
		.blocks = calloc((size_t)graph->index.count / 64 + 1, sizeof(*choice.blocks)),
		.sites = calloc(graph->heap->site_count + 1, sizeof(*choice.sites)),
	};
	struct hawk_near near = {.target = graph->target};
	struct hawk_error *err = choice.blocks && choice.sites ? NULL : &hawk_enomem;

	for (uint32_t i = 0; i < graph->index.count && !err; i++) {
		uint32_t site = hawk_block_graph_site(graph, i);
		struct hawk_block block;
		bool wanted;

		if (site >= graph->heap->site_count)
			continue;
		hawk_block_graph_next_block(graph, &near, i, &block);
		err = filter(context, &block, &wanted);
		if (!err && wanted)
			take(graph, i, site, &choice);
	}
	if (err)
		hawk_block_choice_deinit(&choice);
	else
		*ret = choice;
	return err;
}

void hawk_block_choice_deinit(struct hawk_block_choice *choice)
{
	free(choice->blocks);
	free(choice->sites);
	*choice = (struct hawk_block_choice){0};
}
