/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The sweep over synthetic heaps: what it finds, what it sets aside, and that nothing depends on
 * windows or on how memory is cut into mappings.
 */
#include "test.h"
#include "hawk_sites.h"
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
	assert_int_equal(world->result.bytes, 91);
	assert_int_equal(world->result.header_bytes, 48);
	assert_int_equal(world->result.overlapping, 0);
	assert_int_equal(world->result.clipped, 0);
	assert_false(sweep_world_has_finding(world, "block-overlap"));
	assert_false(sweep_world_has_finding(world, "block-implausible"));
	assert_false(sweep_world_has_finding(world, "block-clipped"));
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

SWEEP_TEST(stale_headers_inside_a_younger_block_are_set_aside)
{
	sweep_world_add(world, 64, 8192, 9);
	for (unsigned i = 0; i < 100; i++)
		sweep_world_add(world, 128 + 64 * i, 32, 8);
	sweep_world_add(world, 64 + 8192 + 16, 8, 2);
	sweep_world_sweep(world);
	assert_int_equal(world->count, 2);
	assert_int_equal(world->blocks[0].size, 8192);
	assert_int_equal(world->result.overlapping, 100);
	assert_true(sweep_world_has_finding(world, "block-overlap"));
}

SWEEP_TEST(a_stale_header_around_younger_blocks_is_set_aside)
{
	sweep_world_add(world, 64, 8192, 3);
	for (unsigned i = 0; i < 100; i++)
		sweep_world_add(world, 128 + 64 * i, 32, 4);
	sweep_world_sweep(world);
	assert_int_equal(world->count, 100);
	assert_int_equal(sweep_world_offset(world, 0), 128);
	assert_int_equal(world->result.overlapping, 1);
}

SWEEP_TEST(of_equally_old_blocks_the_inner_one_is_kept)
{
	sweep_world_add(world, 64, 256, 7);
	sweep_world_add(world, 128, 32, 7);
	sweep_world_sweep(world);
	assert_int_equal(world->count, 1);
	assert_int_equal(sweep_world_offset(world, 0), 128);
}

/* 64 is older than 128, which is older than 192: what lay under a block that is itself gone was
 * gone before it. 64 and 192 do not overlap. */
SWEEP_TEST(a_block_under_a_stale_one_does_not_come_back)
{
	sweep_world_add(world, 64, 80, 3);
	sweep_world_add(world, 128, 100, 5);
	sweep_world_add(world, 192, 64, 9);
	sweep_world_sweep(world);
	assert_int_equal(world->count, 1);
	assert_int_equal(sweep_world_offset(world, 0), 192);
	assert_int_equal(world->result.overlapping, 2);
}

/* The block at 64 was set aside by 128 and still proves that 1024 is stale. */
SWEEP_TEST(a_stale_block_sets_aside_what_is_older_still)
{
	sweep_world_add(world, 64, 4096, 5);
	sweep_world_add(world, 128, 32, 6);
	sweep_world_add(world, 1024, 32, 4);
	sweep_world_add(world, 2048, 32, 5);
	sweep_world_sweep(world);
	assert_int_equal(world->count, 2);
	assert_int_equal(sweep_world_offset(world, 0), 128);
	assert_int_equal(sweep_world_offset(world, 1), 2048);
	assert_int_equal(world->result.overlapping, 2);
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

	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++)
		synthetic_heap_add_block(world->heap, nonsense[i]);
	sweep_world_sweep(world);
	assert_int_equal(world->count, 0);
	assert_int_equal(world->result.implausible, 5);
	assert_true(sweep_world_has_finding(world, "block-implausible"));
}

SWEEP_TEST(the_largest_size_that_fits_is_plausible)
{
	sweep_world_add(world, 64, SWEEP_HEAP_BYTES - 64, 3);
	sweep_world_sweep(world);
	assert_int_equal(world->count, 1);
	sweep_world_add(world, 64, SWEEP_HEAP_BYTES - 63, 3);
	sweep_world_sweep(world);
	assert_int_equal(world->count, 0);
	assert_int_equal(world->result.implausible, 1);
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
	assert_int_equal(world->result.header_bytes, 4096 + (1 << 20));
}

SWEEP_TEST(excluded_spans_are_not_swept)
{
	const struct hawk_span excluded[] = {
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
			size_t count, const struct hawk_sweep_result *result)
{
	assert_int_equal(world->count, count);
	assert_memory_equal(world->blocks, blocks, count * sizeof(*blocks));
	assert_int_equal(world->result.overlapping, result->overlapping);
	assert_int_equal(world->result.implausible, result->implausible);
	assert_int_equal(world->result.bytes, result->bytes);
}

SWEEP_TEST(the_result_depends_neither_on_windows_nor_on_mappings)
{
	struct hawk_block *blocks = calloc(SWEEP_BLOCKS_MAX, sizeof(*blocks));
	struct hawk_sweep_result result;

	sweep_world_fill(world, 1);
	sweep_world_sweep(world);
	memcpy(blocks, world->blocks, sizeof(world->blocks));
	result = world->result;
	assert_true(world->count > 500 && result.overlapping > 100);
	for (size_t window = 1; window <= SWEEP_HEAP_BYTES; window *= 7) {
		size_t count = world->count;

		world->plan.window_bytes = window;
		sweep_world_sweep_again(world);
		expect_same(world, blocks, count, &result);
		assert_int_equal(world->result.heap_zero_bytes, result.heap_zero_bytes);
	}
	for (uint64_t seed = 0; seed < 20; seed++) {
		size_t count = world->count;

		world->plan.window_bytes = 0;
		sweep_world_open(world, sweep_world_cut(world, seed));
		sweep_world_sweep_again(world);
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
		assert_int_equal(world->result.overlapping, count - world->count);
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
	assert_int_equal(world->result.clipped, 0);
	assert_int_equal(world->result.heap_bytes, SWEEP_HEAP_BYTES);
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
	assert_int_equal(world->result.clipped, 1);
	assert_true(sweep_world_has_finding(world, "block-clipped"));
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

SWEEP_TEST(untouched_pages_outside_of_blocks_are_told_from_the_heap)
{
	sweep_world_add(world, 16, 3 * 4096, 1);
	sweep_world_add(world, 20 * 4096 + 16, 16, 1);
	sweep_world_sweep(world);
	/* Page 0 has the header, pages 1 to 3 are the first block's, page 20 is the second one's.
	 */
	assert_int_equal(world->result.heap_bytes, SWEEP_HEAP_BYTES);
	assert_int_equal(world->result.heap_zero_bytes, SWEEP_HEAP_BYTES - 5 * 4096);
}

static struct hawk_error *fail_at_once(void *context, const struct hawk_block *blocks, size_t count)
{
	(void)blocks;
	(void)count;
	++*(int *)context;
	return hawk_error_create(HAWK_ERROR_USAGE, "enough");
}

SWEEP_TEST(an_error_of_the_callers_ends_the_sweep)
{
	struct hawk_error *err;
	int calls = 0;

	for (uint64_t at = 16; at + 16 < SWEEP_HEAP_BYTES; at += 32)
		sweep_world_add(world, at, 16, 1);
	sweep_world_open(world, synthetic_heap_core(world->heap));
	err = hawk_sweep(world->target, &world->plan, fail_at_once, &calls, NULL, NULL,
			 &world->findings, &world->result);
	assert_non_null(err);
	assert_string_equal(hawk_error_message(err), "enough");
	assert_int_equal(calls, 1);
	hawk_error_destroy(err);
}
