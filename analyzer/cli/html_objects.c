/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Chooses the blocks that the page describes: examples of leaks and what is in their cycles, blocks
 * that retain most or pin free memory, the largest block of each large site, and what lies on the
 * paths to all these.
 */
#include "html_objects.h"

#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "hawk/analysis/retained.h"

/** Upper limits: of each sort of blocks, and of all. */
enum { RECORDS = 40, CYCLES = 20, PINNING = 20, RETAINED = 60, SITES = 60, ALL = 400 };

struct choice {
	struct hawk_session *session;
	uint32_t blocks[ALL];
	size_t count;
	uint64_t *chosen; /**< a bit for each block */
};

static void choose(struct choice *choice, uint32_t block)
{
	uint64_t *word = &choice->chosen[block / 64];
	uint64_t bit = UINT64_C(1) << block % 64;

	if (*word & bit || choice->count == ALL)
		return;
	*word |= bit;
	choice->blocks[choice->count++] = block;
}

static void choose_lost(struct choice *choice, const struct hawk_leaks_session *leaks)
{
	for (size_t i = 0; i < leaks->selection.count && i < RECORDS; i++)
		choose(choice, leaks->selection.records[i]->example);
	for (size_t i = 0; i < leaks->cycles.count && i < CYCLES; i++)
		for (uint32_t j = 0; j < leaks->cycles.items[i].step_count; j++)
			choose(choice, leaks->cycles.items[i].steps[j].block);
}

static struct hawk_error *choose_retaining(struct choice *choice)
{
	static const struct hawk_selection all;
	const struct hawk_session *session = choice->session;
	struct hawk_retained_blocks found = {0};
	struct hawk_error *err = hawk_retained_blocks_choose(session->heap, session->dominators,
							     &all, RETAINED, &found);
	const struct hawk_retained_block *items = found.shown.items;

	for (size_t i = 0; i < found.shown.count && !err; i++)
		choose(choice, items[i].block);
	hawk_retained_blocks_deinit(&found);
	return err;
}

/** Chooses the largest block of each of the largest sites, which come first in the heap. */
static void choose_of_sites(struct choice *choice)
{
	const struct hawk_heap *heap = choice->session->heap;
	const struct hawk_block_index *index = &heap->index;
	uint32_t largest[SITES];

	for (size_t i = 0; i < SITES; i++)
		largest[i] = UINT32_MAX;
	for (uint32_t block = 0; block < index->count; block++) {
		uint32_t site = hawk_heap_site_at(heap, block);

		if (site < SITES &&
		    (largest[site] == UINT32_MAX ||
		     hawk_block_size(index, block) > hawk_block_size(index, largest[site])))
			largest[site] = block;
	}
	for (size_t i = 0; i < SITES; i++)
		if (largest[i] != UINT32_MAX)
			choose(choice, largest[i]);
}

static struct hawk_error *choose_on_paths(struct choice *choice)
{
	struct hawk_paths *paths = choice->session->paths;
	size_t count = choice->count;
	struct hawk_error *err = hawk_paths_prepare(paths, choice->blocks, count);

	for (size_t i = 0; i < count && !err; i++) {
		struct hawk_path path = {0};

		err = hawk_path_to(paths, choice->blocks[i], &path);
		for (uint32_t j = 0; j < path.count && !err; j++)
			choose(choice, path.blocks[j]);
		hawk_path_deinit(&path);
	}
	return err;
}

struct hawk_error *hawk_html_choose_objects(struct hawk_session *session,
					    const struct hawk_leaks_session *leaks,
					    const struct hawk_fragmentation *fragmentation,
					    struct hawk_objects *ret)
{
	struct choice choice = {.session = session};
	struct hawk_error *err = hawk_session_dominators(session);
	struct hawk_block_types *types;

	if (!err)
		err = hawk_session_paths(session);
	if (!err)
		err = hawk_session_types(session, &types);
	if (err)
		return err;
	CLEANUP(free_ptr)
	uint64_t *chosen = calloc(session->graph->count / 64 + 1, sizeof(*chosen));
	if (!chosen)
		return &hawk_enomem;
	choice.chosen = chosen;
	choose_lost(&choice, leaks);
	for (size_t i = 0; i < fragmentation->pin_count && i < PINNING; i++)
		if (fragmentation->pins[i].block != HAWK_NOT_KNOWN)
			choose(&choice, fragmentation->pins[i].block);
	choose_of_sites(&choice);
	err = choose_retaining(&choice);
	if (!err)
		err = choose_on_paths(&choice);
	return err ? err
		   : hawk_objects_describe(session->graph, session->paths, session->dominators,
					   hawk_block_types_modules(types), choice.blocks,
					   choice.count, ret);
}
