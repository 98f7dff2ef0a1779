/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Slots of threads: claimed, given back and claimed again, with signal handlers that allocate at
 * any step, also while the thread gets its slot or gives it back.
 */
#include "model_table.h"
#include "scenarios.h"

#include "hooks/record.h"
#include "table/threads.h"

enum {
	AGENTS = 2 * MODEL_THREADS_MAX, /**< threads, and their handlers */
	BYTES = 24,
	/** One for each thread, and one for each handler that may come between its thread's having
	 * claimed a slot and its having it. */
	SLOTS_MAX = 4,
};

/** Calls by each agent. */
static struct {
	uint64_t allocations_started, allocations_done;
	uint64_t frees_started, frees_done;
} calls[AGENTS];

static void allocate(unsigned agent)
{
	struct hawk_frame_state caller = {.pc = 0x1000, .sp = 0x7000, .bp = 0};
	struct hawk_block_header header;

	calls[agent].allocations_started++;
	hawk_record_block(&caller, (struct hawk_new_block){&header + 1, BYTES});
	calls[agent].allocations_done++;
}

static void release(unsigned agent)
{
	calls[agent].frees_started++;
	hawk_record_free(0, BYTES);
	calls[agent].frees_done++;
}

/** No slot was ever used. */
static void set_up_first(void)
{
	model_table_set_up("stacks=0");
}

/** A slot that another thread has left behind, and none ever used after it. */
static void set_up(void)
{
	set_up_first();
	if (!hawk_threads_acquire())
		model_fail("no slot");
	model_kernel_exit_thread();
	hawk_thread_slot = NULL;
}

static void check_owners(void)
{
	for (unsigned i = 0; i < MODEL_THREADS_MAX; i++) {
		uint64_t slot = model_local_word(i, &hawk_thread_slot);

		if (slot <= 1)
			continue;
		for (unsigned j = 0; j < i; j++)
			MODEL_CHECK(model_local_word(j, &hawk_thread_slot) != slot,
				    "threads %u and %u have one slot", j, i);
	}
}

/** Not one call too few or too many, but for those in flight. */
static void check_counters(void)
{
	uint64_t started = 0, done = 0, counted = model_table_allocations(0);
	uint64_t frees_started = 0, frees_done = 0, frees = model_table_frees();

	for (unsigned i = 0; i < AGENTS; i++) {
		started += calls[i].allocations_started;
		done += calls[i].allocations_done;
		frees_started += calls[i].frees_started;
		frees_done += calls[i].frees_done;
	}
	MODEL_CHECK(counted >= done && counted <= started, "%lu allocations of %lu, %lu in flight",
		    counted, done, started - done);
	MODEL_CHECK(frees >= frees_done && frees <= frees_started,
		    "%lu frees of %lu, %lu in flight", frees, frees_done,
		    frees_started - frees_done);
}

static void at_step(void)
{
	model_table_check();
	check_owners();
	check_counters();
}

/** Every slot is free again, and there are no more than threads were alive at once. */
static void at_end(void)
{
	at_step();
	MODEL_CHECK(hawk_table_header->thread_count <= SLOTS_MAX, "%u slots",
		    hawk_table_header->thread_count);
	for (uint32_t i = 0; i < hawk_table_header->thread_count; i++) {
		const struct hawk_thread_record *slot = hawk_arena_element(HAWK_ARRAY_THREADS, i);

		MODEL_CHECK(slot->state == HAWK_THREAD_FREE, "slot %u is in state %u", i,
			    slot->state);
		MODEL_CHECK((const void *)hawk_threads_head(hawk_threads_slot(i)) == slot,
			    "slot %u has lost its private part", i);
	}
}

static void live(void)
{
	unsigned self = model_self();

	allocate(self);
	release(self);
}

static void handler(void)
{
	allocate(MODEL_THREADS_MAX + model_self());
	release(MODEL_THREADS_MAX + model_self());
}

/** Two traces that share an entry of the thread's counters: the second one flushes the first. */
enum { OTHER_TRACE = 1 + HAWK_COUNTER_ENTRIES };

static uint64_t traced_started[AGENTS], traced_done[AGENTS];

static void set_up_traces(void)
{
	set_up();
	model_table_make_traces(OTHER_TRACE);
}

static void count(unsigned calls_made)
{
	static const uint32_t traces[] = {1, OTHER_TRACE, 1};
	struct hawk_slot *slot = hawk_threads_current();

	slot->hold->busy = 0x7000;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	for (unsigned i = 0; i < calls_made; i++) {
		traced_started[model_self()]++;
		hawk_threads_count(slot, traces[i], BYTES);
		traced_done[model_self()]++;
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	slot->hold->busy = HAWK_IDLE;
}

static void count_traces(void)
{
	count(3);
}

static void count_traces_shortly(void)
{
	count(2);
}

/** As a nested call does. */
static void count_in_handler(void)
{
	traced_started[MODEL_THREADS_MAX + model_self()]++;
	hawk_counters_add_allocations(1, 1, BYTES);
	traced_done[MODEL_THREADS_MAX + model_self()]++;
}

static uint64_t traced(void)
{
	return model_table_allocations(1) + model_table_allocations(OTHER_TRACE);
}

static uint64_t sum_of(const uint64_t *numbers)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < AGENTS; i++)
		sum += numbers[i];
	return sum;
}

/** An entry on its way from the thread to the table is in one of them, at every instant. */
static void at_step_traces(void)
{
	model_table_check();
	check_owners();
	MODEL_CHECK(traced() >= sum_of(traced_done) && traced() <= sum_of(traced_started),
		    "%lu allocations, %lu done, %lu started", traced(), sum_of(traced_done),
		    sum_of(traced_started));
}

static void at_end_traces(void)
{
	at_step_traces();
	MODEL_CHECK(traced() == sum_of(traced_started), "%lu allocations of %lu", traced(),
		    sum_of(traced_started));
}

const struct model_scenario scenarios_slots[] = {
	{
		.name = "slots_threads",
		.properties = "a slot has one owner, and counters go on when it changes hands",
		.set_up = set_up,
		.threads = {live, live},
		.at_step = at_step,
		.at_end = at_end,
		.preemptions = 2,
	},
	{
		.name = "slots_new",
		.properties = "the same with the first threads of all",
		.set_up = set_up_first,
		.threads = {live, live},
		.at_step = at_step,
		.at_end = at_end,
		.preemptions = 2,
	},
	{
		.name = "slots_handler",
		.properties = "the same with handlers that allocate and free at any step",
		.set_up = set_up,
		.threads = {live, live},
		.handler = handler,
		.at_step = at_step,
		.at_end = at_end,
		.preemptions = 1,
		.signals = 1,
	},
	{
		.name = "slots_flush",
		.properties = "counts move from threads to the table without one being lost or "
			      "counted twice",
		.set_up = set_up_traces,
		.threads = {count_traces, count_traces_shortly},
		.handler = count_in_handler,
		.at_step = at_step_traces,
		.at_end = at_end_traces,
		.preemptions = 1,
		.signals = 1,
	},
	{
		.name = "slots_flush_twice",
		.properties = "the same with two preemptions",
		.set_up = set_up_traces,
		.threads = {count_traces_shortly, count_traces_shortly},
		.at_step = at_step_traces,
		.at_end = at_end_traces,
		.preemptions = 2,
	},
	{0},
};
