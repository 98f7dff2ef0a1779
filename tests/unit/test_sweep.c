/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The sweep over synthetic heaps: what it finds, what it sets aside, and that nothing depends on
 * windows or on how memory is cut into mappings.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hawk_cpu.h"
#include "hawk_sites.h"
#include "hawk_sweep.h"
#include "scan_page.h"
#include "synthetic_heap.h"

enum {
	BLOCKS_MAX = 4096,
	HEAP_BYTES = 256 << 10,
};

struct sweep_world {
	struct synthetic_heap *heap;
	char *path;
	struct hawk_findings findings;
	struct hawk_target *target;
	struct hawk_sweep_plan plan;
	struct hawk_sweep_result result;
	size_t count;
	struct hawk_block blocks[BLOCKS_MAX];
};

static int setup(void **state)
{
	struct sweep_world *world = calloc(1, sizeof(*world));

	world->heap = synthetic_heap_create(HEAP_BYTES);
	world->heap->table->header.trace_count = 8;
	hawk_findings_init(&world->findings);
	world->plan = (struct hawk_sweep_plan){
		.key = world->heap->table->header.key,
		.trace_count = 8,
		.birth_max = 200,
	};
	*state = world;
	return 0;
}

static void close_core(struct sweep_world *world)
{
	hawk_target_close(world->target);
	synthetic_core_remove(world->path);
	world->target = NULL;
	world->path = NULL;
}

static int teardown(void **state)
{
	struct sweep_world *world = *state;

	close_core(world);
	hawk_findings_deinit(&world->findings);
	synthetic_heap_destroy(world->heap);
	free(world);
	return 0;
}

static void open_core(struct sweep_world *world, struct synthetic_core *core)
{
	close_core(world);
	world->path = synthetic_core_write(core, SIZE_MAX);
	synthetic_core_destroy(core);
	assert_null(hawk_target_open_core(world->path, &world->findings, &world->target));
}

static struct hawk_error *collect(void *context, const struct hawk_block *blocks, size_t count)
{
	struct sweep_world *world = context;

	assert_true(count > 0 && count <= HAWK_SWEEP_BATCH);
	for (size_t i = 0; i < count; i++) {
		assert_true(world->count < BLOCKS_MAX);
		if (world->count)
			assert_true(world->blocks[world->count - 1].start < blocks[i].start);
		if (world->count && blocks[i].depth <= world->blocks[world->count - 1].depth)
			assert_true(world->blocks[world->count - 1].start +
					    world->blocks[world->count - 1].size <
				    blocks[i].start);
		world->blocks[world->count++] = blocks[i];
	}
	return NULL;
}

static void sweep_again(struct sweep_world *world)
{
	world->count = 0;
	memset(&world->result, 0xff, sizeof(world->result));
	assert_null(hawk_sweep(world->target, &world->plan, collect, world, NULL, NULL,
			       &world->findings, &world->result));
	assert_int_equal(world->result.blocks, world->count);
}

static void sweep_heap(struct sweep_world *world)
{
	open_core(world, synthetic_heap_core(world->heap));
	sweep_again(world);
}

static void add(struct sweep_world *world, uint64_t offset, uint64_t size, uint8_t birth)
{
	synthetic_heap_add_block(world->heap, (struct synthetic_block){
						      .start = SYNTHETIC_HEAP + offset,
						      .size = size,
						      .trace = 1,
						      .birth = birth,
					      });
}

static void add_piece(struct sweep_world *world, uint64_t offset, uint64_t size, uint8_t birth)
{
	synthetic_heap_add_block(world->heap, (struct synthetic_block){
						      .start = SYNTHETIC_HEAP + offset,
						      .size = size,
						      .trace = 2,
						      .kind = HAWK_KIND_POOL,
						      .birth = birth,
					      });
}

static uint64_t offset_of(const struct sweep_world *world, size_t block)
{
	return world->blocks[block].start - SYNTHETIC_HEAP;
}

static bool has_finding(const struct sweep_world *world, const char *key)
{
	for (size_t i = 0; i < world->findings.count; i++)
		if (!strcmp(world->findings.items[i].key, key))
			return true;
	return false;
}

