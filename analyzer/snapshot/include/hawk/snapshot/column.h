/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The contents of a snapshot's frames: numbers in as many bytes as needed, seven bits to a byte,
 * the lowest first; the high bit means that another byte follows. Signed numbers are folded first
 * (0, -1, 1, -2 ... become 0, 1, 2, 3 ...). A string follows its length.
 *
 * Reading uses the cursor of base/: a read past the end, or of a number of more than 64 bits, gives
 * 0 and makes the cursor fail.
 */
#ifndef HAWK_ANALYZER_SNAPSHOT_COLUMN_H
#define HAWK_ANALYZER_SNAPSHOT_COLUMN_H

#include <stdlib.h>

#include "hawk/base/cursor.h"

enum { HAWK_VARINT_BYTES_MAX = 10 };

/** Bytes to write; zeros mean empty. Running out of memory sets `failed`, and later puts do
 * nothing. */
struct hawk_column {
	uint8_t *bytes;
	size_t size;
	size_t capacity;
	bool failed;
};

/** Makes room for `bytes` more; returns false if memory runs out. */
bool hawk_column_reserve(struct hawk_column *column, size_t bytes);

void hawk_column_deinit(struct hawk_column *column);

void hawk_column_put_bytes(struct hawk_column *column, const void *bytes, size_t size);

/** Puts a string; NULL becomes an empty string. */
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

/** Reads a number of at most `max`; fails above. */
uint64_t hawk_column_get_below(struct hawk_cursor *cursor, uint64_t max);

/** Reads the number of items that follow, each of at least one byte; fails if fewer bytes are left.
 */
size_t hawk_column_get_count(struct hawk_cursor *cursor);

/** Reads a string in place, not NUL-terminated, without a NUL in it. Returns NULL and fails if it
 * is cut off. */
const char *hawk_column_get_string(struct hawk_cursor *cursor, size_t *length);

/** Copies a string to `*names`, NUL-terminated, and moves `*names` behind it. The caller gives room
 * for the cursor's bytes and one more. Returns NULL for an empty string, or one that is cut off. */
const char *hawk_column_get_name(struct hawk_cursor *cursor, char **names);

/** Put and get the 64-bit members at `offsets` of a struct. */
void hawk_column_put_numbers(struct hawk_column *column, const void *from, const size_t *offsets,
			     size_t count);
void hawk_column_get_numbers(struct hawk_cursor *cursor, void *to, const size_t *offsets,
			     size_t count);

static inline void hawk_cleanup_column(struct hawk_column *column)
{
	hawk_column_deinit(column);
}

#endif
