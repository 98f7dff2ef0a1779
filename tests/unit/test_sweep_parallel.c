/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The sweep on several threads: memory that changes meanwhile, progress, the same sums by site.
 * That it finds the same blocks is proven with the index of blocks.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hawk/base/parallel.h"
#include "test.h"
#include "hawk/graph/dominators.h"
#include "sweep_world.h"

enum { PAGE = 4096 };

/** Memory that changes while it is read: shared with a process that does not stand still, or in a
 * core that is being written. */
struct changing {
	struct sweep_core core;
	struct synthetic_block block; /* that is not there at first */
	struct hawk_block_index index;
};

/* Where `bytes` are in the core's file. */
static off_t find_in_file(const struct sweep_core *core, const void *bytes, size_t size)
{
	char *file;
	struct stat status;
	const char *at;
	off_t offset;
	int fd = open(core->path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0 && !fstat(fd, &status));
	file = malloc((size_t)status.st_size);
	assert_true(file && read(fd, file, (size_t)status.st_size) == status.st_size);
	close(fd);
	at = memmem(file, (size_t)status.st_size, bytes, size);
	assert_non_null(at);
	offset = at - file;
	free(file);
	return offset;
}

static struct hawk_error *change_and_reserve(void *context, struct hawk_heap_run *run, bool *ret)
{
	struct changing *changing = context;
	struct synthetic_heap *heap = changing->core.heap;
	uint64_t header = changing->block.start - HAWK_HEADER_BYTES - SYNTHETIC_HEAP;
	off_t heap_at = find_in_file(&changing->core, heap->bytes, PAGE);
	int fd = open(changing->core.path, O_WRONLY | O_CLOEXEC);

	synthetic_heap_add_block(heap, changing->block);
	assert_int_equal(
		pwrite(fd, heap->bytes + header, HAWK_HEADER_BYTES, heap_at + (off_t)header),
		HAWK_HEADER_BYTES);
	close(fd);
	return hawk_block_index_reserve(&changing->index, run, ret);
}

static struct hawk_error *take_changing(void *context, const struct hawk_block *blocks,
					size_t count)
{
	return hawk_block_index_add(&((struct changing *)context)->index, blocks, count);
}

static void fill_changing(void *context, const struct hawk_heap_run *run, unsigned part)
{
	hawk_block_index_fill(&((struct changing *)context)->index, run, part);
}

/* A share's last block ends in the next share, where there was no header when that was looked at.
 */
TEST(a_header_that_appears_in_a_block_that_was_counted_is_set_aside)
{
	enum { LAST = PAGE - 48, SIZE = 200 };

	for (uint8_t birth = 4; birth < 7; birth++) {
		struct changing changing = {
			.core.heap = synthetic_heap_create(4 * PAGE),
			.block = {.start = SYNTHETIC_HEAP + PAGE + 48, .size = 8, .birth = birth},
		};
		const struct hawk_heap_sink taker = {.context = &changing,
						     .take = take_changing,
						     .reserve = change_and_reserve,
						     .fill = fill_changing};
		struct synthetic_heap *heap = changing.core.heap;
		struct hawk_sweep_result result;
		bool interior;

		synthetic_heap_add_block(
			heap, (struct synthetic_block){
				      .start = SYNTHETIC_HEAP + 32, .size = 64, .birth = 5});
		synthetic_heap_add_block(
			heap, (struct synthetic_block){
				      .start = SYNTHETIC_HEAP + LAST, .size = SIZE, .birth = 5});
		sweep_core_open(&changing.core);
		changing.core.plan.window_bytes = PAGE;
		check(hawk_block_index_init(&changing.index, heap->size));
		check(hawk_sweep_parallel(changing.core.target, &changing.core.plan, 1, &taker,
					  NULL, NULL, NULL, &result));
		check(hawk_block_index_finish(&changing.index));
		assert_int_equal(result.sums.blocks, 2);
		assert_int_equal(result.sums.overlapping, 1);
		assert_int_equal(changing.index.count, 2);
		assert_int_equal(
			hawk_block_index_find(&changing.index, changing.block.start, &interior), 1);
		hawk_block_index_deinit(&changing.index);
		sweep_core_close(&changing.core);
	}
}

