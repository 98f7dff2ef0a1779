/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Heaps that do not come from sealed headers: a list of blocks answers every question that needs no
 * stack and no age, and on one core both sources give the same answers.
 */
#include <inttypes.h>
#include <stdio.h>

#include "hawk/analysis/leaks.h"
#include "hawk/analysis/paths.h"
#include "hawk/analysis/referrers.h"
#include "hawk/analysis/site_freed.h"
#include "hawk/analysis/site_graph.h"
#include "hawk/base/text.h"
#include "hawk/graph/dominators.h"
#include "list_source.h"
#include "synthetic_graph.h"
#include "synthetic_world.h"

enum {
	HEAPS = 50,
	BLOCKS = 60,
	TRACES = 6,
	GLOBALS = 6,
	GLOBALS_BYTES = 8 * GLOBALS,
	MEMORY_BYTES = 16 << 10,
	ALL_KINDS = (1u << HAWK_REACH_KINDS) - 1,
};

/** A heap and all that is made of it. */
struct everything {
	struct hawk_heap heap;
	struct hawk_graph graph;
	struct hawk_reach reach;
	struct hawk_dominators dominators;
	struct hawk_leaks leaks;
	struct hawk_site_graph sites;
	uint64_t *freed;    /**< by site */
	uint64_t *retained; /**< by site */
};

static void make_everything(const struct hawk_heap_source *source, struct world *world,
			    struct everything *ret)
{
	uint32_t sites[2 * TRACES];

	*ret = (struct everything){0};
	check(hawk_heap_load_from(&source, 1, world->target, &world->findings, &ret->heap));
	check(hawk_graph_make(&ret->heap, NULL, &world->findings, &ret->graph));
	check(hawk_reach_make(&ret->graph, &ret->graph.explained, &ret->reach));
	check(hawk_dominators_make(&ret->graph, &ret->reach, &ret->dominators));
	check(hawk_leaks_make(&ret->graph, &ret->graph.explained, &ret->reach, ALL_KINDS, NULL,
			      &ret->leaks));
	check(hawk_site_graph_make(&ret->graph, NULL, &ret->sites));
	assert_in_range(ret->heap.site_count, 0, 2 * TRACES);
	ret->freed = calloc(2 * TRACES, sizeof(*ret->freed));
	ret->retained = calloc(2 * TRACES, sizeof(*ret->retained));
	for (uint32_t i = 0; i < ret->heap.site_count; i++)
		sites[i] = i;
	check(hawk_site_freed(&ret->graph, NULL, sites, ret->heap.site_count, ret->freed));
	check(hawk_dominators_retained_by(
		&ret->dominators, (struct hawk_block_groups[]){hawk_heap_groups(&ret->heap)}, NULL,
		ret->retained));
}

static void unmake(struct everything *all)
{
	free(all->freed);
	free(all->retained);
	hawk_site_graph_deinit(&all->sites);
	hawk_leaks_deinit(&all->leaks);
	hawk_dominators_deinit(&all->dominators);
	hawk_reach_deinit(&all->reach);
	hawk_graph_deinit(&all->graph);
	hawk_heap_deinit(&all->heap);
}

static void expect_same_block(const struct everything *a, const struct everything *b, uint32_t i)
{
	uint32_t site_a = hawk_heap_site_at(&a->heap, i);
	uint32_t site_b = hawk_heap_site_at(&b->heap, i);
	uint32_t edge = a->graph.offsets[i];

	assert_int_equal(hawk_block_start(&a->heap.index, i), hawk_block_start(&b->heap.index, i));
	assert_int_equal(hawk_block_size(&a->heap.index, i), hawk_block_size(&b->heap.index, i));
	assert_int_equal(a->reach.kinds[i], b->reach.kinds[i]);
	assert_int_equal(hawk_leaks_kind(&a->graph, &a->reach, i),
			 hawk_leaks_kind(&b->graph, &b->reach, i));
	assert_int_equal(hawk_dominators_retained(&a->dominators, i),
			 hawk_dominators_retained(&b->dominators, i));
	assert_int_equal(edge, b->graph.offsets[i]);
	for (; edge < a->graph.offsets[i + 1]; edge++)
		assert_int_equal(a->graph.edges[edge], b->graph.edges[edge]);
	assert_int_equal(a->heap.sites[site_a].inuse_objects, b->heap.sites[site_b].inuse_objects);
	assert_int_equal(a->heap.sites[site_a].inuse_bytes, b->heap.sites[site_b].inuse_bytes);
	assert_int_equal(a->retained[site_a], b->retained[site_b]);
	assert_int_equal(a->freed[site_a], b->freed[site_b]);
}

