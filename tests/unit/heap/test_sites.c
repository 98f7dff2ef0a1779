/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The heap by site: sums, stable names, and the rest of them if the core is damaged or cut off.
 */
#include "test.h"
#include "hawk/heap/heap.h"
#include "target/core/file.h"
#include "synthetic_world.h"

enum { HEAP_BYTES = 64 << 10 };

static struct hawk_heap loaded;

static void close_heap(struct world *world)
{
	hawk_heap_deinit(&loaded);
	loaded = (struct hawk_heap){0};
	world_close(world);
}

static void load(struct world *world)
{
	close_heap(world);
	world_open(world);
	check(hawk_heap_load(world->target, NULL, &world->findings, &loaded));
}

static uint32_t add_trace(struct world *world, uint64_t leaf, uint64_t outer)
{
	const uint64_t frames[] = {leaf, outer};

	return synthetic_heap_add_trace(world->heap, frames, 2, 0, 0);
}

static void add_block(struct world *world, uint64_t offset, uint64_t size, uint32_t trace,
		      uint8_t birth)
{
	synthetic_heap_add_block(world->heap, (struct synthetic_block){
						      .start = SYNTHETIC_HEAP + offset,
						      .size = size,
						      .trace = trace,
						      .birth = birth,
					      });
}

static int setup(void **state)
{
	struct world *world;

	if (world_set_up(state))
		return -1;
	world = *state;
	world->heap = synthetic_heap_create(HEAP_BYTES);
	synthetic_heap_add_module(world->heap, "/usr/bin/app", 0x400000, 0x500000, 0x400000);
	synthetic_heap_add_module(world->heap, "/usr/lib/lib.so", 0x7f0000000000, 0x7f0000100000,
				  0x7f0000000000);
	return 0;
}

static int teardown(void **state)
{
	hawk_heap_deinit(&loaded);
	loaded = (struct hawk_heap){0};
	return world_tear_down(state);
}

static const struct hawk_site *site_of(uint32_t trace)
{
	const struct hawk_site *site = hawk_heap_site(&loaded, trace);

	assert_non_null(site);
	return site;
}

#define SITES_TEST(name) TEST_WITH(struct world *world, setup, teardown, name)

SITES_TEST(sites_hold_what_their_traces_allocated)
{
	uint32_t one = add_trace(world, 0x401000, 0x402000);
	uint32_t two = add_trace(world, 0x401000, 0x403000);

	world->heap->table->traces[one].alloc_objects = 10;
	world->heap->table->traces[one].alloc_bytes = 1000;
	world->heap->table->header.orphan_alloc_objects = 1;
	add_block(world, 64, 100, one, 8);
	add_block(world, 256, 200, one, 20);
	add_block(world, 1024, 500, two, 9);
	add_block(world, 2048, 50, 0, 9);
	load(world);
	assert_int_equal(loaded.site_count, 3);
	assert_int_equal(loaded.sites[0].trace, two);
	assert_int_equal(loaded.sites[1].inuse_objects, 2);
	assert_int_equal(loaded.sites[1].inuse_bytes, 300);
	assert_int_equal(loaded.sites[1].alloc_objects, 10);
	assert_int_equal(loaded.sites[1].alloc_bytes, 1000);
	assert_int_equal(loaded.sites[1].oldest_units, hawk_birth_decode(8));
	assert_int_equal(loaded.sites[1].newest_units, hawk_birth_decode(20));
	assert_int_equal(loaded.sites[2].id, HAWK_SITE_NO_STACK);
	assert_int_equal(loaded.sites[2].trace, 0);
	assert_int_equal(loaded.sites[2].inuse_bytes, 50);
	assert_int_equal(loaded.sites[2].alloc_objects, 1);
	assert_ptr_equal(site_of(one), &loaded.sites[1]);
	assert_int_equal(loaded.sums.blocks, 4);
	assert_null(hawk_heap_site(&loaded, UINT32_MAX));
	assert_int_equal((int)hawk_heap_age_seconds(&loaded, 0), 1000);
	assert_int_equal((int)hawk_heap_age_seconds(&loaded, 16001), 0);
}

SITES_TEST(equal_stacks_are_one_site)
{
	uint32_t one = add_trace(world, 0x401000, 0x402000);
	uint32_t same = add_trace(world, 0x401000, 0x402000);
	uint32_t exact = add_trace(world, 0x401000 | HAWK_PC_EXACT, 0x402000);

	add_block(world, 64, 100, one, 1);
	add_block(world, 256, 200, same, 1);
	add_block(world, 1024, 500, exact, 1);
	load(world);
	assert_ptr_equal(site_of(one), site_of(same));
	assert_int_equal(site_of(one)->inuse_objects, 2);
	assert_int_equal(site_of(one)->trace, one);
	assert_ptr_not_equal(site_of(one), site_of(exact));
}

