/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The block at an address: the same as the sweep finds, headers and dead blocks.
 */
#include "test.h"
#include "sweep_world.h"

static struct hawk_block block_at(struct sweep_world *world, uint64_t offset,
				  enum hawk_block_state expected)
{
	struct hawk_block block = {0};

	assert_int_equal(
		hawk_block_at(world->target, &world->plan, SYNTHETIC_HEAP + offset, &block),
		expected);
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
	sweep_world_open(world, sweep_world_cut(world, 5));
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

/* Whatever the sweep keeps, and nothing else, is found at every granule of the heap. */
SWEEP_TEST(block_at_agrees_with_the_sweep)
{
	size_t next = 0;

	sweep_world_fill(world, 7);
	sweep_world_sweep(world);
	for (uint64_t address = SYNTHETIC_HEAP; address < SYNTHETIC_HEAP + SWEEP_HEAP_BYTES / 8;
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
