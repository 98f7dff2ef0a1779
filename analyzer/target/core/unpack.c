/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Unpacks into an unnamed file that vanishes with this process, however it ends. A hostile input
 * may expand without limit, so its disk use and length are bounded.
 */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "hawk/target/decoder.h"
#include "hawk/base/cleanup.h"
#include "hawk/base/progress.h"

enum {
	PAGE_BYTES = 4096,
	BUFFER_BYTES = 1 << 20,
	/** Left to others in the file system: a 20th of it, within these bounds. */
	ROOM_SHARE = 20,
	ROOM_BYTES_MIN = 64 << 20,
	ROOM_BYTES_MAX = 1 << 30,
	/** Data, not pages of zeros, that a file unpacks into: so many times its size, and this
	 * much in any case. Cores reach 3 to 20 times. */
	RATIO_MAX = 256,
	DATA_BYTES_MIN = 256 << 20,
};

static const uint64_t CORE_BYTES_MAX = UINT64_C(1) << 40;
static const char default_folder[] = "/var/tmp";

struct unpacking {
	const char *folder;
	const char *format; /**< its tool's name, too */
	struct hawk_decoder *decoder;
	uint64_t packed_bytes;
	int fd;
	uint64_t bytes;      /**< unpacked so far */
	uint64_t data_bytes; /**< of them written: the others are holes */
	uint64_t bytes_max;
	uint8_t *buffer;
};

bool hawk_core_unpack_needed(const struct hawk_core_file *file)
{
	return hawk_decoder_format(file->bytes, file->size);
}

static struct hawk_error *open_nameless(const char *folder, int *ret)
{
	CLEANUP(free_ptr) char *path = NULL;
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) { // not on every file system
		if (asprintf(&path, "%s/hawk-core-XXXXXX", folder) < 0) {
			path = NULL;
			return &hawk_enomem;
		}
		fd = mkostemp(path, O_CLOEXEC);
		if (fd >= 0)
			unlink(path);
	}
	if (fd < 0)
		return hawk_error_os(errno,
				     "is compressed, and no file to unpack it into can be made "
				     "(TMPDIR names another folder) in",
				     folder);
	*ret = fd;
	return NULL;
}

/** Writing more than `ulimit -f` allows would be answered with a signal. */
static uint64_t find_bytes_max(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < CORE_BYTES_MAX
		       ? limit.rlim_cur
		       : CORE_BYTES_MAX;
}

static struct hawk_error *check_length(const struct unpacking *unpacking, size_t more)
{
	if (more <= unpacking->bytes_max - unpacking->bytes)
		return NULL;
	return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
				 "is compressed, and unpacks into more than %" PRIu64
				 " KiB, the largest file allowed here (ulimit -f, or 1 TiB)",
				 unpacking->bytes_max >> 10);
}

static struct hawk_error *check_ratio(const struct unpacking *unpacking)
{
	uint64_t most = unpacking->packed_bytes * RATIO_MAX;

	if (unpacking->data_bytes <= DATA_BYTES_MIN || unpacking->data_bytes <= most)
		return NULL;
	return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
				 "is compressed, and its %" PRIu64 " KiB unpack into more than "
				 "%" PRIu64 " MiB of data, unlike any core (at most %d times its "
				 "size): if it is one, unpack it first (%s -d)",
				 unpacking->packed_bytes >> 10, unpacking->data_bytes >> 20,
				 RATIO_MAX, unpacking->format);
}

/** What is to be left free in a file system of this size. */
static uint64_t room_of(uint64_t bytes)
{
	uint64_t room = bytes / ROOM_SHARE;

	if (room < ROOM_BYTES_MIN)
		return ROOM_BYTES_MIN;
	return room < ROOM_BYTES_MAX ? room : ROOM_BYTES_MAX;
}

static struct hawk_error *check_room(const struct unpacking *unpacking)
{
	struct statvfs status;

	if (fstatvfs(unpacking->fd, &status) != 0 || !status.f_blocks || // not told
	    (uint64_t)status.f_bavail * status.f_frsize >=
		    room_of((uint64_t)status.f_blocks * status.f_frsize))
		return NULL;
	return hawk_error_create(HAWK_ERROR_UNSUPPORTED,
				 "is compressed, and %s has no room for it after %" PRIu64
				 " MiB: unpack it elsewhere (%s -d), or name a larger folder in "
				 "TMPDIR",
				 unpacking->folder, unpacking->bytes >> 20, unpacking->format);
}

static bool is_zero(const uint8_t *page, size_t bytes)
{
	return !page[0] && memcmp(page, page + 1, bytes - 1) == 0;
}

/** The buffer's bytes [start, end) behind what was written before. */
static bool write_run(struct unpacking *unpacking, size_t start, size_t end)
{
	unpacking->data_bytes += end - start;
	while (start < end) {
		ssize_t written = pwrite(unpacking->fd, unpacking->buffer + start, end - start,
					 (off_t)(unpacking->bytes + start));

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		start += (size_t)written;
	}
	return true;
}

