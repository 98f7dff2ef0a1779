/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writes through compression, with holes, to a file of output/file.c.
 */
#include "hawk/redact/file_sink.h"

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
#if HAWK_HAVE_ZSTD
#include <zstd.h>
#endif

enum {
	ZEROS_BYTES = 1 << 16,
	COPY_BYTES = 1 << 16,
};

struct hawk_file_sink {
	const struct hawk_file_sink_settings *settings;
	const char *path; /**< for errors */
	struct hawk_output_file *file;
	int fd;
	char place[32];        /**< where it can be opened meanwhile */
	struct packer *packer; /**< NULL = not compressed */
};

static struct hawk_error *write_all(const struct hawk_file_sink *sink, const void *bytes,
				    size_t size)
{
	const char *at = bytes;

	while (size) {
		ssize_t written = write(sink->fd, at, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return hawk_error_os(errno, "cannot write", sink->path);
		at += written;
		size -= (size_t)written;
	}
	return NULL;
}

#if HAWK_HAVE_ZSTD
/** A zstd frame being written. */
struct packer {
	ZSTD_CStream *stream;
	size_t size;
	uint8_t bytes[];
};

static struct hawk_error *create_packer(struct packer **ret)
{
	size_t size = ZSTD_CStreamOutSize();
	struct packer *packer = calloc(1, sizeof(*packer) + size);

	if (!packer)
		return &hawk_enomem;
	packer->size = size;
	packer->stream = ZSTD_createCStream();
	*ret = packer;
	if (!packer->stream ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(packer->stream, ZSTD_c_checksumFlag, 1)))
		return &hawk_enomem;
	return NULL;
}

static void destroy_packer(struct packer *packer)
{
	if (packer)
		ZSTD_freeCStream(packer->stream);
	free(packer);
}

static struct hawk_error *pack(const struct hawk_file_sink *sink, const void *bytes, size_t size,
			       ZSTD_EndDirective mode)
{
	struct packer *packer = sink->packer;
	ZSTD_inBuffer in = {bytes, size, 0};
	struct hawk_error *err = NULL;
	size_t left = 1;

	while (!err && (in.pos < in.size || (mode == ZSTD_e_end && left))) {
		ZSTD_outBuffer out = {packer->bytes, packer->size, 0};

		left = ZSTD_compressStream2(packer->stream, &out, &in, mode);
		if (ZSTD_isError(left))
			return hawk_error_create(HAWK_ERROR_OS, "cannot compress %s: %s",
						 sink->path, ZSTD_getErrorName(left));
		err = write_all(sink, packer->bytes, out.pos);
	}
	return err;
}

static struct hawk_error *pack_more(const struct hawk_file_sink *sink, const void *bytes,
				    size_t size)
{
	return pack(sink, bytes, size, ZSTD_e_continue);
}

static struct hawk_error *pack_end(const struct hawk_file_sink *sink)
{
	return pack(sink, NULL, 0, ZSTD_e_end);
}
#else
static struct hawk_error *create_packer(struct packer **ret)
{
	(void)ret;
	return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
				 "this hawk-core was built without zstd: choose a name that does "
				 "not end in .zst");
}

static void destroy_packer(struct packer *packer)
{
	(void)packer;
}

static struct hawk_error *pack_more(const struct hawk_file_sink *sink, const void *bytes,
				    size_t size)
{
	(void)sink, (void)bytes, (void)size;
	return NULL;
}

static struct hawk_error *pack_end(const struct hawk_file_sink *sink)
{
	(void)sink;
	return NULL;
}
#endif

static bool ends_in_zst(const char *path)
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
	bool compress = settings->path ? ends_in_zst(settings->path) : settings->compress;
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
	if (compress)
		err = create_packer(&sink->packer);
	if (!err)
		err = open_file(sink);
	if (err) {
		hawk_file_sink_destroy(sink);
		return err;
	}
	*ret = sink;
	return NULL;
}

struct hawk_error *hawk_file_sink_write(struct hawk_file_sink *sink, const void *bytes, size_t size)
{
	return sink->packer ? pack_more(sink, bytes, size) : write_all(sink, bytes, size);
}

struct hawk_error *hawk_file_sink_skip(struct hawk_file_sink *sink, uint64_t size)
{
	static const uint8_t zeros[ZEROS_BYTES];
	struct hawk_error *err = NULL;

	if (!sink->packer && lseek(sink->fd, (off_t)size, SEEK_CUR) < 0)
		return hawk_error_os(errno, "cannot write", sink->path);
	while (sink->packer && size && !err) {
		size_t some = size < sizeof(zeros) ? (size_t)size : sizeof(zeros);

		err = pack_more(sink, zeros, some);
		size -= some;
	}
	return err;
}

struct hawk_error *hawk_file_sink_finish(struct hawk_file_sink *sink, uint64_t *bytes)
{
	struct hawk_error *err = sink->packer ? pack_end(sink) : NULL;
	off_t end = err ? 0 : lseek(sink->fd, 0, SEEK_CUR);

	if (!err && (end < 0 || ftruncate(sink->fd, end) || fsync(sink->fd)))
		err = hawk_error_os(errno, "cannot write", sink->path);
	if (!err)
		*bytes = (uint64_t)end;
	return err;
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
	struct hawk_file_sink to = {.path = name, .fd = fd};
	struct hawk_error *err = NULL;
	char bytes[COPY_BYTES];
	off_t at = 0;
	ssize_t got;

	do {
		got = pread(sink->fd, bytes, sizeof(bytes), at);
		if (got < 0)
			return hawk_error_os(errno, "cannot read", sink->path);
		err = write_all(&to, bytes, (size_t)got);
		at += got;
	} while (got && !err);
	return err;
}

void hawk_file_sink_destroy(struct hawk_file_sink *sink)
{
	if (!sink)
		return;
	destroy_packer(sink->packer);
	hawk_output_file_destroy(sink->file);
	if (sink->fd >= 0)
		close(sink->fd);
	free(sink);
}
