/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds the process that writes a table file. The file is its owner's: any number may be forged.
 */
#include "owner.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hawk/base/cleanup.h"
#include "hawk_trace_table.h"

enum {
	PATH_BYTES = 64,
	TEXT_BYTES = 4096,
	START_FIELD = 19, /**< of /proc/PID/stat, counted from the state */
	SYS_PIDFD_OPEN = 434,
};

/* PROC_PID_INIT_INO: from the first namespace all others are seen. */
static const uint64_t FIRST_NAMESPACE = 0xeffffffc;

bool hawk_owner_read(int fd, struct hawk_owner *ret)
{
	CLEANUP(free_ptr) struct hawk_table_header *header = malloc(sizeof(*header));

	if (!header || pread(fd, header, sizeof(*header), 0) != (ssize_t)sizeof(*header) ||
	    header->magic != hawk_table_magic() || header->version != HAWK_TABLE_VERSION ||
	    !header->process_start_ticks)
		return false;
	*ret = (struct hawk_owner){
		.pid = header->pid,
		.pid_namespace = header->pid_namespace,
		.start_ticks = header->process_start_ticks,
	};
	return true;
}

static bool read_text(const char *pid, const char *name, char text[TEXT_BYTES])
{
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	CLEANUP(close_file) FILE *file = fopen(path, "re");
	size_t got = file ? fread(text, 1, TEXT_BYTES - 1, file) : 0;

	text[got] = 0;
	return got > 0;
}

/** Returns 0 if there is no such process. */
static uint64_t start_ticks(const char *pid)
{
	char text[TEXT_BYTES];
	const char *at = read_text(pid, "stat", text) ? strrchr(text, ')') : NULL;

	for (unsigned i = 0; at && i <= START_FIELD; i++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

static uint64_t namespace_of(const char *pid)
{
	char path[PATH_BYTES], text[PATH_BYTES];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%s/ns/pid", pid);
	length = readlink(path, text, sizeof(text) - 1);
	text[length > 0 ? length : 0] = 0;
	return strncmp(text, "pid:[", 5) == 0 ? strtoull(text + 5, NULL, 10) : 0;
}

/** Returns the number of a process in its own namespace. */
static uint32_t inner_pid(const char *pid)
{
	char text[TEXT_BYTES];
	char *line = read_text(pid, "status", text) ? strstr(text, "\nNSpid:") : NULL;

	if (!line)
		return 0;
	line[1 + strcspn(line + 1, "\n")] = 0;
	return (uint32_t)strtoul(strrchr(line, '\t') + 1, NULL, 10);
}

/** Looks for a process of another namespace. */
static pid_t search(const struct hawk_owner *owner)
{
	DIR *directory = opendir("/proc");
	struct dirent *entry;
	pid_t found = 0;

	while (directory && !found && (entry = readdir(directory)))
		if (isdigit((unsigned char)entry->d_name[0]) &&
		    start_ticks(entry->d_name) == owner->start_ticks &&
		    namespace_of(entry->d_name) == owner->pid_namespace &&
		    inner_pid(entry->d_name) == owner->pid)
			found = (pid_t)strtol(entry->d_name, NULL, 10);
	if (directory)
		closedir(directory);
	return found;
}

enum hawk_owner_state hawk_owner_find(const struct hawk_owner *owner, pid_t *pid, int *fd)
{
	uint64_t ours = namespace_of("self");
	bool same = !owner->pid_namespace || owner->pid_namespace == ours;
	char name[PATH_BYTES];

	*pid = same ? (pid_t)owner->pid : search(owner);
	*fd = *pid > 0 ? (int)syscall(SYS_PIDFD_OPEN, *pid, 0) : -1;
	snprintf(name, sizeof(name), "%d", (int)*pid);
	if (*fd >= 0 && start_ticks(name) == owner->start_ticks)
		return HAWK_OWNER_LIVES;
	if (*fd >= 0)
		close(*fd);
	return same || ours == FIRST_NAMESPACE ? HAWK_OWNER_GONE : HAWK_OWNER_HIDDEN;
}

/* The first version of struct pidfd_info of <linux/pidfd.h>, which is younger than many systems. */
struct info {
	uint64_t mask;
	uint64_t control_group;
	uint32_t ids[11];
	int32_t exit_status;
};

enum { INFO_EXIT = 1 << 3 };

struct hawk_owner_end hawk_owner_end(int fd)
{
	struct info info = {.mask = INFO_EXIT};

	if (fd < 0 || ioctl(fd, _IOWR(0xff, 11, struct info), &info) != 0 ||
	    !(info.mask & INFO_EXIT))
		return (struct hawk_owner_end){0};
	return (struct hawk_owner_end){.known = true, .status = info.exit_status};
}
