/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * An extent is published by its kind, and grows by one addition.
 */
#include "hawk_extents.h"

#include "hawk_arena.h"
#include "hawk_file.h"

void hawk_extents_publish(const void *memory, size_t bytes, enum hawk_extent_kind kind,
			  uint64_t file_offset)
{
	struct hawk_table_header *header = hawk_table_header;
	uint32_t index;

	if (!header)
		return;
	hawk_file_check_fork();
	index = __atomic_fetch_add(&header->extent_count, 1, __ATOMIC_RELAXED);
	if (index >= HAWK_TABLE_EXTENTS)
		return;
	header->extents[index].address = (uint64_t)memory;
	header->extents[index].bytes = bytes;
	header->extents[index].file_offset = file_offset;
	__atomic_store_n(&header->extents[index].kind, (uint32_t)kind, __ATOMIC_RELEASE);
}

void hawk_extents_extend(uint64_t end, size_t bytes, enum hawk_extent_kind kind)
{
	struct hawk_table_header *header = hawk_table_header;

	hawk_file_check_fork();
	for (uint32_t i = 0; i < HAWK_TABLE_EXTENTS; i++) {
		struct hawk_table_extent *extent = &header->extents[i];

		if (__atomic_load_n(&extent->kind, __ATOMIC_ACQUIRE) == (uint32_t)kind &&
		    extent->address + extent->bytes == end && !extent->file_offset) {
			__atomic_fetch_add(&extent->bytes, bytes, __ATOMIC_RELAXED);
			return;
		}
	}
	/* Who has made the beginning has not published it yet, or could not. */
	hawk_extents_publish((const void *)end, bytes, kind, 0);
}