static void sweep_finds_every_block_in_order(void **state)
{
	struct sweep_world *world = *state;

	add(world, 16, 0, 3);
	add(world, 48, 75, 4);
	add(world, HEAP_BYTES - 16, 16, 5);
	sweep_heap(world);
	assert_int_equal(world->count, 3);
	assert_int_equal(offset_of(world, 0), 16);
	assert_int_equal(world->blocks[0].size, 0);
	assert_int_equal(offset_of(world, 1), 48);
	assert_int_equal(world->blocks[1].size, 75);
	assert_int_equal(world->blocks[1].trace, 1);
	assert_int_equal(world->blocks[1].birth, 4);
	assert_int_equal(world->blocks[1].kind, HAWK_KIND_MALLOC);
	assert_int_equal(offset_of(world, 2), HEAP_BYTES - 16);
	assert_int_equal(world->result.bytes, 91);
	assert_int_equal(world->result.header_bytes, 48);
	assert_int_equal(world->result.overlapping, 0);
	assert_int_equal(world->result.clipped, 0);
	assert_false(has_finding(world, "block-overlap"));
	assert_false(has_finding(world, "block-implausible"));
	assert_false(has_finding(world, "block-clipped"));
}

static void a_header_copied_elsewhere_is_not_a_block(void **state)
{
	struct sweep_world *world = *state;

	add(world, 64, 32, 3);
	memcpy(world->heap->bytes + 1024, world->heap->bytes + 48, 48);
	memcpy(world->heap->bytes + 4096 + 48, world->heap->bytes + 48, 48);
	sweep_heap(world);
	assert_int_equal(world->count, 1);
	assert_int_equal(offset_of(world, 0), 64);
}

static void a_header_sealed_with_another_key_is_not_a_block(void **state)
{
	struct sweep_world *world = *state;

	add(world, 64, 32, 3);
	world->plan.key.k[1] ^= 1;
	sweep_heap(world);
	assert_int_equal(world->count, 0);
}

static void a_dead_header_is_counted_and_no_block(void **state)
{
	struct sweep_world *world = *state;

	add(world, 64, 32, 3);
	add(world, 128, 32, 3);
	synthetic_heap_kill_block(world->heap, SYNTHETIC_HEAP + 64);
	sweep_heap(world);
	assert_int_equal(world->count, 1);
	assert_int_equal(offset_of(world, 0), 128);
	assert_int_equal(world->result.dead, 1);
}

static void stale_headers_inside_a_younger_block_are_set_aside(void **state)
{
	struct sweep_world *world = *state;

	add(world, 64, 8192, 9);
	for (unsigned i = 0; i < 100; i++)
		add(world, 128 + 64 * i, 32, 8);
	add(world, 64 + 8192 + 16, 8, 2);
	sweep_heap(world);
	assert_int_equal(world->count, 2);
	assert_int_equal(world->blocks[0].size, 8192);
	assert_int_equal(world->result.overlapping, 100);
	assert_true(has_finding(world, "block-overlap"));
}

static void a_stale_header_around_younger_blocks_is_set_aside(void **state)
{
	struct sweep_world *world = *state;

	add(world, 64, 8192, 3);
	for (unsigned i = 0; i < 100; i++)
		add(world, 128 + 64 * i, 32, 4);
	sweep_heap(world);
	assert_int_equal(world->count, 100);
	assert_int_equal(offset_of(world, 0), 128);
	assert_int_equal(world->result.overlapping, 1);
}

static void of_equally_old_blocks_the_inner_one_is_kept(void **state)
{
	struct sweep_world *world = *state;

	add(world, 64, 256, 7);
	add(world, 128, 32, 7);
	sweep_heap(world);
	assert_int_equal(world->count, 1);
	assert_int_equal(offset_of(world, 0), 128);
}

/* 64 is older than 128, which is older than 192: what lay under a block that is itself gone was
 * gone before it. 64 and 192 do not overlap. */
static void a_block_under_a_stale_one_does_not_come_back(void **state)
{
	struct sweep_world *world = *state;

	add(world, 64, 80, 3);
	add(world, 128, 100, 5);
	add(world, 192, 64, 9);
	sweep_heap(world);
	assert_int_equal(world->count, 1);
	assert_int_equal(offset_of(world, 0), 192);
	assert_int_equal(world->result.overlapping, 2);
}

