/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Blocks that are chosen 64 at a time, side by side, against one after the other: on random heaps
 * with carved blocks, blocks of 4 GiB and more, headers in memory or kept, blocks of no site.
 */
#include "hawk/base/parallel.h"
#include "test.h"
#include "hawk/analysis/selection.h"
#include "sweep_world.h"

enum {
	HEAPS = 60,
	WISHES = 40,
	TRACES = 8,
	SITES = 4,
	LARGE_MAX = 64,
};

struct choice_world {
	struct sweep_core core;
	struct hawk_findings findings;
	struct hawk_heap heap;
	struct hawk_site sites[SITES];
	uint32_t site_of_trace[TRACES];
	struct hawk_large_block large[LARGE_MAX];
	struct hawk_large_block *own_large;
	uint64_t seed;
};

static uint64_t random_below(struct choice_world *world, uint64_t limit)
{
	return synthetic_random(&world->seed) % limit;
}

/* The index has no core so large: these sizes were never in memory. */
static void make_large(struct choice_world *world)
{
	struct hawk_block_index *index = &world->heap.index;

	world->own_large = index->large;
	if (index->large_count || !random_below(world, 3))
		return;
	for (uint32_t i = (uint32_t)random_below(world, 100);
	     i < index->count && index->large_count < LARGE_MAX;
	     i += 1 + (uint32_t)random_below(world, 100)) {
		if (hawk_block_nest(index, i))
			continue;
		index->sizes[i] = UINT32_MAX;
		world->large[index->large_count++] = (struct hawk_large_block){
			.start = hawk_block_start(index, i),
			.size = UINT32_MAX + random_below(world, 5),
			.number = i,
		};
	}
	index->large = world->large;
}

static void open_world(struct choice_world *world, uint64_t seed)
{
	struct hawk_sweep_result result;
	struct hawk_block_index *index = &world->heap.index;
	uint64_t bytes = seed % 12 ? 256 << 10 : 3 << 20; // shares of their own for threads

	*world = (struct choice_world){.seed = seed};
	sweep_core_open_spoiled(&world->core, bytes, 4096, seed);
	hawk_parallel_set_threads(1 + (unsigned)seed % 3);
	check(hawk_block_index_init(index, 2 * bytes));
	if (seed % 2)
		check(hawk_block_index_keep_heads(index, 2 * bytes));
	sweep_index(world->core.target, &world->core.plan, 1, index, &result);
	for (unsigned i = 0; i < TRACES; i++)
		world->site_of_trace[i] = random_below(world, 8) ? i % SITES : UINT32_MAX;
	world->heap = (struct hawk_heap){
		.origins = {{.name = "sweep", .knows = HAWK_HEAP_HEADERS, .end = UINT32_MAX}},
		.origin_count = 1,
		.knows = HAWK_HEAP_HEADERS,
		.target = world->core.target,
		.index = *index,
		.sites = world->sites,
		.site_count = SITES,
		.site_of_trace = world->site_of_trace,
		.trace_count = TRACES - (uint32_t)random_below(world, 3),
		.lost_site = random_below(world, 2) ? SITES - 1 : UINT32_MAX,
	};
	make_large(world);
}

static void close_world(struct choice_world *world)
{
	world->heap.index.large = world->own_large;
	hawk_block_index_deinit(&world->heap.index);
	hawk_findings_deinit(&world->findings);
	sweep_core_close(&world->core);
}

static bool passes(const void *context, uint32_t number)
{
	const uint64_t *mask = context;

	return *mask >> number * 7 % 64 & 1;
}

static bool trace_passes(const void *context, uint32_t trace)
{
	const uint64_t *mask = context;

	return *mask >> trace % 64 & 1;
}

static uint64_t random_size(struct choice_world *world)
{
	switch (random_below(world, 8)) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX;
	case 2:
		return UINT32_MAX - 2 + random_below(world, 8);
	default:
		return random_below(world, random_below(world, 2) ? 200 : 20000);
	}
}

