/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The graph object that all verbs use: what it takes from a core in one sweep, what its parts
 * depend on, and retained sizes and the site graph of random heaps against trying everything.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "hawk_block_graph.h"
#include "hawk_block_choice.h"
#include "hawk_site_graph.h"
#include "synthetic_graph.h"

enum { HEAPS = 1000, SITES = GRAPH_TRACES };

/** A random heap as a graph object; every trace is a site. */
struct graph_fixture {
	struct graph_world *world;
	uint32_t site_of_trace[SITES];
	struct hawk_site sites[SITES];
	struct hawk_heap heap;
	struct hawk_block_graph graph;
	uint64_t wanted; /**< a bit for each block: whose pointers the oracle counts */
};

static void open_world(struct graph_fixture *fixture, struct graph_world *world)
{
	*fixture = (struct graph_fixture){.world = world, .wanted = UINT64_MAX};
	graph_world_open(world, 1, SIZE_MAX);
	for (uint32_t i = 0; i < SITES; i++)
		fixture->site_of_trace[i] = SITES - 1 - i;
	fixture->heap = (struct hawk_heap){
		.plan = world->plan,
		.sites = fixture->sites,
		.site_count = SITES,
		.site_of_trace = fixture->site_of_trace,
		.trace_count = SITES,
		.lost_site = UINT32_MAX,
	};
	fixture->graph = (struct hawk_block_graph){
		.target = world->target,
		.heap = &fixture->heap,
		.findings = &world->findings,
		.index = world->index,
		.edges = world->graph,
		.roots = world->roots,
		.parts = HAWK_PART_INDEX | HAWK_PART_EDGES | HAWK_PART_ROOTS,
	};
}

/* Edges are to be made again. */
static void forget_edges(struct graph_fixture *fixture)
{
	fixture->graph.edges = (struct hawk_graph){0};
	fixture->graph.parts &= ~(unsigned)HAWK_PART_EDGES;
}

static void close_world(struct graph_fixture *fixture)
{
	if (fixture->graph.edges.edges != fixture->world->graph.edges)
		hawk_graph_deinit(&fixture->graph.edges);
	/* These belong to the world. */
	fixture->graph.index = (struct hawk_block_index){0};
	fixture->graph.edges = (struct hawk_graph){0};
	fixture->graph.roots = (struct hawk_roots){0};
	hawk_block_graph_deinit(&fixture->graph);
	graph_world_destroy(fixture->world);
}

/* What goes with the chosen blocks of a site: whatever one of them dominates. */
static uint64_t retained_by(const struct graph_fixture *fixture, const struct graph_oracle *oracle,
			    unsigned edges, uint32_t site, uint64_t chosen)
{
	uint64_t gone = 0;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < oracle->count; i++)
		if (chosen >> i & 1 && hawk_block_graph_site(&fixture->graph, i) == site)
			gone |= oracle->dominated[edges][i];
	for (uint32_t i = 0; i < oracle->count; i++)
		if (gone >> i & 1)
			bytes += fixture->world->blocks[i].size;
	return bytes;
}

static void retained_bytes_of_sites_are_those_of_the_oracle_both_ways(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (unsigned i = 0; i < HEAPS; i++) {
		struct graph_world *world = graph_world_create();
		struct graph_fixture fixture;
		struct graph_oracle oracle;

		graph_world_fill(world, &seed);
		open_world(&fixture, world);
		graph_oracle_make(world, &oracle);
		assert_null(hawk_block_graph_need(&fixture.graph, HAWK_PART_RETAINED));
		for (uint32_t site = 0; site < SITES; site++) {
			assert_int_equal(fixture.graph.retained[site].all_pointers,
					 retained_by(&fixture, &oracle, 0, site, UINT64_MAX));
			assert_int_equal(fixture.graph.retained[site].start_pointers,
					 retained_by(&fixture, &oracle, 1, site, UINT64_MAX));
		}
		for (uint32_t block = 0; block < oracle.count; block++)
			assert_int_equal(fixture.graph.dominators
						 .retained[fixture.graph.dominators.numbers[block]],
					 oracle.retained[0][block]);
		close_world(&fixture);
	}
}