/* The block at 64 was set aside by 128 and still proves that 1024 is stale. */
static void a_stale_block_sets_aside_what_is_older_still(void **state)
{
	struct sweep_world *world = *state;

	add(world, 64, 4096, 5);
	add(world, 128, 32, 6);
	add(world, 1024, 32, 4);
	add(world, 2048, 32, 5);
	sweep_heap(world);
	assert_int_equal(world->count, 2);
	assert_int_equal(offset_of(world, 0), 128);
	assert_int_equal(offset_of(world, 1), 2048);
	assert_int_equal(world->result.overlapping, 2);
}

static void a_seal_over_nonsense_is_counted_as_implausible(void **state)
{
	struct sweep_world *world = *state;
	const struct synthetic_block nonsense[] = {
		{.start = SYNTHETIC_HEAP + 64, .size = 16, .trace = 8},
		{.start = SYNTHETIC_HEAP + 128, .size = 16, .trace = 1, .birth = 201},
		{.start = SYNTHETIC_HEAP + 192, .size = HEAP_BYTES, .trace = 1},
		{.start = SYNTHETIC_HEAP + 256, .size = HAWK_SIZE_MAX, .trace = 1},
		{.start = SYNTHETIC_HEAP + 320, .size = 16, .trace = 1, .offset_log2 = 60},
	};

	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++)
		synthetic_heap_add_block(world->heap, nonsense[i]);
	sweep_heap(world);
	assert_int_equal(world->count, 0);
	assert_int_equal(world->result.implausible, 5);
	assert_true(has_finding(world, "block-implausible"));
}

static void the_largest_size_that_fits_is_plausible(void **state)
{
	struct sweep_world *world = *state;

	add(world, 64, HEAP_BYTES - 64, 3);
	sweep_heap(world);
	assert_int_equal(world->count, 1);
	add(world, 64, HEAP_BYTES - 63, 3);
	sweep_heap(world);
	assert_int_equal(world->count, 0);
	assert_int_equal(world->result.implausible, 1);
}

static void alignment_padding_counts_as_header_bytes(void **state)
{
	struct sweep_world *world = *state;
	const struct synthetic_block aligned[] = {
		{.start = SYNTHETIC_HEAP + 4096, .size = 16, .offset_log2 = 12},
		{.start = SYNTHETIC_HEAP + 65536, .size = 16, .offset_log2 = 20},
	};

	for (size_t i = 0; i < 2; i++)
		synthetic_heap_add_block(world->heap, aligned[i]);
	sweep_heap(world);
	assert_int_equal(world->count, 2);
	assert_int_equal(world->blocks[0].offset_code, 8);
	assert_int_equal(world->blocks[1].offset_code, HAWK_OFFSET_LARGE);
	assert_int_equal(world->result.header_bytes, 4096 + (1 << 20));
}

static void excluded_spans_are_not_swept(void **state)
{
	struct sweep_world *world = *state;
	const struct hawk_span excluded[] = {
		{SYNTHETIC_HEAP + 4096, SYNTHETIC_HEAP + 8192},
		{SYNTHETIC_HEAP + 8192, SYNTHETIC_HEAP + 12288},
		{SYNTHETIC_HEAP + HEAP_BYTES - 4096, SYNTHETIC_HEAP + HEAP_BYTES + 4096},
	};
	uint64_t all;

	add(world, 64, 8, 1);
	add(world, 4096 + 16, 8, 1);
	add(world, 12288 - 16, 8, 1);
	add(world, 12288 + 16, 8, 1);
	add(world, HEAP_BYTES - 16, 8, 1);
	sweep_heap(world);
	assert_int_equal(world->count, 5);
	all = world->result.swept_bytes;
	world->plan.excluded = excluded;
	world->plan.excluded_count = 3;
	sweep_again(world);
	assert_int_equal(world->count, 2);
	assert_int_equal(offset_of(world, 1), 12288 + 16);
	assert_int_equal(world->result.swept_bytes, all - 8192 - 4096);
}

