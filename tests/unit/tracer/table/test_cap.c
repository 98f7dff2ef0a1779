/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The default cap on the tracer's memory, with trees of cgroups made of files. And what a cap does:
 * most of it is used before the first stack, or slot, goes without, whatever the limit and
 * whatever the stacks; and what was handed out is there.
 */
#include "test.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hawk_trace_table.h"
#include "table/arena.h"
#include "table/cap.h"
#include "table/labels.h"
#include "table/marks.h"
#include "table/place.h"
#include "table/threads.h"
#include "table/traces.h"
#include "unwind/unwind.h"

#define MIB (UINT64_C(1) << 20)

static char root[] = "/tmp/hawk-test-XXXXXX";

static void shell(const char *command)
{
	char text[1024];

	snprintf(text, sizeof(text), "cd %s && %s", root, command);
	assert_int_equal(system(text), 0);
}

static int make_root(void **state)
{
	(void)state;
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	(void)state;
	shell("rm -r -- \"$PWD\"");
	return 0;
}

TEST(the_cap_is_a_sixteenth_of_memory_or_a_quarter_of_little)
{
	static const struct {
		uint64_t memory, cap;
	} cases[] = {
		{16384 * MIB, 1024 * MIB},
		{UINT64_MAX, UINT64_MAX / 16},
		{1023 * MIB, 64 * MIB},
		{256 * MIB, 64 * MIB},
		{128 * MIB, 32 * MIB},
		{1, 8 * MIB},
		{0, 8 * MIB},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_int_equal(hawk_cap_of_memory(cases[i].memory), cases[i].cap);
}

TEST(the_lowest_limit_of_the_cgroups_counts)
{
	static const struct {
		const char *tree; /**< shell commands that make it */
		uint64_t limit;
	} cases[] = {
		{"true", UINT64_MAX},
		/* version 2; on the way up */
		{"echo 0::/a/b >proc/self/cgroup; mkdir -p sys/fs/cgroup/a/b;"
		 "echo max >sys/fs/cgroup/a/memory.max; echo 7777 >sys/fs/cgroup/a/b/memory.max",
		 7777},
		{"echo 0::/a/b/c >proc/self/cgroup; mkdir -p sys/fs/cgroup/a/b/c;"
		 "echo 5000 >sys/fs/cgroup/a/memory.max; echo 7777 >sys/fs/cgroup/a/b/memory.max;"
		 "echo max >sys/fs/cgroup/a/b/c/memory.max",
		 5000},
		/* version 1; a container's mount is its own cgroup */
		{"printf '9:name=systemd:/x\\n8:memory_other:/s\\n7:cpu,memory:/a\\n0::/\\n'"
		 ">proc/self/cgroup; mkdir -p sys/fs/cgroup/cpu,memory/a "
		 "sys/fs/cgroup/memory_other/s;"
		 "echo 1 >sys/fs/cgroup/memory_other/s/memory.limit_in_bytes;"
		 "echo 9223372036854771712 >sys/fs/cgroup/cpu,memory/memory.limit_in_bytes;"
		 "echo 123456 >sys/fs/cgroup/cpu,memory/a/memory.limit_in_bytes",
		 123456},
		{"echo 4:memory:/docker/0123456789 >proc/self/cgroup; mkdir -p "
		 "sys/fs/cgroup/memory;"
		 "echo 4242 >sys/fs/cgroup/memory/memory.limit_in_bytes",
		 4242},
		/* nonsense */
		{": >proc/self/cgroup", UINT64_MAX},
		{"printf 'no colon\\n0::/a\\n' >proc/self/cgroup", UINT64_MAX},
		{"printf '0::' >proc/self/cgroup;"
		 "echo 99999999999999999999 >sys/fs/cgroup/memory.max",
		 UINT64_MAX},
		/* long paths and deep ones */
		{"echo 17 >sys/fs/cgroup/memory.max;"
		 "head -c 30000 /dev/zero | tr '\\0' / | sed s,^,0::, >proc/self/cgroup",
		 17},
		{"echo 17 >sys/fs/cgroup/memory.max;"
		 "yes a | head -10000 | tr '\\n' / | sed s,^,0::/, >proc/self/cgroup",
		 UINT64_MAX},
		{"echo 17 >sys/fs/cgroup/memory.max;"
		 "head -c 30000 /dev/zero | tr '\\0' a | sed s,^,0::/, >proc/self/cgroup",
		 17},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		shell("rm -rf -- proc sys; mkdir -p proc/self sys/fs/cgroup");
		shell(cases[i].tree);
		assert_int_equal(hawk_cap_cgroup_limit(root), cases[i].limit);
	}
}

/** The cap of a process with such limits. */
static uint64_t cap_under(int resource, uint64_t bytes)
{
	uint64_t cap = 0;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	if (!fork()) {
		struct rlimit limit = {bytes, bytes};

		setrlimit(resource, &limit);
		cap = hawk_cap_choose();
		_exit(write(ends[1], &cap, sizeof(cap)) != sizeof(cap));
	}
	wait(NULL);
	assert_int_equal(read(ends[0], &cap, sizeof(cap)), sizeof(cap));
	close(ends[0]);
	close(ends[1]);
	return cap;
}

TEST(a_limited_address_space_gives_a_quarter_or_nothing)
{
	const int resources[] = {RLIMIT_AS, RLIMIT_DATA};

	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(cap_under(resources[i], HAWK_TABLE_ADDRESS_SPACE_MIN), 8 * MIB);
		assert_int_equal(cap_under(resources[i], 128 * MIB), 32 * MIB);
		assert_int_equal(cap_under(resources[i], HAWK_TABLE_ADDRESS_SPACE_MIN - 1), 0);
		assert_true(cap_under(resources[i], RLIM_INFINITY) >= 8 * MIB);
	}
}

enum {
	USED_PERCENT_MIN = 60,
	TRIED_AFTERWARDS = 1000,
	MIB_LOG2 = 20,
};

/** In MiB; borders of doubling segments lie on both sides of most of them. */
static const unsigned limits[] = {8, 9, 12, 16, 24, 32, 48, 64, 100};

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
static void fill_each(int (*fill)(unsigned, const struct stacks *), const struct stacks *stacks)
{
	for (unsigned i = 0; i < COUNT_OF(limits); i++) {
		int status;
		pid_t child = fork();

		if (!child)
			_exit(fill(limits[i], stacks));
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
}

TEST(stacks_use_up_the_limit)
{
	static const struct stacks kinds[] = {{1, false}, {8, false}, {500, false}, {3, true}};

	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		fill_each(fill_with_stacks, &kinds[i]);
}

TEST(slots_use_up_the_limit)
{
	fill_each(fill_with_slots, NULL);
}

__attribute__((constructor)) static void add_root(void)
{
	test_add_group(make_root, remove_root);
}
