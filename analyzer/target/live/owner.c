/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds the process that writes a table file. The file is its owner's: any number may be forged.
 */
#include "hawk/target/owner.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hawk/base/cleanup.h"
#include "hawk_trace_table.h"
#include "process.h"

enum {
	PATH_BYTES = 64,
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

/** Returns 0 if there is no such process. */
static uint64_t start_ticks(int directory)
{
	struct hawk_proc_stat stat;
	CLEANUP(error) struct hawk_error *err = hawk_proc_stat(directory, "stat", &stat);

	return err ? 0 : stat.start_ticks;
}

static uint64_t namespace_of(int directory)
{
	char text[PATH_BYTES];
	ssize_t length = readlinkat(directory, "ns/pid", text, sizeof(text) - 1);

	text[length > 0 ? length : 0] = 0;
	return strncmp(text, "pid:[", 5) == 0 ? strtoull(text + 5, NULL, 10) : 0;
}

/** Returns the number of a process in its own namespace, the last one in its line; 0 = unknown. */
static uint32_t inner_pid(int directory)
{
	CLEANUP(text) struct hawk_text text = {0};
	CLEANUP(error) struct hawk_error *err = hawk_proc_read(directory, "status", &text);
	char *line = err ? NULL : strstr(text.bytes, "\nNSpid:");
	const char *last;

	if (!line)
		return 0;
	line[1 + strcspn(line + 1, "\n")] = 0;
	last = strrchr(line, '\t');
	return last ? (uint32_t)strtoul(last + 1, NULL, 10) : 0;
}

static int open_process(pid_t pid)
{
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool is_owner(const struct hawk_owner *owner, pid_t pid)
{
	CLEANUP(close_fd) int directory = open_process(pid);

	return directory >= 0 && start_ticks(directory) == owner->start_ticks &&
	       namespace_of(directory) == owner->pid_namespace &&
	       inner_pid(directory) == owner->pid;
}

/** Looks for a process of another namespace. */
static pid_t search(const struct hawk_owner *owner)
{
	DIR *directory = opendir("/proc");
	struct dirent *entry;
	pid_t found = 0;

	while (directory && !found && (entry = readdir(directory))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 0 && is_owner(owner, pid))
			found = pid;
	}
	if (directory)
		closedir(directory);
	return found;
}

enum hawk_owner_state hawk_owner_find(const struct hawk_owner *owner, pid_t *pid, int *fd)
{
	CLEANUP(close_fd) int self = open_process(getpid()), directory = -1;
	uint64_t ours = namespace_of(self);
	bool same = !owner->pid_namespace || owner->pid_namespace == ours;

	*pid = same ? (pid_t)owner->pid : search(owner);
	*fd = *pid > 0 ? (int)syscall(SYS_PIDFD_OPEN, *pid, 0) : -1;
	directory = *fd < 0 ? -1 : open_process(*pid);
	if (directory >= 0 && start_ticks(directory) == owner->start_ticks)
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
