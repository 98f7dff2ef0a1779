/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Copies a core within limits.
 */
#include "core_copy.h"

#include <elf.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/numbers.h"
#include "hawk/base/progress.h"
#include "hawk/output/seekable.h"

enum { BUFFER_BYTES = HAWK_SEEKABLE_FRAME_BYTES, NS_PER_MS = 1000000, WAIT_MS_MAX = 1000 };

/** Passes over a hole at the position of `fd`, if it is a file. */
static struct hawk_error *skip_hole(struct hawk_core_copy *copy, int fd)
{
	off_t at = lseek(fd, 0, SEEK_CUR), data = at < 0 ? at : lseek(fd, at, SEEK_DATA);
	struct stat status;

	if (data < 0 && at >= 0 && errno == ENXIO) { // a hole to the end
		data = fstat(fd, &status) == 0 ? status.st_size : -1;
		if (data > at)
			data = lseek(fd, data, SEEK_SET);
	}
	if (data <= at)
		return NULL;
	copy->bytes += (uint64_t)(data - at);
	return hawk_file_sink_skip(copy->sink, (uint64_t)(data - at));
}

/** Waits for bytes, or until the time is over. */
static void wait_for_bytes(struct hawk_core_copy *copy, int fd)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	uint64_t now_ns = hawk_now_ns(CLOCK_MONOTONIC);

	while (now_ns < copy->end_ns) {
		uint64_t left_ms = (copy->end_ns - now_ns) / NS_PER_MS + 1;

		if (poll(&ready, 1, (int)hawk_least(left_ms, WAIT_MS_MAX)) > 0)
			return;
		now_ns = hawk_now_ns(CLOCK_MONOTONIC);
	}
	copy->stopped = "time";
}

static void check_limits(struct hawk_core_copy *copy)
{
	int fd = hawk_file_sink_fd(copy->sink);
	off_t written = lseek(fd, 0, SEEK_CUR);
	struct statvfs status;

	if (written > 0 && (uint64_t)written >= copy->written_max)
		copy->stopped = "size";
	else if (copy->free_min && fstatvfs(fd, &status) == 0 &&
		 (uint64_t)status.f_bavail * status.f_frsize < copy->free_min)
		copy->stopped = "free space";
}

/** Copies what can be read at once. `*end`: there is nothing more. */
static struct hawk_error *copy_some(struct hawk_core_copy *copy, int fd, const char *name,
				    uint8_t *buffer, bool *end)
{
	ssize_t got;

	check_limits(copy);
	if (!copy->stopped)
		wait_for_bytes(copy, fd);
	if (copy->stopped)
		return NULL;
	got = read(fd, buffer, BUFFER_BYTES);
	if (got < 0 && errno == EINTR)
		return NULL;
	if (got < 0)
		return hawk_error_os(errno, "cannot read", name);
	*end = !got;
	if (got && !copy->bytes && ((size_t)got < SELFMAG || memcmp(buffer, ELFMAG, SELFMAG) != 0))
		return hawk_error_create(HAWK_ERROR_FORMAT,
					 "%s: is no ELF core (a compressed one "
					 "in a pipe must be unpacked first)",
					 name);
	copy->bytes += (uint64_t)got;
	return hawk_file_sink_write(copy->sink, buffer, (size_t)got);
}

struct hawk_error *hawk_core_copy(struct hawk_core_copy *copy, int fd, const char *name)
{
	CLEANUP(free_ptr) uint8_t *buffer = malloc(BUFFER_BYTES);
	struct hawk_progress progress;
	struct hawk_error *err = NULL;
	bool end = false;

	if (!buffer)
		return &hawk_enomem;
	hawk_progress_begin_bytes(&progress, "packing", 0);
	while (!err && !end && !copy->stopped) {
		err = skip_hole(copy, fd);
		if (!err)
			err = copy_some(copy, fd, name, buffer, &end);
		hawk_progress_reach(copy->bytes);
	}
	hawk_progress_end(&progress);
	return err;
}
