/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Sealing and un-sealing of pool objects.
 */
#include "hawk_pools.h"

#include "hawk_clock.h"
#include "hawk_record.h"

enum { OFFSET_LOG2 = 4, PAGE_BYTES = 4096 };

static void finish(void *pointer)
{
	const struct hawk_block_header *header = hawk_header_of(pointer);
	uint64_t size = hawk_header_size(header->word0);
	uint32_t trace = hawk_header_trace(header->word1);

	hawk_record_free(trace, size);
	hawk_header_unseal(pointer);
}

static bool is_pool_object(const void *pointer)
{
	return hawk_header_valid(pointer) &&
	       hawk_header_kind(hawk_header_of(pointer)->word0) == HAWK_KIND_POOL;
}

void hawk_pools_begin(const struct hawk_frame_state *caller, void *pointer, size_t size)
{
	uint8_t birth;

	if (!pointer || (uintptr_t)pointer % HAWK_GRANULE_BYTES || size > HAWK_SIZE_MAX / 4)
		return;
	if (is_pool_object(pointer)) /* taken back without a word */
		finish(pointer);
	else if (hawk_header_valid(pointer)) /* no room was reserved: this is the arena's own */
		return;
	if (!((uintptr_t)pointer % PAGE_BYTES) && !hawk_readable((uint64_t)hawk_header_of(pointer)))
		return; /* nor is there any at the start of a mapping */
	birth = __atomic_load_n(&hawk_clock_birth, __ATOMIC_RELAXED);
	hawk_record_block(caller, (struct hawk_new_block){pointer, hawk_header_word0(HAWK_KIND_POOL,
										     OFFSET_LOG2,
										     birth, size)});
}

void hawk_pools_end(void *pointer)
{
	if (pointer && !((uintptr_t)pointer % HAWK_GRANULE_BYTES) && is_pool_object(pointer))
		finish(pointer);
}

void hawk_pools_reset(void *start, void *end)
{
	uintptr_t at = ((uintptr_t)start + HAWK_GRANULE_BYTES - 1) & -(uintptr_t)HAWK_GRANULE_BYTES;
	const struct hawk_block_header *header = (const void *)at;

	for (; (uintptr_t)end >= HAWK_HEADER_BYTES &&
	       (uintptr_t)header <= (uintptr_t)end - HAWK_HEADER_BYTES;
	     header++) {
		if (hawk_header_kind(header->word0) == HAWK_KIND_POOL &&
		    hawk_header_is_live(&hawk_table_header->key, header->word0, header->word1,
					(uint64_t)header))
			finish((void *)(header + 1));
	}
}
