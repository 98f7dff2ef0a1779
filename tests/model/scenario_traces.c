/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Deduplication of stacks: threads and a handler that intern the same stacks, stacks of one hash,
 * tails of each other, across the border of two segments and of two tables of the index, and
 * without memory.
 */
#include "model_table.h"
#include "scenarios.h"

#include "table/arena.h"
#include "table/place.h"
#include "table/traces.h"

enum {
	STACKS = 3,
	AGENTS = 4, /**< threads, and the handler */
};

struct stack {
	uint64_t pcs[4];
	uint32_t count;
};

static const struct stack stacks[STACKS] = {
	{{0x11, 0x12, 0x13}, 3},
	{{0x21, 0x12, 0x13}, 3},
	{{0x31, 0x32}, 2},
};

/** The ids that agents got; 0 = none yet. */
static uint32_t told[AGENTS][STACKS];

static uint64_t pc_of(const struct hawk_frames *self, uint32_t index)
{
	return ((const struct stack *)self->frames)->pcs[index];
}

/** One hash for all stacks: they share a bucket in each table of the index, and only frames
 * distinguish them. */
static const uint64_t hash_of_all = UINT64_C(0x123456789abcdef);

static uint32_t intern(unsigned agent, unsigned number, uint32_t tail)
{
	struct hawk_frames frames = {.frames = &stacks[number],
				     .pc = pc_of,
				     .count = stacks[number].count,
				     .tail_trace = tail,
				     .tail_count = tail ? 2 : 0,
				     .hash = hash_of_all};
	uint32_t id = hawk_traces_intern(&frames);

	told[agent][number] = id;
	return id;
}

static void set_up(void)
{
	model_table_set_up("");
}

static uint64_t filler_pc(const struct hawk_frames *self, uint32_t index)
{
	return (uint64_t)self->frames + index;
}

/** Takes words of the index. */
static void fill(unsigned words)
{
	enum { PC_FIRST = 0x1000 };

	for (uint64_t i = 0; i < words; i++) {
		struct hawk_frames frames = {.frames = (const void *)(PC_FIRST + i),
					     .pc = filler_pc,
					     .count = 1,
					     .hash = hash_of_all};

		hawk_traces_intern(&frames);
	}
}

static uint64_t bytes_before;
static uint32_t extents_before;

/** The next table is not mapped yet. */
static void set_up_all_full(void)
{
	set_up();
	fill(HAWK_TRACES_WAYS * HAWK_TRACES_TABLES_AT_ONCE);
	bytes_before = hawk_place_bytes();
	extents_before = hawk_table_header->extent_count;
}

static void set_up_all_full_without_memory(void)
{
	set_up_all_full();
	model_kernel_no_memory = true;
}

/** Another stack comes first in the bucket, and the next segments begin one record further on. */
static void set_up_at_border(void)
{
	model_table_set_up("");
	intern(0, 2, 0);
	told[0][2] = 0;
	hawk_table_header->trace_count = (1 << HAWK_TRACE_SEGMENT_LOG2) - 1;
	hawk_table_header->word_count = (1 << HAWK_WORD_SEGMENT_LOG2) - 4;
}

static void set_up_without_memory(void)
{
	set_up_at_border();
	model_kernel_no_memory = true;
}

/** Checks that an id, once given to an agent, stays published and means the same frames. */
static void check_told(void)
{
	uint64_t pcs[MODEL_FRAMES_MAX];

	for (unsigned agent = 0; agent < AGENTS; agent++)
		for (unsigned i = 0; i < STACKS; i++) {
			uint32_t id = told[agent][i], count;

			if (!id)
				continue;
			count = model_table_frames(id, pcs);
			MODEL_CHECK(count == stacks[i].count, "trace %u has %u frames", id, count);
			for (uint32_t j = 0; j < count; j++)
				MODEL_CHECK(pcs[j] == stacks[i].pcs[j],
					    "trace %u: frame %u is another", id, j);
		}
}

static void at_step(void)
{
	model_table_check();
	check_told();
}

/** Equal stacks have one id. Were two records of one stack in the index, each would have been given
 * to the thread that put it there. */