static void expect_retained(const struct graph_fixture *fixture,
			    const struct hawk_dominators *dominators, const uint64_t *want)
{
	for (uint32_t block = 0; block < fixture->graph.index.count; block++)
		assert_int_equal(hawk_block_graph_retained(&fixture->graph, dominators, block),
				 want[block]);
}

/* Twice, because they take the place of those over all pointers. */
static void blocks_have_what_they_retain_both_ways_in_turn(void **state)
{
	uint64_t seed = 70;

	(void)state;
	for (unsigned i = 0; i < HEAPS; i++) {
		struct graph_world *world = graph_world_create();
		struct graph_fixture fixture;
		struct graph_oracle oracle;

		graph_world_fill(world, &seed);
		open_world(&fixture, world);
		fixture.graph.threads = 1 + i % 2;
		graph_oracle_make(world, &oracle);
		for (unsigned turn = 0; turn < 2; turn++) {
			struct hawk_dominators start = {0};

			assert_int_equal(hawk_block_graph_wanted(&fixture.graph,
								 HAWK_PART_RETAINED_BY_SITE) &
						 HAWK_PART_RETAINED,
					 turn ? 0 : HAWK_PART_RETAINED);
			assert_null(hawk_block_graph_need(&fixture.graph, HAWK_PART_RETAINED));
			assert_true(hawk_block_graph_retained_gives_way(&fixture.graph));
			expect_retained(&fixture, &fixture.graph.dominators,
					oracle.retained[HAWK_EDGES_ALL]);
			for (uint32_t site = 0; site < SITES; site++)
				assert_int_equal(fixture.graph.retained[site].start_pointers,
						 retained_by(&fixture, &oracle,
							     HAWK_EDGES_START_ONLY, site,
							     UINT64_MAX));
			assert_null(hawk_block_graph_start_dominators(&fixture.graph, &start));
			assert_false(fixture.graph.parts & HAWK_PART_RETAINED);
			assert_int_equal(
				hawk_block_graph_wanted(&fixture.graph, HAWK_PART_RETAINED_BY_SITE),
				HAWK_PART_REACH);
			expect_retained(&fixture, &start, oracle.retained[HAWK_EDGES_START_ONLY]);
			hawk_block_graph_drop_start_dominators(&fixture.graph, &start);
		}
		close_world(&fixture);
	}
}

/* Of some blocks of each site; also where all were asked for before. */
static void retained_bytes_of_chosen_blocks_are_those_of_the_oracle_both_ways(void **state)
{
	uint64_t seed = 12;

	(void)state;
	for (unsigned i = 0; i < HEAPS; i++) {
		struct graph_world *world = graph_world_create();
		uint64_t chosen = synthetic_random(&seed);
		struct hawk_site_retained *retained;
		struct graph_fixture fixture;
		struct graph_oracle oracle;

		graph_world_fill(world, &seed);
		open_world(&fixture, world);
		fixture.graph.threads = 1 + i % 2;
		graph_oracle_make(world, &oracle);
		if (i % 3)
			assert_null(hawk_block_graph_need(&fixture.graph, HAWK_PART_RETAINED));
		assert_null(hawk_block_graph_retained_chosen(&fixture.graph, &chosen, &retained));
		for (uint32_t site = 0; site < SITES; site++) {
			assert_int_equal(retained[site].all_pointers,
					 retained_by(&fixture, &oracle, 0, site, chosen));
			assert_int_equal(retained[site].start_pointers,
					 retained_by(&fixture, &oracle, 1, site, chosen));
		}
		free(retained);
		assert_null(hawk_block_graph_need(&fixture.graph, HAWK_PART_RETAINED));
		for (uint32_t site = 0; site < SITES; site++)
			assert_int_equal(fixture.graph.retained[site].all_pointers,
					 retained_by(&fixture, &oracle, 0, site, UINT64_MAX));
		close_world(&fixture);
	}
}

