/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Builds, opens and sweeps heaps, and keeps the blocks found.
 */
#include "sweep_world.h"

#include "heap/heaps.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int sweep_world_setup(void **state)
{
	struct sweep_world *world = calloc(1, sizeof(*world));

	world->heap = synthetic_heap_create(SWEEP_HEAP_BYTES);
	world->heap->table->header.trace_count = 8;
	hawk_findings_init(&world->findings);
	world->plan = (struct hawk_sweep_plan){
		.key = world->heap->table->header.key,
		.trace_count = 8,
		.birth_max = 200,
	};
	*state = world;
	return 0;
}

static void close_core(struct sweep_world *world)
{
	hawk_target_close(world->target);
	synthetic_core_remove(world->path);
	world->target = NULL;
	world->path = NULL;
}

int sweep_world_teardown(void **state)
{
	struct sweep_world *world = *state;

	close_core(world);
	hawk_findings_deinit(&world->findings);
	hawk_damages_deinit(&world->damages);
	synthetic_heap_destroy(world->heap);
	free(world);
	return 0;
}

void sweep_world_open(struct sweep_world *world, struct synthetic_core *core)
{
	close_core(world);
	world->path = synthetic_core_write(core, SIZE_MAX);
	synthetic_core_destroy(core);
	assert_null(hawk_target_open_core(world->path, &world->findings, &world->target));
}

static void collect(struct sweep_world *world, const struct hawk_block *blocks, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		assert_true(world->count < SWEEP_BLOCKS_MAX);
		if (world->count)
			assert_true(world->blocks[world->count - 1].start < blocks[i].start);
		if (world->count && blocks[i].depth <= world->blocks[world->count - 1].depth)
			assert_true(world->blocks[world->count - 1].start +
					    world->blocks[world->count - 1].size <
				    blocks[i].start);
		world->blocks[world->count++] = blocks[i];
	}
}

void sweep_world_sweep_again(struct sweep_world *world)
{
	const struct hawk_block *blocks;
	struct hawk_sweep *sweep;
	size_t count;

	world->count = 0;
	hawk_damages_deinit(&world->damages);
	check(hawk_sweep_begin(world->target, &world->plan, 1, &world->damages, &sweep));
	for (;;) {
		check(hawk_sweep_next(sweep, &blocks, &count));
		if (!count)
			break;
		collect(world, blocks, count);
	}
	world->result = *hawk_sweep_result(sweep);
	hawk_sweep_end(sweep);
	hawk_damages_report(&world->damages, &world->findings);
	assert_int_equal(world->result.sums.blocks, world->count);
}

void sweep_index(const struct hawk_target *target, const struct hawk_sweep_plan *plan,
		 unsigned threads, struct hawk_block_index *index, struct hawk_sweep_result *ret)
{
	struct hawk_damages damages = {0};
	const struct hawk_block *blocks;
	struct hawk_sweep *sweep;
	size_t count;

	check(hawk_sweep_begin(target, plan, threads, &damages, &sweep));
	do {
		check(hawk_sweep_next(sweep, &blocks, &count));
		check(hawk_block_index_add(index, blocks, count));
	} while (count);
	*ret = *hawk_sweep_result(sweep);
	hawk_sweep_end(sweep);
	hawk_damages_deinit(&damages);
	check(hawk_block_index_finish(index));
}

static void find_heaps(struct hawk_heap *heap)
{
	struct hawk_heaps_walk walk = {.heap = heap};

	for (uint32_t i = 0; i < heap->index.count; i++) {
		const struct hawk_block block = {.start = hawk_block_start(&heap->index, i),
						 .size = hawk_block_size(&heap->index, i)};

		check(hawk_heaps_take(&walk, &block, 1));
	}
	check(hawk_heaps_add(&walk, heap));
	hawk_heaps_end(&walk);
}

