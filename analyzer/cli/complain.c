/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Prints complaints to standard error, or collects them. Only the progress bar writes there too.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "hawk/base/cleanup.h"
#include "hawk/base/utf8.h"

static struct hawk_text *collected;

void hawk_complain_into(struct hawk_text *text)
{
	collected = text;
}

void hawk_complain(const char *format, ...)
{
	CLEANUP(text) struct hawk_text safe = {0};
	char *message = NULL;
	va_list arguments;
	int size;

	va_start(arguments, format);
	size = vasprintf(&message, format, arguments);
	va_end(arguments);
	if (size >= 0) {
		hawk_utf8_append_safe(&safe, message);
		free(message);
	}
	/* Without memory for the message, report only that. */
	if (size < 0 || safe.failed)
		fputs("hawk-core: out of memory\n", stderr);
	else if (collected)
		hawk_text_printf(collected, "%s\n", hawk_text_string(&safe));
	else
		fprintf(stderr, "hawk-core: %s\n", hawk_text_string(&safe));
}

int hawk_fail(struct hawk_error *error)
{
	enum hawk_error_code reason = hawk_error_code(error);
	int code = reason == HAWK_ERROR_USAGE      ? HAWK_EXIT_USAGE
		   : reason == HAWK_ERROR_NO_BLOCK ? HAWK_EXIT_CONDITION
		   : reason == HAWK_ERROR_LIMIT    ? HAWK_EXIT_PARTIAL
						   : HAWK_EXIT_UNREADABLE;

	hawk_complain("%s", hawk_error_message(error));
	hawk_error_destroy(error);
	return code;
}
