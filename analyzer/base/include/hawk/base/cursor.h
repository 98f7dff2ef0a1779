/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The one bounds-checked reader of foreign bytes. A read past the end yields zeros and sets
 * `failed`, which stays set: parse a whole record, then check once. All values are little-endian
 * and may be unaligned.
 */
#ifndef HAWK_ANALYZER_BASE_CURSOR_H
#define HAWK_ANALYZER_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct hawk_cursor {
	const uint8_t *bytes;
	size_t size;
	size_t at;
	bool failed;
};

static inline struct hawk_cursor hawk_cursor_over(const void *bytes, size_t size)
{
	return (struct hawk_cursor){.bytes = bytes, .size = size};
}

static inline size_t hawk_cursor_left(const struct hawk_cursor *cursor)
{
	return cursor->failed ? 0 : cursor->size - cursor->at;
}

/**
 * Returns `size` bytes in place, or NULL (and sets failed). Valid as long as the underlying bytes.
 */
static inline const void *hawk_cursor_bytes(struct hawk_cursor *cursor, size_t size)
{
	const void *bytes = cursor->bytes + cursor->at;

	if (size > hawk_cursor_left(cursor)) {
		cursor->failed = true;
		return NULL;
	}
	cursor->at += size;
	return bytes;
}

static inline void hawk_cursor_skip(struct hawk_cursor *cursor, size_t size)
{
	(void)hawk_cursor_bytes(cursor, size);
}

/** Moves to absolute offset `at`. */
static inline void hawk_cursor_seek(struct hawk_cursor *cursor, uint64_t at)
{
	if (at > cursor->size)
		cursor->failed = true;
	else
		cursor->at = (size_t)at;
}

/** Rounds the position up to a multiple of `alignment` (a power of two), from the start of the
 * bytes. */
static inline void hawk_cursor_align(struct hawk_cursor *cursor, size_t alignment)
{
	hawk_cursor_skip(cursor, -cursor->at & (alignment - 1));
}

static inline void hawk_cursor_copy(struct hawk_cursor *cursor, void *to, size_t size)
{
	const void *bytes = hawk_cursor_bytes(cursor, size);

	if (bytes)
		memcpy(to, bytes, size);
	else
		memset(to, 0, size);
}

static inline uint64_t hawk_cursor_u64(struct hawk_cursor *cursor)
{
	uint64_t value;

	hawk_cursor_copy(cursor, &value, sizeof(value));
	return value;
}

static inline uint32_t hawk_cursor_u32(struct hawk_cursor *cursor)
{
	uint32_t value;

	hawk_cursor_copy(cursor, &value, sizeof(value));
	return value;
}

static inline uint16_t hawk_cursor_u16(struct hawk_cursor *cursor)
{
	uint16_t value;

	hawk_cursor_copy(cursor, &value, sizeof(value));
	return value;
}

static inline uint8_t hawk_cursor_u8(struct hawk_cursor *cursor)
{
	uint8_t value;

	hawk_cursor_copy(cursor, &value, sizeof(value));
	return value;
}

/** Returns a NUL-terminated string in place, or NULL (and sets failed) if no NUL remains. */
static inline const char *hawk_cursor_string(struct hawk_cursor *cursor)
{
	size_t left = hawk_cursor_left(cursor);
	const uint8_t *start = cursor->bytes + cursor->at;
	const void *end = left ? memchr(start, 0, left) : NULL;

	if (!end) {
		cursor->failed = true;
		return NULL;
	}
	cursor->at += (size_t)((const uint8_t *)end - start) + 1;
	return (const char *)start;
}

#endif
