/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What control groups leave of memory: files as the kernel writes them, in a folder of the test's.
 */
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "test.h"
#include "hawk/base/memory.h"

enum { MIB = 1 << 20 };

static char folder[] = "/tmp/hawk-memory-XXXXXX";

/** Makes the folders of `path`, too. */
static void write_file(const char *path, const char *text)
{
	char whole[PATH_MAX];
	FILE *file;

	snprintf(whole, sizeof(whole), "%s/%s", folder, path);
	for (char *slash = whole + strlen(folder) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(whole, 0700);
		*slash = '/';
	}
	file = fopen(whole, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[PATH_MAX];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

static uint64_t left(const char *lines)
{
	return hawk_memory_in_groups(lines, folder);
}

#define MEMORY_TEST(name) TEST_WITH(void *nothing, make_folder, remove_folder, name)

MEMORY_TEST(a_group_without_a_limit_leaves_everything)
{
	assert_true(left("0::/a/b\n") == UINT64_MAX);
	write_file("a/b/memory.max", "max\n");
	write_file("a/b/memory.current", "1048576\n");
	assert_true(left("0::/a/b\n") == UINT64_MAX);
	assert_true(left("") == UINT64_MAX);
	assert_true(left("no line of a group\n:\n::\n") == UINT64_MAX);
}

MEMORY_TEST(the_narrowest_group_above_counts)
{
	write_file("a/b/memory.max", "max\n");
	write_file("a/b/memory.current", "1048576\n");
	write_file("a/memory.max", "104857600\n");
	write_file("a/memory.current", "41943040\n");
	assert_int_equal(left("0::/a/b\n"), 60 * MIB);
	/* Memory of files is taken back first. */
	write_file("a/memory.stat", "anon 1\nactive_file 10485760\ninactive_file 20971520\n");
	assert_int_equal(left("0::/a/b\n"), 90 * MIB);
	write_file("a/b/memory.high", "2097152\n");
	assert_int_equal(left("0::/a/b\n"), MIB);
	write_file("a/b/memory.current", "3145728\n");
	assert_int_equal(left("0::/a/b\n"), 0);
}

MEMORY_TEST(a_container_sees_its_own_group_where_groups_are_mounted)
{
	write_file("memory/memory.limit_in_bytes", "52428800\n");
	write_file("memory/memory.usage_in_bytes", "31457280\n");
	write_file("memory/memory.stat",
		   "inactive_file 1\ntotal_inactive_file 10485760\ntotal_active_file 0\n");
	assert_int_equal(left("7:cpu:/x\n4:memory:/docker/0123\n0::/docker/0123\n"), 30 * MIB);
	assert_int_equal(left("4:cpu,memory:/docker/0123\n"), 30 * MIB);
	assert_true(left("4:memoryless:/docker/0123\n") == UINT64_MAX);
}

TEST(this_machine_says_something_plausible)
{
	assert_in_range(hawk_memory_available(), MIB, UINT64_MAX - 1);
}
