/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Leak kinds with heuristics, loss records and their evidence, against trying everything on random
 * heaps.
 */
#include "analysis/leaks_fixture.h"
#include "hawk/analysis/leak_leaders.h"

enum { HEAPS = 500 };

static const struct hawk_leak_record *record_of(const struct leaks_world *leaks, uint32_t site,
						uint8_t kind)
{
	for (size_t i = 0; i < leaks->leaks.count; i++)
		if (leaks->leaks.records[i].site == site && leaks->leaks.records[i].kind == kind)
			return &leaks->leaks.records[i];
	return NULL;
}

/** A site and kind, and the least size of its requested blocks. */
struct wanted {
	uint32_t site;
	uint8_t kind;
	uint64_t size_low;
};

static bool is_wanted(const struct leaks_world *leaks, const struct leaks_oracle *oracle,
		      const struct wanted *wanted, uint32_t block)
{
	const struct hawk_block *bytes = &leaks->world->blocks[block];

	return bytes->trace / 2 == wanted->site && oracle->kinds[block] == wanted->kind &&
	       bytes->size >= wanted->size_low;
}

static void take_pointer(struct hawk_leak_pointers *pointers, uint32_t edge, uint64_t *pointed)
{
	if (edge & 1)
		pointers->interior++;
	else
		pointers->start++;
	*pointed |= UINT64_C(1) << (edge >> 1);
}

/* Counts the pointers to such blocks that a heuristic explains. */
static uint64_t count_explained(const struct leaks_world *leaks, const struct leaks_oracle *oracle,
				const struct wanted *wanted)
{
	const struct hawk_graph *graph = &leaks->graph;
	uint64_t count = 0;

	for (uint32_t i = 0; i < graph->roots.count; i++)
		count += is_wanted(leaks, oracle, wanted, graph->roots.items[i].edge >> 1) &&
			 hawk_explained_root(&leaks->explained, i);
	for (uint32_t block = 0; block < leaks->world->count; block++)
		for (uint32_t i = graph->offsets[block]; i < graph->offsets[block + 1]; i++)
			count += graph->edges[i] >> 1 != block &&
				 is_wanted(leaks, oracle, wanted, graph->edges[i] >> 1) &&
				 hawk_explained_edge(&leaks->explained, i);
	return count;
}

/* Checks the sums of a site and kind, and every pointer to its blocks from roots and other blocks.
 */
static void expect_record(const struct leaks_world *leaks, const struct leaks_oracle *oracle,
			  const struct wanted *wanted)
{
	const struct graph_world *world = leaks->world;
	const struct hawk_leak_record *record = record_of(leaks, wanted->site, wanted->kind);
	struct hawk_leak_pointers pointers[COUNT_OF(record->pointers)] = {0};
	uint64_t objects = 0, bytes = 0, sources = 0, pointed = 0;
	uint32_t oldest = 0;

	for (uint32_t i = 0; i < world->count; i++)
		if (is_wanted(leaks, oracle, wanted, i)) {
			if (!objects || world->blocks[i].birth < world->blocks[oldest].birth)
				oldest = i;
			objects++;
			bytes += world->blocks[i].size;
		}
	if (!objects) {
		assert_null(record);
		return;
	}
	assert_non_null(record);
	assert_int_equal(record->objects, objects);
	assert_int_equal(record->bytes, bytes);
	for (size_t i = 0; i < world->graph.roots.count; i++) {
		const struct hawk_root *root = &world->graph.roots.items[i];

		if (is_wanted(leaks, oracle, wanted, root->edge >> 1) &&
		    !hawk_graph_ignores_root(&leaks->graph, !world->ignores_ends, i))
			take_pointer(&pointers[root->kind], root->edge, &pointed);
	}
	for (uint32_t i = 0; i < world->count; i++) {
		bool any = false;

		for (uint64_t at = 0; at + 8 <= world->blocks[i].size; at += 8) {
			uint32_t edge = graph_oracle_pointer(world, graph_world_read(world, i, at));

			if (edge == HAWK_BLOCK_NOWHERE || edge >> 1 == i ||
			    !is_wanted(leaks, oracle, wanted, edge >> 1))
				continue;
			any = true;
			take_pointer(&pointers[HAWK_LEAK_FROM_BLOCKS + oracle->kinds[i]], edge,
				     &pointed);
		}
		sources += any;
	}
	assert_int_equal(record->source_blocks, sources);
	assert_memory_equal(record->pointers, pointers, sizeof(pointers));
	assert_int_equal(record->pointed_objects, __builtin_popcountll(pointed));
	assert_int_equal(record->explained, count_explained(leaks, oracle, wanted));
	assert_int_equal(record->example, oldest);
	assert_int_equal(record->oldest_units, hawk_birth_decode(world->blocks[oldest].birth));
}