static uint64_t id_of_frames(struct world *world, uint64_t leaf, uint64_t outer)
{
	uint32_t trace = add_trace(world, leaf, outer);

	world->heap->table->traces[trace].alloc_objects = 1;
	load(world);
	return site_of(trace)->id;
}

SITES_TEST(a_site_keeps_its_id_when_modules_are_loaded_elsewhere)
{
	uint64_t before = id_of_frames(world, 0x401000, 0x7f0000001234);
	struct hawk_module_record *library = &world->heap->table->modules[1];

	library->start += 0x5000;
	library->end += 0x5000;
	library->bias += 0x5000;
	assert_int_equal(id_of_frames(world, 0x401000, 0x7f0000006234), before);
	assert_int_not_equal(id_of_frames(world, 0x401000, 0x7f0000006235), before);
	library->build_id[3] ^= 1;
	assert_int_not_equal(id_of_frames(world, 0x401000, 0x7f0000006234), before);
}

SITES_TEST(a_module_without_build_id_counts_by_its_base_name)
{
	struct hawk_module_record *modules = world->heap->table->modules;
	uint64_t before;

	synthetic_heap_add_module(world->heap, "/opt/x/lib.so", 0x7f0000200000, 0x7f0000300000,
				  0x7f0000200000);
	synthetic_heap_add_module(world->heap, "/opt/x/lab.so", 0x7f0000400000, 0x7f0000500000,
				  0x7f0000400000);
	for (unsigned i = 0; i < 4; i++)
		modules[i].build_id_bytes = 0;
	before = id_of_frames(world, 0x401000, 0x7f0000001234);
	assert_int_equal(id_of_frames(world, 0x401000, 0x7f0000201234), before);
	assert_int_not_equal(id_of_frames(world, 0x401000, 0x7f0000401234), before);
}

SITES_TEST(code_outside_of_modules_does_not_make_sites_differ)
{
	assert_int_equal(id_of_frames(world, 0x401000, 0x11110000),
			 id_of_frames(world, 0x401000, 0x22220000));
}

SITES_TEST(blocks_of_unreadable_traces_are_one_site)
{
	uint32_t one = add_trace(world, 0x401000, 0x402000);
	uint32_t two = add_trace(world, 0x401000, 0x403000);

	world->heap->table->traces[two].own_count = 0;
	world->heap->table->header.trace_count = 1000; /* beyond the segment's room */
	world->heap->table->header.trace_segments[0] = SYNTHETIC_TABLE +
						       sizeof(struct synthetic_table) -
						       4 * sizeof(struct hawk_trace_record);
	memcpy((uint8_t *)world->heap->table + sizeof(struct synthetic_table) -
		       4 * sizeof(struct hawk_trace_record),
	       world->heap->table->traces, 3 * sizeof(struct hawk_trace_record));
	add_block(world, 64, 100, one, 1);
	add_block(world, 256, 200, two, 1);
	add_block(world, 1024, 500, 999, 1);
	load(world);
	assert_int_equal(site_of(one)->inuse_bytes, 100);
	assert_int_equal(site_of(two)->id, HAWK_SITE_LOST);
	assert_ptr_equal(site_of(two), site_of(999));
	assert_int_equal(site_of(999)->inuse_bytes, 700);
	assert_non_null(world_finding(world, "stack-lost"));
	assert_true(hawk_findings_partial(&world->findings));
}

SITES_TEST(a_core_without_a_table_is_an_empty_heap)
{
	world->heap->table->header.magic = world->heap->twin->magic = 0;
	load(world);
	assert_null(loaded.table);
	assert_int_equal(loaded.site_count, 0);
	assert_null(hawk_heap_site(&loaded, 0));
}

SITES_TEST(with_only_the_twin_blocks_and_sizes_are_still_found)
{
	add_block(world, 64, 100, 5, 200);
	add_block(world, 256, 100, 0, 200);
	memset(&world->heap->table->header, 0, sizeof(world->heap->table->header));
	load(world);
	assert_non_null(loaded.table);
	assert_int_equal(loaded.sums.blocks, 2);
	assert_int_equal(site_of(5)->id, HAWK_SITE_LOST);
	assert_int_equal(site_of(0)->id, HAWK_SITE_NO_STACK);
}

