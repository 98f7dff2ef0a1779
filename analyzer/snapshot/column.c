/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Grows the bytes, and codes numbers of more than one byte.
 */
#include "hawk/snapshot/column.h"

enum { FIRST_BYTES = 1024 };

bool hawk_column_reserve(struct hawk_column *column, size_t bytes)
{
	size_t wanted, more;
	void *moved;

	if (column->failed || __builtin_add_overflow(column->size, bytes, &wanted)) {
		column->failed = true;
		return false;
	}
	if (wanted <= column->capacity)
		return true;
	more = column->capacity > SIZE_MAX / 2 ? wanted : 2 * column->capacity;
	if (more < wanted)
		more = wanted;
	if (more < FIRST_BYTES)
		more = FIRST_BYTES;
	moved = realloc(column->bytes, more);
	if (!moved) {
		column->failed = true;
		return false;
	}
	column->bytes = moved;
	column->capacity = more;
	return true;
}

void hawk_column_deinit(struct hawk_column *column)
{
	free(column->bytes);
	*column = (struct hawk_column){0};
}

void hawk_column_put_bytes(struct hawk_column *column, const void *bytes, size_t size)
{
	if (!size || !hawk_column_reserve(column, size))
		return;
	memcpy(column->bytes + column->size, bytes, size);
	column->size += size;
}

void hawk_column_put_string(struct hawk_column *column, const char *string)
{
	size_t length = string ? strlen(string) : 0;

	hawk_column_put(column, length);
	hawk_column_put_bytes(column, string, length);
}

uint64_t hawk_column_get_long(struct hawk_cursor *cursor)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = hawk_cursor_u8(cursor);

		if (cursor->failed || (shift == 63 && byte > 1))
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	cursor->failed = true;
	return 0;
}

uint64_t hawk_column_get_below(struct hawk_cursor *cursor, uint64_t max)
{
	uint64_t value = hawk_column_get(cursor);

	if (value <= max)
		return value;
	cursor->failed = true;
	return 0;
}

size_t hawk_column_get_count(struct hawk_cursor *cursor)
{
	uint64_t count = hawk_column_get(cursor);

	if (count <= hawk_cursor_left(cursor))
		return (size_t)count;
	cursor->failed = true;
	return 0;
}

const char *hawk_column_get_string(struct hawk_cursor *cursor, size_t *length)
{
	size_t size = hawk_column_get_count(cursor);
	const char *bytes = hawk_cursor_bytes(cursor, size);

	*length = 0;
	if (!bytes || cursor->failed || memchr(bytes, 0, size)) {
		cursor->failed = true;
		return NULL;
	}
	*length = size;
	return bytes;
}

const char *hawk_column_get_name(struct hawk_cursor *cursor, char **names)
{
	size_t length;
	const char *name = hawk_column_get_string(cursor, &length);
	char *copy = *names;

	if (!name || !length)
		return NULL;
	memcpy(copy, name, length);
	copy[length] = '\0';
	*names += length + 1;
	return copy;
}

void hawk_column_put_numbers(struct hawk_column *column, const void *from, const size_t *offsets,
			     size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value;

		memcpy(&value, (const char *)from + offsets[i], sizeof(value));
		hawk_column_put(column, value);
	}
}

void hawk_column_get_numbers(struct hawk_cursor *cursor, void *to, const size_t *offsets,
			     size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value = hawk_column_get(cursor);

		memcpy((char *)to + offsets[i], &value, sizeof(value));
	}
}