static void at_end(void)
{
	uint32_t count = hawk_table_header->trace_count;

	at_step();
	for (unsigned i = 0; i < STACKS; i++) {
		uint32_t known = 0;

		for (unsigned agent = 0; agent < AGENTS; agent++) {
			uint32_t id = told[agent][i];

			MODEL_CHECK(!id || !known || id == known, "stack %u has ids %u and %u", i,
				    known, id);
			known = id ? id : known;
		}
		if (known)
			MODEL_CHECK(intern(0, i, 0) == known, "stack %u is lost", i);
	}
	MODEL_CHECK(hawk_table_header->trace_count == count, "a stack was not found again");
	for (unsigned i = 0; i < STACKS; i++)
		told[0][i] = 0;
}

static void at_end_with_one_table(void)
{
	const struct hawk_table_header *header = hawk_table_header;

	at_end();
	MODEL_CHECK(header->extent_count == extents_before + 1, "%u extents, not one more",
		    header->extent_count);
	MODEL_CHECK(hawk_place_bytes() - bytes_before == header->extents[extents_before].bytes,
		    "%zu bytes more", (size_t)(hawk_place_bytes() - bytes_before));
}

static void same_stack(void)
{
	intern(model_self(), 0, 0);
}

static void two_stacks(void)
{
	unsigned self = model_self();

	intern(self, self, 0);
	intern(self, 1 - self, 0);
}

static void with_tail(void)
{
	unsigned self = model_self();
	uint32_t id = intern(self, self, 0);

	intern(self, 1 - self, id);
}

static void handler(void)
{
	intern(3, 0, 0);
}

static void all_or_nothing(void)
{
	unsigned self = model_self();

	intern(self, self, 0);
	intern(self, 2, 0);
}

const struct model_scenario scenarios_traces[] = {
	{
		.name = "traces_same",
		.properties =
			"three threads intern one stack: one id, published before anybody has it",
		.set_up = set_up,
		.threads = {same_stack, same_stack, same_stack},
		.at_step = at_step,
		.at_end = at_end,
		.preemptions = 2,
		.delays = 1,
	},
	{
		.name = "traces_chain",
		.properties = "stacks of one hash, interned in opposite order: one id each",
		.set_up = set_up,
		.threads = {two_stacks, two_stacks},
		.at_step = at_step,
		.at_end = at_end,
		.preemptions = 2,
	},
	{
		.name = "traces_handler",
		.properties = "the same while a handler interns one of them at any step",
		.set_up = set_up,
		.threads = {two_stacks, two_stacks},
		.handler = handler,
		.at_step = at_step,
		.at_end = at_end,
		.preemptions = 1,
		.signals = 1,
	},
	{
		.name = "traces_table",
		.properties = "a table of the index that is not there yet is published once, and "
			      "no other stays",
		.set_up = set_up_all_full,
		.threads = {two_stacks, two_stacks},
		.at_step = at_step,
		.at_end = at_end_with_one_table,
		.preemptions = 2,
		.delays = 1,
	},
	{
		.name = "traces_no_table",
		.properties =
			"without memory for a table new stacks have no ids, and others keep theirs",
		.set_up = set_up_all_full_without_memory,
		.threads = {two_stacks, two_stacks},
		.at_step = at_step,
		.at_end = at_end,
		.preemptions = 2,
	},
	{
		.name = "traces_tail",
		.properties =
			"stacks coded as tails of each other read back whole at every instant",
		.set_up = set_up,
		.threads = {with_tail, with_tail},
		.at_step = at_step,
		.at_end = at_end,
		.preemptions = 3,
		.private_accesses = true,
	},
	{
		.name = "traces_border",
		.properties =
			"the same across the border of two segments: one segment is published, the "
			"other unmapped",
		.set_up = set_up_at_border,
		.threads = {two_stacks, two_stacks},
		.at_step = at_step,
		.at_end = at_end,
		.preemptions = 2,
	},
	{
		.name = "traces_no_memory",
		.properties = "without memory for a segment a stack has no id, and what is there "
			      "stays whole",
		.set_up = set_up_without_memory,
		.threads = {all_or_nothing, all_or_nothing},
		.at_step = at_step,
		.at_end = at_end,
		.preemptions = 2,
	},
	{0},
};
