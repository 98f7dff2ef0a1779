/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Ids of nodes of a heap snapshot: each there once, the same for the same address.
 */
#include "export/heap_snapshot_ids.h"
#include "test.h"

enum { OTHERS = 5, CHUNK_BYTES = 1 << HAWK_CHUNK_LOG2, TOO_MANY = 8192 };

static const uint64_t PERIOD = UINT64_C(8191) << HAWK_CHUNK_LOG2; /* of 13 bits */

/** One block at the start of each chunk. */
static struct hawk_block_index index_of(uint64_t *addresses, uint32_t *granules, uint32_t chunks)
{
	for (uint32_t i = 0; i < chunks; i++)
		granules[i] = (i + 1) << HAWK_CHUNK_GRANULES_LOG2;
	return (struct hawk_block_index){.count = chunks,
					 .granules = granules,
					 .chunk_addresses = addresses,
					 .chunk_count = chunks};
}

TEST(a_block_keeps_its_id_when_a_chunk_below_it_comes)
{
	uint64_t few[] = {0, 7 * CHUNK_BYTES}, more[] = {0, 3 * CHUNK_BYTES, 7 * CHUNK_BYTES};
	uint32_t granules[2];
	struct hawk_block_index index = index_of(few, granules, 1);
	struct hawk_snapshot_ids ids = {0};
	uint64_t before;

	check(hawk_snapshot_ids_make(&index, OTHERS, &ids));
	before = hawk_snapshot_id_of_block(&ids, 0);
	hawk_snapshot_ids_deinit(&ids);
	index = index_of(more, granules, 2);
	ids = (struct hawk_snapshot_ids){0};
	check(hawk_snapshot_ids_make(&index, OTHERS, &ids));
	assert_int_equal(hawk_snapshot_id_of_block(&ids, 1), before);
	assert_int_not_equal(hawk_snapshot_id_of_block(&ids, 0), before);
	hawk_snapshot_ids_deinit(&ids);
}

TEST(chunks_that_share_their_bits_have_other_ids)
{
	uint64_t addresses[] = {0, PERIOD - CHUNK_BYTES, 2 * PERIOD - CHUNK_BYTES, 2 * PERIOD};
	uint32_t granules[3];
	struct hawk_block_index index = index_of(addresses, granules, 3);
	struct hawk_snapshot_ids ids = {0};
	uint64_t id[3];

	check(hawk_snapshot_ids_make(&index, OTHERS, &ids));
	for (uint32_t i = 0; i < 3; i++) {
		id[i] = hawk_snapshot_id_of_block(&ids, i);
		assert_true(id[i] % 2 && id[i] <= UINT32_MAX);
		assert_true(id[i] > hawk_snapshot_id(OTHERS));
	}
	assert_true(id[0] != id[1] && id[1] != id[2] && id[0] != id[2]);
	hawk_snapshot_ids_deinit(&ids);
}

TEST(too_many_chunks_have_blocks_numbered)
{
	uint64_t *addresses = calloc(TOO_MANY + 1, sizeof(*addresses));
	uint32_t *granules = calloc(TOO_MANY, sizeof(*granules));
	struct hawk_block_index index = index_of(addresses, granules, TOO_MANY);
	struct hawk_snapshot_ids ids = {0};

	check(hawk_snapshot_ids_make(&index, OTHERS, &ids));
	for (uint32_t i = 0; i < TOO_MANY; i++)
		assert_int_equal(hawk_snapshot_id_of_block(&ids, i), hawk_snapshot_id(OTHERS + i));
	hawk_snapshot_ids_deinit(&ids);
	free(addresses);
	free(granules);
}