/* Random blocks, some of them stale, in the memory of `world`. */
static void fill_at_random(struct sweep_world *world, uint64_t seed)
{
	uint64_t at = 16;

	while (at + 4096 < HEAP_BYTES) {
		uint64_t r = synthetic_random(&seed);

		add(world, at, r % 300, (uint8_t)(r >> 16 & 15));
		if (r >> 32 & 1)
			at += (r % 300 + 31) / 16 * 16;
		else
			at += 32 + 16 * (r >> 40 & 7);
	}
}

static struct synthetic_core *cut_into_mappings(const struct sweep_world *world, uint64_t seed)
{
	struct synthetic_core *core = synthetic_core_create();
	uint64_t at = 0;

	synthetic_core_add_thread(core, 1, 6, NULL);
	while (at < HEAP_BYTES) {
		uint64_t size = 4096 * (1 + synthetic_random(&seed) % 5);

		if (size > HEAP_BYTES - at)
			size = HEAP_BYTES - at;
		synthetic_core_add_memory(core, SYNTHETIC_HEAP + at, world->heap->bytes + at, size);
		at += size;
	}
	return core;
}

static void expect_same(const struct sweep_world *world, const struct hawk_block *blocks,
			size_t count, const struct hawk_sweep_result *result)
{
	assert_int_equal(world->count, count);
	assert_memory_equal(world->blocks, blocks, count * sizeof(*blocks));
	assert_int_equal(world->result.overlapping, result->overlapping);
	assert_int_equal(world->result.implausible, result->implausible);
	assert_int_equal(world->result.bytes, result->bytes);
}

static void the_result_depends_neither_on_windows_nor_on_mappings(void **state)
{
	struct sweep_world *world = *state;
	struct hawk_block *blocks = calloc(BLOCKS_MAX, sizeof(*blocks));
	struct hawk_sweep_result result;

	fill_at_random(world, 1);
	sweep_heap(world);
	memcpy(blocks, world->blocks, sizeof(world->blocks));
	result = world->result;
	assert_true(world->count > 500 && result.overlapping > 100);
	for (size_t window = 1; window <= HEAP_BYTES; window *= 7) {
		size_t count = world->count;

		world->plan.window_bytes = window;
		sweep_again(world);
		expect_same(world, blocks, count, &result);
		assert_int_equal(world->result.heap_zero_bytes, result.heap_zero_bytes);
	}
	for (uint64_t seed = 0; seed < 20; seed++) {
		size_t count = world->count;

		world->plan.window_bytes = 0;
		open_core(world, cut_into_mappings(world, seed));
		sweep_again(world);
		expect_same(world, blocks, count, &result);
	}
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

static void overlaps_are_resolved_as_defined(void **state)
{
	struct sweep_world *world = *state;
	struct hawk_block all[64];
	bool kept[64];

	for (uint64_t seed = 1; seed < 300; seed++) {
		uint64_t random = seed;
		size_t count = 0;
		size_t at = 0;

		memset(world->heap->bytes, 0, HEAP_BYTES);
		for (uint64_t place = 16; count < 64; count++) {
			uint64_t r = synthetic_random(&random);

			all[count] =
				(struct hawk_block){.start = SYNTHETIC_HEAP + place,
						    .size = (r & 7) ? r >> 8 & 63 : r >> 8 & 1023,
						    .birth = r >> 32 & 3};
			add(world, place, all[count].size, all[count].birth);
			place += 16 * (1 + (r >> 40 & 3));
		}
		sweep_heap(world);
		assert_int_equal(world->count, sweep_by_definition(all, count, kept));
		assert_int_equal(world->result.overlapping, count - world->count);
		for (size_t i = 0; i < count; i++)
			if (kept[i])
				assert_int_equal(world->blocks[at++].start, all[i].start);
	}
}

static void pieces_of_a_pool_lie_in_their_block_and_are_counted_once(void **state)
{
	struct sweep_world *world = *state;

	add(world, 64, 4096, 5);
	add_piece(world, 64 + 16, 40, 5);
	add_piece(world, 256, 1000, 6);
	add_piece(world, 256 + 32, 100, 7); /* pools in pools */
	add_piece(world, 64 + 4096, 0, 9);  /* up to the last byte */
	add(world, 8192, 10, 5);
	sweep_heap(world);
	assert_int_equal(world->count, 6);
	assert_int_equal(world->blocks[0].depth, 0);
	assert_int_equal(world->blocks[1].depth, 1);
	assert_int_equal(world->blocks[3].depth, 2);
	assert_int_equal(world->blocks[4].depth, 1);
	assert_int_equal(world->blocks[5].depth, 0);
	assert_int_equal(world->result.bytes, 4096 + 10 - 4 * 16);
	assert_int_equal(world->result.header_bytes, 6 * 16);
	assert_int_equal(world->result.carved_objects, 4);
	assert_int_equal(world->result.carved_bytes, 40 + 1000 + 100 + 4 * 16);
	assert_int_equal(world->result.overlapping, 0);
}

static void stale_pieces_in_a_younger_block_are_set_aside(void **state)
{
	struct sweep_world *world = *state;

	add(world, 64, 4096, 5);
	add_piece(world, 128, 40, 4);
	add_piece(world, 256, 40, 5);
	add_piece(world, 64 + 4096 - 32, 64, 4); /* reaches out of it as well */
	sweep_heap(world);
	assert_int_equal(world->count, 2);
	assert_int_equal(offset_of(world, 1), 256);
	assert_int_equal(world->result.overlapping, 2);
}

static void a_piece_that_leaves_its_block_is_none_of_it(void **state)
{
	struct sweep_world *world = *state;

	add(world, 64, 256, 5);
	add_piece(world, 256, 128, 6);
	sweep_heap(world);
	assert_int_equal(world->count, 1);
	assert_int_equal(offset_of(world, 0), 256);
	assert_int_equal(world->result.overlapping, 1);
	assert_int_equal(world->result.carved_objects, 0);
}

static void pieces_in_memory_that_is_no_block_are_blocks(void **state)
{
	struct sweep_world *world = *state;

	for (unsigned i = 0; i < 50; i++)
		add_piece(world, 16 + 64 * i, 48, (uint8_t)(i % 7));
	sweep_heap(world);
	assert_int_equal(world->count, 50);
	assert_int_equal(world->result.bytes, 50 * 48);
	assert_int_equal(world->result.carved_bytes, 0);
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
			add_piece(world, at + 16, size, (uint8_t)(r >> 40 & 7));
			at += 16 * (1 + (r >> 48 & 3));
			continue;
		}
		if (at + 16 + size > end)
			break;
		add_piece(world, at + 16, size, born);
		live[(*count)++] = (struct hawk_block){
			.start = SYNTHETIC_HEAP + at + 16, .size = size, .depth = (uint8_t)depth};
		if (depth < 6 && (r >> 50 & 1))
			carve_at_random(world, at + 16, at + 16 + size, born, depth + 1, random,
					live, count);
		at += 16 + (size + 15) / 16 * 16 + 16 * (r >> 56 & 1);
	}
}

