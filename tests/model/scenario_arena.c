/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Growth of the table: words reserved across the border of two segments, segments that are shorter
 * where memory is, and the limit of memory.
 */
#include "model_table.h"
#include "scenarios.h"

#include "table/arena.h"
#include "table/place.h"

enum {
	RANGES = 2,
	WORDS = 3,
	EXTENT_BYTES = 4096,
};

/** Mapped at start-up and not by the arena: the twin, the unwinder's. */
static uint64_t others_bytes;

static uint32_t ranges[MODEL_THREADS_MAX][RANGES]; /**< first word; 0 = not yet */

static void set_up(void)
{
	model_table_set_up("");
	others_bytes = model_kernel_mapped_bytes() - hawk_place_bytes();
	hawk_table_header->word_count = (1 << HAWK_WORD_SEGMENT_LOG2) - 4;
}

static void use(uint32_t index)
{
	uint64_t *words = hawk_arena_words(index);

	MODEL_CHECK(model_kernel_is_mapped(words, WORDS * sizeof(*words)), "words are not mapped");
	words[WORDS - 1] = index;
}

static void reserve_range(unsigned number)
{
	uint32_t index;

	if (!hawk_arena_reserve_words(WORDS, &index))
		model_fail("no words");
	use(index);
	ranges[model_self()][number] = index;
}

static void reserve(void)
{
	for (unsigned i = 0; i < RANGES; i++)
		reserve_range(i);
}

static void check_ranges(void)
{
	const uint32_t *all = &ranges[0][0];

	for (unsigned i = 0; i < MODEL_THREADS_MAX * RANGES; i++) {
		if (!all[i])
			continue;
		MODEL_CHECK(hawk_segment_of(all[i], HAWK_WORD_SEGMENT_LOG2) ==
				    hawk_segment_of(all[i] + WORDS - 1, HAWK_WORD_SEGMENT_LOG2),
			    "words %u lie in two segments", all[i]);
		MODEL_CHECK(all[i] + WORDS <= hawk_table_header->word_count,
			    "words %u are beyond the count", all[i]);
		for (unsigned j = 0; j < i; j++)
			MODEL_CHECK(!all[j] || all[i] >= all[j] + WORDS || all[j] >= all[i] + WORDS,
				    "words %u and %u overlap", all[j], all[i]);
	}
}

/** Published extents are what is mapped, and no more. */
static void check_budget(void)
{
	const struct hawk_table_header *header = hawk_table_header;
	uint64_t published = 0;

	for (uint32_t i = 0; i < header->extent_count; i++)
		if (header->extents[i].kind && header->extents[i].kind != HAWK_EXTENT_TWIN)
			published += header->extents[i].bytes;
	MODEL_CHECK(published == hawk_place_bytes(), "%lu bytes are published of %lu", published,
		    hawk_place_bytes());
	MODEL_CHECK(model_kernel_mapped_bytes() == hawk_place_bytes() + others_bytes,
		    "%lu bytes are mapped, %lu known", model_kernel_mapped_bytes(),
		    hawk_place_bytes());
}

static void at_step(void)
{
	model_table_check();
	check_ranges();
}

static void at_end(void)
{
	at_step();
	check_budget();
}

enum {
	SHORT_WORDS = 1024, /**< two pages */
	WORDS_LEFT = 4,
};

/** There is no room for all of the second segment, and what there is of it is nearly used up. */
static void set_up_short(void)
{
	uint32_t index;

	model_table_set_up("");
	hawk_table_header->word_count = (1 << HAWK_WORD_SEGMENT_LOG2);
	hawk_place_limit = hawk_place_bytes() + (2 * SHORT_WORDS) * sizeof(uint64_t);
	if (!hawk_arena_reserve_words(WORDS, &index))
		model_fail("no words");
	hawk_table_header->word_count += SHORT_WORDS - WORDS_LEFT - WORDS;
	others_bytes = model_kernel_mapped_bytes() - hawk_place_bytes();
}

static void reserve_or_not(void)
{
	uint32_t index;

	if (hawk_arena_reserve_words(WORDS, &index))
		use(index);
}

/** Room for one extent more. */
static void set_up_limit(void)
{
	model_table_set_up("");
	others_bytes = model_kernel_mapped_bytes() - hawk_place_bytes();
	hawk_place_limit = hawk_place_bytes() + EXTENT_BYTES;
}

static void take_extents(void)
{
	for (unsigned i = 0; i < 2; i++) {
		uint64_t *memory = hawk_arena_private(EXTENT_BYTES, HAWK_EXTENT_BOOTSTRAP);

		if (memory)
			*memory = 1;
	}
}

static void at_step_limit(void)
{
	model_table_check();
	MODEL_CHECK(model_kernel_mapped_bytes() <= hawk_place_limit + others_bytes,
		    "%lu bytes are mapped, the limit is %lu", model_kernel_mapped_bytes(),
		    hawk_place_limit);
}

static void at_end_limit(void)
{
	at_step_limit();
	check_budget();
}

const struct model_scenario scenarios_arena[] = {
	{
		.name = "arena_words",
		.properties =
			"ranges of words never overlap and never cross a border; segments are "
			"published once, and the loser of a race unmaps its own",
		.set_up = set_up,
		.threads = {reserve, reserve, reserve},
		.at_step = at_step,
		.at_end = at_end,
		.preemptions = 2,
		.delays = 1,
	},
	{
		.name = "arena_limit",
		.properties =
			"the limit of memory holds at every instant, whoever asks at the same time",
		.set_up = set_up_limit,
		.threads = {take_extents, take_extents, take_extents},
		.at_step = at_step_limit,
		.at_end = at_end_limit,
		.preemptions = 2,
	},
	{
		.name = "arena_short",
		.properties =
			"of a segment that is shorter than wanted no words are handed out that are "
			"not there",
		.set_up = set_up_short,
		.threads = {reserve_or_not, reserve_or_not},
		.handler = reserve_or_not,
		.at_step = at_step,
		.at_end = at_end,
		.preemptions = 2,
		.signals = 1,
	},
	{0},
};
