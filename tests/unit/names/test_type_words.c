/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Choosing blocks by the types that their first words point to, against a test of each block.
 */
#include "test.h"
#include "hawk/analysis/selection.h"
#include "hawk/names/type_words.h"
#include "hawk/base/parallel.h"
#include "synthetic_heap.h"
#include "synthetic_world.h"

enum {
	WORLDS = 60,
	TRACES = 12,
	HEAP_BYTES = 256 << 10,
	BLOCK_WORDS_MAX = 8,
	LIBRARY_PAGES = 4,
	NAMED = 3, /**< the trace whose blocks have a name, and the one whose name is unwanted */
	UNWANTED = 4,
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
	unsigned wishes; /**< each with other types */
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

static bool named(const void *context, uint32_t trace, bool *ret)
{
	(void)context;
	*ret = trace == NAMED;
	return trace == NAMED || trace == UNWANTED;
}

/* As good as at random, but never where there is no word. */
static bool is_wanted(unsigned wishes, uint64_t word, bool array)
{
	return word && (word / 8 * 7 + array + wishes) % 5 < 2;
}

static bool has_name(uint64_t word)
{
	return word && word / 8 % 4;
}

static bool wanted(const struct type_world *world, const struct hawk_type_words *words)
{
	return has_name(words->first) ? is_wanted(world->wishes, words->first, false)
				      : is_wanted(world->wishes, words->second, true);
}

static bool type_passes(const void *context, struct hawk_near *near, const struct hawk_block *block)
{
	const struct type_world *world = context;
	struct hawk_type_words words =
		hawk_type_words_at(&world->modules, near, block->start, block->size);
	bool ret;

	if (block->kind != HAWK_KIND_NEW_ARRAY)
		words.second = 0;
	return named(NULL, block->trace, &ret) ? ret : wanted(world, &words);
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

static bool expected(const struct type_world *world, uint32_t number, uint64_t size_high)
{
	struct hawk_type_words words = words_of(world, number);
	uint32_t trace = world->heap.index.traces[number];
	bool ret;

	if (hawk_block_size(&world->heap.index, number) > size_high)
		return false;
	return named(NULL, trace, &ret) ? ret : wanted(world, &words);
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
	hawk_parallel_set_threads(1 + (unsigned)seed % 3);
	hawk_module_words_init(&world->modules, core->target);
}

static void close_types(struct type_world *world)
{
	hawk_block_index_deinit(&world->heap.index);
	free(world->bytes);
}

static uint32_t expect_choice(struct type_world *world)
{
	uint64_t high = random_below(world, 2) ? UINT64_MAX : random_below(world, 64);
	const struct hawk_selector selector = {
		.size_high = high, .type = type_passes, .context = world};
	uint32_t chosen = 0;
	uint64_t *bits;

	assert_null(
		hawk_selection_bits_make(&world->heap, &selector, random_below(world, 2), &bits));
	for (uint32_t i = 0; i < world->heap.index.count; i++) {
		bool is = expected(world, i, high);

		assert_int_equal(hawk_block_is_chosen(bits, i), is);
		chosen += is;
	}
	free(bits);
	return chosen;
}

TEST(types_of_blocks_are_those_of_their_words)
{
	uint64_t chosen = 0, all = 0;

	for (uint64_t seed = 1; seed <= WORLDS; seed++) {
		struct type_world world;
		void *core;

		assert_int_equal(world_set_up(&core), 0);
		open_types(&world, core, seed);
		for (unsigned i = 0; i < 4; i++, world.wishes++) {
			chosen += expect_choice(&world);
			all += world.heap.index.count;
		}
		close_types(&world);
		world_tear_down(&core);
	}
	assert_in_range(chosen, all / 20, all / 2);
}