static void expect_records(const struct leaks_world *leaks, const struct leaks_oracle *oracle,
			   uint64_t size_low)
{
	for (uint32_t site = 0; site < SITES; site++)
		for (uint8_t kind = 1; kind < HAWK_REACH_KINDS; kind++)
			expect_record(leaks, oracle, &(struct wanted){site, kind, size_low});
}

/* Checks the leaders of each site's blocks: the inverse of the blocks that records lost. */
static void expect_leaders(const struct leaks_world *leaks)
{
	struct hawk_chosen lost[SITES] = {{0}};

	for (uint32_t site = 0; site < SITES; site++) {
		struct hawk_leak_leader *leaders;
		size_t count;

		check(hawk_leak_leaders_of(&leaks->graph, &leaks->reach, site, &leaders, &count));
		for (size_t i = 0; i < count; i++) {
			assert_int_equal(leaks->reach.kinds[leaders[i].example],
					 HAWK_REACH_DEFINITELY_LOST);
			assert_true(!i || leaders[i].lost.bytes <= leaders[i - 1].lost.bytes);
			lost[leaders[i].site].objects += leaders[i].lost.objects;
			lost[leaders[i].site].bytes += leaders[i].lost.bytes;
		}
		free(leaders);
	}
	for (uint32_t site = 0; site < SITES; site++) {
		const struct hawk_leak_record *record =
			record_of(leaks, site, HAWK_REACH_DEFINITELY_LOST);

		assert_int_equal(lost[site].objects, record ? record->indirect_objects : 0);
		assert_int_equal(lost[site].bytes, record ? record->indirect_bytes : 0);
	}
}

/* The worlds have no virtual tables, and no stacks. */
static const unsigned NOT_THERE = HAWK_HEURISTIC_MULTIPLEINHERITANCE | HAWK_HEURISTIC_PREFIX;

TEST(random_heaps_have_the_leak_kinds_of_their_bytes)
{
	uint64_t seed = 4242;
	uint64_t explained[HAWK_HEURISTIC_COUNT] = {0};

	for (unsigned i = 0; i < HEAPS; i++) {
		unsigned heuristics = (unsigned)synthetic_random(&seed) & HAWK_HEURISTICS_ALL;
		struct leaks_world leaks = {.world = graph_world_create()};
		struct leaks_oracle oracle;
		uint64_t indirect = 0;

		heuristics &= ~NOT_THERE;
		graph_world_fill(leaks.world, &seed);
		leaks_world_add_patterns(leaks.world, &seed);
		open_world(&leaks, SIZE_MAX, heuristics);
		make(&leaks, ALL_KINDS, NULL);
		leaks_oracle_make(leaks.world, heuristics, &oracle);
		assert_false(leaks.leaks.downgraded);
		for (uint32_t block = 0; block < leaks.world->count; block++)
			assert_int_equal(leaks.reach.kinds[block], oracle.kinds[block]);
		expect_records(&leaks, &oracle, 0);
		for (size_t j = 0; j < leaks.leaks.count; j++)
			indirect += leaks.leaks.records[j].indirect_objects;
		assert_int_equal(indirect, leaks.leaks.sums[HAWK_REACH_INDIRECTLY_LOST].objects);
		expect_leaders(&leaks);
		for (unsigned j = 0; j < HAWK_HEURISTIC_COUNT; j++) {
			explained[j] += leaks.leaks.heuristics[j];
			assert_true(heuristics >> j & 1 || !leaks.leaks.heuristics[j]);
		}
		close_world(&leaks);
	}
	for (unsigned j = 0; j < HAWK_HEURISTIC_COUNT; j++)
		assert_true(1u << j & NOT_THERE || explained[j] > HEAPS / 8);
}

