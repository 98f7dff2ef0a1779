/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A growing NUL-terminated byte string. Out-of-memory sets `failed`, and later appends do nothing:
 * check once, or leave it to hawk_enomem_swallowed().
 */
#ifndef HAWK_ANALYZER_BASE_TEXT_H
#define HAWK_ANALYZER_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct hawk_text {
	char *bytes; /**< never NULL after the first append; NUL-terminated */
	size_t size; /**< without the NUL */
	size_t capacity;
	bool failed;
};

void hawk_text_init(struct hawk_text *text);
void hawk_text_deinit(struct hawk_text *text);
void hawk_text_clear(struct hawk_text *text);
void hawk_text_append(struct hawk_text *text, const void *bytes, size_t size);
void hawk_text_puts(struct hawk_text *text, const char *string);
void hawk_text_printf(struct hawk_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** Drops all after the first `size` bytes. */
static inline void hawk_text_cut(struct hawk_text *text, size_t size)
{
	if (text->size > size) {
		text->size = size;
		text->bytes[size] = '\0';
	}
}

/** Returns the bytes; "" before the first append. */
static inline const char *hawk_text_string(const struct hawk_text *text)
{
	return text->bytes ? text->bytes : "";
}

/** Returns the last component of a path; `path` itself if it ends in '/'. */
const char *hawk_path_base(const char *path);

static inline void hawk_cleanup_text(struct hawk_text *text)
{
	hawk_text_deinit(text);
}

#endif