static void expect_same(const struct everything *a, const struct everything *b)
{
	assert_int_equal(a->heap.index.count, b->heap.index.count);
	assert_int_equal(a->heap.site_count, b->heap.site_count);
	assert_int_equal(a->heap.sums.blocks, b->heap.sums.blocks);
	assert_int_equal(a->heap.sums.bytes, b->heap.sums.bytes);
	assert_int_equal(a->graph.edge_count, b->graph.edge_count);
	assert_int_equal(a->graph.roots.count, b->graph.roots.count);
	for (size_t i = 0; i < a->graph.roots.count; i++)
		assert_int_equal(a->graph.roots.items[i].edge, b->graph.roots.items[i].edge);
	for (uint32_t i = 0; i < a->heap.index.count; i++)
		expect_same_block(a, b, i);
	assert_int_equal(a->leaks.count, b->leaks.count);
	assert_memory_equal(a->leaks.sums, b->leaks.sums, sizeof(a->leaks.sums));
	assert_int_equal(a->sites.edge_count, b->sites.edge_count);
	assert_int_equal(a->sites.place_count, b->sites.place_count);
}

static char *write_list(const struct hawk_text *text)
{
	return synthetic_file_write(text->bytes, text->size);
}

static uint64_t below(uint64_t *seed, uint64_t limit)
{
	return synthetic_random(seed) % limit;
}

/* Blocks with random pointers, each of them on a line of the list, too. */
static void fill(struct world *world, uint64_t *seed, uint64_t *globals, struct hawk_text *list)
{
	struct synthetic_heap *heap = world->heap = synthetic_heap_create(MEMORY_BYTES);
	uint64_t starts[BLOCKS], at = SYNTHETIC_HEAP;
	uint32_t count = 1 + (uint32_t)below(seed, BLOCKS);

	synthetic_heap_add_module(heap, "/usr/bin/app", 0x400000, 0x500000, 0x400000);
	for (uint64_t i = 1; i < TRACES; i++)
		synthetic_heap_add_trace(heap, (const uint64_t[]){0x401000 + i}, 1, 0, 0);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t size = below(seed, 200);
		uint32_t trace = (uint32_t)below(seed, TRACES);

		starts[i] = at + 16 * (1 + below(seed, 3));
		at = (starts[i] + size + 15) & -UINT64_C(16);
		synthetic_heap_add_block(heap, (struct synthetic_block){.start = starts[i],
									.size = size,
									.trace = trace,
									.birth = 1});
		hawk_text_printf(list,
				 i % 2 ? "0x%" PRIx64 " 0x%" PRIx64 " %u\n"
				       : "%" PRIu64 " %" PRIu64 " %u\n",
				 starts[i], size, trace);
		for (uint64_t word = 0; word + 8 <= size; word += 8) {
			uint64_t to = starts[below(seed, i + 1)] + below(seed, 3) * 8;

			if (!below(seed, 8))
				memcpy(heap->bytes + (starts[i] - SYNTHETIC_HEAP) + word, &to, 8);
		}
	}
	for (unsigned i = 0; i < GLOBALS; i++)
		globals[i] = starts[below(seed, count)] + (below(seed, 4) ? 0 : 8);
}

TEST_WITH(struct world *world, world_set_up, world_tear_down, both_sources_say_the_same_of_one_core)
{
	for (uint64_t seed = 1; seed <= HEAPS; seed++) {
		uint64_t state = seed, globals[GLOBALS];
		struct hawk_text text = {0};
		struct everything sealed, listed;
		struct hawk_heap_source list;
		struct synthetic_core *core;
		struct list_file file = {0};
		char *path;

		fill(world, &state, globals, &text);
		core = synthetic_heap_core(world->heap);
		synthetic_core_add_memory(core, GRAPH_GLOBALS, globals, GLOBALS_BYTES);
		world_open_core(world, core);
		path = write_list(&text);
		file.path = path;
		file.exact = true;
		list = list_source(&file);
		make_everything(&hawk_heap_sealed, world, &sealed);
		make_everything(&list, world, &listed);
		assert_string_equal(sealed.heap.origins[0].name, "sweep");
		assert_int_equal(sealed.heap.knows, HAWK_HEAP_STACKS | HAWK_HEAP_AGES |
							    HAWK_HEAP_CONTENTS | HAWK_HEAP_BLOCKS |
							    HAWK_HEAP_ACCOUNTING | HAWK_HEAP_EXACT |
							    HAWK_HEAP_COUNTERS | HAWK_HEAP_HEADERS);
		assert_string_equal(listed.heap.origins[0].name, "list");
		assert_int_equal(listed.heap.knows, HAWK_HEAP_CONTENTS | HAWK_HEAP_BLOCKS |
							    HAWK_HEAP_ACCOUNTING | HAWK_HEAP_EXACT);
		assert_null(listed.heap.table);
		expect_same(&sealed, &listed);
		unmake(&listed);
		unmake(&sealed);
		synthetic_core_remove(path);
		free(text.bytes);
		world_renew(world);
	}
}

