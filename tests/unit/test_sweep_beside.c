/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The sweep on several threads: the same blocks and sums, whatever memory looks like where one
 * share ends and the next begins; and what its taker may rely on.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hawk/base/parallel.h"
#include "test.h"
#include "hawk/graph/dominators.h"
#include "sweep_world.h"

enum { PAGE = 4096 };

/** What a taker saw. */
struct seen {
	struct hawk_block *blocks;
	size_t count;
	size_t capacity;
	size_t error_at;      /**< so many blocks are refused; 0 = none */
	unsigned refuse_runs; /**< each of so many; 0 = none */
	bool refuse_loudly;
	unsigned runs;
	uint64_t filled_hash;   /**< of all blocks that were filled, in whatever order */
	uint64_t reserved_hash; /**< likewise */
	_Atomic uint64_t part_hashes[HAWK_SWEEP_PARTS_MAX];
	_Atomic int filling;
	_Atomic int busy[HAWK_SWEEP_PARTS_MAX];
	_Atomic int broken; /**< promises; cmocka's own checks are for its thread only */
};

static void expect(struct seen *seen, bool promise)
{
	if (!promise)
		atomic_fetch_add(&seen->broken, 1);
}

static uint64_t hash_block(const struct hawk_block *block)
{
	uint64_t hash = block->start * UINT64_C(0x9e3779b97f4a7c15) + block->size;

	hash = hash * UINT64_C(0x9e3779b97f4a7c15) + block->trace;
	return hash ^ hash >> 29;
}

static struct hawk_error *see(struct seen *seen, const struct hawk_block *blocks, size_t count)
{
	if (seen->count + count > seen->capacity) {
		seen->capacity = 2 * (seen->count + count);
		seen->blocks = realloc(seen->blocks, seen->capacity * sizeof(*seen->blocks));
		if (!seen->blocks)
			abort();
	}
	memcpy(seen->blocks + seen->count, blocks, count * sizeof(*blocks));
	seen->count += count;
	if (seen->error_at && seen->count >= seen->error_at)
		return hawk_error_create(HAWK_ERROR_USAGE, "enough");
	return NULL;
}

static struct hawk_error *take(void *context, const struct hawk_block *blocks, size_t count)
{
	struct seen *seen = context;

	expect(seen, count > 0 && count <= HAWK_SWEEP_BATCH);
	expect(seen, !atomic_load(&seen->filling));
	return see(seen, blocks, count);
}

static struct hawk_error *reserve(void *context, struct hawk_sweep_run *run, bool *ret)
{
	struct seen *seen = context;

	expect(seen, run->count > 0);
	for (size_t i = 0; i < run->count; i++) {
		const struct hawk_block *block = &run->blocks[i];

		expect(seen, !block->depth && block->start - 16 >= run->start &&
				     block->start <= run->end);
		if (i + 1 < run->count)
			expect(seen, block->start + block->size <= block[1].start - 16);
	}
	*ret = true;
	seen->runs++;
	if (seen->refuse_runs && seen->runs % seen->refuse_runs == 0) {
		if (seen->refuse_loudly)
			return hawk_error_create(HAWK_ERROR_USAGE, "no more runs");
		*ret = false;
		return NULL;
	}
	run->number = seen->runs;
	for (size_t i = 0; i < run->count; i++)
		seen->reserved_hash += hash_block(&run->blocks[i]) * run->number;
	atomic_fetch_add(&seen->filling, 1);
	return see(seen, run->blocks, run->count);
}

static void fill(void *context, const struct hawk_sweep_run *run, unsigned part)
{
	struct seen *seen = context;
	uint64_t hash = 0;

	expect(seen, part < HAWK_SWEEP_PARTS_MAX);
	expect(seen, atomic_fetch_add(&seen->busy[part], 1) == 0);
	for (size_t i = 0; i < run->count; i++)
		hash += hash_block(&run->blocks[i]) * run->number;
	atomic_fetch_add(&seen->part_hashes[part], hash);
	atomic_fetch_sub(&seen->busy[part], 1);
	atomic_fetch_sub(&seen->filling, 1);
}

static const struct hawk_sweep_taker seers[] = {
	{.take = take},
	{.take = take, .reserve = reserve, .fill = fill},
};

static struct hawk_error *sweep(const struct sweep_core *core, unsigned threads, bool runs,
				struct seen *seen, struct hawk_sweep_result *result)
{
	struct hawk_sweep_taker taker = seers[runs];
	struct hawk_error *err;

	taker.context = seen;
	err = hawk_sweep_beside(core->target, &core->plan, threads, &taker, NULL, NULL, NULL,
				result);
	assert_int_equal(atomic_load(&seen->broken), 0);
	for (unsigned i = 0; i < HAWK_SWEEP_PARTS_MAX; i++)
		seen->filled_hash += atomic_load(&seen->part_hashes[i]);
	if (err)
		return err;
	assert_int_equal(atomic_load(&seen->filling), 0);
	assert_true(seen->filled_hash == seen->reserved_hash);
	return NULL;
}

