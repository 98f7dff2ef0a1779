/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The cache of known stacks: two words an entry, written and read one by one, while sets overflow
 * and grow in number.
 */
#include "model_table.h"
#include "scenarios.h"

#include "table/arena.h"
#include "table/traces.h"

enum {
	STACKS = 6, /**< of one set: more than it has ways */
	TRACE_FIRST = 100,
	MANY_TRACES = 3 * (1 << HAWK_KNOWN_SETS_LOG2_MIN),
};

/** All of one set, however many sets there are. */
static uint64_t hash_of(unsigned stack)
{
	return (uint64_t)(stack + 1) << HAWK_KNOWN_SETS_LOG2_MAX | 5;
}

/** The half that is kept is the same for all, the other half chooses the same way. */
static uint64_t check_of(unsigned stack)
{
	return (uint64_t)(stack + 1) * HAWK_KNOWN_WAYS << 32 | 77;
}

static void add(unsigned stack)
{
	hawk_known_add(hash_of(stack), check_of(stack), TRACE_FIRST + stack);
}

static void find(unsigned stack)
{
	uint32_t trace = hawk_known_find(hash_of(stack), check_of(stack));

	MODEL_CHECK(!trace || trace == TRACE_FIRST + stack, "stack %u is taken for trace %u", stack,
		    trace);
}

/** A set that is full, so that everybody replaces one and the same entry. */
static void set_up(void)
{
	model_table_set_up("");
	for (unsigned i = 0; i < HAWK_KNOWN_WAYS; i++)
		add(i);
}

/** The next one to come finds that there are more traces than sets for them. */
static void set_up_growth(void)
{
	set_up();
	hawk_table_header->trace_count = MANY_TRACES + 1;
}

static void add_and_find(void)
{
	unsigned own = HAWK_KNOWN_WAYS + model_self() % (STACKS - HAWK_KNOWN_WAYS);

	add(own);
	find(own);
	find(0);
	add(0);
}

static void find_all(void)
{
	for (unsigned i = 0; i < STACKS; i++)
		find(i);
}

static void nothing_is_taken_for_another(void)
{
	find_all();
	for (unsigned i = 0; i < STACKS; i++) {
		add(i);
		MODEL_CHECK(hawk_known_find(hash_of(i), check_of(i)) == TRACE_FIRST + i,
			    "stack %u is not found at once", i);
	}
}

const struct model_scenario scenarios_known[] = {
	{
		.name = "known_full",
		.properties = "a known stack is never taken for another one that replaces it",
		.set_up = set_up,
		.threads = {add_and_find, add_and_find, find_all},
		.at_step = find_all,
		.at_end = nothing_is_taken_for_another,
		.preemptions = 2,
		.delays = 1,
	},
	{
		.name = "known_growth",
		.properties = "the same while the number of sets grows",
		.set_up = set_up_growth,
		.threads = {add_and_find, add_and_find},
		.handler = find_all,
		.at_step = find_all,
		.at_end = nothing_is_taken_for_another,
		.preemptions = 2,
		.signals = 1,
	},
	{0},
};