/* A lost pool that points to an item and into itself before and behind each of its objects, which
 * point to the item as well, and are of the pool's site. */
TEST(a_lost_pool_is_one_source_of_evidence)
{
	struct leaks_world leaks = {.world = graph_world_create()};
	struct graph_world *world = leaks.world;
	uint32_t item = graph_world_add(world, 24, 0, 4);
	uint32_t pool = graph_world_add(world, 512, 0, 1);
	bool item_seen = false;

	for (uint64_t offset = 0; offset < 512; offset += 16) {
		graph_world_point(world, pool, offset, item, 0);
		graph_world_point(world, pool, offset + 8, pool, 504);
	}
	for (unsigned i = 0; i < 3; i++)
		synthetic_heap_add_block(world->heap,
					 (struct synthetic_block){
						 .start = world->blocks[pool].start + 64 + 128 * i,
						 .size = 48,
						 .trace = 1,
						 .kind = HAWK_KIND_POOL,
					 });
	open_world(&leaks, SIZE_MAX, 0);
	make(&leaks, ALL_KINDS, NULL);
	for (size_t i = 0; i < leaks.leaks.count; i++) {
		const struct hawk_leak_record *record = &leaks.leaks.records[i];

		if (record->site == 2) {
			item_seen = true;
			assert_int_equal(record->source_blocks, 4);
			assert_int_equal(record->pointed_objects, 1);
		} else {
			/* Three objects are evidence; the pool's own pointers are not. */
			assert_true(record->source_blocks <= 3);
		}
	}
	assert_true(item_seen);
	close_world(&leaks);
}

/* With the padding behind its objects, as wherever else its bytes are counted. */
TEST(what_is_left_of_a_pool_is_lost_with_its_leader)
{
	struct leaks_world leaks = {.world = graph_world_create()};
	struct graph_world *world = leaks.world;
	uint32_t leader = graph_world_add(world, 24, 0, 4);
	uint32_t pool = graph_world_add(world, 512, 0, 1);
	bool leader_seen = false;

	graph_world_point(world, leader, 0, pool, 0);
	for (unsigned i = 0; i < 3; i++)
		synthetic_heap_add_block(world->heap,
					 (struct synthetic_block){
						 .start = world->blocks[pool].start + 64 + 128 * i,
						 .size = 40,
						 .trace = 6,
						 .kind = HAWK_KIND_POOL,
					 });
	open_world(&leaks, SIZE_MAX, 0);
	make(&leaks, ALL_KINDS, NULL);
	for (size_t i = 0; i < leaks.leaks.count; i++) {
		const struct hawk_leak_record *record = &leaks.leaks.records[i];

		if (record->site != 2)
			continue;
		leader_seen = true;
		assert_int_equal(record->indirect_objects, 1);
		assert_int_equal(record->indirect_bytes, 512 - 3 * (40 + HAWK_HEADER_BYTES));
	}
	assert_true(leader_seen);
	close_world(&leaks);
}

