/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Leak kinds with heuristics, loss records and their evidence, against trying everything on random
 * heaps; and what becomes of verdicts when something is missing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "hawk_leaks.h"
#include "synthetic_graph.h"

enum { HEAPS = 3000, SITES = GRAPH_TRACES / 2, ALL_KINDS = (1u << HAWK_REACH_KINDS) - 1 };

static void expect_no_error(struct hawk_error *err)
{
	if (err)
		fail_msg("%s", hawk_error_message(err));
}

/** A world as a graph whose traces 2n and 2n + 1 are site n. */
struct leaks_world {
	struct graph_world *world;
	struct hawk_heap heap;
	struct hawk_site sites[SITES];
	uint32_t site_of_trace[GRAPH_TRACES];
	struct hawk_block_graph graph;
	struct hawk_explained explained;
	struct hawk_leaks leaks;
};

static void open_world(struct leaks_world *leaks, size_t cut_bytes, unsigned heuristics)
{
	struct graph_world *world = leaks->world;

	graph_world_open(world, 1, cut_bytes);
	for (unsigned i = 0; i < GRAPH_TRACES; i++)
		leaks->site_of_trace[i] = i / 2;
	for (unsigned i = 0; i < SITES; i++)
		leaks->sites[i].id = 1000 + i;
	leaks->heap = (struct hawk_heap){
		.sites = leaks->sites,
		.site_count = SITES,
		.site_of_trace = leaks->site_of_trace,
		.trace_count = GRAPH_TRACES,
		.lost_site = UINT32_MAX,
	};
	leaks->graph = (struct hawk_block_graph){
		.target = world->target,
		.heap = &leaks->heap,
		.findings = &world->findings,
		.index = world->index,
		.edges = world->graph,
		.roots = world->roots,
		.workspace = world->workspace,
		.parts = HAWK_PART_INDEX | HAWK_PART_EDGES | HAWK_PART_ROOTS,
	};
	expect_no_error(hawk_heuristics_find(world->target, &world->index, &world->graph,
					     &world->roots, heuristics, NULL, 1,
					     &leaks->explained));
}

static void make(struct leaks_world *leaks, unsigned kinds, const struct hawk_leak_filter *filter)
{
	expect_no_error(
		hawk_leaks_make(&leaks->graph, &leaks->explained, kinds, filter, &leaks->leaks));
}

static void close_world(struct leaks_world *leaks)
{
	hawk_leaks_deinit(&leaks->leaks);
	hawk_explained_deinit(&leaks->explained);
	graph_world_destroy(leaks->world);
}

static uint64_t word_of(const struct graph_world *world, uint32_t block, uint64_t offset)
{
	uint64_t value;

	memcpy(&value, world->heap->bytes + (world->blocks[block].start - SYNTHETIC_HEAP) + offset,
	       sizeof(value));
	return value;
}

/* A string of redis that fills the block, or is half a byte away from that. Returns where its
 * characters begin. */
static uint64_t add_sds(struct graph_world *world, uint32_t block, uint64_t length)
{
	uint64_t capacity = world->blocks[block].size - 4;

	if (capacity > 255)
		return 8;
	graph_world_write(world, block, 0, length | capacity << 8 | 1u << 16 | UINT64_MAX << 24);
	if (length)
		graph_world_write(world, block, 3, ~(UINT64_C(0xff) << 8 * length));
	return 3;
}

/* A list of two, whose nodes are in the middle of their blocks. Returns where a pointer leads that
 * holds one of them: to the node or behind it. */
static uint64_t add_list(struct graph_world *world, uint32_t block, uint32_t other, uint64_t behind)
{
	if (world->blocks[other].size < 40 || world->blocks[block].size < 40)
		return 16;
	graph_world_point(world, block, 16, other, 16);
	graph_world_point(world, block, 24, other, 16);
	graph_world_point(world, other, 16, block, 16);
	graph_world_point(world, other, 24, block, 16);
	return behind ? 32 : 16;
}

/* Some blocks become strings, sized buffers, arrays and elements of lists, with pointers into them.
 */