void sweep_world_index(struct hawk_heap *heap, const struct hawk_sweep_plan *plan)
{
	struct hawk_sweep_result result;

	heap->knows = HAWK_HEAP_HEADERS | HAWK_HEAP_EXACT;
	heap->found[0] = (struct hawk_heap_found){.source = &hawk_heap_sealed,
						  .knows = HAWK_HEAP_HEADERS | HAWK_HEAP_EXACT};
	heap->found_count = heap->origin_count = 1;
	heap->origins[0] = (struct hawk_heap_origin){
		.name = "sweep", .knows = HAWK_HEAP_HEADERS | HAWK_HEAP_EXACT, .end = UINT32_MAX};
	heap->class_first = UINT32_MAX;
	check(hawk_block_index_init(&heap->index, hawk_target_present_bytes(heap->target)));
	sweep_index(heap->target, plan, 1, &heap->index, &result);
	heap->index.apart = true;
	find_heaps(heap);
}

void sweep_world_sweep(struct sweep_world *world)
{
	sweep_world_open(world, synthetic_heap_core(world->heap));
	sweep_world_sweep_again(world);
}

void sweep_world_add(struct sweep_world *world, uint64_t offset, uint64_t size, uint8_t birth)
{
	synthetic_heap_add_block(world->heap, (struct synthetic_block){
						      .start = SYNTHETIC_HEAP + offset,
						      .size = size,
						      .trace = 1,
						      .birth = birth,
					      });
}

void sweep_world_add_piece(struct sweep_world *world, uint64_t offset, uint64_t size, uint8_t birth)
{
	synthetic_heap_add_block(world->heap, (struct synthetic_block){
						      .start = SYNTHETIC_HEAP + offset,
						      .size = size,
						      .trace = 2,
						      .kind = HAWK_KIND_POOL,
						      .birth = birth,
					      });
}

uint64_t sweep_world_offset(const struct sweep_world *world, size_t block)
{
	return world->blocks[block].start - SYNTHETIC_HEAP;
}

void sweep_world_fill(struct sweep_world *world, uint64_t seed)
{
	uint64_t at = 16;

	while (at + 4096 < SWEEP_HEAP_BYTES) {
		uint64_t r = synthetic_random(&seed);

		sweep_world_add(world, at, r % 300, (uint8_t)(r >> 16 & 15));
		if (r >> 32 & 1)
			at += (r % 300 + 31) / 16 * 16;
		else
			at += 32 + 16 * (r >> 40 & 7);
	}
}

struct synthetic_core *sweep_world_cut(const struct sweep_world *world, uint64_t seed)
{
	struct synthetic_core *core = synthetic_core_create();
	uint64_t at = 0;

	synthetic_core_add_thread(core, 1, 6, NULL);
	while (at < SWEEP_HEAP_BYTES) {
		uint64_t size = 4096 * (1 + synthetic_random(&seed) % 5);

		if (size > SWEEP_HEAP_BYTES - at)
			size = SWEEP_HEAP_BYTES - at;
		synthetic_core_add_memory(core, SYNTHETIC_HEAP + at, world->heap->bytes + at, size);
		at += size;
	}
	return core;
}

/** The place of a block, and its random values. */
struct spoiling {
	struct synthetic_heap *heap;
	uint64_t seam;
	uint64_t random;
};

static uint64_t draw(struct spoiling *spoiling, uint64_t below)
{
	return synthetic_random(&spoiling->random) % below;
}

/* As far as the heap goes. */
static void spoil_block(struct spoiling *spoiling, uint64_t offset, uint64_t size, uint8_t kind,
			uint8_t birth)
{
	if (offset < 32 || offset + 64 > spoiling->heap->size)
		return;
	if (size > spoiling->heap->size - offset)
		size = spoiling->heap->size - offset;
	synthetic_heap_add_block(
		spoiling->heap,
		(struct synthetic_block){.start = spoiling->heap->address + offset,
					 .size = size,
					 .trace = 1 + (uint32_t)draw(spoiling, 7),
					 .kind = kind,
					 .birth = birth,
					 .offset_log2 = draw(spoiling, 60) ? 4 : 20});
}

