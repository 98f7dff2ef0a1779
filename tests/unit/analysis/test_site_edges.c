/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The site graph of random heaps against all words of their blocks: of all blocks, of chosen ones,
 * of arrays and pools.
 */
#include "test.h"
#include "hawk/analysis/selection.h"
#include "hawk/base/parallel.h"
#include "hawk/analysis/site_graph.h"
#include "synthetic_site_world.h"

enum { HEAPS = 500 };

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
static struct tally tally_of(const struct site_world *fixture, uint32_t source, uint32_t target,
			     uint64_t offset)
{
	const struct graph_world *world = fixture->world;
	struct tally tally = {0};

	for (size_t i = 0; source == HAWK_SITE_ROOTS && i < world->graph.roots.count; i++) {
		const struct hawk_root *root = &world->graph.roots.items[i];

		if (hawk_heap_site_at(fixture->graph.heap, root->edge >> 1) == target &&
		    fixture->wanted >> (root->edge >> 1) & 1 &&
		    (offset == UINT64_MAX || offset == root->kind))
			take_pointer(&tally, world, UINT32_MAX, root->edge);
	}
	for (uint32_t i = 0; source != HAWK_SITE_ROOTS && i < world->count; i++) {
		const struct hawk_block *block = &world->blocks[i];

		for (uint64_t at = 0; at + 8 <= block->size; at += 8) {
			uint64_t value;
			uint32_t edge;

			if (hawk_heap_site_at(fixture->graph.heap, i) != source ||
			    (offset != UINT64_MAX && at != offset))
				continue;
			memcpy(&value, world->heap->bytes + (block->start - SYNTHETIC_HEAP) + at,
			       8);
			edge = graph_oracle_edge(world->blocks, world->count, value);
			if (edge != HAWK_BLOCK_NOWHERE && fixture->wanted >> (edge >> 1) & 1 &&
			    hawk_heap_site_at(fixture->graph.heap, edge >> 1) == target)
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

static void expect_edge(const struct site_world *fixture, const struct hawk_site_graph *sites,
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

/* A filter that takes blocks as good as at random. */
static bool passes(const void *context, uint32_t number)
{
	const uint64_t *mask = context;

	return *mask >> number % 64 & 1;
}

static bool trace_passes(const void *context, uint32_t trace)
{
	(void)context;
	return trace != 3;
}

static void choose_blocks(struct site_world *fixture, uint64_t mask, struct hawk_selection *choice)
{
	const struct hawk_selector selector = {
		.size_high = UINT64_MAX, .trace = trace_passes, .type = passes, .context = &mask};
	struct hawk_chosen sums[SITE_WORLD_SITES] = {{0}};

	fixture->wanted = 0;
	for (uint32_t i = 0; i < fixture->world->count; i++) {
		const struct hawk_block *block = &fixture->world->blocks[i];
		struct hawk_chosen *sum = &sums[hawk_heap_site_at(fixture->graph.heap, i)];
		bool is = passes(&mask, i) && trace_passes(&mask, block->trace);

		fixture->wanted |= (uint64_t)is << i;
		sum->objects += is;
		sum->bytes += is ? block->size : 0;
	}
	assert_null(hawk_selection_make(&fixture->heap, &selector, choice));
	assert_int_equal(choice->blocks[0], fixture->wanted);
	assert_memory_equal(choice->sites, sums, sizeof(sums));
}

/* How many pointers lead to wanted blocks. */
static uint64_t wanted_pointers(const struct site_world *fixture)
{
	const struct hawk_graph *graph = &fixture->world->graph;
	uint64_t count = 0;

	for (size_t i = 0; i < graph->edge_count; i++)
		count += fixture->wanted >> (graph->edges[i] >> 1) & 1;
	for (size_t i = 0; i < graph->roots.count; i++)
		count += fixture->wanted >> (graph->roots.items[i].edge >> 1) & 1;
	return count;
}

/* Pointers to blocks that a filter leaves out count nowhere, those from such blocks do. */
TEST(site_edges_of_random_heaps_count_blocks_and_pointers_exactly)
{
	uint64_t seed = 17, all = 0, counted = 0;

	for (unsigned i = 0; i < HEAPS; i++) {
		struct graph_world *world = graph_world_create();
		struct hawk_selection choice = {0};
		struct hawk_site_graph sites;
		struct site_world fixture;
		uint64_t pointers = 0;

		graph_world_fill(world, &seed);
		site_world_open(&fixture, world);
		if (i % 2)
			choose_blocks(&fixture, synthetic_random(&seed), &choice);
		assert_null(hawk_site_graph_make(&fixture.graph, choice.blocks, &sites));
		for (size_t j = 0; j < sites.edge_count; j++) {
			expect_edge(&fixture, &sites, &sites.edges[j]);
			pointers += sites.edges[j].counts.pointers;
			assert_true(!j || sites.edges[j - 1].counts.target_bytes >=
						  sites.edges[j].counts.target_bytes);
		}
		assert_int_equal(pointers, wanted_pointers(&fixture));
		if (i % 2) {
			counted += pointers;
			all += world->graph.edge_count + world->graph.roots.count;
		}
		hawk_site_graph_deinit(&sites);
		hawk_selection_deinit(&choice);
		site_world_close(&fixture);
	}
	assert_true(counted > all / 4 && counted < all * 3 / 4);
}

static void check_arrays(uint64_t far)
{
	struct graph_world *world = graph_world_create();
	struct hawk_site_graph sites;
	struct site_world fixture;
	uint32_t array = graph_world_add(world, 8 * (HAWK_SITE_PLACES_MAX + 1), 0, 1);
	uint32_t node = graph_world_add(world, 8 * HAWK_SITE_PLACES_MAX, 0, 2);
	uint32_t long_one = graph_world_add(world, far + 8, 0, 3);
	uint32_t item = graph_world_add(world, 24, 0, 4);

	for (unsigned i = 0; i <= HAWK_SITE_PLACES_MAX; i++)
		graph_world_point(world, array, 8 * i, item, 0);
	for (unsigned i = 0; i < HAWK_SITE_PLACES_MAX; i++)
		graph_world_point(world, node, 8 * i, item, 8);
	graph_world_point(world, long_one, far, item, 0);
	site_world_open(&fixture, world);
	assert_null(hawk_site_graph_make(&fixture.graph, NULL, &sites));
	assert_int_equal(sites.edge_count, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct hawk_site_edge *edge = &sites.edges[i];
		uint32_t trace = SITE_WORLD_SITES - 1 - edge->source;

		assert_int_equal(edge->counts.targets, 1);
		assert_int_equal(edge->counts.target_bytes, 24);
		assert_int_equal(edge->place_count, trace == 2 ? HAWK_SITE_PLACES_MAX : 1);
		if (trace != 2)
			assert_true(sites.places[edge->first_place].offset == HAWK_SITE_ANYWHERE);
		else
			assert_int_equal(edge->counts.interior, HAWK_SITE_PLACES_MAX);
	}
	hawk_site_graph_deinit(&sites);
	site_world_close(&fixture);
}

TEST(arrays_of_pointers_are_one_place)
{
	check_arrays(HAWK_SITE_PLACE_BYTES_MAX);
}

/* A pool that points to an item before and behind each of its objects, which do it as well, and are
 * of the same site. */
TEST(a_pool_is_one_source_however_many_objects_of_its_site_lie_in_it)
{
	struct graph_world *world = graph_world_create();
	uint32_t item = graph_world_add(world, 24, 0, 4);
	uint32_t pool = graph_world_add(world, 512, 0, 1);
	struct site_world fixture;
	struct hawk_site_graph sites;

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
	site_world_open(&fixture, world);
	assert_int_equal(fixture.heap.index.nest_count, 1);
	assert_null(hawk_site_graph_make(&fixture.graph, NULL, &sites));
	assert_int_equal(sites.edge_count, 1);
	assert_int_equal(sites.edges[0].counts.pointers, 64 - 3 * 2);
	assert_int_equal(sites.edges[0].counts.sources, 4);
	hawk_site_graph_deinit(&sites);
	site_world_close(&fixture);
}