static void random_pools_are_found_piece_by_piece(void **state)
{
	struct sweep_world *world = *state;
	struct hawk_block *live = calloc(2000, sizeof(*live));

	for (uint64_t seed = 1; seed < 40; seed++) {
		uint64_t random = seed;
		size_t count = 0;

		memset(world->heap->bytes, 0, HEAP_BYTES);
		for (uint64_t at = 0; at + 8192 < HEAP_BYTES / 8; at += 8192 + 32) {
			add(world, at + 16, 8192, 10);
			live[count++] = (struct hawk_block){.start = SYNTHETIC_HEAP + at + 16,
							    .size = 8192};
			carve_at_random(world, at + 16, at + 16 + 8192, 10, 1, &random, live,
					&count);
		}
		sweep_heap(world);
		assert_int_equal(world->count, count);
		for (size_t i = 0; i < count; i++) {
			struct hawk_block at;

			assert_int_equal(world->blocks[i].start, live[i].start);
			assert_int_equal(world->blocks[i].depth, live[i].depth);
			/* Its last byte, unless that is a piece's. */
			if (!live[i].size || (i + 1 < count && live[i + 1].depth > live[i].depth))
				continue;
			assert_int_equal(hawk_block_at(world->target, &world->plan,
						       live[i].start + live[i].size - 1, &at),
					 HAWK_BLOCK_LIVE);
			assert_int_equal(at.start, live[i].start);
		}
	}
	free(live);
}