static void add_patterns(struct graph_world *world, uint64_t *seed)
{
	for (uint32_t i = 0; i < world->count; i++) {
		uint64_t size = world->blocks[i].size;
		uint32_t holder = (uint32_t)(synthetic_random(seed) % world->count);
		uint64_t inside = 8;

		if (size < 32)
			continue;
		switch (synthetic_random(seed) % 7) {
		case 0:
			graph_world_write(world, i, 0, synthetic_random(seed) % size);
			graph_world_write(world, i, 8, size - 25);
			inside = 24;
			break;
		case 1:
			graph_world_write(world, i, 0, size - 8);
			break;
		case 2:
			graph_world_write(world, i, 0, synthetic_random(seed) % 5);
			break;
		case 3:
			inside = add_sds(world, i, synthetic_random(seed) % 5);
			break;
		case 4:
			inside = add_list(world, i,
					  (uint32_t)(synthetic_random(seed) % world->count),
					  synthetic_random(seed) % 2);
			break;
		case 5:
			graph_world_point(world, i, 24, i, synthetic_random(seed) % 2 * 8);
			graph_world_write(world, i, 0, size - 8);
			inside = 24;
			break;
		default:
			continue;
		}
		if (world->blocks[holder].size >= 48 && holder != i)
			graph_world_point(world, holder, 40, i, inside);
		else if (synthetic_random(seed) % 2)
			world->globals[synthetic_random(seed) % GRAPH_GLOBAL_WORDS] =
				world->blocks[i].start + inside;
	}
}

/* Of a pointer behind a header: what the header of a string of redis, or of one with a length of 4
 * or 8 bytes, would have to be. The other layouts have magic numbers or sizes that no block has. */
static bool has_length_prefix(const struct graph_world *world, uint32_t block, uint64_t inside)
{
	const uint8_t *bytes = world->heap->bytes + (world->blocks[block].start - SYNTHETIC_HEAP);
	uint64_t size = world->blocks[block].size, length = 0, capacity = 0;
	unsigned type = inside == 3 ? 1 : inside == 5 ? 2 : inside == 9 ? 3 : 4;

	if (inside == 1) {
		length = bytes[0] / 8;
		return bytes[0] % 8 == 0 && length && size == length + 2 && !bytes[1 + length];
	}
	if (inside == 3 || inside == 5 || inside == 9 || inside == 17) {
		memcpy(&length, bytes, inside / 2);
		memcpy(&capacity, bytes + inside / 2, inside / 2);
		return bytes[inside - 1] == type && length <= capacity &&
		       capacity < 2 * size + 64 && capacity + inside + 1 >= size &&
		       capacity + inside + 1 - size <= 16 + (size + 16) / 4 &&
		       !bytes[inside + length];
	}
	if (inside % 8 == 0 && inside <= 32 && bytes[inside - 1] == inside && size % 8 == 0 &&
	    size >= inside + 8 && (size - inside) / 8 + 2 <= inside &&
	    (size - inside) / 8 + 2 > inside - 8) {
		bool values = bytes[inside - 2] <= (size - inside) / 8;

		for (unsigned i = 0; values && i < bytes[inside - 2]; i++)
			values = bytes[inside - 3 - i] < (size - inside) / 8;
		if (values)
			return true;
	}
	if (inside != 4 && inside != 8)
		return false;
	memcpy(&length, bytes, inside);
	for (uint64_t zeros = 1; zeros <= 4; zeros *= 2)
		if (length < size && inside + length + zeros == size && length % zeros == 0 &&
		    !memcmp(bytes + inside + length, "\0\0\0\0", zeros))
			return true;
	memcpy(&capacity, bytes + 4, 4);
	length &= UINT32_MAX;
	return inside == 8 && 8 + length + capacity + 1 == size && !bytes[8 + length];
}

/* The word at any address of the target; 0 = it is not there. */
static uint64_t word_at(const struct graph_world *world, uint64_t address)
{
	uint64_t value = 0;

	if (address >= SYNTHETIC_HEAP && address <= SYNTHETIC_HEAP + GRAPH_HEAP_BYTES - 8)
		memcpy(&value, world->heap->bytes + (address - SYNTHETIC_HEAP), 8);
	else if (address >= GRAPH_GLOBALS && address <= GRAPH_GLOBALS + sizeof(world->globals) - 8)
		memcpy(&value, (const char *)world->globals + (address - GRAPH_GLOBALS), 8);
	else if (address >= GRAPH_STACK && address <= GRAPH_STACK + GRAPH_STACK_BYTES - 8)
		memcpy(&value, (const char *)world->stack + (address - GRAPH_STACK), 8);
	return value;
}

