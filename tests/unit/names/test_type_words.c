/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The words of blocks that may tell their types, against memory itself.
 */
#include "test.h"
#include "hawk/heap/heap.h"
#include "hawk/names/type_words.h"
#include "synthetic_heap.h"
#include "synthetic_world.h"

enum {
	WORLDS = 60,
	TRACES = 12,
	HEAP_BYTES = 256 << 10,
	BLOCK_WORDS_MAX = 8,
	LIBRARY_PAGES = 4,
	SAME_WORDS = 7, /**< of the traces from here on each has fewer than that many types */
};

#define LIBRARY UINT64_C(0x7f0000000000)

struct type_world {
	struct world *world;
	uint8_t *bytes;
	uint64_t seed;
	struct hawk_site sites[1];
	uint32_t site_of_trace[TRACES];
	struct hawk_heap heap;
	struct hawk_module_words modules;
};

static uint64_t random_below(struct type_world *world, uint64_t limit)
{
	return synthetic_random(&world->seed) % limit;
}

/* A word of this trace's blocks: into the library, beside it, not aligned, a number, anything. */
static uint64_t random_word(struct type_world *world, uint32_t trace)
{
	uint64_t different = trace >= SAME_WORDS ? 1 + trace % 3 : 40;

	if (trace == TRACES - 1 || (trace % 2 && !random_below(world, 3)))
		return random_below(world, 2) ? 0 : LIBRARY - 8;
	switch (random_below(world, trace < SAME_WORDS ? 8 : 1)) {
	case 1:
		return LIBRARY + LIBRARY_PAGES * SYNTHETIC_PAGE_BYTES;
	case 2:
		return LIBRARY + 4;
	case 3:
		return 1 + random_below(world, BLOCK_WORDS_MAX);
	case 4:
		return SYNTHETIC_HEAP + 8 * random_below(world, 1000);
	default:
		return LIBRARY + 8 * (trace * 10 + random_below(world, different));
	}
}

static void fill_block(struct type_world *world, struct hawk_block *block)
{
	uint8_t *at = world->bytes + (block->start - SYNTHETIC_HEAP);
	uint64_t words[2];

	words[0] = random_word(world, block->trace);
	words[1] = random_word(world, block->trace);
	if (block->kind == HAWK_KIND_NEW_ARRAY && random_below(world, 4))
		words[0] = random_below(world, BLOCK_WORDS_MAX);
	memcpy(at, words, sizeof(words));
}

static void add_blocks(struct type_world *world)
{
	struct hawk_block_index *index = &world->heap.index;
	uint64_t at = SYNTHETIC_HEAP + 16;

	assert_null(hawk_block_index_init(index, HEAP_BYTES));
	assert_null(hawk_block_index_keep_heads(index, HEAP_BYTES));
	while (at + 256 < SYNTHETIC_HEAP + HEAP_BYTES) {
		struct hawk_block block = {
			.start = at,
			.size = random_below(world, 8 * BLOCK_WORDS_MAX),
			.trace = (uint32_t)random_below(world, TRACES + 1),
			.kind = random_below(world, 3) ? HAWK_KIND_MALLOC : HAWK_KIND_NEW_ARRAY,
		};

		fill_block(world, &block);
		assert_null(hawk_block_index_add(index, &block, 1));
		at += 16 + (block.size + 31) / 16 * 16;
	}
	assert_null(hawk_block_index_finish(index));
}

static void add_library(struct type_world *world)
{
	uint8_t header[SYNTHETIC_PAGE_BYTES];

	synthetic_elf_page(header,
			   (struct synthetic_elf){.bytes = LIBRARY_PAGES * SYNTHETIC_PAGE_BYTES});
	synthetic_core_add_segment(world->world->core,
				   (struct synthetic_segment){
					   .address = LIBRARY,
					   .bytes = header,
					   .dumped_bytes = sizeof(header),
					   .memory_bytes = LIBRARY_PAGES * SYNTHETIC_PAGE_BYTES,
					   .flags = SYNTHETIC_READ | SYNTHETIC_EXEC,
					   .path = "/lib/liba.so",
				   });
}

static bool is_in_library(uint64_t word)
{
	return word % 8 == 0 && word >= LIBRARY &&
	       word < LIBRARY + LIBRARY_PAGES * SYNTHETIC_PAGE_BYTES;
}

/* From the memory itself. */
static struct hawk_type_words words_of(const struct type_world *world, uint32_t number)
{
	const struct hawk_block_index *index = &world->heap.index;
	uint64_t size = hawk_block_size(index, number);
	struct hawk_type_words ret = {0};
	uint64_t words[2];

	memcpy(words, world->bytes + (hawk_block_start(index, number) - SYNTHETIC_HEAP),
	       sizeof(words));
	if (size >= 8 && is_in_library(words[0]))
		ret.first = words[0];
	if (size >= 16 && index->heads[number] >> 12 == HAWK_KIND_NEW_ARRAY && words[0] &&
	    words[0] <= (size - 8) / 8 && is_in_library(words[1]))
		ret.second = words[1];
	return ret;
}

static void open_types(struct type_world *world, struct world *core, uint64_t seed)
{
	*world = (struct type_world){.world = core, .seed = seed};
	world->bytes = calloc(1, HEAP_BYTES);
	assert_non_null(world->bytes);
	add_blocks(world);
	add_library(world);
	synthetic_core_add_memory(core->core, SYNTHETIC_HEAP, world->bytes, HEAP_BYTES);
	world_open(core);
	world->heap = (struct hawk_heap){
		.origins = {{.name = "sweep", .knows = HAWK_HEAP_HEADERS, .end = UINT32_MAX}},
		.origin_count = 1,
		.knows = HAWK_HEAP_HEADERS,
		.target = core->target,
		.index = world->heap.index,
		.sites = world->sites,
		.site_count = 1,
		.site_of_trace = world->site_of_trace,
		.trace_count = TRACES,
	};
	hawk_module_words_init(&world->modules, core->target);
}

static void close_types(struct type_world *world)
{
	hawk_block_index_deinit(&world->heap.index);
	free(world->bytes);
}

/* Returns the number of blocks with words. */
static uint32_t expect_words(struct type_world *world)
{
	struct hawk_near near = {.target = world->heap.target};
	uint32_t found = 0;

	for (uint32_t i = 0; i < world->heap.index.count; i++) {
		struct hawk_type_words expected = words_of(world, i), words;
		struct hawk_block block;

		hawk_heap_next_block(&world->heap, &near, i, &block);
		words = hawk_type_words_at(&world->modules, &near, block.start, block.size);
		if (block.kind != HAWK_KIND_NEW_ARRAY)
			words.second = 0;
		assert_int_equal(words.first, expected.first);
		assert_int_equal(words.second, expected.second);
		found += words.first || words.second;
	}
	return found;
}

TEST(type_words_of_blocks_are_those_in_memory)
{
	uint64_t found = 0, all = 0;

	for (uint64_t seed = 1; seed <= WORLDS; seed++) {
		struct type_world world;
		void *core;

		assert_int_equal(world_set_up(&core), 0);
		open_types(&world, core, seed);
		found += expect_words(&world);
		all += world.heap.index.count;
		close_types(&world);
		world_tear_down(&core);
	}
	assert_in_range(found, all / 20, all * 3 / 4);
}
