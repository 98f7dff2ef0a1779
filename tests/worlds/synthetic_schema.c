/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Records and arrays of all sorts in a synthetic heap, and whether two schemas say the same.
 */
#include "test.h"
#include "target/core/file.h"
#include "synthetic_schema.h"
#include "sweep_world.h"

static const uint64_t TEXT = UINT64_C(0x4141414141414141);

static uint64_t add_block(struct schema_world *world, uint64_t size, uint32_t site)
{
	uint64_t start = world->next + 16;

	assert_true(start + size <= SYNTHETIC_HEAP + HEAP_BYTES);
	synthetic_heap_add_block(
		world->heap, (struct synthetic_block){.start = start, .size = size, .trace = site});
	world->next = (start + size + 15) & ~UINT64_C(15);
	return start;
}

static void put(struct schema_world *world, uint64_t address, uint64_t value)
{
	memcpy(world->heap->bytes + (address - SYNTHETIC_HEAP), &value, sizeof(value));
}

/** Targets come into use one after the other, so that later parts meet others first. */
static unsigned choose_target(struct schema_world *world, unsigned number, unsigned count)
{
	return (unsigned)(synthetic_random(&world->seed) % (1 + number * TARGETS / count));
}

uint64_t schema_world_wrong_word(const struct schema_world *world, unsigned k)
{
	return k % 2 ? TEXT : world->targets[k] + TARGET_BYTES + 1 + k;
}

/** Into a record, or just behind it. */
static uint64_t right_word(const struct schema_world *world, unsigned i, unsigned k)
{
	return world->records[(i * 31 + k) % RECORDS] + i * k % (RECORD_BYTES + 1);
}

static void fill_record(struct schema_world *world, unsigned i)
{
	uint64_t start = world->records[i];

	world->keys[i] = choose_target(world, i, RECORDS);
	put(world, start + KEYS_AT, world->targets[world->keys[i]]);
	put(world, start + FEW_AT, 1 + i * 7 / RECORDS);
	put(world, start + MANY_AT, 1 + i * 12 / RECORDS);
	for (unsigned k = 0; k < ODD_OFFSETS; k++)
		put(world, start + ODD_AT + 8 * (uint64_t)k,
		    i % ODD_EACH == 20 * k ? schema_world_wrong_word(world, k)
					   : right_word(world, i, k));
	memset(world->heap->bytes + (start + TEXT_AT - SYNTHETIC_HEAP), 'x', 4 + i % 5);
}

static void add_array(struct schema_world *world, unsigned number)
{
	unsigned elements = 16 + (unsigned)(synthetic_random(&world->seed) % 20);
	uint64_t start = add_block(world, elements * ELEMENT_WORDS * UINT64_C(8), ARRAY_SITE);

	for (unsigned i = 0; i < elements; i++) {
		uint64_t at = start + i * ELEMENT_WORDS * UINT64_C(8);

		bool odd = synthetic_random(&world->seed) % 4 == 0;

		put(world, at, world->targets[odd ? choose_target(world, number, ARRAYS) : 0]);
		put(world, at + 8, number % 97 == 5 && i == 3 ? TEXT : 1 + number * i);
		put(world, at + 16, UINT64_C(0x3fe0000000000000) + number);
	}
}

static void open_world(struct schema_world *world, size_t cut_bytes)
{
	struct synthetic_core *core = synthetic_heap_core(world->heap);
	struct hawk_sweep_plan plan = {
		.key = world->heap->table->header.key,
		.trace_count = SITES,
		.birth_max = 255,
	};
	struct hawk_core_file *file;
	size_t size;

	world->core_bytes = synthetic_core_build(core, &size);
	synthetic_core_destroy(core);
	hawk_findings_init(&world->findings);
	check(hawk_core_file_over(world->core_bytes, size < cut_bytes ? size : cut_bytes, &file));
	check(hawk_core_open_file(file, NULL, &world->findings, &world->target));
	for (uint32_t i = 0; i < SITES; i++)
		world->site_of_trace[i] = i;
	world->of_sites = (struct hawk_heap){
		.target = world->target,
		.sites = world->sites,
		.site_count = SITES,
		.site_of_trace = world->site_of_trace,
		.trace_count = SITES,
	};
	sweep_world_index(&world->of_sites, &plan);
}

struct schema_world *schema_world_create(size_t cut_bytes)
{
	struct schema_world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	world->seed = 11;
	world->next = SYNTHETIC_HEAP;
	world->heap = synthetic_heap_create(HEAP_BYTES);
	for (uint32_t i = 0; i < TARGETS; i++)
		world->targets[i] = add_block(world, TARGET_BYTES, i);
	for (unsigned i = 0; i < RECORDS; i++)
		world->records[i] = add_block(world, RECORD_BYTES, RECORD_SITE);
	for (unsigned i = 0; i < RECORDS; i++)
		fill_record(world, i);
	for (unsigned i = 0; i < ARRAYS; i++)
		add_array(world, i);
	open_world(world, cut_bytes);
	return world;
}

void schema_world_destroy(struct schema_world *world)
{
	hawk_heap_spans_deinit(&world->of_sites.spans);
	hawk_block_index_deinit(&world->of_sites.index);
	hawk_target_close(world->target);
	hawk_findings_deinit(&world->findings);
	synthetic_heap_destroy(world->heap);
	free(world->core_bytes);
	free(world);
}