/** The pointers of one edge or place, found by trying all words. */
struct tally {
	struct hawk_site_counts counts;
	uint64_t sources;
	uint64_t targets;
};

static void take_pointer(struct tally *tally, const struct graph_world *world, uint32_t source,
			 uint32_t edge)
{
	tally->counts.pointers++;
	tally->counts.interior += edge & 1;
	if (source == UINT32_MAX)
		tally->counts.sources++;
	else if (!(tally->sources >> source & 1))
		tally->counts.sources++;
	if (source != UINT32_MAX)
		tally->sources |= UINT64_C(1) << source;
	if (!(tally->targets >> (edge >> 1) & 1)) {
		tally->counts.targets++;
		tally->counts.target_bytes += world->blocks[edge >> 1].size;
	}
	tally->targets |= UINT64_C(1) << (edge >> 1);
}

/* `offset` UINT64_MAX = all. */
static struct tally tally_of(const struct graph_fixture *fixture, uint32_t source, uint32_t target,
			     uint64_t offset)
{
	const struct graph_world *world = fixture->world;
	struct tally tally = {0};

	for (size_t i = 0; source == HAWK_SITE_ROOTS && i < world->roots.count; i++) {
		const struct hawk_root *root = &world->roots.items[i];

		if (hawk_block_graph_site(&fixture->graph, root->edge >> 1) == target &&
		    fixture->wanted >> (root->edge >> 1) & 1 &&
		    (offset == UINT64_MAX || offset == root->kind))
			take_pointer(&tally, world, UINT32_MAX, root->edge);
	}
	for (uint32_t i = 0; source != HAWK_SITE_ROOTS && i < world->count; i++) {
		const struct hawk_block *block = &world->blocks[i];

		for (uint64_t at = 0; at + 8 <= block->size; at += 8) {
			uint64_t value;
			uint32_t edge;

			if (hawk_block_graph_site(&fixture->graph, i) != source ||
			    (offset != UINT64_MAX && at != offset))
				continue;
			memcpy(&value, world->heap->bytes + (block->start - SYNTHETIC_HEAP) + at,
			       8);
			edge = graph_oracle_edge(world->blocks, world->count, value);
			if (edge != HAWK_BLOCK_NOWHERE && fixture->wanted >> (edge >> 1) & 1 &&
			    hawk_block_graph_site(&fixture->graph, edge >> 1) == target)
				take_pointer(&tally, world, i, edge);
		}
	}
	return tally;
}

static void expect_counts(const struct hawk_site_counts *counts, const struct tally *tally)
{
	assert_int_equal(counts->pointers, tally->counts.pointers);
	assert_int_equal(counts->interior, tally->counts.interior);
	assert_int_equal(counts->sources, tally->counts.sources);
	assert_int_equal(counts->targets, tally->counts.targets);
	assert_int_equal(counts->target_bytes, tally->counts.target_bytes);
}

static void expect_edge(const struct graph_fixture *fixture, const struct hawk_site_graph *sites,
			const struct hawk_site_edge *edge)
{
	struct tally whole = tally_of(fixture, edge->source, edge->target, UINT64_MAX);
	uint64_t pointers = 0;

	expect_counts(&edge->counts, &whole);
	assert_true(edge->place_count > 0);
	for (uint32_t i = 0; i < edge->place_count; i++) {
		const struct hawk_site_place *place = &sites->places[edge->first_place + i];
		struct tally part = tally_of(fixture, edge->source, edge->target, place->offset);

		expect_counts(&place->counts, &part);
		pointers += place->counts.pointers;
	}
	assert_int_equal(pointers, edge->counts.pointers);
}

