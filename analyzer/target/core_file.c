/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Opening and mapping a core file. The kind of file is checked before anything is read from it: a
 * FIFO or a device would block or do worse.
 */
#include "core_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core_guard.h"
#include "hawk_cleanup.h"

enum { EXTENTS = 4 };

/** The last stretches of data that were asked for: a file system in memory looks at every page of
 * one to find its end, and each stage of the analysis asks again. */
struct extents {
	pthread_mutex_t lock;
	unsigned next; /* to be replaced */
	struct extent {
		off_t data;
		off_t hole;
	} items[EXTENTS];
};

struct hawk_core_file {
	struct extents *extents; /* NULL = bytes of the caller */
	const uint8_t *bytes;
	size_t size;
	int fd;    /* -1 = bytes of the caller */
	int guard; /* slot of core_guard.h */
	struct hawk_end_times times;
};

static const char *kind_of_file(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "a directory";
	case S_IFIFO:
		return "a FIFO (pipe)";
	case S_IFCHR:
		return "a character device";
	case S_IFBLK:
		return "a block device";
	case S_IFSOCK:
		return "a socket";
	default:
		return "no regular file";
	}
}

/** Opens without waiting for the other end of a FIFO and without becoming a terminal's process. */
static struct hawk_error *open_regular(const char *path, int *fd, uint64_t *size)
{
	CLEANUP(close_fd)
	int opened = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	struct stat status;

	if (opened < 0 && errno == ENXIO && !stat(path, &status))
		return hawk_error_create(HAWK_ERROR_FORMAT, "%s: is %s, not a core file", path,
					 kind_of_file(status.st_mode));
	if (opened < 0)
		return hawk_error_os(errno, "cannot open", path);
	if (fstat(opened, &status))
		return hawk_error_os(errno, "cannot stat", path);
	if (!S_ISREG(status.st_mode))
		return hawk_error_create(HAWK_ERROR_FORMAT, "%s: is %s, not a core file", path,
					 kind_of_file(status.st_mode));
	if (status.st_size == 0)
		return hawk_error_create(HAWK_ERROR_FORMAT, "%s: is empty (0 bytes)", path);
	*size = (uint64_t)status.st_size;
	*fd = take_fd(&opened);
	return NULL;
}

struct hawk_error *hawk_core_file_map(int opened, uint64_t size, const char *path,
				      struct hawk_core_file **ret)
{
	CLEANUP(free_ptr) struct hawk_core_file *file = calloc(1, sizeof(*file));
	CLEANUP(free_ptr) struct extents *extents = calloc(1, sizeof(*extents));
	CLEANUP(close_fd) int fd = opened;
	void *bytes;

	if (!file || !extents)
		return &hawk_enomem;
	bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return hawk_error_os(errno, "cannot map", path);
	file->guard = hawk_core_guard_add(bytes, size, fd);
	if (file->guard < 0) {
		munmap(bytes, size);
		return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
					 "%s: more than %d core files are open", path,
					 HAWK_CORE_GUARDS_MAX);
	}
	pthread_mutex_init(&extents->lock, NULL);
	hawk_core_times(fd, path, &file->times);
	file->extents = take_ptr(&extents);
	file->bytes = bytes;
	file->size = size;
	file->fd = take_fd(&fd);
	*ret = take_ptr(&file);
	return NULL;
}

struct hawk_error *hawk_core_file_open(const char *path, struct hawk_core_file **ret)
{
	uint64_t size = 0;
	int fd = -1;
	struct hawk_error *error = open_regular(path, &fd, &size);

	return error ? error : hawk_core_file_map(fd, size, path, ret);
}

struct hawk_error *hawk_core_file_over(const void *bytes, size_t size, struct hawk_core_file **ret)
{
	struct hawk_core_file *file = calloc(1, sizeof(*file));

	if (!file)
		return &hawk_enomem;
	*file = (struct hawk_core_file){.bytes = bytes, .size = size, .fd = -1, .guard = -1};
	*ret = file;
	return NULL;
}

void hawk_core_file_close(struct hawk_core_file *file)
{
	if (!file)
		return;
	if (file->fd >= 0) {
		hawk_core_guard_remove(file->guard);
		munmap((void *)file->bytes, file->size);
		close(file->fd);
		pthread_mutex_destroy(&file->extents->lock);
		free(file->extents);
	}
	free(file);
}

const struct hawk_end_times *hawk_core_file_times(const struct hawk_core_file *file)
{
	return &file->times;
}

void hawk_core_file_set_times(struct hawk_core_file *file, const struct hawk_end_times *times)
{
	file->times = *times;
}

const uint8_t *hawk_core_file_bytes(const struct hawk_core_file *file)
{
	return file->bytes;
}

size_t hawk_core_file_size(const struct hawk_core_file *file)
{
	return file->size;
}

/* The hole behind `at`; less than 0 if it is in no stretch that was asked for. */
static off_t known_hole(const struct extents *extents, off_t at)
{
	for (unsigned i = 0; i < EXTENTS; i++)
		if (at >= extents->items[i].data && at < extents->items[i].hole)
			return extents->items[i].hole;
	return -1;
}

/* The first stretch of data at or behind `from`; less than 0 if there is none. `*hole` is its end.
 */
static off_t find_data(const struct hawk_core_file *file, off_t from, off_t *hole)
{
	struct extents *extents = file->extents;
	off_t data = from;

	pthread_mutex_lock(&extents->lock);
	*hole = known_hole(extents, from);
	if (*hole < 0) {
		data = lseek(file->fd, from, SEEK_DATA);
		*hole = data < 0 ? -1 : known_hole(extents, data);
	}
	if (*hole < 0 && data >= 0) {
		*hole = lseek(file->fd, data, SEEK_HOLE);
		extents->items[extents->next++ % EXTENTS] = (struct extent){data, *hole};
	}
	pthread_mutex_unlock(&extents->lock);
	return data;
}

bool hawk_core_file_data(const struct hawk_core_file *file, const struct hawk_mapping *mapping,
			 uint64_t *start, uint64_t *end)
{
	uint64_t from = mapping->core_offset + (*start - mapping->start);
	uint64_t to = mapping->core_offset + (*end - mapping->start);
	off_t data, hole;

	if (file->fd < 0)
		return true;
	data = find_data(file, (off_t)from, &hole);
	if (data < 0)
		return errno != ENXIO; /* ENXIO: nothing but a hole up to the end */
	if ((uint64_t)data >= to)
		return false;
	if (hole > data && (uint64_t)hole < to)
		*end -= to - (uint64_t)hole;
	*start += (uint64_t)data - from;
	return true;
}

void hawk_core_file_check(const struct hawk_core_file *file, struct hawk_findings *findings)
{
	uint64_t pages = hawk_core_guard_pages(file->guard);

	if (pages)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, true, "core-changed",
				  "the core file shrank or could not be read while it was "
				  "analyzed: at least %" PRIu64 " bytes were taken as zeros",
				  pages * 4096);
}
