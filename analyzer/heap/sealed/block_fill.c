/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Runs of a sweep on their way into the index: numbers, chunks and what reaches out of a run's
 * memory are given out in order; the rest touches nothing that another run does.
 */
#include "block_cover.h"
#include "block_parts.h"
#include "block_run.h"

enum { RECORD_BYTES = 1024 };

/* Of a run, whose last block may be in the next one's records. */
static size_t count_inside(const struct hawk_heap_run *run)
{
	return run->count - (run->blocks[run->count - 1].start >= run->end);
}

static bool has_room(const struct hawk_block_index *index, size_t count)
{
	uint64_t bytes = 4 * ((uint64_t)index->count + count);
	/* The run's own, the next one's, and number 0. */
	uint64_t chunks = (uint64_t)index->chunk_count + 3;

	return bytes <= index->granules_area.size && bytes <= index->sizes_area.size &&
	       bytes <= index->traces_area.size &&
	       (!index->heads || bytes / 2 <= index->heads_area.size) &&
	       chunks * HAWK_CHUNK_RECORDS_BYTES <= index->records_area.size;
}

/* Whether no record of the run is another one's, but for those behind it. */
static bool is_alone(const struct hawk_heap_run *run)
{
	const struct hawk_block *last = &run->blocks[run->count - 1];

	return run->start % RECORD_BYTES == 0 &&
	       run->start >> HAWK_CHUNK_LOG2 == (run->end - 1) >> HAWK_CHUNK_LOG2 &&
	       last->size < HAWK_CHUNK_BYTES &&
	       (last->start + last->size < run->end || run->end % RECORD_BYTES == 0);
}

struct hawk_error *hawk_block_index_reserve(void *index, struct hawk_heap_run *run, bool *ret)
{
	struct hawk_block_index *to = index;
	const struct hawk_block *last = &run->blocks[run->count - 1];
	size_t inside = count_inside(run);
	struct hawk_error *err = hawk_block_parts_settle(to, 0);

	*ret = !err && is_alone(run) && has_room(to, run->count) &&
	       run->count <= HAWK_BLOCKS_MAX - to->count && to->count < HAWK_BLOCKS_MAX &&
	       last->start + last->size <= HAWK_INDEXED_END;
	if (!*ret)
		return err;
	run->number = to->count;
	if (inside) {
		uint64_t chunk = run->start >> HAWK_CHUNK_LOG2;

		err = hawk_block_cover_chunk(to, chunk);
		if (err)
			return err;
		if (!to->count)
			to->first_chunk = chunk;
		to->count += (uint32_t)inside;
		last = &run->blocks[inside - 1];
		to->end = last->start + last->size;
		to->chunk_span = (to->end >> HAWK_CHUNK_LOG2) - to->first_chunk + 1;
		err = hawk_block_cover_rest(to, last, run->end, to->count - 1);
	}
	if (!err && inside < run->count)
		err = hawk_block_index_add_one(to, &run->blocks[inside]);
	return err;
}

void hawk_block_index_fill(void *index, const struct hawk_heap_run *run, unsigned part)
{
	const struct hawk_block_index *to = index;
	struct hawk_block_marks marks = {0};
	size_t count = count_inside(run);

	(void)part;
	for (size_t i = 0; i < count; i++) {
		uint32_t number = run->number + (uint32_t)i;
		size_t taken = hawk_block_run_take(to, run->blocks + i, count - i, run->end, number,
						   &marks);

		i += taken;
		hawk_block_cover_start(to, &run->blocks[i], run->end, number + (uint32_t)taken);
	}
}
