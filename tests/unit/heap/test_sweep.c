/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The sweep over synthetic heaps: blocks found, headers set aside, pieces of pools, independence of
 * windows and mappings; the block at an address.
 */
#include "test.h"
#include "hawk/heap/heap.h"
#include "sweep_world.h"

SWEEP_TEST(sweep_finds_every_block_in_order)
{
	sweep_world_add(world, 16, 0, 3);
	sweep_world_add(world, 48, 75, 4);
	sweep_world_add(world, SWEEP_HEAP_BYTES - 16, 16, 5);
	sweep_world_sweep(world);
	assert_int_equal(world->count, 3);
	assert_int_equal(sweep_world_offset(world, 0), 16);
	assert_int_equal(world->blocks[0].size, 0);
	assert_int_equal(sweep_world_offset(world, 1), 48);
	assert_int_equal(world->blocks[1].size, 75);
	assert_int_equal(world->blocks[1].trace, 1);
	assert_int_equal(world->blocks[1].birth, 4);
	assert_int_equal(world->blocks[1].kind, HAWK_KIND_MALLOC);
	assert_int_equal(sweep_world_offset(world, 2), SWEEP_HEAP_BYTES - 16);
	assert_int_equal(world->result.sums.bytes, 91);
	assert_int_equal(world->result.sums.header_bytes, 48);
	assert_int_equal(world->damages.counts[HAWK_DAMAGE_OVERLAP], 0);
	assert_int_equal(world->result.sums.clipped, 0);
	assert_false(finding_of(&world->findings, "block-overlap"));
	assert_false(finding_of(&world->findings, "block-implausible"));
	assert_false(finding_of(&world->findings, "block-clipped"));
}

SWEEP_TEST(a_header_copied_elsewhere_is_not_a_block)
{
	sweep_world_add(world, 64, 32, 3);
	memcpy(world->heap->bytes + 1024, world->heap->bytes + 48, 48);
	memcpy(world->heap->bytes + 4096 + 48, world->heap->bytes + 48, 48);
	sweep_world_sweep(world);
	assert_int_equal(world->count, 1);
	assert_int_equal(sweep_world_offset(world, 0), 64);
}

SWEEP_TEST(a_header_sealed_with_another_key_is_not_a_block)
{
	sweep_world_add(world, 64, 32, 3);
	world->plan.key.k[1] ^= 1;
	sweep_world_sweep(world);
	assert_int_equal(world->count, 0);
}

SWEEP_TEST(a_dead_header_is_counted_and_no_block)
{
	sweep_world_add(world, 64, 32, 3);
	sweep_world_add(world, 128, 32, 3);
	synthetic_heap_kill_block(world->heap, SYNTHETIC_HEAP + 64);
	sweep_world_sweep(world);
	assert_int_equal(world->count, 1);
	assert_int_equal(sweep_world_offset(world, 0), 128);
	assert_int_equal(world->result.dead, 1);
}

/** Blocks at SYNTHETIC_HEAP + `offset`, and whether a sweep keeps them. */
struct overlap {
	struct {
		uint64_t offset, size;
		uint8_t birth;
		bool piece; /**< of a pool */
		bool kept;
	} blocks[6]; /**< up to the one at 0 */
};

static void expect_kept(struct sweep_world *world, const struct overlap *overlap)
{
	size_t kept = 0, all = 0;

	memset(world->heap->bytes, 0, SWEEP_HEAP_BYTES);
	for (; all < 6 && overlap->blocks[all].offset; all++)
		(overlap->blocks[all].piece ? sweep_world_add_piece : sweep_world_add)(
			world, overlap->blocks[all].offset, overlap->blocks[all].size,
			overlap->blocks[all].birth);
	sweep_world_sweep(world);
	for (size_t i = 0; i < all; i++)
		if (overlap->blocks[i].kept)
			assert_int_equal(sweep_world_offset(world, kept++),
					 overlap->blocks[i].offset);
	assert_int_equal(world->count, kept);
	assert_int_equal(world->damages.counts[HAWK_DAMAGE_OVERLAP], all - kept);
}

