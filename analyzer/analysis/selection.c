/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * One pass of a predicate over all blocks, and the sums of those that it chose.
 */
#include "hawk/analysis/selection.h"

#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/progress.h"

/** Tests what needs no header first, and reads those of few blocks. */
static bool passes(const struct hawk_heap *heap, struct hawk_near *near,
		   const struct hawk_selector *selector, uint32_t number)
{
	uint32_t trace = heap->index.traces[number];
	uint64_t bytes = hawk_block_size(&heap->index, number);
	struct hawk_block block;

	if (bytes < selector->size_low || bytes > selector->size_high ||
	    (selector->trace && !selector->trace(selector->context, trace)) ||
	    (selector->type && !selector->type(selector->context, number)))
		return false;
	if (!selector->births_matter)
		return true;
	/* If some blocks have ages, a block without one matches no age. */
	if (heap->knows & HAWK_HEAP_AGES && !(hawk_heap_knows_of(heap, trace) & HAWK_HEAP_AGES))
		return false;
	hawk_heap_next_block(heap, near, number, &block);
	return selector->births[block.birth];
}

struct hawk_error *hawk_selection_bits_make(const struct hawk_heap *heap,
					    const struct hawk_selector *selector, bool sited,
					    uint64_t **ret)
{
	CLEANUP(free_ptr)
	uint64_t *bits = calloc((size_t)heap->index.count / 64 + 1, sizeof(*bits));
	struct hawk_near near = {.target = heap->target};
	struct hawk_progress progress;

	if (!bits)
		return &hawk_enomem;
	hawk_progress_begin(&progress, "choosing blocks", heap->index.count);
	for (uint32_t i = 0; i < heap->index.count; i++) {
		bool wanted = (!sited || hawk_heap_site_at(heap, i) < heap->site_count) &&
			      (!selector || passes(heap, &near, selector, i));

		bits[i / 64] |= (uint64_t)wanted << i % 64;
		hawk_progress_tick(i);
	}
	hawk_progress_end(&progress);
	*ret = take_ptr(&bits);
	return NULL;
}

void hawk_chosen_add(struct hawk_chosen *chosen, const struct hawk_block_index *index,
		     uint32_t number)
{
	chosen->objects++;
	chosen->bytes += hawk_block_own_bytes(index, number);
}

void hawk_chosen_add_64(struct hawk_chosen *chosen, const struct hawk_block_index *index,
			uint32_t first, uint64_t bits)
{
	for (; bits; bits &= bits - 1)
		hawk_chosen_add(chosen, index, first + (uint32_t)__builtin_ctzll(bits));
}

/* Adds the chosen blocks to `sites`, which are zeros. */
static void sum_sites(const struct hawk_heap *heap, const uint64_t *bits, struct hawk_chosen *sites)
{
	uint32_t count = heap->index.count;
	struct hawk_progress progress;
	uint64_t reported = 0;

	hawk_progress_begin(&progress, "adding up chosen blocks", count);
	for (uint32_t i = hawk_block_next_chosen(bits, 0, count); i < count;
	     i = hawk_block_next_chosen(bits, i + 1, count)) {
		hawk_progress_pass(&reported, i);
		hawk_chosen_add(&sites[hawk_heap_site_at(heap, i)], &heap->index, i);
	}
	hawk_progress_end(&progress);
}

struct hawk_error *hawk_selection_make(const struct hawk_heap *heap,
				       const struct hawk_selector *selector,
				       struct hawk_selection *ret)
{
	struct hawk_selection selection = {
		.sites = calloc(heap->site_count + 1, sizeof(*selection.sites)),
	};
	struct hawk_error *err =
		selection.sites ? hawk_selection_bits_make(heap, selector, true, &selection.blocks)
				: &hawk_enomem;

	if (err) {
		hawk_selection_deinit(&selection);
		return err;
	}
	sum_sites(heap, selection.blocks, selection.sites);
	*ret = selection;
	return NULL;
}

void hawk_selection_deinit(struct hawk_selection *selection)
{
	free(selection->blocks);
	free(selection->sites);
	*selection = (struct hawk_selection){0};
}

struct hawk_chosen hawk_chosen_of_site(const struct hawk_heap *heap,
				       const struct hawk_chosen *chosen, uint32_t site)
{
	const struct hawk_site *all = &heap->sites[site];

	return chosen ? chosen[site]
		      : (struct hawk_chosen){.objects = hawk_site_blocks(all),
					     .bytes = hawk_site_block_bytes(all)};
}

struct hawk_chosen hawk_chosen_sum(const struct hawk_heap *heap, const struct hawk_chosen *chosen)
{
	struct hawk_chosen sum = {0};

	for (size_t i = 0; chosen && i < heap->site_count; i++) {
		sum.objects += chosen[i].objects;
		sum.bytes += chosen[i].bytes;
	}
	return sum;
}