static bool is_in_list(const struct graph_world *world, uint64_t node)
{
	uint64_t next = word_at(world, node) / 4 * 4;
	uint64_t before = word_at(world, node + 8) / 4 * 4;

	return node % 8 == 0 && next && before && next != node &&
	       word_at(world, next + 8) / 4 * 4 == node && word_at(world, before) / 4 * 4 == node;
}

/* Lists, and words that lead to the start. */
static bool leads_back(const struct graph_world *world, uint32_t block, uint64_t inside,
		       unsigned heuristics)
{
	uint64_t start = world->blocks[block].start, size = world->blocks[block].size;
	uint64_t word = inside % 8 ? 0 : word_at(world, start + inside);

	if (heuristics & HAWK_HEURISTIC_BACKPOINTER && inside + 8 <= size &&
	    (word == start || (word == start + 8 && word_of(world, block, 0) == size - 8)))
		return true;
	return heuristics & HAWK_HEURISTIC_LISTNODE &&
	       ((inside + 16 <= size && is_in_list(world, start + inside)) ||
		(inside >= 16 && is_in_list(world, start + inside - 16)));
}

/* What the rules of Valgrind's manual say of a pointer `inside` bytes into `block`. */
static bool is_explained(const struct graph_world *world, uint32_t block, uint64_t inside,
			 unsigned heuristics)
{
	uint64_t size = world->blocks[block].size;

	if (heuristics & HAWK_HEURISTIC_LENGTHPREFIX && inside && inside < size &&
	    has_length_prefix(world, block, inside))
		return true;
	if (inside && inside < size && leads_back(world, block, inside, heuristics))
		return true;
	if (heuristics & HAWK_HEURISTIC_STDSTRING && inside == 24 && size >= 25 &&
	    word_of(world, block, 8) + 25 == size && word_of(world, block, 0) <= size - 25)
		return true;
	if (inside != 8 || size < 9 || !word_of(world, block, 0))
		return false;
	if (heuristics & HAWK_HEURISTIC_LENGTH64 && word_of(world, block, 0) == size - 8)
		return true;
	return heuristics & HAWK_HEURISTIC_NEWARRAY && (size - 8) % word_of(world, block, 0) == 0;
}

/** As graph_oracle, with explained pointers among the start pointers. Sets of blocks are bits. */
struct oracle {
	struct graph_oracle plain;
	uint64_t strong[GRAPH_BLOCKS_MAX];
	uint64_t strong_roots;
	uint8_t kinds[GRAPH_BLOCKS_MAX];
};

static void add_strong(const struct graph_world *world, unsigned heuristics, uint64_t value,
		       uint64_t *set)
{
	uint32_t edge = graph_oracle_edge(world->blocks, world->count, value);

	if (edge != HAWK_BLOCK_NOWHERE && edge & 1 &&
	    is_explained(world, edge >> 1, value - world->blocks[edge >> 1].start, heuristics))
		*set |= UINT64_C(1) << (edge >> 1);
}

static uint64_t closure(const uint64_t *next, uint32_t count, uint64_t set)
{
	for (uint64_t before = 0; set != before;) {
		before = set;
		for (uint32_t i = 0; i < count; i++)
			if (set >> i & 1)
				set |= next[i];
	}
	return set;
}

static void make_oracle(const struct graph_world *world, unsigned heuristics, struct oracle *ret)
{
	unsigned live = (GRAPH_STACK_BYTES / 2 - 128) / 8;
	uint64_t reachable;

	graph_oracle_make(world, &ret->plain);
	memcpy(ret->strong, ret->plain.start, sizeof(ret->strong));
	ret->strong_roots = ret->plain.start_roots;
	for (uint32_t i = 0; i < world->count; i++)
		for (uint64_t at = 0; at + 8 <= world->blocks[i].size; at += 8)
			add_strong(world, heuristics, word_of(world, i, at), &ret->strong[i]);
	for (unsigned i = 0; i < GRAPH_GLOBAL_WORDS; i++)
		add_strong(world, heuristics, world->globals[i], &ret->strong_roots);
	for (unsigned i = live; i < GRAPH_STACK_BYTES / 8; i++)
		add_strong(world, heuristics, world->stack[i], &ret->strong_roots);
	add_strong(world, heuristics, world->registers[HAWK_R12], &ret->strong_roots);
	reachable = closure(ret->strong, world->count, ret->strong_roots);
	/* What is lost does not depend on what kind of pointer leads there. */
	for (uint32_t i = 0; i < world->count; i++) {
		ret->kinds[i] = ret->plain.kinds[HAWK_EDGES_ALL][i];
		if (reachable >> i & 1)
			ret->kinds[i] = HAWK_REACH_REACHABLE;
	}
}

