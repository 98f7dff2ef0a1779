/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Keeps the handler's directory. Crash directories belong to users: nothing in them is followed.
 */
#include "place.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "hawk/base/numbers.h"

enum { NAME_BYTES_MAX = 64, PATH_BYTES = 128, WAIT_NS = 50000000, NOTE_BYTES_MAX = 1 << 20 };

/** All that a handler writes into a crash's directory. */
static const char *const files[] = {"core.zst",    "report.txt", "report.json", "report.hawk",
				    "process.txt", "table.hawk", NULL};

struct hawk_error *hawk_place_open(const char *path, uint64_t end_ns, int *ret)
{
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return hawk_error_os(errno, "cannot open", path);
	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		const struct timespec wait = {.tv_nsec = WAIT_NS};

		if (errno != EWOULDBLOCK && errno != EINTR)
			return hawk_error_os(errno, "cannot lock", path);
		if (hawk_now_ns(CLOCK_MONOTONIC) >= end_ns)
			return hawk_error_create(HAWK_ERROR_LIMIT,
						 "another handler works in %s: this core is lost",
						 path);
		nanosleep(&wait, NULL);
	}
	*ret = take_fd(&fd);
	return NULL;
}

struct crash_name {
	char text[NAME_MAX + 1];
	uint64_t time;
};

/** Reads "NAME.PID.TIME". */
static bool read_name(const char *name, struct crash_name *ret)
{
	const char *time = strrchr(name, '.'), *pid = time;

	while (pid && pid > name && isdigit((unsigned char)pid[-1]))
		pid--;
	if (!time || pid == time || pid == name || pid[-1] != '.' || !time[1] ||
	    strspn(time + 1, "0123456789") != strlen(time + 1))
		return false;
	ret->time = strtoull(time + 1, NULL, 10);
	snprintf(ret->text, sizeof(ret->text), "%s", name);
	return true;
}

static int oldest_first(const void *a, const void *b)
{
	const struct crash_name *one = a, *other = b;

	return one->time < other->time ? -1 : one->time > other->time;
}

static void remove_crash(int place, const char *name)
{
	CLEANUP(close_fd)
	int fd = openat(place, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	for (const char *const *file = files; fd >= 0 && *file; file++)
		unlinkat(fd, *file, 0);
	unlinkat(place, name, AT_REMOVEDIR);
}

void hawk_place_prune(int place, uint64_t keep)
{
	CLEANUP(free_ptr) struct crash_name *names = NULL;
	size_t count = 0, capacity = 0;
	int fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!directory)
		return;
	while ((entry = readdir(directory)) &&
	       hawk_array_reserve(&names, count, &capacity, sizeof(*names)))
		count += read_name(entry->d_name, &names[count]);
	closedir(directory);
	if (count <= keep)
		return;
	qsort(names, count, sizeof(*names), oldest_first);
	for (size_t i = 0; i < count - keep; i++)
		remove_crash(place, names[i].text);
}

void hawk_crash_note(FILE *notes, const char *pid, const char *name)
{
	char path[PATH_BYTES], bytes[4096];
	size_t all = 0, got;

	snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	CLEANUP(close_file) FILE *file = fopen(path, "re");
	if (!file)
		return;
	fprintf(notes, "== %s ==\n", name);
	while (all < NOTE_BYTES_MAX && (got = fread(bytes, 1, sizeof(bytes), file)) > 0) {
		for (size_t i = 0; i < got; i++)
			bytes[i] = bytes[i] ? bytes[i] : ' '; // of cmdline
		fwrite(bytes, 1, got, notes);
		all += got;
	}
	fputs("\n", notes);
}

/** Writes what can be read only while the process is there. */
static void write_notes(int fd, const struct hawk_crash *crash, const struct stat *owner)
{
	static const char *const names[] = {"cmdline", "cgroup", "limits", "status", "maps", NULL};
	int to = openat(fd, "process.txt", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	FILE *notes = to < 0 ? NULL : fdopen(to, "w");

	if (!notes)
		return;
	fprintf(notes, "pid %s, ", crash->pid);
	if (crash->signal)
		fprintf(notes, "signal %s, ", crash->signal);
	fprintf(notes, "time %s, name %s\n", crash->time, crash->name);
	if (crash->notes)
		fputs(crash->notes, notes);
	else
		for (const char *const *name = names; *name; name++)
			hawk_crash_note(notes, crash->pid, *name);
	if (fchown(to, owner->st_uid, owner->st_gid) != 0)
		unlinkat(fd, "process.txt", 0);
	fclose(notes);
}

/** Finds the owner of the process; of a process that is gone, ourselves. Programs that must not be
 * dumped by their user belong to root. */
static void find_owner(const struct hawk_crash *crash, struct stat *ret)
{
	char path[PATH_BYTES];

	if (crash->owner) {
		*ret = *crash->owner;
		return;
	}
	snprintf(path, sizeof(path), "/proc/%s", crash->pid);
	if (stat(path, ret) == 0)
		return;
	ret->st_uid = geteuid();
	ret->st_gid = getegid();
}

static struct hawk_error *become(const struct stat *owner)
{
	if (geteuid() != 0 || owner->st_uid == 0)
		return NULL;
	if (setgroups(0, NULL) != 0 || setgid(owner->st_gid) != 0 || setuid(owner->st_uid) != 0)
		return hawk_error_os(errno, "cannot become the owner of", "the process");
	return NULL;
}

/** Makes "NAME.PID.TIME"; letters of the name that mean something elsewhere become '_'. */
static void make_name(const struct hawk_crash *crash, char *ret, size_t size)
{
	snprintf(ret, size, "%.*s.%.20s.%.20s", NAME_BYTES_MAX, crash->name, crash->pid,
		 crash->time);
	for (char *at = ret; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("+-_.", *at))
			*at = '_';
	if (ret[0] == '.' || ret[0] == '-')
		ret[0] = '_';
}

struct hawk_error *hawk_place_enter(int place, const struct hawk_crash *crash)
{
	char name[PATH_BYTES];
	struct stat owner;

	make_name(crash, name, sizeof(name));
	find_owner(crash, &owner);
	umask(077);
	if (mkdirat(place, name, 0700) != 0)
		return hawk_error_os(errno, "cannot make", name);

	CLEANUP(close_fd)
	int fd = openat(place, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchdir(fd) != 0)
		return hawk_error_os(errno, "cannot enter", name);
	write_notes(fd, crash, &owner);
	if (geteuid() == 0 && fchown(fd, owner.st_uid, owner.st_gid) != 0)
		return hawk_error_os(errno, "cannot give away", name);
	return become(&owner);
}