/* The inside of a block: nothing, headers of other times, or a pool's pieces. */
static void spoil_inside(struct spoiling *spoiling, uint64_t start, uint64_t end, uint8_t birth,
			 unsigned depth)
{
	unsigned sort = (unsigned)draw(spoiling, 6);

	if (sort < 2 || depth > 3)
		return;
	for (uint64_t at = start + 16; at + 32 < end;) {
		uint64_t size = draw(spoiling, 8) ? draw(spoiling, 200)
						  : draw(spoiling, 2 * spoiling->seam);
		uint8_t born = birth;

		if (sort == 2 || !draw(spoiling, 20))
			born = (uint8_t)draw(spoiling, birth + 1);
		else if (sort == 3)
			born = (uint8_t)(birth + draw(spoiling, 3));
		if (size > end - at && draw(spoiling, 10))
			size = end - at;
		spoil_block(spoiling, at, size, sort >= 4 ? HAWK_KIND_POOL : 0, born);
		if (sort >= 4)
			spoil_inside(spoiling, at, at + size, born, depth + 1);
		at += 16 + (size + 15) / 16 * 16;
		if (sort < 4)
			at += 16 * draw(spoiling, spoiling->seam / 64);
	}
}

/* Writes a header that is no block, at an address where one could be. */
static void spoil_header(struct spoiling *spoiling, uint64_t offset)
{
	struct synthetic_block block = {
		.start = spoiling->heap->address + offset, .size = 16, .trace = 1};

	switch (draw(spoiling, 6)) {
	case 0:
		block.trace = 8;
		break;
	case 1:
		block.birth = 201;
		break;
	case 2:
		block.size = HAWK_SIZE_MAX - draw(spoiling, 100);
		break;
	case 3:
		block.offset_log2 = 60;
		break;
	}
	synthetic_heap_add_block(spoiling->heap, block);
	if (draw(spoiling, 3))
		synthetic_heap_kill_block(spoiling->heap, block.start);
}

static uint64_t draw_size(struct spoiling *spoiling, uint64_t offset)
{
	uint64_t seam = spoiling->seam;
	uint64_t to_seam = seam - offset % seam;

	switch (draw(spoiling, 24)) {
	case 0: /* up to a seam, or nearly */
		return to_seam - draw(spoiling, 2) * 16;
	case 1:
		return to_seam + draw(spoiling, seam / 8 + 64);
	case 2:
		return to_seam + seam * draw(spoiling, 4) + draw(spoiling, 2) * 16;
	case 3:
		return draw(spoiling, 3 * seam);
	case 4:
		return 0;
	default:
		return draw(spoiling, 300);
	}
}

void sweep_world_spoil(struct synthetic_heap *heap, uint64_t seam, uint64_t seed)
{
	struct spoiling spoiling = {.heap = heap, .seam = seam, .random = seed};
	/* Quiet heaps too: nearly all of them are whole. */
	uint64_t calm = seed % 3 ? 1 : 1 + draw(&spoiling, 1000);
	uint64_t at = 32;

	while (at + 128 < heap->size) {
		uint64_t size = draw_size(&spoiling, at);
		uint8_t birth = (uint8_t)(5 + draw(&spoiling, 4));

		if (!draw(&spoiling, 8 * calm)) {
			spoil_header(&spoiling, at);
			at += 48;
			continue;
		}
		if (!draw(&spoiling, 40 * calm)) { /* the next header is a page's first, or last */
			at = (at / 4096 + 1 + draw(&spoiling, 4)) * 4096 + 16 * draw(&spoiling, 2);
			continue;
		}
		spoil_block(&spoiling, at, size, draw(&spoiling, 30) ? 0 : HAWK_KIND_POOL, birth);
		if (!draw(&spoiling, calm))
			spoil_inside(&spoiling, at, at + size, birth, 0);
		at += 16 + (size + 15) / 16 * 16;
		if (!draw(&spoiling, 50 * calm)) /* the next one overlaps it */
			at -= 16 * draw(&spoiling, size / 16 + 1);
	}
}

struct synthetic_core *sweep_world_tear(const struct synthetic_heap *heap, uint64_t seed,
					struct hawk_span *excluded, size_t *excluded_count)
{
	struct synthetic_core *core = synthetic_core_create();
	uint64_t random = seed;
	uint64_t last = 0;