static const struct hawk_leak_record *record_of(const struct leaks_world *leaks, uint32_t site,
						uint8_t kind)
{
	for (size_t i = 0; i < leaks->leaks.count; i++)
		if (leaks->leaks.records[i].site == site && leaks->leaks.records[i].kind == kind)
			return &leaks->leaks.records[i];
	return NULL;
}

/* Sums of a site and kind, and every pointer to its blocks from other blocks. */
static void expect_record(const struct leaks_world *leaks, const struct oracle *oracle,
			  uint32_t site, uint8_t kind)
{
	const struct graph_world *world = leaks->world;
	const struct hawk_leak_record *record = record_of(leaks, site, kind);
	struct hawk_leak_pointers pointers[HAWK_REACH_KINDS] = {0};
	uint64_t objects = 0, bytes = 0, sources = 0;

	for (uint32_t i = 0; i < world->count; i++)
		if (world->blocks[i].trace / 2 == site && oracle->kinds[i] == kind) {
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
	for (uint32_t i = 0; i < world->count; i++) {
		bool any = false;

		for (uint64_t at = 0; at + 8 <= world->blocks[i].size; at += 8) {
			uint32_t edge = graph_oracle_edge(world->blocks, world->count,
							  word_of(world, i, at));

			if (edge == HAWK_BLOCK_NOWHERE || edge >> 1 == i ||
			    world->blocks[edge >> 1].trace / 2 != site ||
			    oracle->kinds[edge >> 1] != kind)
				continue;
			any = true;
			if (edge & 1)
				pointers[oracle->kinds[i]].interior++;
			else
				pointers[oracle->kinds[i]].start++;
		}
		sources += any;
	}
	assert_int_equal(record->source_blocks, sources);
	assert_memory_equal(&record->pointers[HAWK_LEAK_FROM_BLOCKS], pointers, sizeof(pointers));
	assert_true(record->pointed_objects <= objects);
	assert_int_equal(world->blocks[record->example].trace / 2, site);
	assert_int_equal(oracle->kinds[record->example], kind);
}

static void random_heaps_have_the_leak_kinds_of_their_bytes(void **state)
{
	uint64_t seed = 4242;
	uint64_t explained[HAWK_HEURISTIC_COUNT] = {0};

	(void)state;
	for (unsigned i = 0; i < HEAPS; i++) {
		unsigned heuristics = (unsigned)synthetic_random(&seed) & HAWK_HEURISTICS_ALL;
		struct leaks_world leaks = {.world = graph_world_create()};
		struct oracle oracle;
		uint64_t indirect = 0;

		/* The worlds have no virtual tables. */
		heuristics &= ~(unsigned)HAWK_HEURISTIC_MULTIPLEINHERITANCE;
		graph_world_fill(leaks.world, &seed);
		add_patterns(leaks.world, &seed);
		open_world(&leaks, SIZE_MAX, heuristics);
		make(&leaks, ALL_KINDS, NULL);
		make_oracle(leaks.world, heuristics, &oracle);
		assert_false(leaks.leaks.downgraded);
		for (uint32_t block = 0; block < leaks.world->count; block++)
			assert_int_equal(leaks.leaks.reach.kinds[block], oracle.kinds[block]);
		for (uint32_t site = 0; site < SITES; site++)
			for (uint8_t kind = 1; kind < HAWK_REACH_KINDS; kind++)
				expect_record(&leaks, &oracle, site, kind);
		for (size_t j = 0; j < leaks.leaks.count; j++)
			indirect += leaks.leaks.records[j].indirect_objects;
		assert_int_equal(indirect, leaks.leaks.sums[HAWK_REACH_INDIRECTLY_LOST].objects);
		for (unsigned j = 0; j < HAWK_HEURISTIC_COUNT; j++) {
			explained[j] += leaks.leaks.heuristics[j];
			assert_true(heuristics >> j & 1 || !leaks.leaks.heuristics[j]);
		}
		close_world(&leaks);
	}
	for (unsigned j = 0; j < HAWK_HEURISTIC_COUNT; j++)
		assert_true(1u << j == HAWK_HEURISTIC_MULTIPLEINHERITANCE ||
			    explained[j] > HEAPS / 4);
}

/* A lost pool that points to an item and into itself before and behind each of its objects, which
 * point to the item as well, and are of the pool's site. */
static void a_lost_pool_is_one_source_of_evidence(void **state)
{
	struct leaks_world leaks = {.world = graph_world_create()};
	struct graph_world *world = leaks.world;
	uint32_t item = graph_world_add(world, 24, 0, 4);
	uint32_t pool = graph_world_add(world, 512, 0, 1);
	bool item_seen = false;

	(void)state;
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
			/* By its three objects; its own pointers are none of evidence. */
			assert_true(record->source_blocks <= 3);
		}
	}
	assert_true(item_seen);
	close_world(&leaks);
}

