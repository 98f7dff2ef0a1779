/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writes through compression, with holes, to a file of output/file.c.
 */
#include "hawk/output/file_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/text.h"
#include "hawk/output/file.h"
#include "hawk/output/seekable.h"

enum {
	COPY_BYTES = 1 << 16,
};

struct hawk_file_sink {
	const struct hawk_file_sink_settings *settings;
	const char *path; /**< for errors */
	struct hawk_output_file *file;
	int fd;
	char place[32];               /**< where it can be opened meanwhile */
	struct hawk_seekable *packer; /**< NULL = not compressed */
};

bool hawk_file_sink_packs(const char *path)
{
	size_t length = strlen(path);

	return length > 4 && !strcmp(path + length - 4, ".zst");
}

/* Checks an existing file. A link is replaced, unless it leads to a device or a pipe. */
static struct hawk_error *check_place(const struct hawk_file_sink_settings *settings)
{
	struct stat link, status;

	if (lstat(settings->path, &link))
		return errno == ENOENT ? NULL
				       : hawk_error_os(errno, "cannot write", settings->path);
	if (!S_ISREG(link.st_mode) &&
	    !(S_ISLNK(link.st_mode) && (stat(settings->path, &status) || S_ISREG(status.st_mode))))
		return hawk_error_create(HAWK_ERROR_OS,
					 "cannot write %s: it exists and is no regular file",
					 settings->path);
	if (!settings->force)
		return hawk_error_create(HAWK_ERROR_OS,
					 "cannot write %s: it exists (--force replaces it)",
					 settings->path);
	return NULL;
}

static struct hawk_error *open_file(struct hawk_file_sink *sink)
{
	const struct hawk_file_sink_settings *settings = sink->settings;
	CLEANUP(text) struct hawk_text unpublished = {0};
	int errnum;

	hawk_text_printf(&unpublished, "%s/hawk-core", settings->path ? "" : settings->folder);
	if (unpublished.failed)
		return &hawk_enomem;
	errnum = hawk_output_file_create(settings->path ? settings->path : unpublished.bytes, false,
					 &sink->fd, &sink->file);
	if (errnum)
		return hawk_error_os(errnum, "cannot write", sink->path);
	snprintf(sink->place, sizeof(sink->place), "/proc/self/fd/%d", sink->fd);
	return NULL;
}

struct hawk_error *hawk_file_sink_create(const struct hawk_file_sink_settings *settings,
					 struct hawk_file_sink **ret)
{
	bool compress = settings->path ? hawk_file_sink_packs(settings->path) : settings->compress;
	struct hawk_error *err = settings->path ? check_place(settings) : NULL;
	struct hawk_file_sink *sink;

	if (err)
		return err;
	sink = calloc(1, sizeof(*sink));
	if (!sink)
		return &hawk_enomem;
	sink->settings = settings;
	sink->path = settings->path ? settings->path : settings->folder;
	sink->fd = -1;
	err = open_file(sink);
	if (!err && compress)
		err = hawk_seekable_create(sink->fd, sink->path, settings->level, &sink->packer);
	if (err) {
		hawk_file_sink_destroy(sink);
		return err;
	}
	*ret = sink;
	return NULL;
}

struct hawk_error *hawk_file_sink_write(struct hawk_file_sink *sink, const void *bytes, size_t size)
{
	return sink->packer ? hawk_seekable_write(sink->packer, bytes, size)
			    : hawk_output_file_write(sink->fd, sink->path, bytes, size);
}

struct hawk_error *hawk_file_sink_skip(struct hawk_file_sink *sink, uint64_t size)
{
	if (sink->packer)
		return hawk_seekable_skip(sink->packer, size);
	if (lseek(sink->fd, (off_t)size, SEEK_CUR) < 0)
		return hawk_error_os(errno, "cannot write", sink->path);
	return NULL;
}

struct hawk_error *hawk_file_sink_finish(struct hawk_file_sink *sink, uint64_t *bytes)
{
	struct hawk_error *err = sink->packer ? hawk_seekable_finish(sink->packer) : NULL;
	off_t end = err ? 0 : lseek(sink->fd, 0, SEEK_CUR);

	if (!err && (end < 0 || ftruncate(sink->fd, end) || fsync(sink->fd)))
		err = hawk_error_os(errno, "cannot write", sink->path);
	if (!err)
		*bytes = (uint64_t)end;
	return err;
}

int hawk_file_sink_fd(const struct hawk_file_sink *sink)
{
	return sink->fd;
}

const char *hawk_file_sink_place(const struct hawk_file_sink *sink)
{
	return sink->place;
}

struct hawk_error *hawk_file_sink_commit(struct hawk_file_sink *sink)
{
	int errnum = hawk_output_file_publish(sink->file, sink->fd, sink->settings->force);

	return errnum ? hawk_error_os(errnum, "cannot write", sink->path) : NULL;
}

struct hawk_error *hawk_file_sink_copy(struct hawk_file_sink *sink, int fd, const char *name)
{
	struct hawk_error *err = NULL;
	char bytes[COPY_BYTES];
	off_t at = 0;
	ssize_t got;

	do {
		got = pread(sink->fd, bytes, sizeof(bytes), at);
		if (got < 0)
			return hawk_error_os(errno, "cannot read", sink->path);
		err = hawk_output_file_write(fd, name, bytes, (size_t)got);
		at += got;
	} while (got && !err);
	return err;
}

void hawk_file_sink_destroy(struct hawk_file_sink *sink)
{
	if (!sink)
		return;
	hawk_seekable_destroy(sink->packer);
	hawk_output_file_destroy(sink->file);
	if (sink->fd >= 0)
		close(sink->fd);
	free(sink);
}