	*excluded_count = 0;
	synthetic_core_add_thread(core, 1, 6, NULL);
	for (uint64_t at = 0, size; at < heap->size; at += size) {
		uint64_t r = synthetic_random(&random);
		uint64_t there;

		size = 4096 * (1 + r % (r >> 8 & 3 ? 16 : 200));
		if (size > heap->size - at)
			size = heap->size - at;
		there = r >> 16 & 7 ? size : (r >> 32) % size;
		if ((r >> 20 & 15) == 0)
			continue;
		synthetic_core_add_segment(
			core, (struct synthetic_segment){
				      .address = heap->address + at,
				      .bytes = heap->bytes + at,
				      .dumped_bytes = there,
				      .memory_bytes = size,
				      .flags = SYNTHETIC_READ |
					       (r >> 24 & 7 ? (uint32_t)SYNTHETIC_WRITE : 0),
			      });
		if ((r >> 28 & 7) || *excluded_count == 8)
			continue;
		last = heap->address + at + (r >> 40) % size;
		excluded[*excluded_count].start = last;
		last += (r >> 50) % size;
		excluded[(*excluded_count)++].end = last;
		if (at + size < last - heap->address)
			size = (last - heap->address - at + 4095) / 4096 * 4096;
	}
	return core;
}

void sweep_world_punch(const char *path)
{
	static const uint8_t zeros[4096];
	uint8_t page[4096];
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat status;

	assert_true(fd >= 0 && !fstat(fd, &status));
	for (off_t at = 0; at + 4096 <= status.st_size; at += 4096)
		if (pread(fd, page, sizeof(page), at) == sizeof(page) &&
		    !memcmp(page, zeros, sizeof(page)))
			/* Refused by some file systems: then there is nothing to be seen. */
			(void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, 4096);
	close(fd);
}

static void open_file(struct sweep_core *core, struct synthetic_core *file, bool holes)
{
	core->path = synthetic_core_write(file, SIZE_MAX);
	synthetic_core_destroy(file);
	if (holes)
		sweep_world_punch(core->path);
	check(hawk_target_open_core(core->path, NULL, &core->target));
	core->plan.key = core->heap->table->header.key;
	core->plan.trace_count = 8;
	core->plan.birth_max = 200;
	core->plan.excluded = core->excluded;
}

void sweep_core_open_spoiled(struct sweep_core *core, uint64_t bytes, uint64_t seam, uint64_t seed)
{
	*core = (struct sweep_core){.heap = synthetic_heap_create(bytes)};
	sweep_world_spoil(core->heap, seam, seed);
	open_file(core,
		  seed % 4 ? synthetic_heap_core(core->heap)
			   : sweep_world_tear(core->heap, seed, core->excluded,
					      &core->plan.excluded_count),
		  seed % 8 >= 4);
}

void sweep_core_close(struct sweep_core *core)
{
	hawk_target_close(core->target);
	synthetic_core_remove(core->path);
	synthetic_heap_destroy(core->heap);
}

void sweep_core_open(struct sweep_core *core)
{
	open_file(core, synthetic_heap_core(core->heap), false);
}

struct synthetic_heap *sweep_core_dense_heap(uint64_t bytes, uint64_t seed)
{
	struct synthetic_heap *heap = synthetic_heap_create(bytes);

	for (uint64_t at = 32; at + 4096 < bytes;) {
		uint64_t r = synthetic_random(&seed);
		uint64_t size = r % (r >> 40 & 0x7fff ? 150 : 5 << 20);

		if (at + size > bytes)
			size = 8;
		synthetic_heap_add_block(heap, (struct synthetic_block){
						       .start = SYNTHETIC_HEAP + at,
						       .size = size,
						       .trace = 1 + (r >> 20) % 7,
						       .birth = (uint8_t)(r >> 32 & 63),
					       });
		at += 16 + (size + 15) / 16 * 16 + (r >> 60 ? 0 : 16 * (r >> 50 & 255));
	}
	return heap;
}

void sweep_core_open_dense(struct sweep_core *core, uint64_t bytes, uint64_t seed)
{
	*core = (struct sweep_core){.heap = sweep_core_dense_heap(bytes, seed)};
	sweep_core_open(core);
}