static void site_edges_of_random_heaps_count_blocks_and_pointers_exactly(void **state)
{
	uint64_t seed = 11;

	(void)state;
	for (unsigned i = 0; i < HEAPS / 4; i++) {
		struct graph_world *world = graph_world_create();
		struct hawk_site_graph sites;
		struct graph_fixture fixture;
		uint64_t pointers = 0;

		graph_world_fill(world, &seed);
		open_world(&fixture, world);
		/* After the edges, or together with them. */
		fixture.graph.threads = 1 + i % 4 / 2;
		if (i % 2)
			forget_edges(&fixture);
		assert_null(hawk_site_graph_make(&fixture.graph, &sites));
		assert_int_equal(fixture.graph.edges.edge_count, world->graph.edge_count);
		assert_memory_equal(fixture.graph.edges.edges, world->graph.edges,
				    world->graph.edge_count * sizeof(uint32_t));
		assert_memory_equal(fixture.graph.edges.offsets, world->graph.offsets,
				    (world->count + 1) * sizeof(uint32_t));
		for (size_t j = 0; j < sites.edge_count; j++) {
			expect_edge(&fixture, &sites, &sites.edges[j]);
			pointers += sites.edges[j].counts.pointers;
			assert_true(!j || sites.edges[j - 1].counts.target_bytes >=
						  sites.edges[j].counts.target_bytes);
		}
		assert_int_equal(pointers, world->graph.edge_count + world->roots.count);
		hawk_site_graph_deinit(&sites);
		close_world(&fixture);
	}
}

/* A filter that takes blocks by place and size, as good as at random. */
static struct hawk_error *passes(const void *context, const struct hawk_block *block, bool *ret)
{
	const uint64_t *mask = context;

	*ret = *mask >> (block->start / 16 + block->size) % 64 & 1;
	return NULL;
}

static bool trace_passes(const void *context, uint32_t trace)
{
	(void)context;
	return trace != 3;
}

static void choose_blocks(struct graph_fixture *fixture, uint64_t mask,
			  struct hawk_block_choice *choice)
{
	const struct hawk_choice_wish wish = {passes, trace_passes, &mask};
	struct hawk_chosen sums[SITES] = {{0}};

	fixture->wanted = 0;
	for (uint32_t i = 0; i < fixture->world->count; i++) {
		const struct hawk_block *block = &fixture->world->blocks[i];
		struct hawk_chosen *sum = &sums[hawk_block_graph_site(&fixture->graph, i)];
		bool is;

		assert_null(passes(&mask, block, &is));
		is = is && trace_passes(&mask, block->trace);
		fixture->wanted |= (uint64_t)is << i;
		sum->objects += is;
		sum->bytes += is ? block->size : 0;
	}
	assert_null(hawk_block_choice_make(&fixture->graph, &wish, choice));
	assert_int_equal(choice->blocks[0], fixture->wanted);
	assert_memory_equal(choice->sites, sums, sizeof(sums));
}

/* Pointers to blocks that a filter leaves out count nowhere, those from such blocks do. */
static void site_edges_of_chosen_blocks_count_pointers_to_these_alone(void **state)
{
	uint64_t seed = 17, all = 0, counted = 0;

	(void)state;
	for (unsigned i = 0; i < HEAPS / 4; i++) {
		struct graph_world *world = graph_world_create();
		struct hawk_block_choice choice;
		struct hawk_site_graph sites;
		struct graph_fixture fixture;
		uint64_t pointers = 0, expected = 0;

		graph_world_fill(world, &seed);
		open_world(&fixture, world);
		choose_blocks(&fixture, synthetic_random(&seed), &choice);
		fixture.graph.threads = 1 + i % 4 / 2;
		if (i % 2)
			forget_edges(&fixture);
		assert_null(hawk_site_graph_make_of(&fixture.graph, choice.blocks, &sites));
		for (size_t j = 0; j < sites.edge_count; j++) {
			expect_edge(&fixture, &sites, &sites.edges[j]);
			pointers += sites.edges[j].counts.pointers;
		}
		for (size_t j = 0; j < world->graph.edge_count; j++)
			expected += fixture.wanted >> (world->graph.edges[j] >> 1) & 1;
		for (size_t j = 0; j < world->roots.count; j++)
			expected += fixture.wanted >> (world->roots.items[j].edge >> 1) & 1;
		assert_int_equal(pointers, expected);
		counted += pointers;
		all += world->graph.edge_count + world->roots.count;
		hawk_site_graph_deinit(&sites);
		hawk_block_choice_deinit(&choice);
		close_world(&fixture);
	}
	assert_true(counted > all / 4 && counted < all * 3 / 4);
}

