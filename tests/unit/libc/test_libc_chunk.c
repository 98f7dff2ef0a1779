/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The heap around a chunk of glibc's malloc, in each form that versions write.
 */
#include "test.h"
#include "hawk/libc/chunk.h"
#include "synthetic_world.h"

enum { PAGE = 4096, PAGES = 16, MAPPED = 2, ARENA = 4, BUSY = 1, HUGE_PAGES = 1 };

/* A multiple of what arenas are aligned to. */
#define HEAP UINT64_C(0x7f0000000000)

static uint64_t memory[PAGES * PAGE / 8];

/* Writes the two words in front of `pointer`. */
static void put_chunk(uint64_t pointer, uint64_t before, uint64_t size)
{
	memory[(pointer - HEAP) / 8 - 2] = before;
	memory[(pointer - HEAP) / 8 - 1] = size;
}

static bool find(struct world *world, uint64_t pointer, uint64_t end, struct hawk_span *ret)
{
	bool found;

	world_renew(world);
	synthetic_core_add_memory(world->core, HEAP, memory, sizeof(memory));
	world_open(world);
	found = hawk_chunk_heap(world->target, pointer, end, ret);
	memset(memory, 0, sizeof(memory));
	return found;
}

static void expect_heap(struct world *world, uint64_t pointer, uint64_t start, uint64_t end)
{
	struct hawk_span heap;

	assert_true(find(world, pointer, pointer + 100, &heap));
	assert_int_equal(heap.start, start);
	assert_int_equal(heap.end, end);
}

WORLD_TEST(a_mapped_chunk_of_2_42_counts_from_its_header)
{
	uint64_t start = HEAP + 2 * PAGE, pointer = start + 64 + 16;

	put_chunk(pointer, 64, (3 * PAGE - 64) | MAPPED);
	expect_heap(world, pointer, start, start + 3 * PAGE);
}

WORLD_TEST(a_mapped_chunk_of_2_43_leaves_out_its_header)
{
	uint64_t start = HEAP + 2 * PAGE, pointer = start + 64 + 16;

	put_chunk(pointer, 64 | HUGE_PAGES, (3 * PAGE - 64 - 16) | MAPPED);
	expect_heap(world, pointer, start, start + 3 * PAGE);
}

WORLD_TEST(a_chunk_of_an_arena_lies_in_the_arenas_heap)
{
	uint64_t pointer = HEAP + 5 * PAGE;

	put_chunk(pointer, 0, 208 | ARENA | BUSY);
	memory[2] = 9 * PAGE;
	expect_heap(world, pointer, HEAP, HEAP + 9 * PAGE);
}

WORLD_TEST(sizes_that_make_no_sense_are_no_heap)
{
	uint64_t pointer = HEAP + 5 * PAGE;
	struct hawk_span heap;

	put_chunk(pointer, 0, 208 | BUSY); /* of the main arena */
	assert_false(find(world, pointer, pointer + 100, &heap));
	put_chunk(pointer, 0, 208 | ARENA | BUSY);
	memory[2] = 4 * PAGE; /* ends below the chunk */
	assert_false(find(world, pointer, pointer + 100, &heap));
	put_chunk(pointer, 0, 2 * PAGE | MAPPED); /* begins in the middle of a page */
	assert_false(find(world, pointer, pointer + 100, &heap));
	put_chunk(HEAP + 16, PAGE, UINT64_MAX & -(uint64_t)PAGE);
	assert_false(find(world, HEAP + 16, HEAP + 32, &heap));
	assert_false(find(world, 8, 16, &heap));
}

/* A copy of the core with these words alone gives the same answer. */
WORLD_TEST(numbers_of_a_chunk_are_all_that_is_read)
{
	uint64_t pointer = HEAP + 5 * PAGE;
	struct hawk_span numbers[HAWK_CHUNK_NUMBERS], heap;
	uint64_t kept[2];

	put_chunk(pointer, 0x1234, 208 | ARENA | BUSY);
	memory[2] = 9 * PAGE;
	synthetic_core_add_memory(world->core, HEAP, memory, sizeof(memory));
	world_open(world);
	assert_int_equal(hawk_chunk_numbers(world->target, pointer, numbers), 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(numbers[i].end - numbers[i].start, 8);
		kept[i] = memory[(numbers[i].start - HEAP) / 8];
	}
	memset(memory, 0, sizeof(memory));
	for (unsigned i = 0; i < 2; i++)
		memory[(numbers[i].start - HEAP) / 8] = kept[i];
	assert_true(find(world, pointer, pointer + 100, &heap));
	assert_int_equal(heap.end, HEAP + 9 * PAGE);
}
