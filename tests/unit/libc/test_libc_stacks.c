/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Stacks of live and of ended threads, in one mapping, by glibc's descriptors and rings.
 */
#include "test.h"
#include "hawk/libc/stacks.h"
#include "synthetic_heap.h"
#include "synthetic_world.h"
#include "target/arch_x86_64.h"

enum {
	PAGE = 4096,
	COUNT = 4,
	STACK_BYTES = 32 << 10,
	STACK_WORDS = STACK_BYTES / 8,
	DESCRIPTOR = STACK_BYTES - 2432, /* in a stack */
	RING = 704,
	TID = 90, /* words of a descriptor */
	BLOCK = 210,
	HEADS = PAGE + 256, /* in the loader */
};

#define STACKS   UINT64_C(0x7f0000020000)
#define LOADER   UINT64_C(0x7f0000400000)
#define HEAD(i)  (LOADER + HEADS + 16 * (i))
#define STACK(i) (STACKS + (uint64_t)STACK_BYTES * (i))

static struct {
	uint64_t words[COUNT * STACK_WORDS];
	uint64_t loader[2 * PAGE / 8];
} memory;

/** The stacks found last. */
static struct hawk_stacks stacks;

static uint64_t *word_at(uint64_t address)
{
	return address >= LOADER ? &memory.loader[(address - LOADER) / 8]
				 : &memory.words[(address - STACKS) / 8];
}

static uint64_t descriptor(unsigned i)
{
	return STACK(i) + DESCRIPTOR;
}

/* A stack with its guard, of a thread with `tid`. */
static void make_stack(unsigned i, int32_t tid)
{
	uint64_t *words = word_at(descriptor(i));

	words[0] = words[2] = descriptor(i);
	words[TID] = (uint32_t)tid | UINT64_C(7) << 32;
	words[BLOCK] = STACK(i);
	words[BLOCK + 1] = STACK_BYTES;
	words[BLOCK + 2] = PAGE;
}

static void join(uint64_t before, uint64_t next)
{
	word_at(before)[0] = next;
	word_at(next)[1] = before;
}

/* The ring of a head and the stacks first .. last - 1. */
static void make_ring(unsigned head, unsigned first, unsigned last)
{
	uint64_t at = HEAD(head);

	for (unsigned i = first; i < last; i++) {
		join(at, descriptor(i) + RING);
		at = descriptor(i) + RING;
	}
	join(at, HEAD(head));
}

/* Stacks 0 and 1 are of threads, 2 and 3 were left. */
static void make_memory(void)
{
	memset(&memory, 0, sizeof(memory));
	for (unsigned i = 0; i < COUNT * STACK_WORDS; i++)
		memory.words[i] = 0x1234567890 + i;
	synthetic_elf_page((uint8_t *)memory.loader, (struct synthetic_elf){.bytes = 2 * PAGE});
	make_stack(0, 4711);
	make_stack(1, 4712);
	make_stack(2, 0);
	make_stack(3, -1);
	make_ring(0, 0, 2);
	make_ring(1, 0, 0);
	make_ring(2, 2, 4);
}

static void find(struct world *world)
{
	synthetic_core_add_memory(world->core, STACKS, memory.words, sizeof(memory.words));
	for (unsigned page = 0; page < 2; page++)
		synthetic_core_add_segment(
			world->core,
			(struct synthetic_segment){
				.address = LOADER + page * PAGE,
				.bytes = memory.loader + page * PAGE / 8,
				.dumped_bytes = PAGE,
				.flags = SYNTHETIC_READ | (page ? SYNTHETIC_WRITE : SYNTHETIC_EXEC),
				.path = "/lib/ld.so",
				.file_offset = page * PAGE});
	for (unsigned i = 0; i < 2; i++) {
		uint64_t registers[HAWK_REGISTER_COUNT] = {0};

		registers[HAWK_FS_BASE] = descriptor(i);
		synthetic_core_add_thread(world->core, 4711 + i, 0, registers);
	}
	synthetic_core_add_process(world->core, 4711, "threads", "threads");
	world_open(world);
	hawk_stacks_deinit(&stacks);
	stacks = (struct hawk_stacks){0};
	check(hawk_stacks_find(world->target, &stacks));
}

WORLD_TEST(stacks_of_one_mapping_are_told_apart)
{
	make_memory();
	find(world);
	assert_int_equal(stacks.count, COUNT);
	assert_false(stacks.incomplete);
	for (unsigned i = 0; i < COUNT; i++) {
		assert_int_equal(stacks.items[i].start, STACK(i));
		assert_int_equal(stacks.items[i].descriptor, descriptor(i));
		assert_int_equal(stacks.items[i].end, STACK(i + 1));
		assert_int_equal(stacks.items[i].ended, i >= 2);
	}
	assert_ptr_equal(hawk_stacks_of(&stacks, descriptor(1)), &stacks.items[1]);
	assert_null(hawk_stacks_of(&stacks, descriptor(2)));
	assert_null(hawk_stacks_of(&stacks, STACK(1)));
	assert_null(hawk_stacks_of(&stacks, 0));
	assert_int_equal(hawk_stacks_next(&stacks, STACK(1)), STACK(1));
	assert_int_equal(hawk_stacks_next(&stacks, STACK(1) + 1), STACK(2));
	assert_int_equal(hawk_stacks_next(&stacks, STACK(3) + 1), UINT64_MAX);
}