static void what_pieces_leave_belongs_to_the_block_around(void **state)
{
	struct sweep_world *world = *state;
	struct hawk_block block;
	static const uint64_t inside[] = {64, 128 + 48, 256 - 17, 256 + 112, 64 + 4095};

	add(world, 64, 4096, 5);
	add_piece(world, 128, 40, 5);
	add_piece(world, 256, 100, 6);
	sweep_heap(world);
	for (size_t i = 0; i < sizeof(inside) / sizeof(inside[0]); i++) {
		assert_int_equal(hawk_block_at(world->target, &world->plan,
					       SYNTHETIC_HEAP + inside[i], &block),
				 HAWK_BLOCK_LIVE);
		assert_int_equal(block.start, SYNTHETIC_HEAP + 64);
	}
	assert_int_equal(
		hawk_block_at(world->target, &world->plan, SYNTHETIC_HEAP + 256 + 99, &block),
		HAWK_BLOCK_LIVE);
	assert_int_equal(block.start, SYNTHETIC_HEAP + 256);
}

static void a_block_may_lie_across_mappings(void **state)
{
	struct sweep_world *world = *state;
	struct synthetic_core *core = synthetic_core_create();
	const uint64_t half = HEAP_BYTES / 2;

	add(world, half - 64, 4096, 1);
	synthetic_core_add_thread(core, 1, 6, NULL);
	synthetic_core_add_memory(core, SYNTHETIC_HEAP, world->heap->bytes, half);
	synthetic_core_add_segment(core, (struct synthetic_segment){
						 .address = SYNTHETIC_HEAP + half,
						 .bytes = world->heap->bytes + half,
						 .dumped_bytes = half,
						 .flags = SYNTHETIC_READ, /* mprotect()ed */
					 });
	open_core(world, core);
	sweep_again(world);
	assert_int_equal(world->count, 1);
	assert_int_equal(world->blocks[0].size, 4096);
	assert_int_equal(world->result.clipped, 0);
	assert_int_equal(world->result.heap_bytes, HEAP_BYTES);
}

static void a_block_whose_end_was_cut_off_is_found_and_counted(void **state)
{
	struct sweep_world *world = *state;
	struct synthetic_core *core = synthetic_core_create();

	add(world, 4096 - 64, 8192, 1);
	add(world, 64, 64, 1);
	synthetic_core_add_thread(core, 1, 6, NULL);
	synthetic_core_add_segment(core, (struct synthetic_segment){
						 .address = SYNTHETIC_HEAP,
						 .bytes = world->heap->bytes,
						 .dumped_bytes = 8192,
						 .memory_bytes = HEAP_BYTES,
						 .flags = SYNTHETIC_READ | SYNTHETIC_WRITE,
					 });
	open_core(world, core);
	sweep_again(world);
	assert_int_equal(world->count, 2);
	assert_int_equal(world->result.clipped, 1);
	assert_true(has_finding(world, "block-clipped"));
}

static void random_memory_holds_no_blocks(void **state)
{
	struct sweep_world *world = *state;
	const size_t bytes = 256 << 20;
	struct synthetic_core *core = synthetic_core_create();
	uint64_t *words = malloc(bytes);
	uint64_t seed = 42;

	for (size_t i = 0; i < bytes / 8; i++)
		words[i] = synthetic_random(&seed);
	synthetic_core_add_thread(core, 1, 6, NULL);
	synthetic_core_add_memory(core, SYNTHETIC_HEAP, words, bytes);
	free(words);
	open_core(world, core);
	world->plan.trace_count = 1 << 20;
	sweep_again(world);
	assert_int_equal(world->count, 0);
	assert_true(world->result.swept_bytes >= bytes);
}

static void untouched_pages_outside_of_blocks_are_told_from_the_heap(void **state)
{
	struct sweep_world *world = *state;

	add(world, 16, 3 * 4096, 1);
	add(world, 20 * 4096 + 16, 16, 1);
	sweep_heap(world);
	/* Page 0 has the header, pages 1 to 3 are the first block's, page 20 is the second one's.
	 */
	assert_int_equal(world->result.heap_bytes, HEAP_BYTES);
	assert_int_equal(world->result.heap_zero_bytes, HEAP_BYTES - 5 * 4096);
}

