/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Ids of nodes from addresses of blocks.
 */
#include "heap_snapshot_ids.h"

#include <stdlib.h>

#include "hawk/base/cleanup.h"

enum {
	CHUNKS = (1 << 13) - 1, /**< numbers 1 .. this */
	GRANULES = 1 << HAWK_CHUNK_GRANULES_LOG2,
};

struct hawk_error *hawk_snapshot_ids_make(const struct hawk_block_index *index, uint64_t others,
					  struct hawk_snapshot_ids *ret)
{
	CLEANUP(free_ptr) bool *taken = calloc(CHUNKS, sizeof(*taken));

	ret->index = index;
	ret->others = others;
	if (index->chunk_count > CHUNKS || others > GRANULES)
		return NULL;
	ret->chunks = calloc(index->chunk_count + 1, sizeof(*ret->chunks));
	if (!taken || !ret->chunks)
		return &hawk_enomem;
	for (uint32_t i = 1; i <= index->chunk_count; i++) {
		uint64_t at =
			(index->chunk_addresses[i] >> hawk_block_index_chunk_log2(index)) % CHUNKS;

		while (taken[at])
			at = (at + 1) % CHUNKS;
		taken[at] = true;
		ret->chunks[i] = (uint16_t)(at + 1);
	}
	return NULL;
}

void hawk_snapshot_ids_deinit(struct hawk_snapshot_ids *ids)
{
	free(ids->chunks);
}

uint64_t hawk_snapshot_id(uint64_t number)
{
	return 2 * number + 1;
}

uint64_t hawk_snapshot_id_of_block(const struct hawk_snapshot_ids *ids, uint32_t block)
{
	uint32_t granule = ids->index->granules[block];

	if (!ids->chunks)
		return hawk_snapshot_id(ids->others + block);
	return hawk_snapshot_id((uint64_t)ids->chunks[granule >> HAWK_CHUNK_GRANULES_LOG2]
					<< HAWK_CHUNK_GRANULES_LOG2 |
				(granule & (GRANULES - 1)));
}