/** 0 -> 1 -> 2, 0 -> 2 + 8, 3 -> 4; a global leads to 0. Classes 7, 7, 9, 9, 0. */
static void build_ordinary(struct world *world, uint64_t *words)
{
	const uint64_t at = SYNTHETIC_HEAP;
	const uint64_t global = at;

	words[0] = at + 64;
	words[1] = at + 128 + 8;
	words[64 / 8] = at + 128;
	words[192 / 8] = at + 256;
	synthetic_core_add_thread(world->core, 1, 6, NULL);
	synthetic_core_add_memory(world->core, at, words, 4096);
	synthetic_core_add_memory(world->core, GRAPH_GLOBALS, &global, sizeof(global));
	world_open(world);
}

static const char ordinary_list[] = "0x555500000080 16 9\n"
				    "0x555500000000 40 7\n"
				    "0x555500000040 0x18 7\n"
				    "0x5555000000c0 24 9\n"
				    "0x555500000100 24 0\n";

static void expect_pointers(const struct everything *all)
{
	struct hawk_referrers referrers = {0};
	struct hawk_paths paths;
	struct hawk_path path;

	check(hawk_referrers_find(&all->graph, 2, &referrers));
	assert_int_equal(referrers.count, 2);
	assert_int_equal(referrers.items[0].source, 0);
	assert_int_equal(referrers.items[0].offset, 8);
	assert_int_equal(referrers.items[0].inside, 8);
	assert_int_equal(referrers.items[1].source, 1);
	assert_int_equal(referrers.items[1].offset, 0);
	hawk_referrers_deinit(&referrers);
	check(hawk_paths_find(&all->graph, &paths));
	check(hawk_path_to(&paths, 1, &path));
	assert_int_equal(path.count, 2);
	assert_int_equal(path.blocks[0], 0);
	assert_int_equal(all->graph.roots.items[path.root].address, GRAPH_GLOBALS);
	hawk_path_deinit(&path);
	hawk_paths_deinit(&paths);
}

TEST_WITH(struct world *world, world_set_up, world_tear_down,
	  a_list_of_blocks_in_an_ordinary_core_is_a_heap)
{
	static const uint8_t kinds[] = {HAWK_REACH_REACHABLE, HAWK_REACH_REACHABLE,
					HAWK_REACH_REACHABLE, HAWK_REACH_DEFINITELY_LOST,
					HAWK_REACH_INDIRECTLY_LOST};
	static const uint64_t retained[] = {40 + 24 + 16, 24, 16, 48, 24};
	char *path = synthetic_file_write(ordinary_list, sizeof(ordinary_list) - 1);
	const struct list_file file = {.path = path};
	const struct hawk_heap_source source = list_source(&file);
	uint64_t words[4096 / 8] = {0};
	struct everything all;
	struct hawk_block block;
	const struct hawk_site *site;

	build_ordinary(world, words);
	make_everything(&source, world, &all);
	assert_int_equal(all.heap.index.count, 5);
	assert_int_equal(all.heap.sums.bytes, 40 + 24 + 16 + 24 + 24);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(all.reach.kinds[i], kinds[i]);
		assert_int_equal(hawk_dominators_retained(&all.dominators, i), retained[i]);
	}
	assert_int_equal(all.heap.site_count, 3);
	site = hawk_heap_site(&all.heap, 7);
	assert_int_equal(site->inuse_objects, 2);
	assert_int_equal(site->inuse_bytes, 64);
	assert_int_equal(all.freed[site - all.heap.sites], 80);
	assert_int_equal(hawk_heap_site(&all.heap, 0)->id, HAWK_SITE_NO_STACK);
	assert_int_equal(hawk_heap_at(&all.heap, SYNTHETIC_HEAP + 70, &block), HAWK_BLOCK_LIVE);
	assert_int_equal(block.start, SYNTHETIC_HEAP + 64);
	assert_int_equal(block.trace, 7);
	assert_int_equal(hawk_heap_at(&all.heap, SYNTHETIC_HEAP + 90, &block), HAWK_BLOCK_NONE);
	assert_int_equal(all.leaks.sums[HAWK_REACH_REACHABLE].objects, 3);
	assert_int_equal(all.sites.edge_count, 4); /* roots -> 7 -> 7, 7 -> 9, 9 -> none */
	expect_pointers(&all);
	unmake(&all);
	synthetic_core_remove(path);
}

