/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * One pass over all blocks, in their order: headers are read as the sweep read them.
 */
#include "hawk_block_choice.h"

#include <stdlib.h>

static bool passes_test(const struct hawk_block_graph *graph, struct hawk_near *near,
			const struct hawk_choice_test *test, uint32_t number)
{
	uint32_t whole = hawk_block_index_whole(&graph->index, number);
	uint64_t size = graph->index.part_count ? hawk_block_index_asked_bytes(&graph->index, whole)
						: hawk_block_size(&graph->index, whole);

	if (size < test->size_low || size > test->size_high)
		return false;
	return !test->births_matter ||
	       test->births[(uint8_t)hawk_block_graph_head(graph, near, whole)];
}

struct hawk_error *hawk_choice_passes(const struct hawk_block_graph *graph, struct hawk_near *near,
				      const struct hawk_choice_wish *wish, uint32_t number,
				      struct hawk_block *block, bool *ret)
{
	const struct hawk_choice_test *test = wish ? wish->test : NULL;
	bool decided = !wish || (test && test->decides);
	struct hawk_block own;

	*ret = false;
	if (wish && wish->trace && !wish->trace(wish->context, graph->index.traces[number]))
		return NULL;
	if (test && !passes_test(graph, near, test, number))
		return NULL;
	*ret = true;
	if (block || !decided)
		hawk_block_graph_next_block(graph, near, number, block ? block : &own);
	return decided ? NULL : wish->filter(wish->context, block ? block : &own, ret);
}

struct hawk_error *hawk_block_choice_visit(const struct hawk_block_graph *graph,
					   const struct hawk_choice_wish *wish,
					   hawk_choice_visitor *visit, void *context)
{
	struct hawk_near near = {.target = graph->target};
	struct hawk_error *err = NULL;

	for (uint32_t i = 0; i < graph->index.count && !err; i++) {
		struct hawk_block block;
		bool wanted;

		if (hawk_block_graph_site(graph, i) >= graph->heap->site_count)
			continue;
		err = hawk_choice_passes(graph, &near, wish, i, &block, &wanted);
		if (!err && wanted)
			err = visit(context, i, &block);
	}
	return err;
}

void hawk_chosen_add(struct hawk_chosen *chosen, const struct hawk_block_index *index,
		     uint32_t number)
{
	chosen->objects += hawk_block_index_counts(index, number);
	chosen->bytes += hawk_block_index_left_bytes(index, number);
}

/** A choice that is being made. */
struct making {
	const struct hawk_block_graph *graph;
	struct hawk_block_choice choice;
};

static struct hawk_error *take(void *context, uint32_t number, const struct hawk_block *block)
{
	struct making *making = context;
	uint32_t site = hawk_block_graph_site(making->graph, number);

	(void)block;
	making->choice.blocks[number / 64] |= UINT64_C(1) << number % 64;
	hawk_chosen_add(&making->choice.sites[site], &making->graph->index, number);
	return NULL;
}

struct hawk_error *hawk_block_choice_make(const struct hawk_block_graph *graph,
					  const struct hawk_choice_wish *wish,
					  struct hawk_block_choice *ret)
{
	size_t words = (size_t)graph->index.count / 64 + 1;
	struct making making = {
		.graph = graph,
		.choice =
			{
				.blocks = calloc(words, sizeof(*making.choice.blocks)),
				.sites = calloc(graph->heap->site_count + 1,
						sizeof(*making.choice.sites)),
			},
	};
	struct hawk_error *err = making.choice.blocks && making.choice.sites ? NULL : &hawk_enomem;

	if (!err)
		err = hawk_block_choice_visit(graph, wish, take, &making);
	if (err)
		hawk_block_choice_deinit(&making.choice);
	else
		*ret = making.choice;
	return err;
}

void hawk_block_choice_deinit(struct hawk_block_choice *choice)
{
	free(choice->blocks);
	free(choice->sites);
	*choice = (struct hawk_block_choice){0};
}