/* Any set of births, but mostly those in a row. */
static void choose_births(struct choice_world *world, struct hawk_selector *selector)
{
	unsigned first = (unsigned)random_below(world, random_below(world, 4) ? 10 : 256);
	unsigned last = first + (unsigned)random_below(world, random_below(world, 4) ? 5 : 256);
	bool any = !random_below(world, 3);

	selector->births_matter = random_below(world, 2);
	for (unsigned birth = 0; birth < HAWK_BIRTHS; birth++)
		selector->births[birth] =
			any ? random_below(world, 2) : birth >= first && birth <= last;
}

/* One block after the other, each read in full. */
static bool is_wanted(const struct hawk_heap *heap, struct hawk_near *near,
		      const struct hawk_selector *selector, uint32_t number)
{
	struct hawk_block block;

	hawk_heap_next_block(heap, near, number, &block);
	if (!selector)
		return true;
	return (!selector->trace || selector->trace(selector->context, block.trace)) &&
	       block.size >= selector->size_low && block.size <= selector->size_high &&
	       (!selector->births_matter || selector->births[block.birth]) &&
	       (!selector->type || selector->type(selector->context, number));
}

static uint32_t expect_bits(struct choice_world *world, const struct hawk_selector *selector,
			    bool sited)
{
	const struct hawk_heap *heap = &world->heap;
	struct hawk_near near = {.target = heap->target};
	uint32_t chosen = 0, next = 0;
	uint64_t *bits;

	check(hawk_selection_bits_make(heap, selector, sited, &bits));
	for (uint32_t i = 0; i < heap->index.count; i++) {
		bool wanted;

		wanted = is_wanted(heap, &near, selector, i);
		wanted = wanted && (!sited || hawk_heap_site_at(heap, i) < SITES);
		assert_int_equal(hawk_block_is_chosen(bits, i), wanted);
		if (!wanted)
			continue;
		chosen++;
		assert_int_equal(hawk_block_next_chosen(bits, next, heap->index.count), i);
		next = i + 1;
	}
	assert_true(hawk_block_next_chosen(bits, next, heap->index.count) >= heap->index.count);
	for (uint32_t i = heap->index.count; i % 64; i++)
		assert_false(hawk_block_is_chosen(bits, i));
	free(bits);
	return chosen;
}

static void expect_sums(struct choice_world *world, const struct hawk_selector *selector)
{
	const struct hawk_block_index *index = &world->heap.index;
	struct hawk_chosen sites[SITES] = {{0}}, all = {0}, at_once = {0};
	struct hawk_selection choice;

	check(hawk_selection_make(&world->heap, selector, &choice));
	for (uint32_t i = 0; i < index->count; i++)
		if (hawk_block_is_chosen(choice.blocks, i)) {
			hawk_chosen_add(&sites[hawk_heap_site_at(&world->heap, i)], index, i);
			hawk_chosen_add(&all, index, i);
		}
	assert_memory_equal(choice.sites, sites, sizeof(sites));
	for (uint32_t i = 0; i < index->count; i += 64)
		hawk_chosen_add_64(&at_once, index, i, choice.blocks[i / 64]);
	assert_memory_equal(&at_once, &all, sizeof(all));
	hawk_selection_deinit(&choice);
}

TEST(bits_of_random_heaps_are_those_of_blocks_one_by_one)
{
	uint64_t chosen = 0, asked = 0, parts = 0, large = 0;

	for (uint64_t seed = 1; seed <= HEAPS; seed++) {
		struct choice_world world;

		open_world(&world, seed);
		parts += world.heap.index.nest_count;
		large += world.heap.index.large_count;
		for (unsigned i = 0; i < WISHES; i++) {
			uint64_t mask = synthetic_random(&world.seed);
			bool any = !random_below(&world, 4);
			struct hawk_selector selector = {
				.size_low = any ? 0 : random_size(&world),
				.size_high = any ? UINT64_MAX : random_size(&world),
				.trace = random_below(&world, 2) ? trace_passes : NULL,
				.type = random_below(&world, 2) ? passes : NULL,
				.context = &mask,
			};

			choose_births(&world, &selector);
			chosen += expect_bits(&world, i ? &selector : NULL, i % 2);
			asked += world.heap.index.count;
			expect_sums(&world, i ? &selector : NULL);
		}
		close_world(&world);
	}
	assert_true(chosen > asked / 20 && chosen < asked / 2);
	assert_true(parts > 1000 && large > 300);
}