SITES_TEST(memory_is_accounted_for_to_the_byte)
{
	const struct hawk_accounting *accounting = &loaded.accounting;
	uint32_t one = add_trace(world, 0x401000, 0x402000);

	add_block(world, 64, 1000, one, 1);
	add_block(world, 8192 + 64, 500, one, 1);
	load(world);
	assert_int_equal(accounting->requested_bytes, 1500);
	assert_int_equal(accounting->header_bytes, 32);
	assert_int_equal(accounting->heap_bytes, HEAP_BYTES);
	assert_int_equal(accounting->never_used_bytes, HEAP_BYTES - 2 * 4096);
	assert_int_equal(accounting->overhead_bytes, 2 * 4096 - 1532);
	assert_int_equal(accounting->writable_bytes,
			 HEAP_BYTES + sizeof(struct synthetic_table) + HAWK_TABLE_HEADER_BYTES);
	assert_int_equal(accounting->tracer_bytes,
			 sizeof(struct synthetic_table) + HAWK_TABLE_HEADER_BYTES);
	assert_true(accounting->tracer_touched_bytes <= accounting->tracer_bytes);
	assert_true(accounting->tracer_touched_bytes >= 4 * 4096);
	assert_int_equal(accounting->touched_bytes, accounting->tracer_touched_bytes + 2 * 4096);
}

/* Adds glibc's mapping for a single block: a chunk of whole pages, its size and flag before it. */
static void add_mapped_block(struct world *world, uint64_t offset, uint64_t chunk_bytes)
{
	const uint64_t words[2] = {0, chunk_bytes | 2};

	memcpy(world->heap->bytes + offset, words, sizeof(words));
	add_block(world, offset + 32, chunk_bytes - 64, 0, 1);
}

SITES_TEST(what_lies_beside_blocks_that_were_mapped_alone_is_not_the_allocators)
{
	const struct hawk_accounting *accounting = &loaded.accounting;

	/* | 2 pages, one in use | chunk of 1 page | 1 page in use | chunk of 2 pages | the rest |
	 */
	memset(world->heap->bytes + 4096, 0xaa, 100);
	add_mapped_block(world, 8192, 4096);
	memset(world->heap->bytes + 12288, 0xaa, 100);
	add_mapped_block(world, 16384, 8192);
	load(world);
	assert_int_equal(accounting->requested_bytes, 4096 + 8192 - 2 * 64);
	assert_int_equal(accounting->heap_bytes, 4096 + 8192);
	/* The last page is zero: that of the second block, but for its end. */
	assert_int_equal(accounting->untouched_bytes, 4096 - 32);
	assert_int_equal(accounting->never_used_bytes, 32);
	assert_int_equal(accounting->overhead_bytes, 2 * (64 - 16) - 32);
	assert_int_equal(hawk_accounting_other_touched(accounting), 2 * 4096);
}

SITES_TEST(a_block_of_another_allocator_beside_them_makes_the_rest_a_heap)
{
	const struct hawk_accounting *accounting = &loaded.accounting;

	add_mapped_block(world, 8192, 4096);
	add_block(world, 32768 + 64, 100, 0, 1);
	load(world);
	assert_int_equal(accounting->heap_bytes, HEAP_BYTES - 8192);
}

SITES_TEST(the_tracers_memory_is_not_heap_but_its_bootstrap_blocks_are)
{
	struct hawk_table_header *header = &world->heap->table->header;

	add_block(world, 64, 100, 0, 1);
	add_block(world, 8192 + 64, 100, 0, 1);
	header->extents[2] =
		(struct hawk_table_extent){SYNTHETIC_HEAP, 4096, HAWK_EXTENT_PRIVATE, 0, 0};
	header->extents[3] = (struct hawk_table_extent){SYNTHETIC_HEAP + 8192, 4096,
							HAWK_EXTENT_BOOTSTRAP, 0, 0};
	header->extent_count = 4;
	load(world);
	assert_int_equal(loaded.sums.blocks, 1);
}

SITES_TEST(a_damaged_length_of_the_tracers_memory_hides_no_blocks)
{
	struct hawk_table_header *header = &world->heap->table->header;

	add_block(world, 64, 100, 0, 1);
	add_block(world, 8192 + 64, 100, 0, 1);
	header->extents[0].bytes = UINT64_C(1) << 60;
	load(world);
	assert_int_equal(loaded.sums.blocks, 2);
}

/* Blocks of one trace, 64 bytes apart. */
static void fill_heap(struct world *world, uint32_t trace)
{
	for (uint64_t at = 64; at + 64 <= HEAP_BYTES; at += 64)
		add_block(world, at, 40, trace, 5);
}