TEST(kinds_that_nobody_asked_for_have_sums_and_no_records)
{
	uint64_t seed = 5;

	for (unsigned i = 0; i < 200; i++) {
		struct leaks_world leaks = {.world = graph_world_create()};
		struct leaks_oracle oracle;
		uint64_t sums[HAWK_REACH_KINDS] = {0};

		graph_world_fill(leaks.world, &seed);
		open_world(&leaks, SIZE_MAX, 0);
		make(&leaks, 1u << HAWK_REACH_DEFINITELY_LOST, NULL);
		leaks_oracle_make(leaks.world, 0, &oracle);
		for (uint32_t block = 0; block < leaks.world->count; block++)
			sums[oracle.kinds[block]]++;
		for (unsigned kind = 1; kind < HAWK_REACH_KINDS; kind++)
			assert_int_equal(leaks.leaks.sums[kind].objects, sums[kind]);
		for (size_t j = 0; j < leaks.leaks.count; j++)
			assert_int_equal(leaks.leaks.records[j].kind, HAWK_REACH_DEFINITELY_LOST);
		close_world(&leaks);
	}
}

TEST(only_wanted_blocks_count)
{
	uint64_t large = 100;
	struct hawk_selector filter = {.size_low = large, .size_high = UINT64_MAX};
	uint64_t seed = 6;

	for (unsigned i = 0; i < 200; i++) {
		struct leaks_world leaks = {.world = graph_world_create()};
		struct leaks_oracle oracle;

		graph_world_fill(leaks.world, &seed);
		open_world(&leaks, SIZE_MAX, 0);
		make(&leaks, ALL_KINDS, &filter);
		leaks_oracle_make(leaks.world, 0, &oracle);
		expect_records(&leaks, &oracle, large);
		close_world(&leaks);
	}
}

/* A block that is kept, from which pointers lead `inside` bytes into the first `pointed` of `count`
 * blocks of site `site`. Returns the first one. */
static uint32_t add_wrapped(struct graph_world *world, uint32_t site, uint32_t count,
			    uint32_t pointed, uint64_t inside)
{
	uint32_t holder = graph_world_add(world, 200, 0, GRAPH_TRACES - 1);

	world->globals[site] = world->blocks[holder].start;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t block = graph_world_add(world, 160, 0, 2 * site);

		/* A pointer into itself does not count. */
		graph_world_point(world, block, 8, block, 24);
		if (i < pointed)
			graph_world_point(world, holder, 8 * i, block, inside);
	}
	return holder + 1;
}

/* With stacks, or with classes in their place. */
static void make_wrapped(struct leaks_world *leaks, unsigned knows)
{
	open_world(leaks, SIZE_MAX, 0);
	leaks->heap.knows = knows;
	for (unsigned i = 0; i < SITES; i++)
		leaks->sites[i].trace = i + 1;
	for (uint32_t i = 0; i < leaks->world->count; i++)
		leaks->sites[leaks->world->blocks[i].trace / 2].inuse_objects++;
	check(hawk_heuristics_find(&leaks->graph, HAWK_HEURISTIC_PREFIX, NULL, &leaks->explained));
	make(leaks, ALL_KINDS, NULL);
}

static void expect_wrapped(const struct leaks_world *leaks, uint32_t first, uint32_t count,
			   uint32_t pointed, bool held)
{
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(leaks->reach.kinds[first + i], i >= pointed
									? HAWK_REACH_DEFINITELY_LOST
								: held ? HAWK_REACH_REACHABLE
								       : HAWK_REACH_POSSIBLY);
}

TEST(the_offset_at_which_a_sites_blocks_are_known_is_their_start)
{
	for (uint32_t pointed = 10; pointed <= 12; pointed++)
		for (uint64_t inside = 120; inside <= 136; inside += 8)
			for (unsigned knows = 0; knows <= HAWK_HEAP_STACKS; knows++) {
				struct leaks_world leaks = {.world = graph_world_create()};
				bool right = knows && inside <= 128;
				uint32_t many = add_wrapped(leaks.world, 0, 12, pointed, inside);
				uint32_t few = add_wrapped(leaks.world, 1, 7, 7, inside);
				uint32_t own = add_wrapped(leaks.world, 2, 12, 1, 24);

				make_wrapped(&leaks, knows);
				expect_wrapped(&leaks, many, 12, pointed, right && pointed > 10);
				expect_wrapped(&leaks, few, 7, 7, false);
				expect_wrapped(&leaks, own, 12, 1, false);
				assert_int_equal(leaks.leaks.heuristics[8],
						 right && pointed > 10 ? pointed : 0);
				close_world(&leaks);
			}
}

