/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads /proc/meminfo and the control groups' files.
 */
#include "hawk/base/memory.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/numbers.h"

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

static FILE *open_in(const char *folder, const char *name)
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof(path), "%s/%s", folder, name);

	return length < (int)sizeof(path) ? fopen(path, "re") : NULL;
}

/** Returns UINT64_MAX for "max" or a missing file. */
static uint64_t read_number(const char *folder, const char *name)
{
	CLEANUP(close_file) FILE *file = open_in(folder, name);
	unsigned long long number;

	return file && fscanf(file, "%llu", &number) == 1 ? number : UINT64_MAX;
}

/** Returns the file cache, which the kernel reclaims before it refuses memory. */
static uint64_t read_files(const char *folder)
{
	CLEANUP(close_file) FILE *file = open_in(folder, "memory.stat");
	uint64_t own = 0, total = 0;
	unsigned long long bytes;
	char key[64];

	while (file && fscanf(file, "%63s %llu", key, &bytes) == 2) {
		if (!strcmp(key, "inactive_file") || !strcmp(key, "active_file"))
			own += bytes;
		/* Version 1: includes the groups below. */
		if (!strcmp(key, "total_inactive_file") || !strcmp(key, "total_active_file"))
			total += bytes;
	}
	return total ? total : own;
}

static uint64_t left_in(const char *folder)
{
	uint64_t limit = hawk_least(
		hawk_least(read_number(folder, "memory.max"), read_number(folder, "memory.high")),
		read_number(folder, "memory.limit_in_bytes"));
	uint64_t used = hawk_least(read_number(folder, "memory.current"),
				   read_number(folder, "memory.usage_in_bytes"));

	if (limit == UINT64_MAX || used == UINT64_MAX)
		return UINT64_MAX;
	used -= hawk_least(used, read_files(folder));
	return limit - hawk_least(limit, used);
}

/** Returns the bytes left in the group `path` below the mount and in all its parents. */
static uint64_t left_above(const char *mount, const char *path)
{
	uint64_t left = UINT64_MAX;
	char folder[PATH_MAX];
	int length = snprintf(folder, sizeof(folder), "%s%s", mount, path);
	size_t end = strlen(mount);

	if (length >= (int)sizeof(folder))
		return UINT64_MAX;
	for (;;) {
		char *slash;

		left = hawk_least(left, left_in(folder));
		slash = strrchr(folder, '/');
		if (!slash || slash < folder + end)
			return left;
		*slash = '\0';
	}
}

static bool has_memory(const char *controllers)
{
	const char *at = strstr(controllers, "memory");

	return at && (at == controllers || at[-1] == ',') && (!at[6] || at[6] == ',');
}

/** Parses a line such as "4:memory:/a/b" or "0::/a/b". */
static uint64_t left_by(char *line, const char *folder)
{
	static const char *const unified[] = {"", "/unified"};
	char *controllers = strchr(line, ':');
	char *path = controllers ? strchr(controllers + 1, ':') : NULL;
	uint64_t left = UINT64_MAX;
	char mount[PATH_MAX];

	if (!path)
		return left;
	*path++ = '\0';
	controllers++;
	if (has_memory(controllers)) {
		snprintf(mount, sizeof(mount), "%s/memory", folder);
		return left_above(mount, path);
	}
	for (size_t i = 0; !*controllers && i < sizeof(unified) / sizeof(unified[0]); i++) {
		snprintf(mount, sizeof(mount), "%s%s", folder, unified[i]);
		left = hawk_least(left, left_above(mount, path));
	}
	return left;
}

uint64_t hawk_memory_in_groups(const char *lines, const char *folder)
{
	CLEANUP(free_ptr) char *copy = strdup(lines);
	uint64_t left = UINT64_MAX;
	char *rest = copy, *line;

	while (rest && (line = strsep(&rest, "\n")))
		left = hawk_least(left, left_by(line, folder));
	return left;
}
