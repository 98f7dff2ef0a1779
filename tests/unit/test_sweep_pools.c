/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Pieces of pools in the sweep: they lie in their block, which keeps what they leave, and are set
 * aside where they are stale.
 */
#include "test.h"
#include "sweep_world.h"

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
	assert_int_equal(world->result.bytes, 4096 + 10 - 4 * 16);
	assert_int_equal(world->result.header_bytes, 6 * 16);
	assert_int_equal(world->result.carved_objects, 4);
	assert_int_equal(world->result.carved_bytes, 40 + 1000 + 100 + 4 * 16);
	assert_int_equal(world->result.overlapping, 0);
}

SWEEP_TEST(stale_pieces_in_a_younger_block_are_set_aside)
{
	sweep_world_add(world, 64, 4096, 5);
	sweep_world_add_piece(world, 128, 40, 4);
	sweep_world_add_piece(world, 256, 40, 5);
	sweep_world_add_piece(world, 64 + 4096 - 32, 64, 4); /* reaches out of it as well */
	sweep_world_sweep(world);
	assert_int_equal(world->count, 2);
	assert_int_equal(sweep_world_offset(world, 1), 256);
	assert_int_equal(world->result.overlapping, 2);
}

SWEEP_TEST(a_piece_that_leaves_its_block_is_none_of_it)
{
	sweep_world_add(world, 64, 256, 5);
	sweep_world_add_piece(world, 256, 128, 6);
	sweep_world_sweep(world);
	assert_int_equal(world->count, 1);
	assert_int_equal(sweep_world_offset(world, 0), 256);
	assert_int_equal(world->result.overlapping, 1);
	assert_int_equal(world->result.carved_objects, 0);
}

SWEEP_TEST(pieces_in_memory_that_is_no_block_are_blocks)
{
	for (unsigned i = 0; i < 50; i++)
		sweep_world_add_piece(world, 16 + 64 * i, 48, (uint8_t)(i % 7));
	sweep_world_sweep(world);
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

SWEEP_TEST(what_pieces_leave_belongs_to_the_block_around)
{
	struct hawk_block block;
	static const uint64_t inside[] = {64, 128 + 48, 256 - 17, 256 + 112, 64 + 4095};

	sweep_world_add(world, 64, 4096, 5);
	sweep_world_add_piece(world, 128, 40, 5);
	sweep_world_add_piece(world, 256, 100, 6);
	sweep_world_sweep(world);
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
