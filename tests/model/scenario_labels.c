/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Names of scopes and types: interned by threads and a handler at once, in one hash chain, within
 * each other, across the border of two segments, and without memory.
 */
#include <string.h>

#include "model_table.h"
#include "scenarios.h"

#include "table/labels.h"

enum {
	AGENTS = 2 * MODEL_THREADS_MAX,
	NAMES = 3,
	NAME_BYTES = 12, /**< one word and a part of one */
	BUCKETS_LOG2 = 12,
	CANDIDATES = 400,
	SEGMENT_0 = 1 << HAWK_LABEL_SEGMENT_LOG2,
};

/** The first two lie in one bucket, the third is a scope within the first. */
static char names[NAMES][NAME_BYTES + 1] = {"", "", "inner scope!"};

static uint32_t told[AGENTS][NAMES];

static void name_candidate(char *name, unsigned number)
{
	memcpy(name, "candidate000", NAME_BYTES + 1);
	for (unsigned i = NAME_BYTES - 1; number; number /= 10)
		name[i--] = (char)('0' + number % 10);
}

static uint32_t bucket_of(uint32_t label)
{
	return (uint32_t)(hawk_arena_label(label)->hash >> (64 - BUCKETS_LOG2));
}

static void choose_names(void)
{
	uint32_t ids[CANDIDATES];

	for (unsigned i = 0; i < CANDIDATES; i++) {
		name_candidate(names[0], i);
		ids[i] = hawk_labels_intern(HAWK_LABEL_SCOPE, 0, names[0], NAME_BYTES);
		for (unsigned j = 0; j < i; j++)
			if (bucket_of(ids[i]) == bucket_of(ids[j])) {
				name_candidate(names[1], j);
				return;
			}
	}
	model_fail("no two names have one bucket");
}

/** As if none of the candidates had ever been seen. */
static void forget_labels(void)
{
	struct hawk_table_header *header = hawk_table_header;

	for (uint32_t id = 0; id < header->label_count; id++)
		memset(hawk_arena_label(id), 0, sizeof(struct hawk_label_record));
	header->label_count = 0;
	for (unsigned i = 1; i < HAWK_LABEL_SEGMENTS; i++)
		header->label_segments[i] = 0;
	if (!hawk_labels_init())
		model_fail("no buckets");
}

static void set_up(void)
{
	model_table_set_up("");
	if (!hawk_labels_init())
		model_fail("no buckets");
	choose_names();
	forget_labels();
}

static void set_up_at_border(void)
{
	set_up();
	hawk_table_header->label_count = SEGMENT_0 - 1;
}

static void set_up_without_memory(void)
{
	set_up_at_border();
	model_kernel_no_memory = true;
}

static uint32_t intern(unsigned agent, unsigned number, uint32_t parent)
{
	uint32_t id = hawk_labels_intern(HAWK_LABEL_SCOPE, parent, names[number], NAME_BYTES);

	told[agent][number] = id;
	return id;
}

/** The parent of `number`, as `agent` knows it. */
static uint32_t parent_of(unsigned agent, unsigned number)
{
	return number == 2 ? told[agent][0] : 0;
}

static void check_told(void)
{
	for (unsigned agent = 0; agent < AGENTS; agent++)
		for (unsigned i = 0; i < NAMES; i++)
			MODEL_CHECK(!told[agent][i] ||
					    model_table_label_is(told[agent][i], HAWK_LABEL_SCOPE,
								 parent_of(agent, i), names[i]),
				    "label %u is not %s", told[agent][i], names[i]);
}

static void at_step(void)
{
	model_table_check();
	check_told();
}

static void at_end(void)
{
	uint32_t count = hawk_table_header->label_count, known[NAMES] = {0};

	at_step();
	for (unsigned i = 0; i < NAMES; i++)
		for (unsigned agent = 0; agent < AGENTS; agent++) {
			uint32_t id = told[agent][i];

			MODEL_CHECK(!id || !known[i] || id == known[i], "%s has ids %u and %u",
				    names[i], known[i], id);
			known[i] = id ? id : known[i];
		}
	for (unsigned i = 0; i < NAMES; i++)
		if (known[i])
			MODEL_CHECK(hawk_labels_intern(HAWK_LABEL_SCOPE, i == 2 ? known[0] : 0,
						       names[i], NAME_BYTES) == known[i],
				    "%s is lost", names[i]);
	MODEL_CHECK(hawk_table_header->label_count == count, "a label was not found again");
}

static void two_names(void)
{
	unsigned self = model_self();

	intern(self, self % 2, 0);
	intern(self, 1 - self % 2, 0);
}

static void nested_names(void)
{
	unsigned self = model_self();

	intern(self, 2, intern(self, 0, 0));
}

static void one_name(void)
{
	intern(model_self(), 0, 0);
}

static void handler(void)
{
	intern(MODEL_THREADS_MAX + model_self(), 0, 0);
}

static void all_or_nothing(void)
{
	unsigned self = model_self();
	uint32_t parent = intern(self, 0, 0);

	if (parent)
		intern(self, 2, parent);
	intern(self, 1, 0);
}

const struct model_scenario scenarios_labels[] = {
	{
		.name = "labels_chain",
		.properties = "names of one bucket, interned in opposite order, have one id each, "
			      "published whole",
		.set_up = set_up,
		.threads = {two_names, two_names},
		.at_step = at_step,
		.at_end = at_end,
		.preemptions = 3,
	},
	{
		.name = "labels_same",
		.properties = "three threads and a handler intern one name: one id",
		.set_up = set_up,
		.threads = {one_name, one_name, one_name},
		.handler = handler,
		.at_step = at_step,
		.at_end = at_end,
		.preemptions = 1,
		.signals = 1,
	},
	{
		.name = "labels_border",
		.properties = "scopes within each other, across the border of two segments",
		.set_up = set_up_at_border,
		.threads = {nested_names, nested_names},
		.at_step = at_step,
		.at_end = at_end,
		.preemptions = 2,
		.delays = 1,
	},
	{
		.name = "labels_no_memory",
		.properties = "without memory for a segment a name has no id, and what is there "
			      "stays whole",
		.set_up = set_up_without_memory,
		.threads = {all_or_nothing, all_or_nothing},
		.at_step = at_step,
		.at_end = at_end,
		.preemptions = 2,
	},
	{0},
};
