/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Growth of a table file: one thread makes a segment, the others wait for it, and when that takes
 * too long, make it as well. Nothing is ever dropped for it.
 */
#include "model_table.h"
#include "scenarios.h"

#include "table/arena.h"
#include "table/file_state.h"

enum {
	WORDS = 3,
	LEFT = 4, /**< words of the segment that is there */
};
#define FILE_BYTES (UINT64_C(64) << 20)
#define PAGE_BYTES UINT64_C(4096)

static uint64_t next_at_start;
static uint32_t ranges[2 * MODEL_THREADS_MAX][2]; /**< by thread and handler; 0 = not yet */

/** As hawk_file_create() leaves it, but that the header and the first segments lie elsewhere. */
static void set_up(void)
{
	model_table_set_up("");
	hawk_file.size = FILE_BYTES;
	hawk_file.next = next_at_start = HAWK_TABLE_HEADER_BYTES;
	hawk_file.extents[0].address = (uint64_t)hawk_table_header;
	hawk_file.extents[0].bytes = HAWK_TABLE_HEADER_BYTES;
	hawk_file.extent_count = 1;
	hawk_file.active = true;
	hawk_table_header->word_count = (1 << HAWK_WORD_SEGMENT_LOG2) - LEFT;
}

/** The first thread needs the next segment. */
static void set_up_no_words(void)
{
	set_up();
	hawk_table_header->word_count = (1 << HAWK_WORD_SEGMENT_LOG2) - 1;
}

/** Room for a page of the next segment, and for no other one. */
static void set_up_full(void)
{
	set_up();
	hawk_file.size = hawk_file.next + PAGE_BYTES;
}

static void reserve_as(unsigned agent, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		uint32_t index;

		if (!hawk_arena_reserve_words(WORDS, &index))
			model_fail("no words, and the file is not full");
		*hawk_arena_words(index + WORDS - 1) = index;
		ranges[agent][i] = index;
	}
}

static void reserve(void)
{
	reserve_as(model_self(), 2);
}

static void reserve_once(void)
{
	reserve_as(model_self(), 1);
}

static void handler(void)
{
	reserve_as(MODEL_THREADS_MAX + model_self(), 1);
}

static void check_ranges(void)
{
	const uint32_t *all = &ranges[0][0];

	for (unsigned i = 0; i < sizeof(ranges) / sizeof(*all); i++)
		for (unsigned j = 0; j < i; j++)
			MODEL_CHECK(!all[i] || !all[j] || all[i] >= all[j] + WORDS ||
					    all[j] >= all[i] + WORDS,
				    "words %u and %u overlap", all[j], all[i]);
}

static void at_step(void)
{
	model_table_check();
	check_ranges();
}

static uint64_t made_bytes(void)
{
	return hawk_file.next - next_at_start;
}

static void at_end(void)
{
	at_step();
	MODEL_CHECK(hawk_table_header->word_segments[1], "there is no second segment");
}

static void nothing_is_wasted(void)
{
	at_end();
	MODEL_CHECK(made_bytes() == UINT64_C(16) << HAWK_WORD_SEGMENT_LOG2,
		    "the file grew by %lu bytes", made_bytes());
}

static void a_page_is_made(void)
{
	at_end();
	MODEL_CHECK(made_bytes() == PAGE_BYTES, "the file grew by %lu bytes", made_bytes());
}

const struct model_scenario scenarios_file[] = {
	{
		.name = "file_growth",
		.properties = "threads that need more of a table file at once make it longer once",
		.set_up = set_up,
		.threads = {reserve, reserve, reserve},
		.at_step = at_step,
		.at_end = nothing_is_wasted,
		.preemptions = 1,
		.delays = 1,
	},
	{
		.name = "file_full",
		.properties =
			"the same where the file has room for one page more, and no other one",
		.set_up = set_up_full,
		.threads = {reserve, reserve},
		.at_step = at_step,
		.at_end = a_page_is_made,
		.preemptions = 1,
		.delays = 1,
	},
	{
		.name = "file_claims",
		.properties =
			"claims are taken over and interrupted by handlers, and nothing is dropped",
		.set_up = set_up_no_words,
		.threads = {reserve_once, reserve_once},
		.handler = handler,
		.at_step = at_step,
		.at_end = at_end,
		.preemptions = 2,
		.signals = 1,
	},
	{0},
};