/* With the padding behind its objects, as wherever else its bytes are counted. */
static void what_is_left_of_a_pool_is_lost_with_its_leader(void **state)
{
	struct leaks_world leaks = {.world = graph_world_create()};
	struct graph_world *world = leaks.world;
	uint32_t leader = graph_world_add(world, 24, 0, 4);
	uint32_t pool = graph_world_add(world, 512, 0, 1);
	bool leader_seen = false;

	(void)state;
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

static void kinds_that_nobody_asked_for_have_sums_and_no_records(void **state)
{
	uint64_t seed = 5;

	(void)state;
	for (unsigned i = 0; i < 200; i++) {
		struct leaks_world leaks = {.world = graph_world_create()};
		struct oracle oracle;
		uint64_t sums[HAWK_REACH_KINDS] = {0};

		graph_world_fill(leaks.world, &seed);
		open_world(&leaks, SIZE_MAX, 0);
		make(&leaks, 1u << HAWK_REACH_DEFINITELY_LOST, NULL);
		make_oracle(leaks.world, 0, &oracle);
		for (uint32_t block = 0; block < leaks.world->count; block++)
			sums[oracle.kinds[block]]++;
		for (unsigned kind = 1; kind < HAWK_REACH_KINDS; kind++)
			assert_int_equal(leaks.leaks.sums[kind].objects, sums[kind]);
		for (size_t j = 0; j < leaks.leaks.count; j++)
			assert_int_equal(leaks.leaks.records[j].kind, HAWK_REACH_DEFINITELY_LOST);
		close_world(&leaks);
	}
}

static struct hawk_error *wants_large(const void *context, const struct hawk_block *block,
				      bool *ret)
{
	*ret = block->size >= *(const uint64_t *)context;
	return NULL;
}

static void only_wanted_blocks_count(void **state)
{
	uint64_t large = 100;
	struct hawk_leak_filter filter = {wants_large, &large};
	uint64_t seed = 6;

	(void)state;
	for (unsigned i = 0; i < 200; i++) {
		struct leaks_world leaks = {.world = graph_world_create()};
		uint64_t objects = 0, wanted = 0;

		graph_world_fill(leaks.world, &seed);
		open_world(&leaks, SIZE_MAX, HAWK_HEURISTICS_ALL);
		make(&leaks, ALL_KINDS, &filter);
		for (uint32_t block = 0; block < leaks.world->count; block++)
			wanted += leaks.world->blocks[block].size >= large;
		for (size_t j = 0; j < leaks.leaks.count; j++) {
			assert_true(leaks.world->blocks[leaks.leaks.records[j].example].size >=
				    large);
			objects += leaks.leaks.records[j].objects;
		}
		assert_int_equal(objects, wanted);
		close_world(&leaks);
	}
}

/* Two rings that one pointer joins: only the first has a leader. */
static void a_ring_that_another_leads_to_is_lost_indirectly(void **state)
{
	struct leaks_world leaks = {.world = graph_world_create()};
	const struct hawk_leak_record *record;

	(void)state;
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

static void nothing_is_called_lost_where_memory_is_missing(void **state)
{
	uint64_t seed = 99;
	unsigned downgraded = 0;

	(void)state;
	for (unsigned i = 0; i < 160; i++) {
		struct leaks_world leaks = {.world = graph_world_create()};
		size_t cut;

		graph_world_fill(leaks.world, &seed);
		cut = (GRAPH_HEAP_BYTES + GRAPH_STACK_BYTES) * (size_t)(i % 16 + 1) / 17 + 1024;
		open_world(&leaks, cut, HAWK_HEURISTICS_ALL);
		make(&leaks, ALL_KINDS, NULL);
		assert_int_equal(leaks.leaks.downgraded, !hawk_roots_complete(&leaks.world->roots));
		if (leaks.leaks.downgraded) {
			assert_int_equal(leaks.leaks.sums[HAWK_REACH_DEFINITELY_LOST].objects, 0);
			assert_int_equal(leaks.leaks.sums[HAWK_REACH_INDIRECTLY_LOST].objects, 0);
			assert_true(leaks.leaks.downgrade.objects <=
				    leaks.leaks.sums[HAWK_REACH_POSSIBLY].objects);
			downgraded += leaks.leaks.downgrade.objects > 0;
		}
		close_world(&leaks);
	}
	assert_true(downgraded > 20);
}

static void nothing_is_called_lost_where_blocks_were_taken_back_unnoticed(void **state)
{
	struct leaks_world leaks = {.world = graph_world_create()};

	(void)state;
	graph_world_add(leaks.world, 32, 0, 0);
	graph_world_add(leaks.world, 32, 0, 0);
	graph_world_point(leaks.world, 0, 0, 1, 0);
	open_world(&leaks, SIZE_MAX, 0);
	assert_int_equal(hawk_leaks_doubt(&leaks.graph), HAWK_LEAKS_NO_DOUBT);
	leaks.heap.discarded_heaps = 1;
	assert_int_equal(hawk_leaks_doubt(&leaks.graph), HAWK_LEAKS_HEAPS_DISCARDED);
	make(&leaks, ALL_KINDS, NULL);
	assert_true(leaks.leaks.downgraded);
	assert_int_equal(leaks.leaks.downgrade.objects, 2);
	assert_int_equal(leaks.leaks.sums[HAWK_REACH_POSSIBLY].objects, 2);
	assert_int_equal(leaks.leaks.sums[HAWK_REACH_DEFINITELY_LOST].objects, 0);
	assert_int_equal(leaks.leaks.sums[HAWK_REACH_INDIRECTLY_LOST].objects, 0);
	close_world(&leaks);
}

static void nothing_is_called_lost_where_headers_were_overwritten(void **state)
{
	struct leaks_world leaks = {.world = graph_world_create()};

	(void)state;
	graph_world_add(leaks.world, 32, 0, 0);
	graph_world_add(leaks.world, 32, 0, 0);
	open_world(&leaks, SIZE_MAX, 0);
	leaks.heap.plan.blocks_missing = true;
	assert_int_equal(hawk_leaks_doubt(&leaks.graph), HAWK_LEAKS_OVERWRITTEN);
	make(&leaks, ALL_KINDS, NULL);
	assert_int_equal(leaks.leaks.downgrade.objects, 2);
	assert_int_equal(leaks.leaks.sums[HAWK_REACH_DEFINITELY_LOST].objects, 0);
	close_world(&leaks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_heaps_have_the_leak_kinds_of_their_bytes),
		cmocka_unit_test(a_lost_pool_is_one_source_of_evidence),
		cmocka_unit_test(what_is_left_of_a_pool_is_lost_with_its_leader),
		cmocka_unit_test(kinds_that_nobody_asked_for_have_sums_and_no_records),
		cmocka_unit_test(only_wanted_blocks_count),
		cmocka_unit_test(a_ring_that_another_leads_to_is_lost_indirectly),
		cmocka_unit_test(nothing_is_called_lost_where_memory_is_missing),
		cmocka_unit_test(nothing_is_called_lost_where_blocks_were_taken_back_unnoticed),
		cmocka_unit_test(nothing_is_called_lost_where_headers_were_overwritten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
