/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writes files that are complete or absent.
 */
#include "hawk/output/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "hawk/base/cleanup.h"

enum { FILE_MODE = 0600 };

struct hawk_output_file {
	char *path;
	char *folder;
	char *temporary; /**< an unused name beside `path` */
	bool named;      /**< the file has the temporary name */
};

static bool set_names(struct hawk_output_file *file, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t length = slash ? (size_t)(slash + 1 - path) : 0; /* of "folder/" */
	uint64_t number = 0;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return false;
	file->path = strdup(path);
	file->folder = length ? strndup(path, length) : strdup(".");
	if (asprintf(&file->temporary, "%.*s.%.200s.%016" PRIx64, (int)length, path, path + length,
		     number) < 0)
		file->temporary = NULL;
	return file->path && file->folder && file->temporary;
}

static int create(struct hawk_output_file *file, bool named)
{
	int fd = -1;

	if (!named)
		fd = open(file->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, FILE_MODE);
	if (named || (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))) {
		fd = open(file->temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, FILE_MODE);
		file->named = fd >= 0;
	}
	return fd;
}

int hawk_output_file_create(const char *path, bool named, int *fd, struct hawk_output_file **ret)
{
	struct hawk_output_file *file = calloc(1, sizeof(*file));
	int errnum;

	if (!file)
		return ENOMEM;
	if (!set_names(file, path)) {
		hawk_output_file_destroy(file);
		return ENOMEM;
	}
	*fd = create(file, named);
	if (*fd < 0) {
		errnum = errno;
		hawk_output_file_destroy(file);
		return errnum;
	}
	*ret = file;
	return 0;
}

/** Gives a file without a name the name `to`; fails if that is taken. */
static int give_name(int fd, const char *to)
{
	char from[32];

	snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

/** Renames the temporary file; fails if the name is taken. */
static int rename_to_free_name(struct hawk_output_file *file)
{
	if (renameat2(AT_FDCWD, file->temporary, AT_FDCWD, file->path, RENAME_NOREPLACE) == 0) {
		file->named = false;
		return 0;
	}
	if (errno != EINVAL) // flag not supported: link() detects a taken name too
		return errno;
	return link(file->temporary, file->path) == 0 ? 0 : errno;
}

static int rename_over(struct hawk_output_file *file, int fd)
{
	int errnum = file->named ? 0 : give_name(fd, file->temporary);

	if (errnum)
		return errnum;
	file->named = rename(file->temporary, file->path) != 0;
	return file->named ? errno : 0;
}

/** Syncs the folder. A failure is no error: some file systems cannot, and the file has its name
 * already. */
static void sync_folder(const char *folder)
{
	CLEANUP(close_fd) int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		fsync(fd);
}

int hawk_output_file_publish(struct hawk_output_file *file, int fd, bool force)
{
	int errnum = fsync(fd) == 0 ? 0 : errno;

	if (errnum)
		return errnum;
	if (force)
		errnum = rename_over(file, fd);
	else
		errnum = file->named ? rename_to_free_name(file) : give_name(fd, file->path);
	if (!errnum)
		sync_folder(file->folder);
	return errnum;
}

void hawk_output_file_destroy(struct hawk_output_file *file)
{
	if (!file)
		return;
	if (file->named)
		unlink(file->temporary);
	free(file->path);
	free(file->folder);
	free(file->temporary);
	free(file);
}

struct hawk_error *hawk_output_file_write(int fd, const char *path, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size) {
		ssize_t written = write(fd, at, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return hawk_error_os(errno, "cannot write", path);
		at += written;
		size -= (size_t)written;
	}
	return NULL;
}
