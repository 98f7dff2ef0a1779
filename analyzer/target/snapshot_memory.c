/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads memory from the frames of a snapshot. Adjacent frames form one range, so that it can be
 * viewed as a whole.
 */
#include "snapshot_file.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"

struct range {
	uint64_t start, end;
	uint8_t *bytes;
};

struct hawk_snapshot_memory {
	struct range *ranges;
	size_t count;
	size_t capacity;
};

void hawk_snapshot_memory_destroy(struct hawk_snapshot_memory *memory)
{
	for (size_t i = 0; memory && i < memory->count; i++)
		free(memory->ranges[i].bytes);
	if (memory)
		free(memory->ranges);
	free(memory);
}

static void hawk_cleanup_memory(struct hawk_snapshot_memory **memory)
{
	hawk_snapshot_memory_destroy(*memory);
}

/* Makes `bytes` more bytes at `address` part of the last range, or of a new one. */
static struct hawk_error *grow(struct hawk_snapshot_memory *memory, uint64_t address,
			       uint64_t bytes)
{
	struct range *last = memory->count ? &memory->ranges[memory->count - 1] : NULL;
	void *moved;

	if (!bytes || bytes > UINT64_MAX - address || (last && address < last->end))
		return hawk_snapshot_nonsense(HAWK_SNAPSHOT_MEMORY);
	if (!last || address != last->end) {
		if (!hawk_array_reserve(&memory->ranges, memory->count, &memory->capacity,
					sizeof(*memory->ranges)))
			return &hawk_enomem;
		last = &memory->ranges[memory->count++];
		*last = (struct range){.start = address, .end = address};
	}
	moved = realloc(last->bytes, (size_t)(address + bytes - last->start));
	if (!moved)
		return &hawk_enomem;
	last->bytes = moved;
	last->end = address + bytes;
	return NULL;
}

static struct hawk_error *add_frame(struct hawk_snapshot_memory *memory,
				    const struct hawk_snapshot *snapshot, size_t number)
{
	CLEANUP(contents) struct hawk_snapshot_contents contents = {0};
	struct hawk_error *err =
		hawk_snapshot_read(snapshot, HAWK_SNAPSHOT_MEMORY, number, &contents);
	struct range *range;

	if (!err && contents.items != contents.cursor.size)
		err = hawk_snapshot_nonsense(HAWK_SNAPSHOT_MEMORY);
	if (!err)
		err = grow(memory, contents.first, contents.items);
	if (err)
		return err;
	range = &memory->ranges[memory->count - 1];
	hawk_cursor_copy(&contents.cursor, range->bytes + (contents.first - range->start),
			 (size_t)contents.items);
	return NULL;
}

struct hawk_error *hawk_snapshot_memory_create(const struct hawk_snapshot *snapshot,
					       struct hawk_snapshot_memory **ret)
{
	CLEANUP(memory) struct hawk_snapshot_memory *memory = calloc(1, sizeof(*memory));
	size_t count = snapshot ? hawk_snapshot_frame_count(snapshot, HAWK_SNAPSHOT_MEMORY) : 0;
	struct hawk_error *err = memory ? NULL : &hawk_enomem;

	for (size_t i = 0; i < count && !err; i++)
		err = add_frame(memory, snapshot, i);
	if (!err)
		*ret = take_ptr(&memory);
	return err;
}

/* Returns the first range that ends above `address`, or NULL. */
static const struct range *range_from(const struct hawk_snapshot_memory *memory, uint64_t address)
{
	size_t i = hawk_array_first_above(memory->ranges, memory->count, sizeof(*memory->ranges),
					  offsetof(struct range, end), address);

	return i < memory->count ? &memory->ranges[i] : NULL;
}

size_t hawk_snapshot_memory_read(const struct hawk_snapshot_memory *memory, uint64_t address,
				 void *to, size_t bytes)
{
	const struct range *range = range_from(memory, address);

	if (!range || address < range->start)
		return 0;
	if (bytes > range->end - address)
		bytes = (size_t)(range->end - address);
	memcpy(to, range->bytes + (address - range->start), bytes);
	return bytes;
}

const void *hawk_snapshot_memory_view(const struct hawk_snapshot_memory *memory, uint64_t address,
				      size_t bytes)
{
	const struct range *range = range_from(memory, address);

	if (!range || address < range->start || bytes > range->end - address)
		return NULL;
	return range->bytes + (address - range->start);
}

bool hawk_snapshot_memory_data(const struct hawk_snapshot_memory *memory, uint64_t *start,
			       uint64_t *end)
{
	const struct range *range = range_from(memory, *start);

	if (!range || range->start >= *end)
		return false;
	if (*start < range->start)
		*start = range->start;
	if (*end > range->end)
		*end = range->end;
	return true;
}