TEST_WITH(struct world *world, world_set_up, world_tear_down, a_list_that_is_none_is_refused)
{
	char *path = synthetic_file_write("0x10 16 1\nnonsense\n", 19);
	const struct list_file file = {.path = path};
	const struct hawk_heap_source source = list_source(&file);
	const struct hawk_heap_source *sources[] = {&source};
	uint64_t words[4096 / 8] = {0};
	struct hawk_heap heap;

	build_ordinary(world, words);
	check_fails(hawk_heap_load_from(sources, 1, world->target, &world->findings, &heap),
		    HAWK_ERROR_FORMAT, "no block");
	synthetic_core_remove(path);
}

/** Lists as sources. */
struct lists {
	char *paths[3];
	struct list_file files[3];
	struct hawk_heap_source sources[3];
	const struct hawk_heap_source *all[3];
	struct hawk_heap heap;
};

static void load_lists(struct world *world, struct lists *lists, const char *const *texts,
		       unsigned count, bool small)
{
	uint64_t words[4096 / 8] = {0};

	build_ordinary(world, words);
	for (unsigned i = 0; i < count; i++) {
		lists->paths[i] = synthetic_file_write(texts[i], strlen(texts[i]));
		lists->files[i] =
			(struct list_file){.path = lists->paths[i], .small_granules = small};
		lists->sources[i] = list_source(&lists->files[i]);
		lists->all[i] = &lists->sources[i];
	}
	check(hawk_heap_load_from(lists->all, count, world->target, &world->findings,
				  &lists->heap));
}

static void unload_lists(struct lists *lists)
{
	hawk_heap_deinit(&lists->heap);
	for (unsigned i = 0; i < 3; i++)
		if (lists->paths[i])
			synthetic_core_remove(lists->paths[i]);
}

static void expect_at(const struct hawk_heap *heap, uint64_t offset, uint32_t block, bool interior)
{
	bool inside;

	assert_int_equal(hawk_block_index_find(&heap->index, SYNTHETIC_HEAP + offset, &inside),
			 block);
	if (block != HAWK_BLOCK_NOWHERE)
		assert_int_equal(inside, interior);
}

TEST_WITH(struct world *world, world_set_up, world_tear_down, blocks_of_8_bytes_are_told_apart)
{
	static const char *const text[] = {"0x555500000040 8 1\n0x555500000048 8 2\n"
					   "0x555500000050 8 3\n0x555500000060 3 1\n"
					   "0x555500000068 0 1\n0x555500000070 5000000 1\n"};
	struct lists lists = {0};
	const struct hawk_block_index *index = &lists.heap.index;

	load_lists(world, &lists, text, 1, true);
	assert_int_equal(index->count, 6);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(hawk_block_start(index, i), SYNTHETIC_HEAP + 0x40 + 8 * i);
		assert_int_equal(hawk_block_size(index, i), 8);
		expect_at(&lists.heap, 0x40 + 8 * i, i, false);
		expect_at(&lists.heap, 0x47 + 8 * i, i, true);
	}
	expect_at(&lists.heap, 0x58, HAWK_BLOCK_NOWHERE, false);
	expect_at(&lists.heap, 0x62, 3, true);
	expect_at(&lists.heap, 0x63, HAWK_BLOCK_NOWHERE, false);
	expect_at(&lists.heap, 0x68, 4, false);
	expect_at(&lists.heap, 0x69, HAWK_BLOCK_NOWHERE, false);
	for (uint64_t at = 0x70 + 8; at < 0x70 + 5000000; at += 99991)
		expect_at(&lists.heap, at, 5, true);
	expect_at(&lists.heap, 0x70 + 5000000, HAWK_BLOCK_NOWHERE, false);
	unload_lists(&lists);
}

