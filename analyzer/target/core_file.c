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

/** The last stretch of data that was asked for: a file system in memory looks at every page of it
 * to find its end, and each stage of the analysis asks again. */
struct extent {
	pthread_mutex_t lock;
	off_t data;
	off_t hole;
};

struct hawk_core_file {
	struct extent *extent; /* NULL = bytes of the caller */
	const uint8_t *bytes;
	size_t size;
	int fd;    /* -1 = bytes of the caller */
	int guard; /* slot of core_guard.h */
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

struct hawk_error *hawk_core_file_open(const char *path, struct hawk_core_file **ret)
{
	CLEANUP(free_ptr) struct hawk_core_file *file = calloc(1, sizeof(*file));
	CLEANUP(free_ptr) struct extent *extent = calloc(1, sizeof(*extent));
	CLEANUP(close_fd) int fd = -1;
	struct hawk_error *error;
	uint64_t size = 0;
	void *bytes;

	if (!file || !extent)
		return &hawk_enomem;
	error = open_regular(path, &fd, &size);
	if (error)
		return error;
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
	pthread_mutex_init(&extent->lock, NULL);
	file->extent = take_ptr(&extent);
	file->bytes = bytes;
	file->size = size;
	file->fd = take_fd(&fd);
	*ret = take_ptr(&file);
	return NULL;
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
		pthread_mutex_destroy(&file->extent->lock);
		free(file->extent);
	}
	free(file);
}

const uint8_t *hawk_core_file_bytes(const struct hawk_core_file *file)
{
	return file->bytes;
}

size_t hawk_core_file_size(const struct hawk_core_file *file)
{
	return file->size;
}

/* The first stretch of data at or behind `from`; less than 0 if there is none. `*hole` is its end.
 */
static off_t find_data(const struct hawk_core_file *file, off_t from, off_t *hole)
{
	struct extent *extent = file->extent;
	off_t data = from;

	pthread_mutex_lock(&extent->lock);
	if (from < extent->data || from >= extent->hole) {
		data = lseek(file->fd, from, SEEK_DATA);
		if (data >= 0) {
			extent->data = data;
			extent->hole = lseek(file->fd, data, SEEK_HOLE);
		}
	}
	*hole = extent->hole;
	pthread_mutex_unlock(&extent->lock);
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