static struct hawk_error *fail_at_once(void *context, const struct hawk_block *blocks, size_t count)
{
	(void)blocks;
	(void)count;
	++*(int *)context;
	return hawk_error_create(HAWK_ERROR_USAGE, "enough");
}

static void an_error_of_the_callers_ends_the_sweep(void **state)
{
	struct sweep_world *world = *state;
	struct hawk_error *err;
	int calls = 0;

	for (uint64_t at = 16; at + 16 < HEAP_BYTES; at += 32)
		add(world, at, 16, 1);
	open_core(world, synthetic_heap_core(world->heap));
	err = hawk_sweep(world->target, &world->plan, fail_at_once, &calls, NULL, NULL,
			 &world->findings, &world->result);
	assert_non_null(err);
	assert_string_equal(hawk_error_message(err), "enough");
	assert_int_equal(calls, 1);
	hawk_error_destroy(err);
}

static struct hawk_block block_at(struct sweep_world *world, uint64_t offset,
				  enum hawk_block_state expected)
{
	struct hawk_block block = {0};

	assert_int_equal(
		hawk_block_at(world->target, &world->plan, SYNTHETIC_HEAP + offset, &block),
		expected);
	return block;
}

static void block_at_finds_what_contains_an_address(void **state)
{
	struct sweep_world *world = *state;

	add(world, 64, 100, 3);
	synthetic_heap_add_block(world->heap,
				 (struct synthetic_block){.start = SYNTHETIC_HEAP + 32768,
							  .size = 10,
							  .offset_log2 = 12});
	add(world, 65536, 0, 3);
	open_core(world, synthetic_heap_core(world->heap));
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
	block_at(world, HEAP_BYTES, HAWK_BLOCK_NONE);
}

static void block_at_finds_the_start_of_a_huge_block(void **state)
{
	struct sweep_world *world = *state;

	add(world, 4096, HEAP_BYTES - 8192, 3);
	open_core(world, cut_into_mappings(world, 5));
	assert_int_equal(block_at(world, HEAP_BYTES - 4097, HAWK_BLOCK_LIVE).start,
			 SYNTHETIC_HEAP + 4096);
	block_at(world, HEAP_BYTES - 4096, HAWK_BLOCK_NONE);
}

static void block_at_says_where_a_block_died(void **state)
{
	struct sweep_world *world = *state;

	add(world, 64, 32, 3);
	add(world, 4096, 32, 3);
	synthetic_heap_kill_block(world->heap, SYNTHETIC_HEAP + 4096);
	open_core(world, synthetic_heap_core(world->heap));
	assert_int_equal(block_at(world, 4100, HAWK_BLOCK_DEAD).start, SYNTHETIC_HEAP + 4096);
	assert_int_equal(block_at(world, 4100, HAWK_BLOCK_DEAD).trace, 1);
	block_at(world, 2000, HAWK_BLOCK_NONE);
}

/* Whatever the sweep keeps, and nothing else, is found at every granule of the heap. */
static void block_at_agrees_with_the_sweep(void **state)
{
	struct sweep_world *world = *state;
	size_t next = 0;

	fill_at_random(world, 7);
	sweep_heap(world);
	for (uint64_t address = SYNTHETIC_HEAP; address < SYNTHETIC_HEAP + HEAP_BYTES / 8;
	     address += 8) {
		struct hawk_block block;
		const struct hawk_block *expected = &world->blocks[next];

		while (next < world->count && expected->start + expected->size <= address &&
		       expected->start < address)
			expected = &world->blocks[++next];
		if (hawk_block_at(world->target, &world->plan, address, &block) ==
		    HAWK_BLOCK_LIVE) {
			assert_true(address >= expected->start);
			assert_int_equal(block.start, expected->start);
			assert_int_equal(block.size, expected->size);
		} else {
			assert_true(address < expected->start ||
				    address >= expected->start + expected->size);
		}
	}
	assert_true(next > 50);
}

