/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Searches cgroups where systemd and container engines mount them. In a container without a cgroup
 * namespace, /proc/self/cgroup holds the host's path, and only the mount point itself exists: the
 * way up from that path ends there.
 */
#include "cap.h"

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include "syscall.h"
#include "hawk_trace_table.h"

static_assert((int)HAWK_TABLE_ADDRESS_SPACE_MIN / (int)HAWK_CAP_SHARE_OF_LITTLE ==
		      (int)HAWK_CAP_BYTES_MIN,
	      "a process that may start has room for the first tables");

enum {
	TEXT_BYTES = 8192, /**< size of /proc/self/cgroup; under 2 KiB on all systems seen */
	PATH_BYTES = 8192,
	NUMBER_BYTES = 32,
	LEVELS_MAX = 64,
};

/** Buffers too large for the host's stack. */
struct buffers {
	char text[TEXT_BYTES];
	char path[PATH_BYTES];
};

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/** Appends `text` up to its end or `end` to `path` and returns the new length. A path that does not
 * fit is too long for the system anyway. */
static size_t append(char *path, size_t length, const char *text, const char *end)
{
	for (; text != end && *text && length < PATH_BYTES - 1; text++)
		path[length++] = *text;
	path[length] = '\0';
	return length;
}

/** Returns the number in a limit's file; UINT64_MAX for "max" or a missing file. */
static uint64_t read_limit(const char *path)
{
	char text[NUMBER_BYTES];
	uint64_t value = 0;

	if (!hawk_read_text(path, text, sizeof(text)) || *text < '0' || *text > '9')
		return UINT64_MAX;
	for (const char *at = text; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
			return UINT64_MAX;
	return value;
}

/** Returns true if "memory" is one of the comma-separated names before `end`. */
static bool names_memory(const char *names, const char *end)
{
	static const char memory[] = "memory";
	const size_t length = sizeof(memory) - 1;

	for (const char *name = names; name < end; name++) {
		size_t same = 0;

		while (same < length && name + same < end && name[same] == memory[same])
			same++;
		if (same == length && (name + same == end || name[same] == ','))
			return true;
		while (name < end && *name != ',')
			name++;
	}
	return false;
}

/** One line of /proc/self/cgroup, "7:cpu,memory:/a/b" (v1) or "0::/a/b" (v2), in three parts. */
struct line {
	const char *controllers, *controllers_end;
	const char *path, *end;
};

static bool split(const char *text, struct line *ret)
{
	const char *at = text;

	while (*at && *at != '\n' && *at != ':')
		at++;
	if (*at != ':')
		return false;
	ret->controllers = ++at;
	while (*at && *at != '\n' && *at != ':')
		at++;
	if (*at != ':')
		return false;
	ret->controllers_end = at;
	ret->path = ++at;
	while (*at && *at != '\n')
		at++;
	ret->end = at;
	return true;
}

/** Returns the lowest limit of the cgroup of `line` and its ancestors. */
static uint64_t limit_of_line(const char *root, const struct line *line, char *path)
{
	bool unified = line->controllers == line->controllers_end;
	uint64_t limit = UINT64_MAX;
	size_t mount, length;

	if (!unified && !names_memory(line->controllers, line->controllers_end))
		return limit;
	length = append(path, 0, root, NULL);
	length = append(path, length, unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/", NULL);
	length = append(path, length, line->controllers, line->controllers_end);
	mount = length;
	length = append(path, length, line->path, line->end);
	for (unsigned level = 0; level < LEVELS_MAX; level++) {
		while (length > mount && path[length - 1] == '/')
			length--;
		append(path, length, unified ? "/memory.max" : "/memory.limit_in_bytes", NULL);
		limit = lesser(limit, read_limit(path));
		if (length == mount)
			break;
		while (length > mount && path[length - 1] != '/')
			length--;
	}
	return limit;
}

uint64_t hawk_cap_cgroup_limit(const char *root)
{
	struct buffers *buffers = hawk_map(0, sizeof(*buffers), false);
	uint64_t limit = UINT64_MAX;
	struct line line;
	const char *at;

	if (!buffers)
		return limit;
	append(buffers->path, append(buffers->path, 0, root, NULL), "/proc/self/cgroup", NULL);
	if (hawk_read_text(buffers->path, buffers->text, sizeof(buffers->text)))
		for (at = buffers->text; split(at, &line);) {
			limit = lesser(limit, limit_of_line(root, &line, buffers->path));
			at = *line.end ? line.end + 1 : line.end;
		}
	hawk_unmap(buffers, sizeof(*buffers));
	return limit;
}

uint64_t hawk_cap_of_memory(uint64_t memory)
{
	uint64_t cap = memory / HAWK_CAP_SHARE;
	uint64_t least = lesser(HAWK_CAP_BYTES_ENOUGH, memory / HAWK_CAP_SHARE_OF_LITTLE);

	if (cap < least)
		cap = least;
	return cap < HAWK_CAP_BYTES_MIN ? HAWK_CAP_BYTES_MIN : cap;
}

/** Returns the machine's memory in bytes; 0 if unknown. */
static uint64_t physical_memory(void)
{
	struct sysinfo info;

	if (hawk_syscall3(SYS_sysinfo, (long)&info, 0, 0))
		return 0;
	return (uint64_t)info.totalram * info.mem_unit;
}

/** Returns the bytes that a limit still leaves the process; UINT64_MAX if unlimited. */
static uint64_t limit_of(int resource)
{
	struct rlimit limit;

	if (hawk_syscall6(SYS_prlimit64, 0, resource, 0, (long)&limit, 0, 0) ||
	    limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return limit.rlim_cur;
}

uint64_t hawk_cap_choose(void)
{
	uint64_t space = lesser(limit_of(RLIMIT_AS), limit_of(RLIMIT_DATA));
	uint64_t memory = physical_memory();
	uint64_t cap = HAWK_CAP_BYTES_ENOUGH;

	if (space < HAWK_TABLE_ADDRESS_SPACE_MIN)
		return 0;
	if (memory)
		cap = hawk_cap_of_memory(lesser(memory, hawk_cap_cgroup_limit("")));
	return lesser(cap, space / HAWK_CAP_SHARE_OF_LITTLE);
}
