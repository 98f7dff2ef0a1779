/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Errors are small heap objects; the message is made once, where most is known.
 */
#include "hawk/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hawk/base/cleanup.h"

struct hawk_error {
	enum hawk_error_code code;
	char *message;
};

struct hawk_error hawk_enomem = {HAWK_ERROR_NOMEM, (char *)"out of memory"};

static bool swallowed;

void hawk_enomem_swallow(void)
{
	__atomic_store_n(&swallowed, true, __ATOMIC_RELAXED);
}

bool hawk_error_swallow(struct hawk_error *error)
{
	if (!error)
		return false;
	hawk_error_destroy(error);
	hawk_enomem_swallow();
	return true;
}

bool hawk_enomem_swallowed(void)
{
	return __atomic_load_n(&swallowed, __ATOMIC_RELAXED);
}

static void (*end_process)(void);

void hawk_enomem_set_end(void (*end)(void))
{
	end_process = end;
}

void hawk_enomem_end(void)
{
	if (end_process)
		end_process();
	abort();
}

static struct hawk_error *create(enum hawk_error_code code, char *message)
{
	struct hawk_error *error;

	if (!message)
		return &hawk_enomem;
	error = malloc(sizeof(*error));
	if (!error) {
		free(message);
		return &hawk_enomem;
	}
	error->code = code;
	error->message = message;
	return error;
}

static char *format_message(const char *format, va_list arguments)
{
	char *message;

	if (vasprintf(&message, format, arguments) < 0)
		return NULL;
	return message;
}

struct hawk_error *hawk_error_create(enum hawk_error_code code, const char *format, ...)
{
	va_list arguments;
	char *message;

	va_start(arguments, format);
	message = format_message(format, arguments);
	va_end(arguments);
	return create(code, message);
}

struct hawk_error *hawk_error_os(int errnum, const char *operation, const char *path)
{
	char *message;

	if (asprintf(&message, "%s%s%s: %s", operation, path ? " " : "", path ? path : "",
		     strerror(errnum)) < 0)
		message = NULL;
	return create(HAWK_ERROR_OS, message);
}

struct hawk_error *hawk_error_fault(uint64_t address, uint64_t bytes)
{
	return hawk_error_create(HAWK_ERROR_FAULT, "cannot read %llu bytes at 0x%llx of the target",
				 (unsigned long long)bytes, (unsigned long long)address);
}

struct hawk_error *hawk_error_prefix(struct hawk_error *error, const char *format, ...)
{
	va_list arguments;
	char *message;

	if (!error || error == &hawk_enomem)
		return error;
	va_start(arguments, format);
	CLEANUP(free_ptr) char *prefix = format_message(format, arguments);
	va_end(arguments);
	if (!prefix || asprintf(&message, "%s: %s", prefix, error->message) < 0)
		return error;
	free(error->message);
	error->message = message;
	return error;
}

enum hawk_error_code hawk_error_code(const struct hawk_error *error)
{
	return error->code;
}

const char *hawk_error_message(const struct hawk_error *error)
{
	return error->message;
}

void hawk_error_destroy(struct hawk_error *error)
{
	if (!error || error == &hawk_enomem)
		return;
	free(error->message);
	free(error);
}
