/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The buffered output.
 */
#include "hawk/output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hawk/base/cleanup.h"
#include "hawk/output/file.h"
#include "filter.h"

void hawk_output_init(struct hawk_output *output, int fd)
{
	/* Clears all but the buffer. */
	memset(output, 0, offsetof(struct hawk_output, buffer));
	output->fd = fd;
}

/** Returns true if `info` describes the file that standard output leads to. */
static bool is_standard_output(const struct stat *info)
{
	struct stat standard;

	return fstat(STDOUT_FILENO, &standard) == 0 && standard.st_dev == info->st_dev &&
	       standard.st_ino == info->st_ino;
}

/** Opens an existing path that must not be replaced: /dev/stdout, a fifo, a device. */
static int open_directly(const char *path, const struct stat *info)
{
	if (is_standard_output(info))
		return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	return open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
}

static struct hawk_error *exists_error(const struct hawk_output *output)
{
	return hawk_error_create(HAWK_ERROR_OS, "%s exists already; --force replaces it",
				 output->path);
}

struct hawk_error *hawk_output_open_file(struct hawk_output *output, const char *path, bool force)
{
	struct stat info, link;
	int errnum = 0;

	hawk_output_init(output, -1);
	output->force = force;
	output->path = strdup(path);
	if (!output->path)
		return &hawk_enomem;
	if (stat(path, &info) == 0 && (!S_ISREG(info.st_mode) || is_standard_output(&info))) {
		output->fd = open_directly(path, &info);
		errnum = output->fd < 0 ? errno : 0;
	} else if (!force && lstat(path, &link) == 0) {
		return exists_error(output);
	} else {
		errnum = hawk_output_file_create(output->path, false, &output->fd, &output->file);
	}
	if (errnum)
		return hawk_error_os(errnum, "cannot write to", path);
	output->terminal = isatty(output->fd);
	return NULL;
}

struct hawk_error *hawk_output_refuse_terminal(const struct hawk_output *output, const char *what)
{
	if (!output->terminal && !isatty(output->fd))
		return NULL;
	return hawk_error_create(HAWK_ERROR_USAGE,
				 "refusing to write %s to a terminal; use -o FILE", what);
}

static void write_all(struct hawk_output *output, const char *bytes, size_t size)
{
	while (size && !output->errnum) {
		ssize_t written = write(output->fd, bytes, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0) {
			output->errnum = errno;
			return;
		}
		bytes += written;
		size -= (size_t)written;
	}
}

void hawk_filter_pass(struct hawk_output *output, struct hawk_filter *to, const void *bytes,
		      size_t size)
{
	if (output->errnum)
		return;
	if (to)
		to->put(to, bytes, size);
	else
		write_all(output, bytes, size);
}

void hawk_filter_add(struct hawk_output *output, struct hawk_filter *filter)
{
	hawk_output_flush(output);
	filter->output = output;
	filter->next = output->filter;
	output->filter = filter;
}

/** Calls the hooks for `bytes`, then passes them on. */
static void send(struct hawk_output *output, const char *bytes, size_t size)
{
	if (output->is_right && size && !output->errnum &&
	    !output->is_right(output->is_right_context))
		output->errnum = ECANCELED;
	if (output->watch && size && !output->errnum)
		output->watch(output, bytes, size);
	if (output->before && size && !output->errnum)
		output->before(output->before_context, output, bytes, size);
	if (size)
		hawk_filter_pass(output, output->filter, bytes, size);
}

void hawk_output_flush(struct hawk_output *output)
{
	send(output, output->buffer, output->used);
	output->used = 0;
}

void hawk_output_end_filters(struct hawk_output *output)
{
	hawk_output_flush(output);
	while (output->filter) {
		struct hawk_filter *filter = output->filter;

		if (!output->errnum)
			filter->end(filter);
		output->filter = filter->next;
		filter->destroy(filter);
	}
}

struct hawk_error *hawk_output_finish(struct hawk_output *output)
{
	hawk_output_end_filters(output);
	if (output->file && !output->errnum)
		output->errnum = hawk_output_file_publish(output->file, output->fd, output->force);
	hawk_output_file_destroy(output->file);
	output->file = NULL;
	if (!output->errnum)
		return NULL;
	if (output->errnum == EEXIST)
		return exists_error(output);
	return hawk_error_os(output->errnum, "cannot write to", hawk_output_name(output));
}

void hawk_output_deinit(struct hawk_output *output)
{
	if (!output)
		return;
	if (!output->errnum)
		output->errnum = ECANCELED; // filters must write nothing more
	hawk_output_end_filters(output);
	hawk_output_file_destroy(output->file);
	output->file = NULL;
	if (output->path && output->fd >= 0)
		close(output->fd);
	output->fd = -1;
	free(output->path);
	output->path = NULL;
}

void hawk_output_append(struct hawk_output *output, const void *bytes, size_t size)
{
	if (size > sizeof(output->buffer) - output->used)
		hawk_output_flush(output);
	if (size > sizeof(output->buffer)) {
		send(output, bytes, size);
		return;
	}
	if (size)
		memcpy(output->buffer + output->used, bytes, size);
	output->used += size;
}

struct hawk_error *hawk_output_append_file(struct hawk_output *output, int fd)
{
	CLEANUP(free_ptr) char *bytes = malloc(HAWK_OUTPUT_BUFFER_BYTES);
	off_t at = 0;
	ssize_t got;

	if (!bytes)
		return &hawk_enomem;
	while ((got = pread(fd, bytes, HAWK_OUTPUT_BUFFER_BYTES, at)) > 0 && !output->errnum) {
		hawk_output_append(output, bytes, (size_t)got);
		at += got;
	}
	return got < 0 ? hawk_error_os(errno, "cannot read", "a temporary file") : NULL;
}

void hawk_output_puts(struct hawk_output *output, const char *string)
{
	hawk_output_append(output, string, strlen(string));
}

void hawk_output_printf(struct hawk_output *output, const char *format, ...)
{
	char small[512];
	char *large = NULL;
	va_list arguments;
	int size;

	va_start(arguments, format);
	size = vsnprintf(small, sizeof(small), format, arguments);
	va_end(arguments);
	if (size < 0)
		return;
	if ((size_t)size < sizeof(small)) {
		hawk_output_append(output, small, (size_t)size);
		return;
	}
	va_start(arguments, format);
	size = vasprintf(&large, format, arguments);
	va_end(arguments);
	if (size < 0) {
		if (!output->errnum)
			output->errnum = ENOMEM;
		return;
	}
	hawk_output_append(output, large, (size_t)size);
	free(large);
}

void hawk_output_fill(struct hawk_output *output, char c, size_t count)
{
	char run[64];

	memset(run, c, sizeof(run));
	while (count) {
		size_t some = count < sizeof(run) ? count : sizeof(run);

		hawk_output_append(output, run, some);
		count -= some;
	}
}

char *hawk_format_decimal(char *to, uint64_t value)
{
	char digits[HAWK_DECIMAL_MAX];
	char *at = digits + sizeof(digits);
	size_t size;

	do
		*--at = (char)('0' + value % 10);
	while (value /= 10);
	size = (size_t)(digits + sizeof(digits) - at);
	memcpy(to, at, size);
	return to + size;
}

char *hawk_format_hex(char *to, uint64_t value)
{
	unsigned digits = value ? (67 - (unsigned)__builtin_clzll(value)) / 4 : 1;

	for (unsigned i = digits; i-- > 0; value >>= 4)
		to[i] = "0123456789abcdef"[value & 15];
	return to + digits;
}