static void note_progress(void *context, uint64_t done, uint64_t all)
{
	uint64_t *last = context;

	assert_in_range(done, *last, all);
	*last = done;
}

TEST(progress_ascends_to_the_end)
{
	struct hawk_sweep_result result;
	struct sweep_core core;

	sweep_core_open_dense(&core, 8 << 20, 3);
	for (unsigned threads = 1; threads <= 4; threads++) {
		struct hawk_block_index index;
		const struct hawk_heap_sink taker = {.context = &index,
						     .take = hawk_block_index_add,
						     .reserve = hawk_block_index_reserve,
						     .fill = hawk_block_index_fill};
		uint64_t done = 0;

		check(hawk_block_index_init(&index, core.heap->size));
		check(hawk_sweep_parallel(core.target, &core.plan, threads, &taker, note_progress,
					  &done, NULL, &result));
		assert_int_equal(done, result.swept_bytes);
		hawk_block_index_deinit(&index);
	}
	sweep_core_close(&core);
}

static void load_sites(const struct sweep_core *core, unsigned threads, struct hawk_heap *ret)
{
	struct hawk_findings findings;

	hawk_findings_init(&findings);
	hawk_parallel_set_threads(threads);
	check(hawk_heap_load(core->target, &findings, ret));
	assert_int_equal(hawk_block_index_block_count(&ret->index), ret->sums.blocks);
	hawk_findings_deinit(&findings);
}

static bool has_estimates(const struct hawk_heap *heap)
{
	for (size_t i = 0; i < heap->site_count; i++)
		if (heap->sites[i].sample.estimated && heap->sites[i].sample.inuse_bytes_error)
			return true;
	return false;
}

/* Samples are summed up in floating point, and so in the order of addresses. */
TEST(sums_by_site_are_the_same_whatever_the_threads)
{
	for (unsigned i = 0; i < 8; i++) {
		struct sweep_core core = {.heap = i % 2 ? sweep_core_dense_heap(8 << 20, i)
							: synthetic_heap_create(5 << 20)};
		struct hawk_heap heaps[3];

		if (i % 2 == 0)
			sweep_world_spoil(core.heap, PAGE, i);
		synthetic_heap_add_module(core.heap, "/usr/bin/app", 0x400000, 0x500000, 0x400000);
		for (uint64_t at = 0x401000; at < 0x408000; at += 0x1000)
			synthetic_heap_add_trace(core.heap, &at, 1, 0, 0);
		if (i % 4 >= 2)
			core.heap->table->header.incompatible_flags |= HAWK_TABLE_SAMPLED;
		core.heap->table->header.sample_mean = 1000;
		synthetic_heap_check(core.heap);
		sweep_core_open(&core);
		for (unsigned j = 0; j < 3; j++)
			load_sites(&core, j + 1, &heaps[j]);
		assert_true(heaps[0].site_count > 6 && heaps[0].sums.blocks > 2000);
		assert_true(has_estimates(&heaps[0]) == (i % 4 >= 2));
		for (unsigned j = 1; j < 3; j++) {
			assert_int_equal(heaps[j].site_count, heaps[0].site_count);
			assert_memory_equal(heaps[j].sites, heaps[0].sites,
					    heaps[0].site_count * sizeof(*heaps[0].sites));
			assert_memory_equal(&heaps[j].sums, &heaps[0].sums, sizeof(heaps[0].sums));
		}
		for (unsigned j = 0; j < 3; j++)
			hawk_heap_deinit(&heaps[j]);
		sweep_core_close(&core);
	}
}
