/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The contents of a snapshot's frames: numbers in as many bytes as they need, seven bits to a byte,
 * the lowest first; the high bit says that another byte follows. Signed numbers are folded first
 * (0, -1, 1, -2 ... become 0, 1, 2, 3 ...), strings follow their length.
 *
 * Reading uses the cursor of base/: past the end, and for a number of more than 64 bits, there are
 * zeros, and the cursor has failed.
 */
#ifndef HAWK_ANALYZER_SNAPSHOT_COLUMN_H
#define HAWK_ANALYZER_SNAPSHOT_COLUMN_H

#include <stdlib.h>

#include "hawk/base/cursor.h"

enum { HAWK_VARINT_BYTES_MAX = 10 };

/** Bytes to be written. Zeros: empty. Running out of memory sets `failed`, and later puts do
 * nothing. */
struct hawk_column {
	uint8_t *bytes;
	size_t size;
	size_t capacity;
	bool failed;
};

/** Makes room for `bytes` more; false = out of memory. */
bool hawk_column_reserve(struct hawk_column *column, size_t bytes);

void hawk_column_deinit(struct hawk_column *column);

void hawk_column_put_bytes(struct hawk_column *column, const void *bytes, size_t size);

/** NULL is put as an empty string. */
void hawk_column_put_string(struct hawk_column *column, const char *string);

static inline void hawk_column_put(struct hawk_column *column, uint64_t value)
{
	if (column->capacity - column->size < HAWK_VARINT_BYTES_MAX &&
	    !hawk_column_reserve(column, HAWK_VARINT_BYTES_MAX))
		return;
	for (; value >= 0x80; value >>= 7)
		column->bytes[column->size++] = (uint8_t)(value | 0x80);
	column->bytes[column->size++] = (uint8_t)value;
}

static inline void hawk_column_put_signed(struct hawk_column *column, int64_t value)
{
	hawk_column_put(column, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

/** The slow half of the next function. */
uint64_t hawk_column_get_long(struct hawk_cursor *cursor);

static inline uint64_t hawk_column_get(struct hawk_cursor *cursor)
{
	if (!cursor->failed && cursor->at < cursor->size && cursor->bytes[cursor->at] < 0x80)
		return cursor->bytes[cursor->at++];
	return hawk_column_get_long(cursor);
}

static inline int64_t hawk_column_get_signed(struct hawk_cursor *cursor)
{
	uint64_t value = hawk_column_get(cursor);

	return (int64_t)(value >> 1 ^ -(value & 1));
}

/** A number of at most `max`; fails above. */
uint64_t hawk_column_get_below(struct hawk_cursor *cursor, uint64_t max);

/** How many items follow, each of which takes at least one byte; fails if there are not so many
 * bytes. */
size_t hawk_column_get_count(struct hawk_cursor *cursor);

/** A string in place, not NUL-terminated, without a NUL in it; NULL, and failed, if it is not
 * there. */
const char *hawk_column_get_string(struct hawk_cursor *cursor, size_t *length);

static inline void hawk_cleanup_column(struct hawk_column *column)
{
	hawk_column_deinit(column);
}

#endif