/* Live and dead headers, such with a wrong seal, zeros, and nonsense. */
static void fill_page(const struct hawk_sweep_plan *plan, uint64_t address, uint64_t *seed,
		      uint64_t page[2 * HAWK_SCAN_PAGE_GRANULES])
{
	for (size_t i = 0; i < HAWK_SCAN_PAGE_GRANULES; i++) {
		uint64_t r = synthetic_random(seed);
		uint64_t at = address + i * HAWK_GRANULE_BYTES;
		uint32_t trace = (uint32_t)(r >> 8) % (plan->trace_count + 2);
		uint32_t seal;

		page[2 * i] = r % 5 < 2 ? r | UINT64_C(1) << 63 : r % 5 == 4 ? 0 : r >> 1;
		seal = r % 3 ? hawk_seal(&plan->key, page[2 * i], trace, at)
			     : hawk_dead_seal(&plan->key, trace, at);
		page[2 * i + 1] = r % 5 == 4 ? 0 : hawk_header_word1(trace, seal + (r % 7 == 0));
	}
}

static void all_processors_find_the_same_headers(void **state)
{
	static uint64_t page[2 * HAWK_SCAN_PAGE_GRANULES];
	const struct hawk_sweep_plan plan = {.key = {{11, 12}}, .trace_count = 100};
	const uint64_t address = 0x7f0000001000;
	uint64_t seed = 5;
	unsigned live = 0;
	unsigned dead = 0;

	(void)state;
	for (size_t granules = 0; granules <= HAWK_SCAN_PAGE_GRANULES; granules++) {
		struct hawk_scan_page plain;
		struct hawk_scan_page other;

		if (granules % 9)
			fill_page(&plan, address, &seed, page);
		else
			memset(page, 0, sizeof(page));
		hawk_scan_page_plain(&plan, (const uint8_t *)page, granules, address, &plain);
		live += plain.live_count;
		dead += plain.dead_count;
		if (!hawk_cpu_has_avx512())
			continue;
		hawk_scan_page_avx512(&plan, (const uint8_t *)page, granules, address, &other);
		assert_int_equal(other.zero, plain.zero);
		assert_int_equal(other.live_count, plain.live_count);
		assert_int_equal(other.dead_count, plain.dead_count);
		assert_memory_equal(other.live, plain.live, plain.live_count * sizeof(*plain.live));
		assert_memory_equal(other.dead, plain.dead, plain.dead_count * sizeof(*plain.dead));
	}
	assert_true(live > 1000 && dead > 1000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_processors_find_the_same_headers),
		TEST(sweep_finds_every_block_in_order),
		TEST(a_header_copied_elsewhere_is_not_a_block),
		TEST(a_header_sealed_with_another_key_is_not_a_block),
		TEST(a_dead_header_is_counted_and_no_block),
		TEST(stale_headers_inside_a_younger_block_are_set_aside),
		TEST(a_stale_header_around_younger_blocks_is_set_aside),
		TEST(of_equally_old_blocks_the_inner_one_is_kept),
		TEST(a_block_under_a_stale_one_does_not_come_back),
		TEST(a_stale_block_sets_aside_what_is_older_still),
		TEST(a_seal_over_nonsense_is_counted_as_implausible),
		TEST(the_largest_size_that_fits_is_plausible),
		TEST(alignment_padding_counts_as_header_bytes),
		TEST(excluded_spans_are_not_swept),
		TEST(the_result_depends_neither_on_windows_nor_on_mappings),
		TEST(overlaps_are_resolved_as_defined),
		TEST(pieces_of_a_pool_lie_in_their_block_and_are_counted_once),
		TEST(stale_pieces_in_a_younger_block_are_set_aside),
		TEST(a_piece_that_leaves_its_block_is_none_of_it),
		TEST(pieces_in_memory_that_is_no_block_are_blocks),
		TEST(random_pools_are_found_piece_by_piece),
		TEST(what_pieces_leave_belongs_to_the_block_around),
		TEST(a_block_may_lie_across_mappings),
		TEST(a_block_whose_end_was_cut_off_is_found_and_counted),
		TEST(random_memory_holds_no_blocks),
		TEST(untouched_pages_outside_of_blocks_are_told_from_the_heap),
		TEST(an_error_of_the_callers_ends_the_sweep),
		TEST(block_at_finds_what_contains_an_address),
		TEST(block_at_finds_the_start_of_a_huge_block),
		TEST(block_at_says_where_a_block_died),
		TEST(block_at_agrees_with_the_sweep),
	};

	return cmocka_run_group_tests_name("sweep", tests, NULL, NULL);
}
