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
	       test->births[(uint8_t)hawk_block_graph_next_head(graph, near, whole)];
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

/* `block` as in hawk_choice_passes(). */
static struct hawk_error *choose(const struct hawk_block_graph *graph, struct hawk_near *near,
				 const struct hawk_choice_wish *wish, uint32_t number,
				 struct hawk_block *block, bool *ret)
{
	*ret = false;
	if (hawk_block_graph_site(graph, number) >= graph->heap->site_count)
		return NULL;
	return hawk_choice_passes(graph, near, wish, number, block, ret);
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

		err = choose(graph, &near, wish, i, &block, &wanted);
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

static void take(const struct hawk_block_graph *graph, uint32_t number,
		 struct hawk_block_choice *choice)
{
	choice->blocks[number / 64] |= UINT64_C(1) << number % 64;
	hawk_chosen_add(&choice->sites[hawk_block_graph_site(graph, number)], &graph->index,
			number);
}

struct hawk_error *hawk_block_choice_make(const struct hawk_block_graph *graph,
					  const struct hawk_choice_wish *wish,
					  struct hawk_block_choice *ret)
{
	struct hawk_block_choice choice = {
		.blocks = calloc((size_t)graph->index.count / 64 + 1, sizeof(*choice.blocks)),
		.sites = calloc(graph->heap->site_count + 1, sizeof(*choice.sites)),
	};
	struct hawk_near near = {.target = graph->target};
	struct hawk_error *err = choice.blocks && choice.sites ? NULL : &hawk_enomem;

	for (uint32_t i = 0; i < graph->index.count && !err; i++) {
		bool wanted;

		err = choose(graph, &near, wish, i, NULL, &wanted);
		if (!err && wanted)
			take(graph, i, &choice);
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
