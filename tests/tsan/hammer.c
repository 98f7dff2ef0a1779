/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Threads that come and go and use the tracer's shared structures at the same time: interning,
 * words, slots and counters, module log, rules and their flush. ThreadSanitizer ends the program
 * with exit code 66 if two of them race; what comes out in the end is checked, too.
 *
 * Skipped (77) where the sanitizer cannot lay out its shadow memory, which depends on the kernel.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "table/arena.h"
#include "hooks/init.h"
#include "base/options.h"
#include "hooks/record.h"
#include "unwind/rules.h"
#include "unwind/sighting.h"
#include "table/threads.h"
#include "table/traces.h"

/* hooks/init.c is left out, with the hooks. */
enum hawk_phase hawk_phase = HAWK_PHASE_TRACING;

enum {
	THREADS = 8,
	ROUNDS = 6, /**< of threads that end and others that take their slots */
	STEPS = 3000,
	STACKS = 400,
	DEPTH = 12,
	SKIP = 77,
};

struct stack {
	uint64_t pcs[DEPTH];
};

static struct stack stacks[STACKS];
static uint32_t ids[THREADS][STACKS];

static void fail(const char *what)
{
	fprintf(stderr, "hammer: %s\n", what);
	exit(1);
}

static uint64_t pc_of(const struct hawk_frames *self, uint32_t index)
{
	return ((const struct stack *)self->frames)->pcs[index];
}

/** Few hashes, so that chains are long. */
static uint32_t intern(unsigned number)
{
	struct hawk_frames frames = {.frames = &stacks[number],
				     .pc = pc_of,
				     .count = DEPTH,
				     .hash = (number % 16 + 1) * UINT64_C(0x123456789abcdef)};

	return hawk_traces_intern(&frames);
}

static void step(unsigned thread, unsigned number)
{
	struct hawk_slot *slot = hawk_threads_current();
	unsigned stack = (number * 7 + thread) % STACKS;
	uint32_t id = intern(stack);
	uint64_t pc = (uint64_t)(uintptr_t)&step + number % 64;
	struct hawk_code_range range;

	if (!id || (ids[thread][stack] && ids[thread][stack] != id))
		fail("a stack has two ids");
	ids[thread][stack] = id;
	if (slot) {
		slot->hold->busy = (uint64_t)(uintptr_t)&slot;
		hawk_threads_count(slot, id, 10);
		slot->hold->busy = HAWK_IDLE;
	} else {
		hawk_counters_add_allocations(id, 1, 10);
	}
	if (!hawk_rules_lookup(pc, false) && !hawk_rules_make(pc, false))
		fail("no rule");
	if (number % 16 == 0 && !hawk_modules_find(pc, &range))
		fail("the program is no module");
	if (number % 512 == thread)
		hawk_unwind_invalidate();
}

static void *hammer(void *data)
{
	unsigned thread = (unsigned)(uintptr_t)data;

	for (unsigned i = 0; i < STEPS; i++)
		step(thread, i);
	return NULL;
}

static uint64_t count_allocations(void)
{
	uint64_t total = 0;

	for (uint32_t id = 1; id < hawk_table_header->trace_count; id++) {
		const struct hawk_trace_record *record = hawk_arena_trace(id);

		total += hawk_counter_objects(record->alloc_objects, record->alloc_bytes);
	}
	return total;
}

static void set_up(void)
{
	hawk_options_parse("");
	if (!hawk_arena_init(0, NULL) || !hawk_threads_init() || !hawk_traces_init())
		fail("no table");
	hawk_sighting_init();
	hawk_unwind_options.depth = HAWK_STACK_FRAMES;
	if (!hawk_unwind_init())
		fail("no unwinder");
	hawk_threads_watch_exits();
	for (unsigned i = 0; i < STACKS; i++)
		for (unsigned j = 0; j < DEPTH; j++)
			stacks[i].pcs[j] = 1 + (j < 3 ? i * 10 + j : j);
}

/** The sanitizer ends a process that it cannot serve before main(). */
static void skip_without_sanitizer(char **argv)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		execl("/proc/self/exe", argv[0], "probe", (char *)NULL);
		_exit(SKIP);
	}
	if (pid > 0 && waitpid(pid, &status, 0) == pid && status)
		exit(SKIP);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	if (argc > 1)
		return 0;
	skip_without_sanitizer(argv);
	set_up();
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < THREADS; i++)
			if (pthread_create(&threads[i], NULL, hammer, (void *)(uintptr_t)i))
				fail("no thread");
		for (unsigned i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	}
	for (unsigned i = 0; i < STACKS; i++)
		for (unsigned thread = 1; thread < THREADS; thread++)
			if (ids[thread][i] != ids[0][i])
				fail("threads know a stack by two ids");
	if (count_allocations() != (uint64_t)THREADS * ROUNDS * STEPS)
		fail("allocations were lost");
	if (hawk_table_header->thread_count > THREADS)
		fail("slots were not used again");
	puts("done");
	return 0;
}