static void make_everything(struct graph_fixture *fixture, uint64_t seed, unsigned threads,
			    struct hawk_site_graph *sites)
{
	struct graph_world *world = graph_world_create();

	graph_world_fill(world, &seed);
	open_world(fixture, world);
	fixture->graph.threads = threads;
	if (seed % 2)
		forget_edges(fixture);
	assert_null(hawk_site_graph_make_beside(&fixture->graph, HAWK_PART_RETAINED, sites));
}

static void everything_is_the_same_with_one_thread_and_with_several(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < HEAPS / 10; seed++) {
		struct graph_fixture fixtures[2];
		struct hawk_site_graph sites[2];
		uint32_t count;

		for (unsigned i = 0; i < 2; i++)
			make_everything(&fixtures[i], seed, i + 1, &sites[i]);
		count = fixtures[0].graph.index.count;
		assert_int_equal(sites[0].edge_count, sites[1].edge_count);
		assert_int_equal(sites[0].place_count, sites[1].place_count);
		assert_memory_equal(sites[0].edges, sites[1].edges,
				    sites[0].edge_count * sizeof(*sites[0].edges));
		assert_memory_equal(sites[0].places, sites[1].places,
				    sites[0].place_count * sizeof(*sites[0].places));
		assert_memory_equal(fixtures[0].graph.retained, fixtures[1].graph.retained,
				    SITES * sizeof(*fixtures[0].graph.retained));
		assert_memory_equal(fixtures[0].graph.reach.kinds, fixtures[1].graph.reach.kinds,
				    count);
		assert_memory_equal(fixtures[0].graph.dominators.dominators + 1,
				    fixtures[1].graph.dominators.dominators + 1,
				    count * sizeof(uint32_t));
		for (unsigned i = 0; i < 2; i++) {
			hawk_site_graph_deinit(&sites[i]);
			close_world(&fixtures[i]);
		}
	}
}

static void arrays_of_pointers_are_one_place(void **state)
{
	struct graph_world *world = graph_world_create();
	struct hawk_site_graph sites;
	struct graph_fixture fixture;
	uint32_t array = graph_world_add(world, 8 * (HAWK_SITE_PLACES_MAX + 1), 0, 1);
	uint32_t node = graph_world_add(world, 8 * HAWK_SITE_PLACES_MAX, 0, 2);
	uint32_t long_one = graph_world_add(world, HAWK_SITE_PLACE_BYTES_MAX + 8, 0, 3);
	uint32_t item = graph_world_add(world, 24, 0, 4);

	(void)state;
	for (unsigned i = 0; i <= HAWK_SITE_PLACES_MAX; i++)
		graph_world_point(world, array, 8 * i, item, 0);
	for (unsigned i = 0; i < HAWK_SITE_PLACES_MAX; i++)
		graph_world_point(world, node, 8 * i, item, 8);
	graph_world_point(world, long_one, HAWK_SITE_PLACE_BYTES_MAX, item, 0);
	open_world(&fixture, world);
	assert_null(hawk_site_graph_make(&fixture.graph, &sites));
	assert_int_equal(sites.edge_count, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct hawk_site_edge *edge = &sites.edges[i];
		uint32_t trace = SITES - 1 - edge->source;

		assert_int_equal(edge->counts.targets, 1);
		assert_int_equal(edge->counts.target_bytes, 24);
		assert_int_equal(edge->place_count, trace == 2 ? HAWK_SITE_PLACES_MAX : 1);
		if (trace != 2)
			assert_true(sites.places[edge->first_place].offset == HAWK_SITE_ANYWHERE);
		else
			assert_int_equal(edge->counts.interior, HAWK_SITE_PLACES_MAX);
	}
	hawk_site_graph_deinit(&sites);
	close_world(&fixture);
}

