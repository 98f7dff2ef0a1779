/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Ids of nodes of a heap snapshot, by which readers compare two snapshots: 32 bits, odd, and the
 * same for blocks at the same address.
 *
 *     | 13 bits: chunk of 4 MiB | 18 bits: granule in it | 1 |
 *
 * Chunks 32 GiB apart share 13 bits: the higher one takes the next number that is free. Number 0 is
 * for nodes that are no blocks. If a heap has more chunks than numbers, its blocks are numbered in
 * order.
 */
#ifndef HAWK_ANALYZER_EXPORT_HEAP_SNAPSHOT_IDS_H
#define HAWK_ANALYZER_EXPORT_HEAP_SNAPSHOT_IDS_H

#include "hawk/heap/block_index.h"

struct hawk_snapshot_ids {
	const struct hawk_block_index *index;
	uint64_t others;  /**< nodes that are no blocks: numbers 0 .. others - 1 */
	uint16_t *chunks; /**< by chunk number: 13 bits; NULL = too many */
};

/** Makes the ids. `ret` starts as zeros; deinitialize it in any case. */
struct hawk_error *hawk_snapshot_ids_make(const struct hawk_block_index *index, uint64_t others,
					  struct hawk_snapshot_ids *ret);
void hawk_snapshot_ids_deinit(struct hawk_snapshot_ids *ids);

/** Returns the id of node `number` among those that are no blocks. */
uint64_t hawk_snapshot_id(uint64_t number);

uint64_t hawk_snapshot_id_of_block(const struct hawk_snapshot_ids *ids, uint32_t block);

#endif
