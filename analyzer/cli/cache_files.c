/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The files of index caches: where they are, how they are called, and which of them go.
 */
#include "hawk_cache_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "hawk_cleanup.h"
#include "hawk_progress.h"

enum {
	DAYS_KEPT = 14,
	SECONDS_A_DAY = 86400,
	FREE_SHARE = 2, /**< so many times the file must be free in the file system */
	WAIT_MS = 10,
};

/** All caches together; older ones go first. */
static const uint64_t CACHES_BYTES_MAX = UINT64_C(16) << 30;

static const char suffix[] = ".index";

/** $XDG_CACHE_HOME/hawk-core, or NULL; made if `make`. Caller frees. */
static char *find_folder(bool make)
{
	const char *cache = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	bool given = cache && *cache == '/';
	char *folder;

	if (!given && !(home && *home == '/'))
		return NULL;
	if (asprintf(&folder, "%s%s/hawk-core", given ? cache : home, given ? "" : "/.cache") < 0)
		return NULL;
	for (char *slash = folder + 1; make && (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(folder, 0700);
		*slash = '/';
	}
	if (make)
		mkdir(folder, 0700);
	return folder;
}

static int64_t nanoseconds(const struct timespec *time)
{
	return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

bool hawk_cache_identify(const char *core, uint64_t options, struct hawk_core_identity *ret)
{
	struct stat status;

	memset(ret, 0, sizeof(*ret));
	ret->options = options;
	if (stat(core, &status) != 0 || !S_ISREG(status.st_mode))
		return false;
	ret->device = status.st_dev;
	ret->inode = status.st_ino;
	ret->bytes = (uint64_t)status.st_size;
	ret->changed_ns = nanoseconds(&status.st_mtim);
	if (nanoseconds(&status.st_ctim) > ret->changed_ns)
		ret->changed_ns = nanoseconds(&status.st_ctim);
	return true;
}

void hawk_cache_name(const struct hawk_core_identity *identity, char name[HAWK_CACHE_NAME_BYTES])
{
	snprintf(name, HAWK_CACHE_NAME_BYTES, "%llx-%llx-%llx-%llx-%llx%s",
		 (unsigned long long)identity->device, (unsigned long long)identity->inode,
		 (unsigned long long)identity->bytes, (unsigned long long)identity->changed_ns,
		 (unsigned long long)identity->options, suffix);
}

int hawk_cache_folder(bool make)
{
	CLEANUP(free_ptr) char *path = find_folder(make);

	return path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

/** Nobody but this user may have written what will be believed. */
static bool is_ours(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
	       !(status.st_mode & 077);
}

int hawk_cache_open(const struct hawk_core_identity *identity, int access)
{
	CLEANUP(close_fd) int folder = hawk_cache_folder(false);
	char name[HAWK_CACHE_NAME_BYTES];
	int fd;

	hawk_cache_name(identity, name);
	fd = folder < 0 ? -1 : openat(folder, name, access | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && !is_ours(fd)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

bool hawk_cache_lock(int fd, int operation, uint64_t patience_ms)
{
	const struct timespec pause = {.tv_nsec = WAIT_MS * 1000000L};

	for (;; patience_ms -= WAIT_MS) {
		if (fd < 0 || flock(fd, operation | LOCK_NB) == 0)
			return true;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return true;
		if (patience_ms < WAIT_MS)
			return false;
		nanosleep(&pause, NULL);
		hawk_progress_add(WAIT_MS);
	}
}

void hawk_cache_remove(const struct hawk_core_identity *identity, int fd)
{
	CLEANUP(close_fd) int folder = hawk_cache_folder(false);
	char name[HAWK_CACHE_NAME_BYTES];
	struct stat refused, there;

	hawk_cache_name(identity, name);
	if (folder < 0 || fstat(fd, &refused) != 0 ||
	    fstatat(folder, name, &there, AT_SYMLINK_NOFOLLOW) != 0)
		return;
	/* Not one that has come meanwhile. */
	if (there.st_dev == refused.st_dev && there.st_ino == refused.st_ino)
		unlinkat(folder, name, 0);
}

struct entry {
	char name[HAWK_CACHE_NAME_BYTES];
	int64_t changed_ns;
	uint64_t bytes;
};

static int compare_entries(const void *left, const void *right)
{
	const struct entry *a = left;
	const struct entry *b = right;

	return a->changed_ns > b->changed_ns ? -1 : a->changed_ns < b->changed_ns;
}

/** Caches in `folder`, latest first; caller frees. */
static struct entry *list_caches(int folder, size_t *count)
{
	struct entry *entries = NULL;
	size_t capacity = 0;
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *item;

	*count = 0;
	while (directory && (item = readdir(directory))) {
		size_t length = strlen(item->d_name);
		struct entry *entry;
		struct stat status;

		if (length >= sizeof(entry->name) || length < sizeof(suffix) ||
		    strcmp(item->d_name + length - (sizeof(suffix) - 1), suffix) != 0 ||
		    fstatat(folder, item->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
		    !S_ISREG(status.st_mode))
			continue;
		if (*count == capacity) {
			struct entry *moved;

			capacity = capacity ? 2 * capacity : 64;
			moved = reallocarray(entries, capacity, sizeof(*entries));
			if (!moved)
				break;
			entries = moved;
		}
		entry = &entries[*count];
		memcpy(entry->name, item->d_name, length + 1);
		entry->changed_ns = nanoseconds(&status.st_mtim);
		entry->bytes = (uint64_t)status.st_size;
		++*count;
	}
	if (directory)
		closedir(directory);
	if (entries && *count)
		qsort(entries, *count, sizeof(*entries), compare_entries);
	return entries;
}

void hawk_cache_tidy(int folder, const char *own, uint64_t coming_bytes)
{
	uint64_t bytes = coming_bytes;
	size_t count;
	CLEANUP(free_ptr) struct entry *entries = list_caches(folder, &count);
	int64_t oldest = ((int64_t)time(NULL) - (int64_t)DAYS_KEPT * SECONDS_A_DAY) * 1000000000;

	for (size_t i = 0; entries && i < count; i++) {
		if (!strcmp(entries[i].name, own))
			continue;
		bytes += entries[i].bytes;
		if (bytes > CACHES_BYTES_MAX || entries[i].changed_ns < oldest)
			unlinkat(folder, entries[i].name, 0);
	}
}

bool hawk_cache_has_room(int folder, uint64_t bytes)
{
	struct statvfs status;

	return bytes <= CACHES_BYTES_MAX && fstatvfs(folder, &status) == 0 &&
	       (uint64_t)status.f_bavail * status.f_frsize / FREE_SHARE > bytes;
}