/* A pool that points to an item before and behind each of its objects, which do it as well, and are
 * of the same site. */
static void a_pool_is_one_source_however_many_objects_of_its_site_lie_in_it(void **state)
{
	struct graph_world *world = graph_world_create();
	uint32_t item = graph_world_add(world, 24, 0, 4);
	uint32_t pool = graph_world_add(world, 512, 0, 1);
	struct graph_fixture fixture;
	struct hawk_site_graph sites;

	(void)state;
	for (uint64_t offset = 0; offset < 512; offset += 8)
		graph_world_point(world, pool, offset, item, 0);
	for (unsigned i = 0; i < 3; i++)
		synthetic_heap_add_block(world->heap,
					 (struct synthetic_block){
						 .start = world->blocks[pool].start + 64 + 128 * i,
						 .size = 48,
						 .trace = 1,
						 .kind = HAWK_KIND_POOL,
					 });
	open_world(&fixture, world);
	assert_int_equal(fixture.graph.index.part_count, 4);
	assert_null(hawk_site_graph_make(&fixture.graph, &sites));
	assert_int_equal(sites.edge_count, 1);
	assert_int_equal(sites.edges[0].counts.pointers, 64 - 3 * 2);
	assert_int_equal(sites.edges[0].counts.sources, 4);
	hawk_site_graph_deinit(&sites);
	close_world(&fixture);
}

/** A traced heap in a core file, loaded through the front door. */
struct core_fixture {
	struct synthetic_heap *built;
	char *path;
	struct hawk_findings findings;
	struct hawk_target *target;
	struct hawk_heap heap;
	struct hawk_block_graph graph;
	unsigned stages;
};

static void count_stage(void *context, const char *stage, uint64_t done, uint64_t all)
{
	struct core_fixture *fixture = context;

	(void)done;
	(void)all;
	assert_non_null(stage);
	fixture->stages++;
}

static int set_up_core(void **state)
{
	struct core_fixture *fixture = calloc(1, sizeof(*fixture));
	const uint64_t frames[] = {0x401000, 0x402000};
	uint32_t trace;

	fixture->built = synthetic_heap_create(4096);
	synthetic_heap_add_module(fixture->built, "/usr/bin/app", 0x400000, 0x500000, 0x400000);
	trace = synthetic_heap_add_trace(fixture->built, frames, 2, 0, 0);
	for (unsigned i = 0; i < 3; i++)
		synthetic_heap_add_block(fixture->built,
					 (struct synthetic_block){
						 .start = SYNTHETIC_HEAP + 64 * i + 16,
						 .size = 24 + i,
						 .trace = i == 2 ? 0 : trace,
						 .kind = HAWK_KIND_NEW,
						 .birth = (uint8_t)(i + 1),
					 });
	fixture->path = synthetic_heap_write(fixture->built);
	assert_null(hawk_target_open_core(fixture->path, &fixture->findings, &fixture->target));
	*state = fixture;
	return 0;
}

static int tear_down_core(void **state)
{
	struct core_fixture *fixture = *state;

	hawk_block_graph_deinit(&fixture->graph);
	hawk_heap_deinit(&fixture->heap);
	hawk_target_close(fixture->target);
	synthetic_core_remove(fixture->path);
	synthetic_heap_destroy(fixture->built);
	hawk_findings_deinit(&fixture->findings);
	free(fixture);
	return 0;
}