WORLD_TEST(a_thread_that_is_there_has_not_ended)
{
	make_memory();
	make_stack(1, 0);
	find(world);
	assert_int_equal(stacks.count, COUNT);
	assert_false(stacks.items[1].ended);
}

WORLD_TEST(a_thread_that_is_not_there_may_run)
{
	make_memory();
	make_stack(2, 4713);
	find(world);
	assert_int_equal(stacks.count, 3);
}

/* Its stack is the kernel's, and the ring is another one; the heads are side by side. */
WORLD_TEST(the_first_thread_leads_to_the_rings_as_well)
{
	make_memory();
	memset(word_at(descriptor(0)) + BLOCK, 0, 24);
	make_ring(0, 1, 2);
	make_ring(1, 0, 1);
	find(world);
	assert_int_equal(stacks.count, 3);
	assert_false(stacks.items[0].ended);
	assert_true(stacks.items[1].ended && stacks.items[2].ended);
	assert_false(stacks.incomplete);
}

WORLD_TEST(a_stack_that_its_descriptor_does_not_tell_is_said)
{
	make_memory();
	memset(word_at(descriptor(1)) + BLOCK, 0, 24);
	find(world);
	assert_int_equal(stacks.count, 3);
	assert_true(stacks.incomplete);
}

WORLD_TEST(a_ring_that_is_broken_is_followed_so_far)
{
	make_memory();
	word_at(descriptor(3) + RING)[1] = 0;
	find(world);
	assert_int_equal(stacks.count, 3);
	assert_true(stacks.incomplete);
}

WORLD_TEST(a_ring_without_a_head_is_no_ring)
{
	make_memory();
	join(descriptor(1) + RING, descriptor(0) + RING);
	find(world);
	assert_int_equal(stacks.count, 2);
	assert_true(stacks.incomplete);
}

WORLD_TEST(a_ring_that_goes_round_in_circles_ends)
{
	make_memory();
	word_at(descriptor(3) + RING)[0] = descriptor(2) + RING;
	find(world);
	assert_true(stacks.incomplete);
}

WORLD_TEST(blocks_that_do_not_hold_their_descriptor_are_none)
{
	make_memory();
	word_at(descriptor(0))[BLOCK] = descriptor(0) + 64;
	word_at(descriptor(1))[BLOCK + 1] = UINT64_MAX;
	word_at(descriptor(2))[BLOCK + 2] = STACK_BYTES; /* all of it is guard */
	word_at(descriptor(3))[BLOCK + 1] = 1 << 20;
	find(world);
	assert_int_equal(stacks.count, 0);
}

/* Thread pointers of another C library. */
WORLD_TEST(without_descriptors_nothing_is_known_nor_missing)
{
	make_memory();
	for (unsigned i = 0; i < 2; i++)
		word_at(descriptor(i))[2] = 0;
	find(world);
	assert_int_equal(stacks.count, 0);
	assert_false(stacks.incomplete);
}

enum { ROUNDS = 300 };

static uint64_t random_word(uint64_t *seed)
{
	uint64_t random = synthetic_random(seed);

	switch (random % 6) {
	case 0:
		return descriptor(random / 8 % COUNT) + RING;
	case 1:
		return HEAD(random / 8 % 3);
	case 2:
		return descriptor(random / 8 % COUNT);
	case 3:
		return STACK(random / 8 % COUNT);
	case 4:
		return random / 8 % (1 << 20);
	default:
		return random;
	}
}

WORLD_TEST(whatever_descriptors_say_stacks_hold_them)
{
	static const unsigned words[] = {0,   2,     RING / 8,  RING / 8 + 1,
					 TID, BLOCK, BLOCK + 1, BLOCK + 2};
	uint64_t seed = 1;

	for (unsigned round = 0; round < ROUNDS; round++) {
		make_memory();
		for (unsigned i = 0; i < 1 + round % 8; i++) {
			uint64_t at = synthetic_random(&seed);

			word_at(descriptor(at % COUNT))[words[at / 8 % 8]] = random_word(&seed);
			if (at % 5 == 0)
				word_at(HEAD(at / 64 % 3))[at / 512 % 2] = random_word(&seed);
		}
		find(world);
		for (size_t i = 0; i < stacks.count; i++) {
			const struct hawk_stack *stack = &stacks.items[i];

			assert_true(stack->start < stack->descriptor &&
				    stack->descriptor < stack->end);
			assert_true(!i || stack[-1].start <= stack->start);
		}
		world_renew(world);
	}
}
