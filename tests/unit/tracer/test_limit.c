/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The limit of the tracer's memory: most of it is used before the first stack, or slot, goes
 * without, whatever the limit and whatever the stacks; and what was handed out is there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "table/arena.h"
#include "table/labels.h"
#include "table/marks.h"
#include "table/place.h"
#include "table/threads.h"
#include "table/traces.h"
#include "unwind/unwind.h"

enum {
	USED_PERCENT_MIN = 60,
	TRIED_AFTERWARDS = 1000,
	MIB_LOG2 = 20,
};

/** In MiB; borders of doubling segments lie on both sides of most of them. */
static const unsigned limits[] = {8, 9, 12, 16, 24, 32, 48, 64, 100};
enum { LIMITS = sizeof(limits) / sizeof(limits[0]) };

struct stacks {
	uint32_t frames;
	bool sampled;
};

static void *map_for_unwinder(uint64_t bytes)
{
	return hawk_arena_private(bytes, HAWK_EXTENT_PRIVATE);
}

/** As hooks/init.c does it. */
static bool start(unsigned mib)
{
	hawk_place_limit = (uint64_t)mib << MIB_LOG2;
	hawk_unwind_options.map = map_for_unwinder;
	return hawk_arena_init(0, NULL) && hawk_threads_init() && hawk_traces_init() &&
	       hawk_labels_init() && hawk_marks_init() && hawk_unwind_init() &&
	       hawk_threads_acquire();
}

static uint64_t pc_of(const struct hawk_frames *self, uint32_t index)
{
	return ((uint64_t)self->frames << 10) + index + 1;
}

static uint32_t intern(uint64_t number, uint32_t frames)
{
	const struct hawk_frames stack = {
		.frames = (const void *)(number + 1),
		.pc = pc_of,
		.count = frames,
		.hash = ((number + 1) * UINT64_C(0x9e3779b97f4a7c15)) ^ number >> 7 ^ 1,
	};

	return hawk_traces_intern(&stack);
}

/** Every id below the count is a stack whose words are there. */
static bool all_is_there(uint64_t stacks, uint32_t frames)
{
	const struct hawk_table_header *header = hawk_table_header;

	if (header->trace_count != stacks + 1)
		return false;
	for (uint32_t id = 1; id < header->trace_count; id++) {
		const struct hawk_trace_record *record = hawk_arena_trace(id);
		const uint64_t *words = hawk_arena_words(record->word_index);

		if (!record->hash || record->own_count != frames ||
		    words[frames - 1] != words[0] + frames - 1)
			return false;
	}
	return true;
}

static int report(const char *what, unsigned mib, uint64_t count, uint64_t used)
{
	uint64_t percent = used * 100 / ((uint64_t)mib << MIB_LOG2);

	printf("%u MiB: %lu %s, %lu %% used\n", mib, (unsigned long)count, what,
	       (unsigned long)percent);
	fflush(stdout);
	return percent >= USED_PERCENT_MIN && percent <= 100 ? 0 : 1;
}

static int fill_with_stacks(unsigned mib, const struct stacks *stacks)
{
	uint64_t count = 0, used;
	char what[64];

	if (!start(mib))
		return 2;
	hawk_table_header->sample_mean = stacks->sampled;
	while (intern(count, stacks->frames))
		count++;
	used = hawk_place_bytes();
	if (!all_is_there(count, stacks->frames))
		return 3;
	for (uint64_t i = 1; i <= TRIED_AFTERWARDS; i++)
		if (intern(count + i, stacks->frames))
			count++; /* there was room in another table of the index */
	if (hawk_table_header->trace_count != count + 1 || hawk_place_bytes() > hawk_place_limit)
		return 4;
	snprintf(what, sizeof(what), "%sstacks of %u", stacks->sampled ? "sampled " : "",
		 stacks->frames);
	return report(what, mib, count, used);
}

static int fill_with_slots(unsigned mib, const struct stacks *unused)
{
	uint64_t count = 1;
	struct hawk_slot *slot;

	(void)unused;
	if (!start(mib))
		return 2;
	while (hawk_thread_slot = NULL, slot = hawk_threads_acquire()) {
		slot->stack.trace = ~0U; /* the first and the last byte are there */
		slot->hold->busy = HAWK_IDLE;
		slot->head->index += 0;
		count++;
	}
	if (hawk_table_header->thread_count != count)
		return 3;
	return report("slots", mib, count, hawk_place_bytes());
}

/** Each in a process of its own: a table is made once. */
static void check(int (*fill)(unsigned, const struct stacks *), const struct stacks *stacks)
{
	for (unsigned i = 0; i < LIMITS; i++) {
		int status;
		pid_t child = fork();

		if (!child)
			_exit(fill(limits[i], stacks));
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
}

static void short_stacks_use_up_the_limit(void **state)
{
	(void)state;
	check(fill_with_stacks, &(struct stacks){.frames = 1});
}

static void stacks_of_some_frames_use_up_the_limit(void **state)
{
	(void)state;
	check(fill_with_stacks, &(struct stacks){.frames = 8});
}

static void long_stacks_use_up_the_limit(void **state)
{
	(void)state;
	check(fill_with_stacks, &(struct stacks){.frames = 500});
}

static void sampled_stacks_use_up_the_limit(void **state)
{
	(void)state;
	check(fill_with_stacks, &(struct stacks){.frames = 3, .sampled = true});
}

static void slots_use_up_the_limit(void **state)
{
	(void)state;
	check(fill_with_slots, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_stacks_use_up_the_limit),
		cmocka_unit_test(stacks_of_some_frames_use_up_the_limit),
		cmocka_unit_test(long_stacks_use_up_the_limit),
		cmocka_unit_test(sampled_stacks_use_up_the_limit),
		cmocka_unit_test(slots_use_up_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
