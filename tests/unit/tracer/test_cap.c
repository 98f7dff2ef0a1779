/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The default cap on the tracer's memory, with trees of cgroups made of files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "table/cap.h"
#include "hawk_trace_table.h"

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

static int empty_root(void **state)
{
	(void)state;
	shell("rm -rf -- proc sys; mkdir -p proc/self sys/fs/cgroup");
	return 0;
}

static void the_cap_is_a_sixteenth_of_much_memory(void **state)
{
	(void)state;
	assert_int_equal(hawk_cap_of_memory(16384 * MIB), 1024 * MIB);
	assert_int_equal(hawk_cap_of_memory(UINT64_MAX), UINT64_MAX / 16);
}

static void the_cap_is_64_mib_or_a_quarter_of_little_memory(void **state)
{
	(void)state;
	assert_int_equal(hawk_cap_of_memory(1023 * MIB), 64 * MIB);
	assert_int_equal(hawk_cap_of_memory(256 * MIB), 64 * MIB);
	assert_int_equal(hawk_cap_of_memory(128 * MIB), 32 * MIB);
	assert_int_equal(hawk_cap_of_memory(1), 8 * MIB);
	assert_int_equal(hawk_cap_of_memory(0), 8 * MIB);
}

static void cgroup_v2_limits_a_process(void **state)
{
	(void)state;
	shell("echo 0::/a/b >proc/self/cgroup; mkdir -p sys/fs/cgroup/a/b;"
	      "echo max >sys/fs/cgroup/a/memory.max; echo 7777 >sys/fs/cgroup/a/b/memory.max");
	assert_int_equal(hawk_cap_cgroup_limit(root), 7777);
}

static void the_lowest_limit_on_the_way_up_counts(void **state)
{
	(void)state;
	shell("echo 0::/a/b/c >proc/self/cgroup; mkdir -p sys/fs/cgroup/a/b/c;"
	      "echo 5000 >sys/fs/cgroup/a/memory.max; echo 7777 >sys/fs/cgroup/a/b/memory.max;"
	      "echo max >sys/fs/cgroup/a/b/c/memory.max");
	assert_int_equal(hawk_cap_cgroup_limit(root), 5000);
}

static void cgroup_v1_limits_a_process(void **state)
{
	(void)state;
	shell("printf '9:name=systemd:/x\\n8:memory_other:/s\\n7:cpu,memory:/a\\n0::/\\n'"
	      ">proc/self/cgroup; mkdir -p sys/fs/cgroup/cpu,memory/a sys/fs/cgroup/memory_other/s;"
	      "echo 1 >sys/fs/cgroup/memory_other/s/memory.limit_in_bytes;"
	      "echo 9223372036854771712 >sys/fs/cgroup/cpu,memory/memory.limit_in_bytes;"
	      "echo 123456 >sys/fs/cgroup/cpu,memory/a/memory.limit_in_bytes");
	assert_int_equal(hawk_cap_cgroup_limit(root), 123456);
}

static void a_container_s_mount_is_its_own_cgroup(void **state)
{
	(void)state;
	shell("echo 4:memory:/docker/0123456789 >proc/self/cgroup; mkdir -p sys/fs/cgroup/memory;"
	      "echo 4242 >sys/fs/cgroup/memory/memory.limit_in_bytes");
	assert_int_equal(hawk_cap_cgroup_limit(root), 4242);
}

static void without_a_limit_there_is_none(void **state)
{
	(void)state;
	assert_int_equal(hawk_cap_cgroup_limit(root), UINT64_MAX);
	shell(": >proc/self/cgroup");
	assert_int_equal(hawk_cap_cgroup_limit(root), UINT64_MAX);
	shell("printf 'no colon\\n0::/a\\n' >proc/self/cgroup");
	assert_int_equal(hawk_cap_cgroup_limit(root), UINT64_MAX);
	shell("printf '0::' >proc/self/cgroup;"
	      "echo 99999999999999999999 >sys/fs/cgroup/memory.max");
	assert_int_equal(hawk_cap_cgroup_limit(root), UINT64_MAX);
}

static void long_paths_and_deep_ones_end(void **state)
{
	(void)state;
	shell("echo 17 >sys/fs/cgroup/memory.max;"
	      "head -c 30000 /dev/zero | tr '\\0' / | sed s,^,0::, >proc/self/cgroup");
	assert_int_equal(hawk_cap_cgroup_limit(root), 17);
	shell("yes a | head -10000 | tr '\\n' / | sed s,^,0::/, >proc/self/cgroup");
	assert_int_equal(hawk_cap_cgroup_limit(root), UINT64_MAX);
	shell("head -c 30000 /dev/zero | tr '\\0' a | sed s,^,0::/, >proc/self/cgroup");
	assert_int_equal(hawk_cap_cgroup_limit(root), 17);
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

static void a_limited_address_space_gives_a_quarter_or_nothing(void **state)
{
	const int resources[] = {RLIMIT_AS, RLIMIT_DATA};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(cap_under(resources[i], HAWK_TABLE_ADDRESS_SPACE_MIN), 8 * MIB);
		assert_int_equal(cap_under(resources[i], 128 * MIB), 32 * MIB);
		assert_int_equal(cap_under(resources[i], HAWK_TABLE_ADDRESS_SPACE_MIN - 1), 0);
		assert_true(cap_under(resources[i], RLIM_INFINITY) >= 8 * MIB);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_cap_is_a_sixteenth_of_much_memory),
		cmocka_unit_test(the_cap_is_64_mib_or_a_quarter_of_little_memory),
		cmocka_unit_test_setup(cgroup_v2_limits_a_process, empty_root),
		cmocka_unit_test_setup(the_lowest_limit_on_the_way_up_counts, empty_root),
		cmocka_unit_test_setup(cgroup_v1_limits_a_process, empty_root),
		cmocka_unit_test_setup(a_container_s_mount_is_its_own_cgroup, empty_root),
		cmocka_unit_test_setup(without_a_limit_there_is_none, empty_root),
		cmocka_unit_test_setup(long_paths_and_deep_ones_end, empty_root),
		cmocka_unit_test(a_limited_address_space_gives_a_quarter_or_nothing),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