SWEEP_TEST(of_blocks_that_overlap_the_younger_are_kept)
{
	static const struct overlap cases[] = {
		/* Equally old: the inner one. */
		{{{64, 256, 7, 0, 0}, {128, 32, 7, 0, 1}}},
		/* 64 is older than 128, which is older than 192: what lay under a block that is
		 * itself gone was gone before it. 64 and 192 do not overlap. */
		{{{64, 80, 3, 0, 0}, {128, 100, 5, 0, 0}, {192, 64, 9, 0, 1}}},
		/* The block at 64 was set aside by 128 and still proves that 1024 is stale. */
		{{{64, 4096, 5, 0, 0},
		  {128, 32, 6, 0, 1},
		  {1024, 32, 4, 0, 0},
		  {2048, 32, 5, 0, 1}}},
		/* Pieces that are older than their block; one reaches out of it as well. */
		{{{64, 4096, 5, 0, 1},
		  {128, 40, 4, 1, 0},
		  {256, 40, 5, 1, 1},
		  {64 + 4096 - 32, 64, 4, 1, 0}}},
		/* A younger piece that leaves its block is none of it. */
		{{{64, 256, 5, 0, 0}, {256, 128, 6, 1, 1}}},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		expect_kept(world, &cases[i]);
}

SWEEP_TEST(a_hundred_headers_inside_a_block_are_kept_if_they_are_younger)
{
	for (uint8_t birth = 8; birth <= 10; birth += 2) {
		memset(world->heap->bytes, 0, SWEEP_HEAP_BYTES);
		sweep_world_add(world, 64, 8192, 9);
		for (unsigned i = 0; i < 100; i++)
			sweep_world_add(world, 128 + 64 * i, 32, birth);
		sweep_world_add(world, 64 + 8192 + 16, 8, 2);
		sweep_world_sweep(world);
		assert_int_equal(world->count, birth < 9 ? 2 : 101);
		assert_int_equal(sweep_world_offset(world, 0), birth < 9 ? 64 : 128);
		assert_int_equal(world->damages.counts[HAWK_DAMAGE_OVERLAP], birth < 9 ? 100 : 1);
		assert_true(finding_of(&world->findings, "block-overlap"));
	}
}

SWEEP_TEST(a_seal_over_nonsense_is_counted_as_implausible)
{
	const struct synthetic_block nonsense[] = {
		{.start = SYNTHETIC_HEAP + 64, .size = 16, .trace = 8},
		{.start = SYNTHETIC_HEAP + 128, .size = 16, .trace = 1, .birth = 201},
		{.start = SYNTHETIC_HEAP + 192, .size = SWEEP_HEAP_BYTES, .trace = 1},
		{.start = SYNTHETIC_HEAP + 256, .size = HAWK_SIZE_MAX, .trace = 1},
		{.start = SYNTHETIC_HEAP + 320, .size = 16, .trace = 1, .offset_log2 = 60},
	};

	for (size_t i = 0; i < COUNT_OF(nonsense); i++)
		synthetic_heap_add_block(world->heap, nonsense[i]);
	sweep_world_sweep(world);
	assert_int_equal(world->count, 0);
	assert_int_equal(world->damages.counts[HAWK_DAMAGE_HEADER], 5);
	assert_true(finding_of(&world->findings, "block-implausible"));
}

SWEEP_TEST(the_largest_size_that_fits_is_plausible)
{
	sweep_world_add(world, 64, SWEEP_HEAP_BYTES - 64, 3);
	sweep_world_sweep(world);
	assert_int_equal(world->count, 1);
	sweep_world_add(world, 64, SWEEP_HEAP_BYTES - 63, 3);
	sweep_world_sweep(world);
	assert_int_equal(world->count, 0);
	assert_int_equal(world->damages.counts[HAWK_DAMAGE_HEADER], 1);
}

SWEEP_TEST(alignment_padding_counts_as_header_bytes)
{
	const struct synthetic_block aligned[] = {
		{.start = SYNTHETIC_HEAP + 4096, .size = 16, .offset_log2 = 12},
		{.start = SYNTHETIC_HEAP + 65536, .size = 16, .offset_log2 = 20},
	};

	for (size_t i = 0; i < 2; i++)
		synthetic_heap_add_block(world->heap, aligned[i]);
	sweep_world_sweep(world);
	assert_int_equal(world->count, 2);
	assert_int_equal(world->blocks[0].offset_code, 8);
	assert_int_equal(world->blocks[1].offset_code, HAWK_OFFSET_LARGE);
	assert_int_equal(world->result.sums.header_bytes, 4096 + (1 << 20));
}

SWEEP_TEST(excluded_spans_are_not_swept)
{
	struct hawk_span excluded[] = {
		{SYNTHETIC_HEAP + 4096, SYNTHETIC_HEAP + 8192},
		{SYNTHETIC_HEAP + 8192, SYNTHETIC_HEAP + 12288},
		{SYNTHETIC_HEAP + SWEEP_HEAP_BYTES - 4096,
		 SYNTHETIC_HEAP + SWEEP_HEAP_BYTES + 4096},
	};
	uint64_t all;

	sweep_world_add(world, 64, 8, 1);
	sweep_world_add(world, 4096 + 16, 8, 1);
	sweep_world_add(world, 12288 - 16, 8, 1);
	sweep_world_add(world, 12288 + 16, 8, 1);
	sweep_world_add(world, SWEEP_HEAP_BYTES - 16, 8, 1);
	sweep_world_sweep(world);
	assert_int_equal(world->count, 5);
	all = world->result.swept_bytes;
	world->plan.excluded = excluded;
	world->plan.excluded_count = 3;
	sweep_world_sweep_again(world);
	assert_int_equal(world->count, 2);
	assert_int_equal(sweep_world_offset(world, 1), 12288 + 16);
	assert_int_equal(world->result.swept_bytes, all - 8192 - 4096);
}

static void expect_same(const struct sweep_world *world, const struct hawk_block *blocks,
			size_t count, const struct hawk_sweep_result *result,
			const struct hawk_damages *damages)
{
	assert_int_equal(world->count, count);
	assert_memory_equal(world->blocks, blocks, count * sizeof(*blocks));
	assert_int_equal(world->damages.counts[HAWK_DAMAGE_OVERLAP],
			 damages->counts[HAWK_DAMAGE_OVERLAP]);
	assert_int_equal(world->damages.counts[HAWK_DAMAGE_HEADER],
			 damages->counts[HAWK_DAMAGE_HEADER]);
	assert_int_equal(world->result.sums.bytes, result->sums.bytes);
}

SWEEP_TEST(the_result_depends_neither_on_windows_nor_on_mappings)
{
	struct hawk_block *blocks = calloc(SWEEP_BLOCKS_MAX, sizeof(*blocks));
	struct hawk_sweep_result result;
	struct hawk_damages damages;

	sweep_world_fill(world, 1);
	sweep_world_sweep(world);
	memcpy(blocks, world->blocks, sizeof(world->blocks));
	result = world->result;
	damages = world->damages;
	world->damages = (struct hawk_damages){0};
	assert_true(world->count > 500 && damages.counts[HAWK_DAMAGE_OVERLAP] > 100);
	for (size_t window = 1; window <= SWEEP_HEAP_BYTES; window *= 7) {
		size_t count = world->count;

		world->plan.window_bytes = window;
		sweep_world_sweep_again(world);
		expect_same(world, blocks, count, &result, &damages);
	}
	for (uint64_t seed = 0; seed < 20; seed++) {
		size_t count = world->count;

		world->plan.window_bytes = 0;
		sweep_world_open(world, sweep_world_cut(world, seed));
		sweep_world_sweep_again(world);
		expect_same(world, blocks, count, &result, &damages);
	}
	hawk_damages_deinit(&damages);
	free(blocks);
}

/* By the definition: a header is set aside if any other that overlaps it is younger. */
static size_t sweep_by_definition(const struct hawk_block *all, size_t count, bool *kept)
{
	size_t kept_count = 0;

	for (size_t i = 0; i < count; i++) {
		kept[i] = true;
		for (size_t j = 0; j < count; j++) {
			const struct hawk_block *first = i < j ? &all[i] : &all[j];
			const struct hawk_block *second = i < j ? &all[j] : &all[i];

			if (i == j || second->start - 16 >= first->start + first->size)
				continue;
			if (all[j].birth > all[i].birth || (all[j].birth == all[i].birth && j > i))
				kept[i] = false;
		}
		kept_count += kept[i];
	}
	return kept_count;
}

SWEEP_TEST(overlaps_are_resolved_as_defined)
{
	struct hawk_block all[64];
	bool kept[64];

	for (uint64_t seed = 1; seed < 300; seed++) {
		uint64_t random = seed;
		size_t count = 0;
		size_t at = 0;

		memset(world->heap->bytes, 0, SWEEP_HEAP_BYTES);
		for (uint64_t place = 16; count < 64; count++) {
			uint64_t r = synthetic_random(&random);

			all[count] =
				(struct hawk_block){.start = SYNTHETIC_HEAP + place,
						    .size = (r & 7) ? r >> 8 & 63 : r >> 8 & 1023,
						    .birth = r >> 32 & 3};
			sweep_world_add(world, place, all[count].size, all[count].birth);
			place += 16 * (1 + (r >> 40 & 3));
		}
		sweep_world_sweep(world);
		assert_int_equal(world->count, sweep_by_definition(all, count, kept));
		assert_int_equal(world->damages.counts[HAWK_DAMAGE_OVERLAP], count - world->count);
		for (size_t i = 0; i < count; i++)
			if (kept[i])
				assert_int_equal(world->blocks[at++].start, all[i].start);
	}
}

SWEEP_TEST(a_block_may_lie_across_mappings)
{
	struct synthetic_core *core = synthetic_core_create();
	const uint64_t half = SWEEP_HEAP_BYTES / 2;

	sweep_world_add(world, half - 64, 4096, 1);
	synthetic_core_add_thread(core, 1, 6, NULL);
	synthetic_core_add_memory(core, SYNTHETIC_HEAP, world->heap->bytes, half);
	synthetic_core_add_segment(core, (struct synthetic_segment){
						 .address = SYNTHETIC_HEAP + half,
						 .bytes = world->heap->bytes + half,
						 .dumped_bytes = half,
						 .flags = SYNTHETIC_READ, /* mprotect()ed */
					 });
	sweep_world_open(world, core);
	sweep_world_sweep_again(world);
	assert_int_equal(world->count, 1);
	assert_int_equal(world->blocks[0].size, 4096);
	assert_int_equal(world->result.sums.clipped, 0);
}

SWEEP_TEST(a_block_whose_end_was_cut_off_is_found_and_counted)
{
	struct synthetic_core *core = synthetic_core_create();

	sweep_world_add(world, 4096 - 64, 8192, 1);
	sweep_world_add(world, 64, 64, 1);
	synthetic_core_add_thread(core, 1, 6, NULL);
	synthetic_core_add_segment(core, (struct synthetic_segment){
						 .address = SYNTHETIC_HEAP,
						 .bytes = world->heap->bytes,
						 .dumped_bytes = 8192,
						 .memory_bytes = SWEEP_HEAP_BYTES,
						 .flags = SYNTHETIC_READ | SYNTHETIC_WRITE,
					 });
	sweep_world_open(world, core);
	sweep_world_sweep_again(world);
	assert_int_equal(world->count, 2);
	assert_int_equal(world->result.sums.clipped, 1);
}

SWEEP_TEST(random_memory_holds_no_blocks)
{
	const size_t bytes = 256 << 20;
	struct synthetic_core *core = synthetic_core_create();
	uint64_t *words = malloc(bytes);
	uint64_t seed = 42;

	for (size_t i = 0; i < bytes / 8; i++)
		words[i] = synthetic_random(&seed);
	synthetic_core_add_thread(core, 1, 6, NULL);
	synthetic_core_add_memory(core, SYNTHETIC_HEAP, words, bytes);
	free(words);
	sweep_world_open(world, core);
	world->plan.trace_count = 1 << 20;
	sweep_world_sweep_again(world);
	assert_int_equal(world->count, 0);
	assert_true(world->result.swept_bytes >= bytes);
}

SWEEP_TEST(a_sweep_can_end_early)
{
	const struct hawk_block *blocks;
	struct hawk_sweep *sweep;
	size_t count;

	for (uint64_t at = 16; at + 16 < SWEEP_HEAP_BYTES; at += 32)
		sweep_world_add(world, at, 16, 1);
	sweep_world_open(world, synthetic_heap_core(world->heap));
	world->plan.window_bytes = 4096;
	for (unsigned threads = 1; threads < 4; threads++) {
		check(hawk_sweep_begin(world->target, &world->plan, threads, &world->damages,
				       &sweep));
		check(hawk_sweep_next(sweep, &blocks, &count));
		assert_true(count);
		hawk_sweep_end(sweep);
	}
}

SWEEP_TEST(pieces_of_a_pool_lie_in_their_block_and_are_counted_once)
{
	sweep_world_add(world, 64, 4096, 5);
	sweep_world_add_piece(world, 64 + 16, 40, 5);
	sweep_world_add_piece(world, 256, 1000, 6);
	sweep_world_add_piece(world, 256 + 32, 100, 7); /* pools in pools */
	sweep_world_add_piece(world, 64 + 4096, 0, 9);  /* up to the last byte */
	sweep_world_add(world, 8192, 10, 5);
	sweep_world_sweep(world);
	assert_int_equal(world->count, 6);
	assert_int_equal(world->blocks[0].depth, 0);
	assert_int_equal(world->blocks[1].depth, 1);
	assert_int_equal(world->blocks[3].depth, 2);
	assert_int_equal(world->blocks[4].depth, 1);
	assert_int_equal(world->blocks[5].depth, 0);
	assert_int_equal(world->result.sums.bytes, 4096 + 10 - 4 * 16);
	assert_int_equal(world->result.sums.header_bytes, 6 * 16);
	assert_int_equal(world->result.sums.carved_objects, 4);
	assert_int_equal(world->result.sums.carved_bytes, 40 + 1000 + 100 + 4 * 16);
	assert_int_equal(world->damages.counts[HAWK_DAMAGE_OVERLAP], 0);
}

SWEEP_TEST(pieces_in_memory_that_is_no_block_are_blocks)
{
	for (unsigned i = 0; i < 50; i++)
		sweep_world_add_piece(world, 16 + 64 * i, 48, (uint8_t)(i % 7));
	sweep_world_sweep(world);
	assert_int_equal(world->count, 50);
	assert_int_equal(world->result.sums.bytes, 50 * 48);
	assert_int_equal(world->result.sums.carved_bytes, 0);
}

/** A pool's pieces at random in [start, end), and pieces in those; older headers in between. */
static void carve_at_random(struct sweep_world *world, uint64_t start, uint64_t end, uint8_t birth,
			    unsigned depth, uint64_t *random, struct hawk_block *live,
			    size_t *count)
{
	for (uint64_t at = start; at + 64 < end && *count < 2000;) {
		uint64_t r = synthetic_random(random);
		uint64_t size = (r & 3) ? r >> 8 & 127 : r >> 8 & 2047;
		uint8_t born = (uint8_t)(birth + (r >> 24 & 3));

		if ((r >> 32 & 7) == 0) {
			sweep_world_add_piece(world, at + 16, size, (uint8_t)(r >> 40 & 7));
			at += 16 * (1 + (r >> 48 & 3));
			continue;
		}
		if (at + 16 + size > end)
			break;
		sweep_world_add_piece(world, at + 16, size, born);
		live[(*count)++] = (struct hawk_block){
			.start = SYNTHETIC_HEAP + at + 16, .size = size, .depth = (uint8_t)depth};
		if (depth < 6 && (r >> 50 & 1))
			carve_at_random(world, at + 16, at + 16 + size, born, depth + 1, random,
					live, count);
		at += 16 + (size + 15) / 16 * 16 + 16 * (r >> 56 & 1);
	}
}

SWEEP_TEST(random_pools_are_found_piece_by_piece)
{
	struct hawk_block *live = calloc(2000, sizeof(*live));

	for (uint64_t seed = 1; seed < 40; seed++) {
		uint64_t random = seed;
		size_t count = 0;

		memset(world->heap->bytes, 0, SWEEP_HEAP_BYTES);
		for (uint64_t at = 0; at + 8192 < SWEEP_HEAP_BYTES / 8; at += 8192 + 32) {
			sweep_world_add(world, at + 16, 8192, 10);
			live[count++] = (struct hawk_block){.start = SYNTHETIC_HEAP + at + 16,
							    .size = 8192};
			carve_at_random(world, at + 16, at + 16 + 8192, 10, 1, &random, live,
					&count);
		}
		sweep_world_sweep(world);
		assert_int_equal(world->count, count);
		for (size_t i = 0; i < count; i++) {
			assert_int_equal(world->blocks[i].start, live[i].start);
			assert_int_equal(world->blocks[i].depth, live[i].depth);
		}
	}
	free(live);
}

static struct hawk_block block_at(struct sweep_world *world, uint64_t offset,
				  enum hawk_block_state expected)
{
	struct hawk_block block = {0};
	struct hawk_heap heap;

	check(hawk_heap_load(world->target, NULL, NULL, &heap));
	assert_int_equal(hawk_heap_at(&heap, SYNTHETIC_HEAP + offset, &block), expected);
	hawk_heap_deinit(&heap);
	return block;
}

SWEEP_TEST(block_at_finds_what_contains_an_address)
{
	sweep_world_add(world, 64, 100, 3);
	synthetic_heap_add_block(world->heap,
				 (struct synthetic_block){.start = SYNTHETIC_HEAP + 32768,
							  .size = 10,
							  .offset_log2 = 12});
	sweep_world_add(world, 65536, 0, 3);
	sweep_world_open(world, synthetic_heap_core(world->heap));
	assert_int_equal(block_at(world, 64, HAWK_BLOCK_LIVE).size, 100);
	assert_int_equal(block_at(world, 163, HAWK_BLOCK_LIVE).start, SYNTHETIC_HEAP + 64);
	block_at(world, 164, HAWK_BLOCK_NONE);
	block_at(world, 47, HAWK_BLOCK_NONE);
	block_at(world, 48, HAWK_BLOCK_HEADER);
	block_at(world, 63, HAWK_BLOCK_HEADER);
	block_at(world, 32768 - 4096, HAWK_BLOCK_HEADER);
	block_at(world, 32768 - 4097, HAWK_BLOCK_NONE);
	block_at(world, 65536, HAWK_BLOCK_LIVE);
	block_at(world, 65537, HAWK_BLOCK_NONE);
	block_at(world, SWEEP_HEAP_BYTES, HAWK_BLOCK_NONE);
}

SWEEP_TEST(block_at_finds_the_start_of_a_huge_block)
{
	sweep_world_add(world, 4096, SWEEP_HEAP_BYTES - 8192, 3);
	sweep_world_open(world, synthetic_heap_core(world->heap));
	assert_int_equal(block_at(world, SWEEP_HEAP_BYTES - 4097, HAWK_BLOCK_LIVE).start,
			 SYNTHETIC_HEAP + 4096);
	block_at(world, SWEEP_HEAP_BYTES - 4096, HAWK_BLOCK_NONE);
}

SWEEP_TEST(block_at_says_where_a_block_died)
{
	sweep_world_add(world, 64, 32, 3);
	sweep_world_add(world, 4096, 32, 3);
	synthetic_heap_kill_block(world->heap, SYNTHETIC_HEAP + 4096);
	sweep_world_open(world, synthetic_heap_core(world->heap));
	assert_int_equal(block_at(world, 4100, HAWK_BLOCK_DEAD).start, SYNTHETIC_HEAP + 4096);
	assert_int_equal(block_at(world, 4100, HAWK_BLOCK_DEAD).trace, 1);
	block_at(world, 2000, HAWK_BLOCK_NONE);
}

/* A lookup at every granule finds exactly the blocks that the sweep keeps. */
SWEEP_TEST(block_at_agrees_with_the_sweep)
{
	size_t next = 0;
	struct hawk_heap heap;

	sweep_world_fill(world, 7);
	sweep_world_sweep(world);
	check(hawk_heap_load(world->target, NULL, NULL, &heap));
	for (uint64_t address = SYNTHETIC_HEAP; address < SYNTHETIC_HEAP + SWEEP_HEAP_BYTES / 8;
	     address += 8) {
		struct hawk_block block;
		const struct hawk_block *expected = &world->blocks[next];

		while (next < world->count && expected->start + expected->size <= address &&
		       expected->start < address)
			expected = &world->blocks[++next];
		if (hawk_heap_at(&heap, address, &block) == HAWK_BLOCK_LIVE) {
			assert_true(address >= expected->start);
			assert_int_equal(block.start, expected->start);
			assert_int_equal(block.size, expected->size);
		} else {
			assert_true(address < expected->start ||
				    address >= expected->start + expected->size);
		}
	}
	hawk_heap_deinit(&heap);
	assert_true(next > 50);
}
