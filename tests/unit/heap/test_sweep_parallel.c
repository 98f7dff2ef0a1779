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

/* Adds a block to the core's file, which is open. */
static void change(struct sweep_core *core, struct synthetic_block block)
{
	uint64_t header = block.start - HAWK_HEADER_BYTES - SYNTHETIC_HEAP;
	off_t heap_at = find_in_file(core, core->heap->bytes, PAGE);
	int fd = open(core->path, O_WRONLY | O_CLOEXEC);

	synthetic_heap_add_block(core->heap, block);
	assert_int_equal(
		pwrite(fd, core->heap->bytes + header, HAWK_HEADER_BYTES, heap_at + (off_t)header),
		HAWK_HEADER_BYTES);
	close(fd);
}

/* Memory may change while it is read: shared with a process that does not stand still, or in a core
 * that is being written. A share's last block ends in the next share, where there was no header
 * when that was looked at. */
TEST(a_header_that_appears_in_a_block_that_was_counted_is_set_aside)
{
	enum { LAST = PAGE - 48, SIZE = 200 };

	for (uint8_t birth = 4; birth < 7; birth++) {
		struct sweep_core core = {.heap = synthetic_heap_create(4 * PAGE)};
		struct hawk_damages damages = {0};
		const struct hawk_block *blocks;
		struct hawk_sweep *sweep;
		size_t count, all = 0;

		synthetic_heap_add_block(
			core.heap, (struct synthetic_block){
					   .start = SYNTHETIC_HEAP + 32, .size = 64, .birth = 5});
		synthetic_heap_add_block(core.heap,
					 (struct synthetic_block){.start = SYNTHETIC_HEAP + LAST,
								  .size = SIZE,
								  .birth = 5});
		sweep_core_open(&core);
		core.plan.window_bytes = PAGE;
		check(hawk_sweep_begin(core.target, &core.plan, 1, &damages, &sweep));
		check(hawk_sweep_next(sweep, &blocks, &count));
		assert_int_equal(count, 2);
		change(&core, (struct synthetic_block){.start = SYNTHETIC_HEAP + PAGE + 48,
						       .size = 8,
						       .birth = birth});
		for (; count; all += count)
			check(hawk_sweep_next(sweep, &blocks, &count));
		assert_int_equal(all, 0);
		assert_int_equal(damages.counts[HAWK_DAMAGE_OVERLAP], 1);
		assert_int_equal(damages.items[0].address, SYNTHETIC_HEAP + PAGE + 48);
		hawk_sweep_end(sweep);
		hawk_damages_deinit(&damages);
		sweep_core_close(&core);
	}
}

static void load_sites(const struct sweep_core *core, unsigned threads, struct hawk_heap *ret)
{
	struct hawk_findings findings;

	hawk_findings_init(&findings);
	hawk_parallel_set_threads(threads);
	check(hawk_heap_load(core->target, NULL, &findings, ret));
	assert_int_equal(ret->index.count, ret->sums.blocks);
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
