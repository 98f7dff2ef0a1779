/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Opens a core from standard input.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/progress.h"
#include "spool.h"

static const char name[] = "standard input";

/** Fills the buffer until it is full or the pipe ends. */
static struct hawk_error *fill(struct hawk_core_spool *spool, size_t *ret)
{
	size_t at = 0;

	while (at < HAWK_CORE_SPOOL_BUFFER_BYTES) {
		ssize_t got =
			read(STDIN_FILENO, spool->buffer + at, HAWK_CORE_SPOOL_BUFFER_BYTES - at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return hawk_error_os(errno, "cannot be read", NULL);
		if (got == 0)
			break;
		at += (size_t)got;
	}
	*ret = at;
	return NULL;
}

static struct hawk_error *read_pipe(struct hawk_core_spool *spool)
{
	struct hawk_progress progress;
	struct hawk_error *err;
	size_t got;

	hawk_progress_begin_bytes(&progress, "reading standard input", 0);
	do {
		err = fill(spool, &got);
		if (!err)
			err = hawk_core_spool_add(spool, got);
		hawk_progress_reach(spool->bytes);
	} while (!err && got == HAWK_CORE_SPOOL_BUFFER_BYTES);
	hawk_progress_end(&progress);
	if (!err && !spool->bytes)
		err = hawk_error_create(HAWK_ERROR_FORMAT, "is empty (0 bytes)");
	return err;
}

/** Stores the pipe's contents; the time of the process's end is unknown. */
static struct hawk_error *spool_pipe(const struct hawk_unpack_settings *settings,
				     struct hawk_core_file **ret)
{
	struct hawk_core_spool spool;
	struct hawk_error *err = hawk_core_spool_open(&spool, "is a pipe", settings);

	spool.may_be_packed = true;
	if (!err)
		err = read_pipe(&spool);
	if (err)
		err = hawk_error_prefix(err, "%s", name);
	else
		err = hawk_core_spool_map(&spool, name, ret);
	hawk_core_spool_close(&spool);
	if (!err)
		(*ret)->times.file_ns = 0;
	return err;
}

struct hawk_error *hawk_core_standard_input(const struct hawk_unpack_settings *settings,
					    struct hawk_core_file **ret)
{
	CLEANUP(close_fd) int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) != 0)
		return hawk_error_os(errno, "cannot read", name);
	if (isatty(fd))
		return hawk_error_create(HAWK_ERROR_USAGE,
					 "%s: is a terminal; redirect it from a core, or pipe one "
					 "into it",
					 name);
	if (S_ISREG(status.st_mode) && status.st_size > 0)
		return hawk_core_file_map(take_fd(&fd), (uint64_t)status.st_size, name, ret);
	return spool_pipe(settings, ret);
}
