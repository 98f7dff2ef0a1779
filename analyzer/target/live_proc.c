/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reading and parsing files below /proc/PID.
 */
#include "live_proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hawk_cleanup.h"

enum { PF_KTHREAD_FLAG = 0x00200000 };

struct hawk_error *hawk_proc_read(int directory, const char *name, struct hawk_text *ret)
{
	CLEANUP(close_fd) int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
	char buffer[16384];
	ssize_t got;

	hawk_text_clear(ret);
	hawk_text_append(ret, "", 0);
	if (fd < 0)
		return hawk_error_os(errno, "cannot open the process's", name);
	while ((got = read(fd, buffer, sizeof(buffer))) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return hawk_error_os(errno, "cannot read the process's", name);
		hawk_text_append(ret, buffer, (size_t)got);
		if (ret->size > HAWK_PROC_FILE_MAX)
			return hawk_error_create(HAWK_ERROR_UNSUPPORTED, "/proc/PID/%s is too long",
						 name);
	}
	return ret->failed ? &hawk_enomem : NULL;
}

struct hawk_error *hawk_proc_stat(int directory, const char *name, struct hawk_proc_stat *ret)
{
	CLEANUP(text) struct hawk_text text;
	struct hawk_error *error;
	unsigned long long flags, threads, start;
	const char *fields;

	hawk_text_init(&text);
	error = hawk_proc_read(directory, name, &text);
	if (error)
		return error;
	fields = strrchr(text.bytes, ')'); /* the name in front may contain anything */
	if (!fields || sscanf(fields + 1,
			      " %c %*d %*d %*d %*d %*d %llu %*u %*u %*u %*u %*u %*u %*d %*d %*d "
			      "%*d %llu %*d %llu",
			      &ret->state, &flags, &threads, &start) != 4)
		return hawk_error_create(HAWK_ERROR_FORMAT, "cannot parse /proc/PID/%s", name);
	ret->kernel_thread = flags & PF_KTHREAD_FLAG;
	ret->thread_count = threads;
	ret->start_ticks = start;
	return NULL;
}

uint64_t hawk_proc_status_number(int directory, const char *key, uint64_t fallback)
{
	CLEANUP(text) struct hawk_text text;
	size_t length = strlen(key);

	hawk_text_init(&text);

	CLEANUP(error) struct hawk_error *error = hawk_proc_read(directory, "status", &text);

	if (error)
		return fallback;
	for (const char *line = text.bytes; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, length) && line[length] == ':')
			return strtoull(line + length + 1, NULL, strncmp(key, "Cap", 3) ? 10 : 16);
	}
	return fallback;
}