static void expect_seen(const struct sweep_core *core, unsigned threads, bool runs,
			unsigned refuse_runs, const struct seen *other,
			const struct hawk_sweep_result *other_result)
{
	struct seen seen = {.refuse_runs = refuse_runs};
	struct hawk_sweep_result result;

	check(sweep(core, threads, runs, &seen, &result));
	assert_int_equal(seen.count, other->count);
	assert_memory_equal(seen.blocks, other->blocks, seen.count * sizeof(*seen.blocks));
	assert_memory_equal(&result, other_result, sizeof(result));
	free(seen.blocks);
}

TEST(threads_and_shares_change_nothing_in_spoiled_memory)
{
	static const size_t windows[] = {0, PAGE, 4 * PAGE, 64 * PAGE};
	size_t blocks = 0, carved = 0, aside = 0;

	for (uint64_t seed = 0; seed < 96; seed++) {
		uint64_t size = (seed % 16 ? 256 << 10 : 3 << 20) - (seed % 5 ? 0 : 1000);
		struct hawk_sweep_result result;
		struct seen seen = {0};
		struct sweep_core core;

		sweep_core_open_spoiled(&core, size, seed % 3 ? PAGE : 64 * PAGE, seed);
		check(sweep(&core, 1, false, &seen, &result));
		for (unsigned threads = 1; threads <= 4; threads++)
			for (unsigned i = 0; i < 4; i++) {
				core.plan.window_bytes = windows[i];
				expect_seen(&core, threads, i % 2, 0, &seen, &result);
				expect_seen(&core, threads, true, 2 + i, &seen, &result);
			}
		blocks += seen.count;
		carved += result.carved_objects;
		aside += result.overlapping;
		free(seen.blocks);
		sweep_core_close(&core);
	}
	assert_true(blocks > 50000 && carved > 8000 && aside > 8000);
}

TEST(nearly_all_blocks_come_in_runs)
{
	struct hawk_sweep_result result;
	struct seen seen = {0};
	struct sweep_core core;

	sweep_core_open_dense(&core, 16 << 20, 1);
	check(sweep(&core, 3, true, &seen, &result));
	assert_int_equal(seen.count, result.blocks);
	/* Of 256 KiB; those in which a large block ends may come one by one. */
	assert_in_range(seen.runs, 20, 64);
	free(seen.blocks);
	sweep_core_close(&core);
}

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

static struct hawk_error *change_and_reserve(void *context, struct hawk_sweep_run *run, bool *ret)
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

static void fill_changing(void *context, const struct hawk_sweep_run *run, unsigned part)
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
		const struct hawk_sweep_taker taker = {.context = &changing,
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
		check(hawk_sweep_beside(changing.core.target, &changing.core.plan, 1, &taker, NULL,
					NULL, NULL, &result));
		check(hawk_block_index_finish(&changing.index));
		assert_int_equal(result.blocks, 2);
		assert_int_equal(result.overlapping, 1);
		assert_int_equal(changing.index.count, 2);
		assert_int_equal(
			hawk_block_index_find(&changing.index, changing.block.start, &interior), 1);
		hawk_block_index_deinit(&changing.index);
		sweep_core_close(&changing.core);
	}
}

TEST(the_takers_errors_end_the_sweep)
{
	struct hawk_sweep_result result = {.blocks = 12345};
	struct sweep_core core;

	sweep_core_open_dense(&core, 8 << 20, 2);
	for (unsigned i = 0; i < 12; i++) {
		struct seen seen = {.error_at = i % 3 != 2 ? 5000 : 0,
				    .refuse_runs = i % 3 == 2 ? 7 : 0,
				    .refuse_loudly = true};
		struct hawk_error *err = sweep(&core, 1 + i / 3, i % 3, &seen, &result);

		assert_non_null(err);
		assert_string_equal(hawk_error_message(err),
				    i % 3 == 2 ? "no more runs" : "enough");
		hawk_error_destroy(err);
		assert_int_equal(result.blocks, 12345);
		free(seen.blocks);
	}
	sweep_core_close(&core);
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
		struct seen seen = {0};
		struct hawk_sweep_taker taker = seers[1];
		uint64_t done = 0;

		taker.context = &seen;
		check(hawk_sweep_beside(core.target, &core.plan, threads, &taker, note_progress,
					&done, NULL, &result));
		assert_int_equal(done, result.swept_bytes);
		free(seen.blocks);
	}
	sweep_core_close(&core);
}

static void load_sites(const struct sweep_core *core, unsigned threads, struct hawk_heap *ret)
{
	struct hawk_findings findings;

	hawk_findings_init(&findings);
	hawk_parallel_set_threads(threads);
	check(hawk_heap_load(core->target, &findings, ret));
	assert_int_equal(hawk_block_index_block_count(&ret->index), ret->sweep.blocks);
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
		assert_true(heaps[0].site_count > 6 && heaps[0].sweep.blocks > 2000);
		assert_true(has_estimates(&heaps[0]) == (i % 4 >= 2));
		for (unsigned j = 1; j < 3; j++) {
			assert_int_equal(heaps[j].site_count, heaps[0].site_count);
			assert_memory_equal(heaps[j].sites, heaps[0].sites,
					    heaps[0].site_count * sizeof(*heaps[0].sites));
			assert_memory_equal(&heaps[j].sweep, &heaps[0].sweep,
					    sizeof(heaps[0].sweep));
		}
		for (unsigned j = 0; j < 3; j++)
			hawk_heap_deinit(&heaps[j]);
		sweep_core_close(&core);
	}
}
