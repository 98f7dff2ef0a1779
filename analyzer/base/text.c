/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The growing string.
 */
#include "hawk/base/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hawk/base/error.h"

void hawk_text_init(struct hawk_text *text)
{
	*text = (struct hawk_text){0};
}

void hawk_text_deinit(struct hawk_text *text)
{
	free(text->bytes);
	hawk_text_init(text);
}

void hawk_text_clear(struct hawk_text *text)
{
	text->size = 0;
	if (text->bytes)
		text->bytes[0] = '\0';
}

/** Makes room for `size` more bytes and the NUL. */
static bool reserve(struct hawk_text *text, size_t size)
{
	size_t needed;
	size_t capacity = text->capacity ? text->capacity : 64;
	char *bytes;

	if (text->failed || __builtin_add_overflow(text->size + 1, size, &needed)) {
		text->failed = true;
		return false;
	}
	if (needed <= text->capacity)
		return true;
	while (capacity < needed)
		capacity = capacity > SIZE_MAX / 2 ? needed : 2 * capacity;
	bytes = realloc(text->bytes, capacity);
	if (!bytes) {
		text->failed = true;
		hawk_enomem_swallow(); /* callers that check `failed` fail anyway */
		return false;
	}
	text->bytes = bytes;
	text->capacity = capacity;
	return true;
}

void hawk_text_append(struct hawk_text *text, const void *bytes, size_t size)
{
	if (!reserve(text, size))
		return;
	if (size)
		memcpy(text->bytes + text->size, bytes, size);
	text->size += size;
	text->bytes[text->size] = '\0';
}

void hawk_text_puts(struct hawk_text *text, const char *string)
{
	hawk_text_append(text, string, strlen(string));
}

void hawk_text_printf(struct hawk_text *text, const char *format, ...)
{
	va_list arguments;
	int size;

	va_start(arguments, format);
	size = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	if (size < 0 || !reserve(text, (size_t)size))
		return;
	va_start(arguments, format);
	vsnprintf(text->bytes + text->size, (size_t)size + 1, format, arguments);
	va_end(arguments);
	text->size += (size_t)size;
}

const char *hawk_path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}
