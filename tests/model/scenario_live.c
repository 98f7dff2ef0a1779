/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * live=1: frees by trace, which go from threads to the table as allocations do, through the same
 * flush word, and interrupted by handlers that free as well.
 */
#include "model_table.h"
#include "scenarios.h"

#include "hooks/record.h"
#include "table/threads.h"

enum {
	AGENTS = 2 * MODEL_THREADS_MAX, /**< threads, and their handlers */
	BYTES = 24,
	/** Shares an entry of the thread's free counters with trace 1. */
	OTHER_TRACE = 1 + HAWK_FREE_ENTRIES,
	/** Shares an entry of its counters of allocations with trace 1. */
	THIRD_TRACE = 1 + HAWK_COUNTER_ENTRIES,
};

static struct {
	uint64_t frees_started, frees_done;
	uint64_t allocations_started, allocations_done;
} calls[AGENTS];

static void set_up(void)
{
	model_table_set_up("live=1");
	model_table_make_traces(THIRD_TRACE);
	/* slots that others have left behind */
	if (!hawk_threads_acquire())
		model_fail("no slot");
	model_kernel_exit_thread();
	hawk_thread_slot = NULL;
}

static void release_as(unsigned agent, uint32_t trace)
{
	calls[agent].frees_started++;
	hawk_record_free(trace, BYTES);
	calls[agent].frees_done++;
}

static void release(uint32_t trace)
{
	release_as(model_self(), trace);
}

static void allocate(uint32_t trace)
{
	struct hawk_slot *slot = hawk_threads_current();

	slot->hold->busy = 0x7000;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	calls[model_self()].allocations_started++;
	hawk_threads_count(slot, trace, BYTES);
	calls[model_self()].allocations_done++;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	slot->hold->busy = HAWK_IDLE;
}

static void free_both(void)
{
	release(1);
	release(OTHER_TRACE);
}

static void allocate_and_free(void)
{
	allocate(1);
	release(1);
	allocate(THIRD_TRACE);
	release(OTHER_TRACE);
}

static void handler(void)
{
	release_as(MODEL_THREADS_MAX + model_self(), 1);
}

static uint64_t allocations(void)
{
	return model_table_allocations(1) + model_table_allocations(THIRD_TRACE);
}

static uint64_t frees(void)
{
	return model_table_frees_of(1) + model_table_frees_of(OTHER_TRACE);
}

static void check_range(const char *what, uint64_t counted, uint64_t done, uint64_t started)
{
	MODEL_CHECK(counted >= done && counted <= started, "%lu %s, %lu done, %lu started", counted,
		    what, done, started);
}

static void at_step(void)
{
	uint64_t done = 0, started = 0, allocated = 0, begun = 0;

	for (unsigned i = 0; i < AGENTS; i++) {
		done += calls[i].frees_done;
		started += calls[i].frees_started;
		allocated += calls[i].allocations_done;
		begun += calls[i].allocations_started;
	}
	model_table_check();
	check_range("frees by trace", frees(), done, started);
	check_range("frees by thread", model_table_frees(), done, started);
	check_range("allocations", allocations(), allocated, begun);
}

const struct model_scenario scenarios_live[] = {
	{
		.name = "live_handler",
		.properties =
			"frees by trace are counted once, whoever dies or is interrupted when",
		.set_up = set_up,
		.threads = {free_both, free_both},
		.handler = handler,
		.at_step = at_step,
		.at_end = at_step,
		.preemptions = 1,
		.signals = 1,
	},
	{
		.name = "live_both",
		.properties = "the same with allocations of the same traces",
		.set_up = set_up,
		.threads = {allocate_and_free, allocate_and_free},
		.at_step = at_step,
		.at_end = at_step,
		.preemptions = 1,
		.delays = 1,
	},
	{0},
};