/** Pages of zeros are left out. */
static struct hawk_error *write_buffer(struct unpacking *unpacking, size_t bytes)
{
	size_t run = 0;

	for (size_t at = 0, next; at < bytes; at = next) {
		next = at + PAGE_BYTES < bytes ? at + PAGE_BYTES : bytes;
		if (!is_zero(unpacking->buffer + at, next - at))
			continue;
		if (!write_run(unpacking, run, at))
			return hawk_error_os(errno, "cannot unpack into", unpacking->folder);
		run = next;
	}
	if (!write_run(unpacking, run, bytes))
		return hawk_error_os(errno, "cannot unpack into", unpacking->folder);
	return NULL;
}

/** What is no core needs no unpacking: its beginning says so. */
static struct hawk_error *check_beginning(const struct unpacking *unpacking, size_t bytes)
{
	if (unpacking->bytes || bytes < BUFFER_BYTES ||
	    hawk_table_file_is(unpacking->buffer, bytes))
		return NULL;
	return hawk_core_identify(unpacking->buffer, bytes);
}

static struct hawk_error *unpack_all(struct unpacking *unpacking, enum hawk_decoder_state *state)
{
	struct hawk_error *error = NULL;
	size_t got;

	do {
		*state = hawk_decoder_read(unpacking->decoder, unpacking->buffer, BUFFER_BYTES,
					   &got);
		error = check_beginning(unpacking, got);
		if (!error)
			error = check_length(unpacking, got);
		if (!error)
			error = write_buffer(unpacking, got);
		if (error)
			return error;
		unpacking->bytes += got;
		error = check_ratio(unpacking);
		if (!error)
			error = check_room(unpacking);
		hawk_progress_reach(hawk_decoder_position(unpacking->decoder));
	} while (!error && *state == HAWK_DECODER_MORE);
	if (!error && ftruncate(unpacking->fd, (off_t)unpacking->bytes) != 0)
		error = hawk_error_os(errno, "cannot unpack into", unpacking->folder);
	return error;
}

/** What the decoder ran into. */
static struct hawk_error *judge(const struct unpacking *unpacking, enum hawk_decoder_state state,
				struct hawk_findings *findings)
{
	const char *trouble = state == HAWK_DECODER_CUT         ? "cut off"
			      : state == HAWK_DECODER_TOO_LARGE ? "in need of too much memory"
								: "damaged";

	if (state == HAWK_DECODER_END && unpacking->bytes)
		return NULL;
	if (!unpacking->bytes)
		return hawk_error_create(HAWK_ERROR_FORMAT,
					 "is compressed with %s, and %s: nothing of it could be "
					 "unpacked (%s -d may say more)",
					 unpacking->format,
					 state == HAWK_DECODER_END ? "empty" : trouble,
					 unpacking->format);
	hawk_findings_add(findings, HAWK_FINDING_MISSING, true, "core-unpack",
			  "the compressed core is %s behind %" PRIu64
			  " of its bytes: what comes before is used, %" PRIu64 " bytes unpacked",
			  trouble, hawk_decoder_position(unpacking->decoder), unpacking->bytes);
	return NULL;
}

static struct hawk_error *unpack_file(const struct hawk_core_file *packed,
				      struct unpacking *unpacking, struct hawk_findings *findings)
{
	const uint8_t *bytes = packed->bytes;
	size_t size = packed->size;
	struct hawk_progress progress;
	enum hawk_decoder_state state;
	struct hawk_error *error = hawk_decoder_create(bytes, size, &unpacking->decoder);

	if (error)
		return error;
	unpacking->packed_bytes = size;
	unpacking->format = hawk_decoder_format(bytes, size);
	unpacking->bytes_max = find_bytes_max();
	unpacking->buffer = malloc(BUFFER_BYTES);
	if (!unpacking->buffer)
		return &hawk_enomem;
	hawk_progress_begin_bytes(&progress, "unpacking", size);
	error = unpack_all(unpacking, &state);
	hawk_progress_end(&progress);
	if (!error)
		error = judge(unpacking, state, findings);
	if (!error)
		hawk_core_file_check(packed, findings);
	return error;
}

struct hawk_error *hawk_core_unpack(struct hawk_core_file *packed, const char *path,
				    const struct hawk_unpack_settings *settings,
				    struct hawk_findings *findings, struct hawk_core_file **ret)
{
	struct unpacking unpacking = {
		.folder = settings && settings->folder ? settings->folder : default_folder,
	};
	struct hawk_end_times times = packed->times;
	CLEANUP(close_fd) int fd = -1;
	struct hawk_error *error = open_nameless(unpacking.folder, &fd);

	unpacking.fd = fd;
	if (!error)
		error = unpack_file(packed, &unpacking, findings);
	hawk_decoder_destroy(unpacking.decoder);
	free(unpacking.buffer);
	hawk_core_file_close(packed);
	if (error)
		return hawk_error_prefix(error, "%s", path);
	error = hawk_core_file_map(take_fd(&fd), unpacking.bytes, path, ret);
	if (!error)
		(*ret)->times = times;
	return error;
}