static void one_sweep_gives_sites_and_blocks_with_all_that_their_headers_say(void **state)
{
	struct core_fixture *fixture = *state;
	struct hawk_block block;

	fixture->graph.progress = count_stage;
	fixture->graph.progress_context = fixture;
	assert_null(hawk_heap_load_graph(fixture->target, &fixture->findings, HAWK_PART_INDEX,
					 &fixture->graph, &fixture->heap));
	assert_int_equal(fixture->graph.parts, HAWK_PART_INDEX);
	assert_int_equal(fixture->graph.index.count, 3);
	assert_true(fixture->stages > 0);
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(hawk_block_graph_block(&fixture->graph, i, &block));
		assert_int_equal(block.start, SYNTHETIC_HEAP + 64 * i + 16);
		assert_int_equal(block.size, 24 + i);
		assert_int_equal(block.kind, HAWK_KIND_NEW);
		assert_int_equal(block.birth, i + 1);
	}
	assert_int_equal(
		fixture->heap.sites[hawk_block_graph_site(&fixture->graph, 0)].inuse_objects, 2);
	assert_int_equal(fixture->heap.sites[hawk_block_graph_site(&fixture->graph, 2)].id,
			 HAWK_SITE_NO_STACK);
}

static void a_part_brings_what_it_depends_on(void **state)
{
	struct core_fixture *fixture = *state;

	assert_null(
		hawk_heap_load(fixture->target, &fixture->findings, NULL, NULL, &fixture->heap));
	hawk_block_graph_init(&fixture->graph, fixture->target, &fixture->heap, &fixture->findings);
	assert_null(hawk_block_graph_need(&fixture->graph, HAWK_PART_REACH));
	assert_int_equal(fixture->graph.parts,
			 HAWK_PART_INDEX | HAWK_PART_EDGES | HAWK_PART_ROOTS | HAWK_PART_REACH);
	assert_int_equal(fixture->graph.reach.sums[HAWK_REACH_DEFINITELY_LOST].objects, 3);
	assert_null(hawk_block_graph_need(&fixture->graph, HAWK_PART_RETAINED));
	assert_int_equal(
		fixture->graph.retained[hawk_block_graph_site(&fixture->graph, 0)].all_pointers,
		24 + 25);
}

static void a_process_that_was_not_traced_has_no_blocks(void **state)
{
	struct core_fixture *fixture = *state;
	struct synthetic_core *core = synthetic_core_create();
	char *path;

	synthetic_core_add_memory(core, SYNTHETIC_HEAP, "no table", 8);
	path = synthetic_core_write(core, SIZE_MAX);
	synthetic_core_destroy(core);
	hawk_target_close(fixture->target);
	assert_null(hawk_target_open_core(path, &fixture->findings, &fixture->target));
	assert_null(hawk_heap_load_graph(fixture->target, &fixture->findings, HAWK_PART_RETAINED,
					 &fixture->graph, &fixture->heap));
	assert_null(fixture->heap.table);
	assert_int_equal(fixture->graph.index.count, 0);
	assert_true(fixture->graph.parts & HAWK_PART_RETAINED);
	synthetic_core_remove(path);
}

#define CORE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_core, tear_down_core)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(retained_bytes_of_sites_are_those_of_the_oracle_both_ways),
		cmocka_unit_test(retained_bytes_of_chosen_blocks_are_those_of_the_oracle_both_ways),
		cmocka_unit_test(blocks_have_what_they_retain_both_ways_in_turn),
		cmocka_unit_test(site_edges_of_random_heaps_count_blocks_and_pointers_exactly),
		cmocka_unit_test(site_edges_of_chosen_blocks_count_pointers_to_these_alone),
		cmocka_unit_test(everything_is_the_same_with_one_thread_and_with_several),
		cmocka_unit_test(arrays_of_pointers_are_one_place),
		cmocka_unit_test(a_pool_is_one_source_however_many_objects_of_its_site_lie_in_it),
		CORE_TEST(one_sweep_gives_sites_and_blocks_with_all_that_their_headers_say),
		CORE_TEST(a_part_brings_what_it_depends_on),
		CORE_TEST(a_process_that_was_not_traced_has_no_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
