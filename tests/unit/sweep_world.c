/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Builds, opens and sweeps the heap, and keeps what was found.
 */
#include "sweep_world.h"

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

static struct hawk_error *collect(void *context, const struct hawk_block *blocks, size_t count)
{
	struct sweep_world *world = context;

	assert_true(count > 0 && count <= HAWK_SWEEP_BATCH);
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
	return NULL;
}

void sweep_world_sweep_again(struct sweep_world *world)
{
	world->count = 0;
	memset(&world->result, 0xff, sizeof(world->result));
	assert_null(hawk_sweep(world->target, &world->plan, collect, world, NULL, NULL,
			       &world->findings, &world->result));
	assert_int_equal(world->result.blocks, world->count);
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

bool sweep_world_has_finding(const struct sweep_world *world, const char *key)
{
	for (size_t i = 0; i < world->findings.count; i++)
		if (!strcmp(world->findings.items[i].key, key))
			return true;
	return false;
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