enum { GROUP = 16, EMPTY = 0xff, BUCKETS_MAX = 64, ENTRY_BYTES = 24 };

/* Adds a hash table of Rust with a byte too many in its copy, without a free bucket, or with a byte
 * that is no control byte (`fault` 1 to 3; 0 = right), and a pointer to its control bytes. */
static void add_rust_table(struct graph_world *world, uint64_t buckets, unsigned fault)
{
	uint64_t entries = (buckets * ENTRY_BYTES + GROUP - 1) / GROUP * GROUP;
	uint64_t copied = buckets < GROUP ? buckets : GROUP;
	uint32_t table = graph_world_add(world, entries + buckets + GROUP, 0, 2);
	uint8_t bytes[BUCKETS_MAX + GROUP];

	memset(bytes, fault == 2 ? 5 : EMPTY, sizeof(bytes));
	for (uint64_t i = 1; i < buckets; i += 2)
		bytes[i] = (uint8_t)(i * 7 % 0x80);
	if (fault == 3)
		bytes[0] = 0x90;
	if (fault == 4) /* other memory */
		memset(bytes + 1, 0, buckets - 1);
	memcpy(bytes + buckets + GROUP - copied, bytes, copied);
	bytes[buckets + GROUP - 1] ^= fault == 1;
	for (uint64_t at = 0; at + 8 <= buckets + GROUP; at += 8) {
		uint64_t word;

		memcpy(&word, bytes + at, sizeof(word));
		graph_world_write(world, table, entries + at, word);
	}
	world->globals[1] = world->blocks[table].start + entries;
}

TEST(control_bytes_of_hash_tables_of_rust_are_as_good_as_the_start)
{
	for (uint64_t buckets = 8; buckets <= BUCKETS_MAX; buckets *= 2)
		for (unsigned fault = 0; fault <= 4; fault++) {
			struct leaks_world leaks = {.world = graph_world_create()};

			add_rust_table(leaks.world, buckets, fault);
			open_world(&leaks, SIZE_MAX, HAWK_HEURISTIC_LENGTHPREFIX);
			make(&leaks, ALL_KINDS, NULL);
			assert_int_equal(leaks.reach.kinds[0],
					 fault ? HAWK_REACH_POSSIBLY : HAWK_REACH_REACHABLE);
			close_world(&leaks);
		}
}

/* Three blocks known by their ends only: the program can compute their starts. */
TEST(a_pointer_one_past_the_end_is_an_interior_one_unless_it_is_not_asked_for)
{
	for (unsigned heuristics = 0; heuristics <= HAWK_HEURISTIC_ENDPOINTER;
	     heuristics += HAWK_HEURISTIC_ENDPOINTER) {
		struct leaks_world leaks = {.world = graph_world_create()};
		struct graph_world *world = leaks.world;
		const struct hawk_leak_record *record;

		for (uint32_t i = 0; i < 4; i++)
			graph_world_add(world, i == 2 ? 41 : 32, 0, 2);
		world->globals[1] = world->blocks[0].start + 32;
		world->globals[2] = world->blocks[2].start + 41;
		graph_world_point(world, 0, 0, 1, 32);
		/* Two past the end, and the header of the next block. */
		world->globals[3] = world->blocks[3].start + 33;
		world->globals[4] = world->blocks[3].start + 48;
		open_world(&leaks, SIZE_MAX, heuristics);
		make(&leaks, ALL_KINDS, NULL);
		for (uint32_t i = 0; i < 4; i++)
			assert_int_equal(leaks.reach.kinds[i],
					 heuristics && i < 3 ? HAWK_REACH_POSSIBLY
							     : HAWK_REACH_DEFINITELY_LOST);
		record = record_of(&leaks, 1,
				   heuristics ? HAWK_REACH_POSSIBLY : HAWK_REACH_DEFINITELY_LOST);
		assert_int_equal(record->pointed_objects, heuristics ? 3 : 0);
		assert_int_equal(leaks.leaks.heuristics[7], heuristics ? 3 : 0);
		close_world(&leaks);
	}
}