TEST_WITH(struct world *world, world_set_up, world_tear_down,
	  the_inner_block_stays_whichever_source_has_it)
{
	static const char *const texts[] = {"0x555500000010 16 1\n0x555500000400 64 1\n",
					    "0x555500000000 128 1\n0x555500000100 64 2\n"
					    "0x555500000410 16 2\n",
					    "0x555500000020 16 1\n0x555500000100 64 1\n"
					    "0x555500000200 16 2\n"};
	static const struct {
		uint64_t offset, size, number;
	} blocks[] = {{0x10, 16, 1}, {0x20, 16, 6}, {0x100, 64, 4}, {0x200, 16, 7}, {0x410, 16, 4}};
	struct lists lists = {0};

	load_lists(world, &lists, texts, 3, false);
	assert_int_equal(lists.heap.sums.blocks, 5);
	assert_int_equal(lists.heap.index.count, 5);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(hawk_block_start(&lists.heap.index, i),
				 SYNTHETIC_HEAP + blocks[i].offset);
		assert_int_equal(hawk_block_size(&lists.heap.index, i), blocks[i].size);
		assert_int_equal(lists.heap.index.traces[i], blocks[i].number);
	}
	assert_int_equal(lists.heap.damages.counts[HAWK_DAMAGE_CONFLICT], 0);
	unload_lists(&lists);
}

/* No data of a source is trusted. */
TEST_WITH(struct world *world, world_set_up, world_tear_down,
	  blocks_that_cannot_be_indexed_are_damage)
{
	static const char *const texts[] = {"0x555500000000 64 1\n0x555500000020 64 1\n"
					    "0x555500000088 8 1\n0x555500000100 16 1\n",
					    "0x555500000108 64 1\n0x5555000000f0 24 1\n"};
	struct lists lists = {0};

	load_lists(world, &lists, texts, 2, false);
	assert_int_equal(lists.heap.index.count, 2);
	assert_int_equal(lists.heap.damages.counts[HAWK_DAMAGE_CONFLICT], 4);
	assert_int_equal(lists.heap.damages.items[0].address, SYNTHETIC_HEAP + 0x20);
	assert_int_equal(lists.heap.damages.items[0].neighbour, SYNTHETIC_HEAP);
	unload_lists(&lists);
}

/* Allocated before the tracer came up, or by an allocator that it does not see: blocks without a
 * stack, an age, and an exact size, beside others that have them. */
TEST_WITH(struct world *world, world_set_up, world_tear_down, traced_blocks_lie_beside_others)
{
	struct lists lists = {0};
	struct hawk_text text = {0};
	const struct hawk_heap *heap = &lists.heap;
	const struct hawk_heap_source *sources[] = {&hawk_heap_sealed, &lists.sources[0]};
	struct hawk_block block;
	uint64_t pc = 0x401001, at = SYNTHETIC_HEAP + 64;

	world->heap = synthetic_heap_create(MEMORY_BYTES);
	synthetic_heap_add_module(world->heap, "/usr/bin/app", 0x400000, 0x500000, 0x400000);
	synthetic_heap_add_trace(world->heap, &pc, 1, 0, 0);
	for (uint64_t i = 0; i < 2; i++)
		synthetic_heap_add_block(
			world->heap,
			(struct synthetic_block){
				.start = at + 128 * i, .size = 40, .trace = 1, .birth = 1});
	/* A chunk around the first one, and what nobody traced. */
	hawk_text_printf(&text, "0x%" PRIx64 " 64 1\n0x%" PRIx64 " 100 1\n", at - 16,
			 GRAPH_GLOBALS);
	lists.paths[0] = write_list(&text);
	lists.files[0] = (struct list_file){.path = lists.paths[0], .names = {[1] = "Other"}};
	lists.sources[0] = list_source(&lists.files[0]);
	world_open_core(world, synthetic_heap_core(world->heap));
	free(text.bytes);
	check(hawk_heap_load_from(sources, 2, world->target, &world->findings, &lists.heap));
	assert_int_equal(heap->sums.blocks, 3);
	assert_int_equal(heap->sums.bytes, 40 + 40 + 100);
	assert_int_equal(heap->origin_count, 2);
	for (uint32_t i = 0; i < 3; i++) {
		bool traced = hawk_block_start(&heap->index, i) != GRAPH_GLOBALS;
		uint32_t trace = heap->index.traces[i];

		hawk_heap_block(heap, i, &block);
		assert_int_equal(block.birth, traced);
		assert_true(!hawk_heap_class(heap, trace) == traced);
		assert_int_equal(!(hawk_heap_knows_of(heap, trace) & HAWK_HEAP_AGES), !traced);
		assert_int_equal(hawk_heap_site(heap, trace)->inuse_bytes, traced ? 80 : 100);
	}
	assert_false(hawk_heap_all_know(heap, HAWK_HEAP_EXACT));
	unload_lists(&lists);
}
