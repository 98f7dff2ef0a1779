/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The buffered output.
 */
#include "hawk/output/output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "hawk/base/cleanup.h"

void hawk_output_init(struct hawk_output *output, int fd)
{
	output->fd = fd;
	output->errnum = 0;
	output->terminal = false;
	output->used = 0;
	output->watch = NULL;
	output->watch_context = NULL;
	output->before = NULL;
	output->before_context = NULL;
	output->is_right = NULL;
	output->is_right_context = NULL;
}

static void write_all(struct hawk_output *output, const char *bytes, size_t size)
{
	if (output->is_right && size && !output->errnum &&
	    !output->is_right(output->is_right_context))
		output->errnum = ECANCELED;
	if (output->watch && size && !output->errnum)
		output->watch(output, bytes, size);
	if (output->before && size && !output->errnum)
		output->before(output->before_context, output, bytes, size);
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

void hawk_output_flush(struct hawk_output *output)
{
	write_all(output, output->buffer, output->used);
	output->used = 0;
}

int hawk_output_finish(struct hawk_output *output)
{
	hawk_output_flush(output);
	return output->errnum;
}

void hawk_output_append(struct hawk_output *output, const void *bytes, size_t size)
{
	if (size > sizeof(output->buffer) - output->used)
		hawk_output_flush(output);
	if (size > sizeof(output->buffer)) {
		write_all(output, bytes, size);
		return;
	}
	if (size)
		memcpy(output->buffer + output->used, bytes, size);
	output->used += size;
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