SITES_TEST(a_core_cut_anywhere_gives_the_blocks_that_are_left)
{
	uint32_t one = add_trace(world, 0x401000, 0x402000);
	uint64_t last = 0;

	fill_heap(world, one);
	for (unsigned sixteenth = 1; sixteenth < 16; sixteenth++) {
		struct hawk_core_file *file;
		struct hawk_error *err;

		close_heap(world);
		world_build(world);
		check(hawk_core_file_over(world->bytes, world->size * sixteenth / 16, &file));
		err = hawk_core_open_file(file, NULL, &world->findings, &world->target);
		if (err) { /* too short even for headers and notes */
			assert_true(sixteenth < 3);
			hawk_error_destroy(err);
			continue;
		}
		check(hawk_heap_load(world->target, NULL, &world->findings, &loaded));
		assert_true(hawk_findings_partial(&world->findings));
		assert_true(loaded.sums.blocks >= last);
		last = loaded.sums.blocks;
		if (sixteenth == 8) {
			assert_non_null(loaded.table);
			assert_true(last > 100);
			assert_int_equal(site_of(one)->inuse_objects, last);
		}
	}
	load(world);
	assert_int_equal(loaded.sums.blocks, HEAP_BYTES / 64 - 1);
}

SITES_TEST(a_heap_with_more_blocks_than_wished_has_only_sums)
{
	const struct hawk_heap_wish wish = {.blocks_max = 100};
	struct hawk_heap sums;

	fill_heap(world, add_trace(world, 0x401000, 0x402000));
	load(world);
	check(hawk_heap_load_as(&wish, world->target, NULL, &sums));
	assert_non_null(sums.refusal);
	assert_int_equal(sums.index.count, 0);
	assert_int_equal(sums.sums.blocks, loaded.sums.blocks);
	assert_int_equal(sums.sites[0].inuse_objects, loaded.sites[0].inuse_objects);
	assert_memory_equal(&sums.accounting, &loaded.accounting, sizeof(sums.accounting));
	assert_int_equal(sums.spans.count, loaded.spans.count);
	assert_int_equal(sums.spans.items[0].end, loaded.spans.items[0].end);
	hawk_heap_deinit(&sums);
}

/* Overwrites fields of the table with random bytes, small numbers and addresses of its own. */
static void break_table(struct synthetic_heap *built, uint64_t *seed, size_t from, size_t bytes)
{
	uint8_t *at = (uint8_t *)built->table + from;
	unsigned fields = 1 + synthetic_random(seed) % 40;

	for (unsigned i = 0; i < fields; i++) {
		uint64_t value = synthetic_random(seed);
		size_t width = 1u << (synthetic_random(seed) & 3);
		size_t where = synthetic_random(seed) % (bytes / width) * width;

		switch (synthetic_random(seed) & 3) {
		case 0:
			value &= 0xff;
			break;
		case 1:
			value = SYNTHETIC_TABLE + value % (sizeof(*built->table) + 4096);
			break;
		case 2:
			value = -(value & 0xff);
			break;
		}
		memcpy(at + where, &value, width);
	}
}

static void use_everything(uint64_t *seed)
{
	struct hawk_trace *trace = malloc(sizeof(*trace));
	struct hawk_block block;

	for (size_t i = 0; i < loaded.site_count; i++)
		if (hawk_table_trace(loaded.table, loaded.sites[i].trace, trace))
			assert_in_range(trace->frame_count, 1, HAWK_TRACE_DEPTH_MAX);
	for (unsigned i = 0; i < 4 && loaded.table; i++)
		hawk_heap_at(&loaded, SYNTHETIC_HEAP + synthetic_random(seed) % HEAP_BYTES, &block);
	free(trace);
}

SITES_TEST(no_random_table_breaks_anything)
{
	struct synthetic_table *intact = malloc(sizeof(*intact));
	unsigned with_table = 0;

	for (uint32_t i = 0; i < 8; i++)
		synthetic_heap_add_trace(world->heap, (uint64_t[]){0x401000 + i, 0x402000}, 2, i,
					 i != 0);
	fill_heap(world, 3);
	memcpy(intact, world->heap->table, sizeof(*intact));
	for (uint64_t seed = 1; seed <= 3000; seed++) {
		struct synthetic_table *table = world->heap->table;
		uint64_t random = seed;
		uint64_t kept = seed % 4;

		memcpy(table, intact, sizeof(*intact));
		break_table(world->heap, &random, 0, kept ? sizeof(table->header) : sizeof(*table));
		/* Mostly let it through the first test, so that what lies behind is tried too. */
		if (kept) {
			memcpy(table, intact,
			       kept == 3 ? offsetof(struct hawk_table_header, clock_units)
					 : offsetof(struct hawk_table_header, check));
			break_table(world->heap, &random, sizeof(table->header),
				    sizeof(*table) - sizeof(table->header));
			table->header.check = hawk_table_check(&table->header);
		}
		load(world);
		with_table += loaded.table != NULL;
		use_everything(&random);
	}
	assert_true(with_table > 2000);
	free(intact);
}
