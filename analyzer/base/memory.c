/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Read from /proc/meminfo, and from the files of control groups.
 */
#include "hawk_memory.h"

#include <stdio.h>

#include "hawk_cleanup.h"

enum { CGROUP_BYTES = 16 << 10 };

static uint64_t read_available(void)
{
	CLEANUP(close_file) FILE *file = fopen("/proc/meminfo", "re");
	unsigned long long kib;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
			return kib << 10;
	return UINT64_MAX;
}

uint64_t hawk_memory_available(void)
{
	CLEANUP(close_file) FILE *file = fopen("/proc/self/cgroup", "re");
	uint64_t available = read_available(), in_groups;
	char lines[CGROUP_BYTES];

	lines[file ? fread(lines, 1, sizeof(lines) - 1, file) : 0] = '\0';
	in_groups = hawk_memory_in_groups(lines, "/sys/fs/cgroup");
	return in_groups < available ? in_groups : available;
}