/* Two rings that one pointer joins: only the first has a leader. */
TEST(a_ring_that_another_leads_to_is_lost_indirectly)
{
	struct leaks_world leaks = {.world = graph_world_create()};
	const struct hawk_leak_record *record;

	for (unsigned i = 0; i < 4; i++)
		graph_world_add(leaks.world, 32, 0, 2 * (i / 2));
	graph_world_point(leaks.world, 0, 0, 1, 0);
	graph_world_point(leaks.world, 1, 0, 0, 0);
	graph_world_point(leaks.world, 2, 0, 3, 0);
	graph_world_point(leaks.world, 3, 0, 2, 0);
	graph_world_point(leaks.world, 3, 8, 1, 8);
	open_world(&leaks, SIZE_MAX, 0);
	make(&leaks, ALL_KINDS, NULL);
	assert_int_equal(leaks.leaks.count, 3);
	record = record_of(&leaks, 1, HAWK_REACH_DEFINITELY_LOST);
	assert_ptr_equal(record, leaks.leaks.records);
	assert_int_equal(record->example, 2);
	assert_int_equal(record->indirect_objects, 3);
	assert_int_equal(record->indirect_bytes, 96);
	record = record_of(&leaks, 0, HAWK_REACH_INDIRECTLY_LOST);
	assert_int_equal(record->objects, 2);
	assert_int_equal(record->pointed_objects, 2);
	assert_int_equal(record->source_blocks, 3);
	assert_int_equal(record->first_root, UINT32_MAX);
	close_world(&leaks);
}

/* A ring of two blocks of two sites; the lower one leads to a payload. */
static void add_ring(struct graph_world *world, uint32_t low, uint32_t high, uint32_t payload)
{
	uint32_t first = graph_world_add(world, 32, 1, 2 * low);
	uint32_t second = graph_world_add(world, 32, 1, 2 * high);

	graph_world_point(world, first, 0, second, 0);
	graph_world_point(world, second, 0, first, 0);
	graph_world_point(world, first, 8, graph_world_add(world, 500, 1, 2 * payload), 0);
}

TEST(sites_that_lose_each_other_are_one_origin)
{
	static const uint32_t sites[] = {0, 1, 2, 3};
	struct leaks_world leaks = {.world = graph_world_create()};
	struct hawk_leak_origin origins[4];
	uint32_t block;

	/* Sites 1 and 2 lose each other, and what lies behind them; 3 loses itself. */
	add_ring(leaks.world, 1, 2, 0);
	add_ring(leaks.world, 2, 1, 0);
	block = graph_world_add(leaks.world, 32, 1, 6);
	graph_world_point(leaks.world, block, 0, graph_world_add(leaks.world, 32, 1, 6), 0);
	open_world(&leaks, SIZE_MAX, 0);
	make(&leaks, ALL_KINDS, NULL);
	check(hawk_leak_origins(&leaks.graph, &leaks.reach, sites, 4, origins));
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(origins[i].site, 1);
		assert_int_equal(origins[i].lost.objects, 6);
		assert_int_equal(origins[i].lost.bytes, 4 * 32 + 2 * 500);
	}
	assert_int_equal(origins[3].site, 3);
	assert_int_equal(origins[3].lost.objects, 2);
	close_world(&leaks);
}
