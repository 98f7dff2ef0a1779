/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writes and limits a spool.
 */
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "hawk/base/cleanup.h"
#include "hawk/snapshot/reader.h"
#include "hawk/target/decoder.h"

enum {
	PAGE_BYTES = 4096,
	/** Room left free in the file system: a 20th of it, within these bounds. */
	ROOM_SHARE = 20,
	ROOM_BYTES_MIN = 64 << 20,
	ROOM_BYTES_MAX = 1 << 30,
};

static const uint64_t CORE_BYTES_MAX = UINT64_C(1) << 40;
static const char default_folder[] = "/var/tmp";

static struct hawk_error *open_nameless(const struct hawk_core_spool *spool, int *ret)
{
	CLEANUP(free_ptr) char *path = NULL;
	int fd = open(spool->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0 &&
	    (errno == EOPNOTSUPP || errno == EISDIR)) { // not supported by every file system
		if (asprintf(&path, "%s/hawk-core-XXXXXX", spool->folder) < 0) {
			path = NULL;
			return &hawk_enomem;
		}
		fd = mkostemp(path, O_CLOEXEC);
		if (fd >= 0)
			unlink(path);
	}
	if (fd < 0)
		return hawk_error_create(HAWK_ERROR_OS,
					 "%s, and no file to keep it in can be made in %s (TMPDIR "
					 "names another folder): %s",
					 spool->what, spool->folder, strerror(errno));
	*ret = fd;
	return NULL;
}

/** Finds the file size limit: the kernel sends a signal for writes beyond `ulimit -f`. */
static uint64_t find_bytes_max(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < CORE_BYTES_MAX
		       ? limit.rlim_cur
		       : CORE_BYTES_MAX;
}

struct hawk_error *hawk_core_spool_open(struct hawk_core_spool *spool, const char *what,
					const struct hawk_unpack_settings *settings)
{
	*spool = (struct hawk_core_spool){
		.what = what,
		.remedy = "",
		.folder = settings && settings->folder ? settings->folder : default_folder,
		.bytes_max = find_bytes_max(),
		.fd = -1,
	};
	spool->buffer = malloc(HAWK_CORE_SPOOL_BUFFER_BYTES);
	return spool->buffer ? open_nameless(spool, &spool->fd) : &hawk_enomem;
}

struct hawk_error *hawk_core_spool_check_length(const struct hawk_core_spool *spool, uint64_t bytes)
{
	if (bytes <= spool->bytes_max)
		return NULL;
	return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
				 "%s, and the core has more than %" PRIu64
				 " KiB, the largest file allowed here (ulimit -f, or 1 TiB)",
				 spool->what, spool->bytes_max >> 10);
}

/** Returns the bytes to leave free in a file system of this size. */
static uint64_t room_of(uint64_t bytes)
{
	uint64_t room = bytes / ROOM_SHARE;

	if (room < ROOM_BYTES_MIN)
		return ROOM_BYTES_MIN;
	return room < ROOM_BYTES_MAX ? room : ROOM_BYTES_MAX;
}

static struct hawk_error *check_room(const struct hawk_core_spool *spool)
{
	struct statvfs status;

	if (fstatvfs(spool->fd, &status) != 0 || !status.f_blocks || // unknown
	    (uint64_t)status.f_bavail * status.f_frsize >=
		    room_of((uint64_t)status.f_blocks * status.f_frsize))
		return NULL;
	return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
				 "%s, and %s has no room for it after %" PRIu64
				 " MiB: name a larger folder in TMPDIR%s",
				 spool->what, spool->folder, spool->bytes >> 20, spool->remedy);
}

static bool is_zero(const uint8_t *page, size_t bytes)
{
	return !page[0] && memcmp(page, page + 1, bytes - 1) == 0;
}

/** Writes the buffer's bytes [start, end) at the file's current end. */
static struct hawk_error *write_run(struct hawk_core_spool *spool, size_t start, size_t end)
{
	spool->data_bytes += end - start;
	while (start < end) {
		ssize_t written = pwrite(spool->fd, spool->buffer + start, end - start,
					 (off_t)(spool->bytes + start));

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return hawk_error_os(errno, "cannot write a core into", spool->folder);
		start += (size_t)written;
	}
	return NULL;
}

/** Writes the buffer; skips pages of zeros. */
static struct hawk_error *write_buffer(struct hawk_core_spool *spool, size_t bytes)
{
	struct hawk_error *err = NULL;
	size_t run = 0;

	for (size_t at = 0, next; at < bytes && !err; at = next) {
		next = at + PAGE_BYTES < bytes ? at + PAGE_BYTES : bytes;
		if (!is_zero(spool->buffer + at, next - at))
			continue;
		err = write_run(spool, run, at);
		run = next;
	}
	return err ? err : write_run(spool, run, bytes);
}

struct hawk_error *hawk_core_spool_put(struct hawk_core_spool *spool, size_t bytes)
{
	struct hawk_error *err = write_buffer(spool, bytes);

	return err ? err : check_room(spool);
}

/** Refuses a file that is no core, by its beginning. */
static struct hawk_error *check_beginning(const struct hawk_core_spool *spool, size_t bytes)
{
	const struct hawk_arch *arch;

	if (spool->bytes || bytes < HAWK_CORE_SPOOL_BUFFER_BYTES ||
	    hawk_table_file_is(spool->buffer, bytes) || hawk_snapshot_is(spool->buffer, bytes) ||
	    (spool->may_be_packed && hawk_decoder_format(spool->buffer, bytes)))
		return NULL;
	return hawk_core_identify(spool->buffer, bytes, &arch);
}

struct hawk_error *hawk_core_spool_add(struct hawk_core_spool *spool, size_t bytes)
{
	struct hawk_error *err = check_beginning(spool, bytes);

	if (!err)
		err = hawk_core_spool_check_length(spool, spool->bytes + bytes);
	if (!err)
		err = hawk_core_spool_put(spool, bytes);
	spool->bytes += bytes;
	return err;
}

struct hawk_error *hawk_core_spool_map(struct hawk_core_spool *spool, const char *path,
				       struct hawk_core_file **ret)
{
	if (ftruncate(spool->fd, (off_t)spool->bytes) != 0) // a hole at the end
		return hawk_error_os(errno, "cannot write a core into", spool->folder);
	return hawk_core_file_map(take_fd(&spool->fd), spool->bytes, path, ret);
}

void hawk_core_spool_close(struct hawk_core_spool *spool)
{
	free(spool->buffer);
	if (spool->fd >= 0)
		close(spool->fd);
}
