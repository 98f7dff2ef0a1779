/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The trace table read back: found, refused, repaired, resolved.
 */
#include <stdio.h>

#include "test.h"
#include "hawk/trace/table.h"
#include "synthetic_world.h"

static struct hawk_table *table;
static struct hawk_trace trace;

static int setup(void **state)
{
	if (world_set_up(state))
		return -1;
	((struct world *)*state)->heap = synthetic_heap_create(4096);
	return 0;
}

static int teardown(void **state)
{
	hawk_table_close(table);
	table = NULL;
	return world_tear_down(state);
}

static void open_heap(struct world *world)
{
	world_open(world);
	check(hawk_table_find(world->target, &world->findings, &table));
}

static void open_core(struct world *world, struct synthetic_core *core)
{
	world_open_core(world, core);
	check(hawk_table_find(world->target, &world->findings, &table));
}

static void expect_frames(uint32_t id, const char *frames)
{
	char text[4096] = "";

	assert_true(hawk_table_trace(table, id, &trace));
	for (uint32_t i = 0; i < trace.frame_count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%llx", i ? " " : "",
			 (unsigned long long)trace.frames[i]);
	assert_string_equal(text, frames);
}

static uint32_t add_trace(struct world *world, uint64_t first, uint32_t count, uint32_t tail,
			  uint32_t tail_count)
{
	uint64_t frames[64];

	for (uint32_t i = 0; i < count; i++)
		frames[i] = first + i;
	return synthetic_heap_add_trace(world->heap, frames, count, tail, tail_count);
}

#define TABLE_TEST(name) TEST_WITH(struct world *world, setup, teardown, name)

TABLE_TEST(a_table_is_found_with_everything_in_it)
{
	const struct hawk_table_extent *extents;
	size_t count;

	assert_int_equal(add_trace(world, 0xa1, 3, 0, 0), 1);
	open_heap(world);
	assert_non_null(table);
	assert_false(hawk_table_is_twin(table));
	assert_int_equal(hawk_table_header(table)->pid, 4711);
	assert_int_equal(hawk_table_header(table)->trace_count, 2);
	assert_string_equal(hawk_table_header(table)->options, "depth=64");
	extents = hawk_table_extents(table, &count);
	assert_int_equal(count, 2);
	assert_int_equal(extents[0].address, SYNTHETIC_TABLE);
	expect_frames(1, "a1 a2 a3");
	assert_false(hawk_table_trace(table, 0, &trace));
	assert_false(hawk_table_trace(table, 2, &trace));
	assert_int_equal(trace.frame_count, 0);
	assert_false(hawk_table_trace(table, UINT32_MAX, &trace));
}

TABLE_TEST(no_table_is_no_error)
{
	world->heap->table->header.magic = 0;
	world->heap->twin->magic = 0;
	open_heap(world);
	assert_null(table);
}

TABLE_TEST(a_copy_at_another_address_is_no_table)
{
	struct synthetic_core *core = synthetic_core_create();

	synthetic_core_add_thread(core, 1, 6, NULL);
	synthetic_core_add_memory(core, SYNTHETIC_TABLE + 0x10000, world->heap->table,
				  sizeof(*world->heap->table));
	open_core(world, core);
	assert_null(table);
}

TABLE_TEST(a_table_in_the_middle_of_a_mapping_is_found)
{
	struct synthetic_core *core = synthetic_core_create();
	const size_t before = 5 * 4096;
	uint8_t *bytes = calloc(1, before + sizeof(*world->heap->table));

	memcpy(bytes + before, world->heap->table, sizeof(*world->heap->table));
	synthetic_core_add_thread(core, 1, 6, NULL);
	synthetic_core_add_memory(core, SYNTHETIC_TABLE - before, bytes,
				  before + sizeof(*world->heap->table));
	free(bytes);
	open_core(world, core);
	assert_non_null(table);
}

TABLE_TEST(tails_are_followed_through_traces_that_own_none_of_them)
{
	add_trace(world, 0xa1, 4, 0, 0);              /* a1 a2 a3 a4 */
	add_trace(world, 0xb1, 1, 1, 2);              /* b1 | a3 a4 */
	add_trace(world, 0xc1, 2, 2, 3);              /* c1 c2 | b1 a3 a4 */
	add_trace(world, 0xd1, 1, 3, 1);              /* d1 | a4, by way of 3 and 2 */
	add_trace(world, 0xe1, 1, 4, 1);              /* e1 | a4 */
	add_trace(world, 0xf1, 1, 3, 4);              /* f1 | c2 b1 a3 a4 */
	add_trace(world, HAWK_PC_EXACT | 9, 1, 6, 2); /* 9 | a3 a4 */
	open_heap(world);
	expect_frames(2, "b1 a3 a4");
	expect_frames(3, "c1 c2 b1 a3 a4");
	expect_frames(4, "d1 a4");
	expect_frames(5, "e1 a4");
	expect_frames(6, "f1 c2 b1 a3 a4");
	expect_frames(7, "8000000000000009 a3 a4");
	assert_null(world_finding(world, "trace-damaged"));
}

TABLE_TEST(damaged_traces_are_counted_and_the_others_read)
{
	struct hawk_trace_record *traces = world->heap->table->traces;

	for (uint64_t i = 1; i < 10; i++)
		add_trace(world, i << 8, 2, i == 1 ? 0 : 1, i == 1 ? 0 : 1);
	traces[2].own_count = 0;
	traces[3].tail_trace = 3;
	traces[4].tail_trace = 9;
	traces[5].tail_trace = 0;
	traces[6].word_index = UINT32_MAX;
	traces[7].tail_count = 1023;
	traces[8].hash = 0; /* not published: no damage */
	open_heap(world);
	for (uint32_t id = 2; id < 9; id++)
		assert_false(hawk_table_trace(table, id, &trace));
	expect_frames(1, "100 101");
	expect_frames(9, "900 901 101");
	assert_int_equal(hawk_table_totals(table).damaged_traces, 6);
	assert_non_null(world_finding(world, "trace-damaged"));
}

TABLE_TEST(a_trace_on_a_damaged_tail_is_damaged)
{
	add_trace(world, 0x100, 2, 0, 0);
	add_trace(world, 0x200, 1, 1, 1);
	world->heap->table->traces[1].own_count = 0;
	open_heap(world);
	assert_false(hawk_table_trace(table, 2, &trace));
	assert_int_equal(hawk_table_totals(table).damaged_traces, 2);
}

TABLE_TEST(counters_are_summed_over_records_threads_and_orphans)
{
	struct synthetic_table *built = world->heap->table;
	struct hawk_trace_counters *counters;
	struct hawk_table_totals totals;

	add_trace(world, 0xa1, 1, 0, 0);
	add_trace(world, 0xb1, 1, 0, 0);
	built->traces[1].alloc_objects = 100;
	built->traces[1].alloc_bytes = 1000;
	built->header.thread_count = 3;
	built->threads[0].counters[0] = (struct hawk_counter_entry){1, 5, 50};
	built->threads[0].counters[31] = (struct hawk_counter_entry){2, 7, 70};
	built->threads[1].counters[3] = (struct hawk_counter_entry){2, 1, UINT64_C(1) << 40};
	built->threads[1].counters[4] = (struct hawk_counter_entry){99, 1, 1}; /* no such trace */
	built->threads[1].record.state = HAWK_THREAD_FREE;
	built->threads[1].record.free_objects = 3;
	built->threads[1].record.free_bytes = 30;
	built->threads[0].record.alloc_objects_untraced = 2;
	built->threads[0].record.alloc_bytes_untraced = 20;
	built->threads[2].record.state = HAWK_THREAD_UNUSED;
	built->threads[2].counters[0] = (struct hawk_counter_entry){1, 1000, 1000};
	built->threads[3].counters[0] = (struct hawk_counter_entry){1, 1000, 1000};
	built->header.orphan_alloc_objects = 1;
	built->header.orphan_alloc_bytes = 8;
	built->header.orphan_free_objects = 1;
	built->header.orphan_free_bytes = 4;
	built->header.dropped_objects = 50;
	built->threads[0].record.dropped_objects = 2;
	built->threads[1].record.dropped_objects = 3;
	built->threads[1].record.dropped_bytes = 4;
	built->threads[3].record.dropped_objects = 1000;
	open_heap(world);
	assert_null(hawk_table_counters(table, &counters));
	assert_int_equal(counters[0].alloc_objects, 3);
	assert_int_equal(counters[0].alloc_bytes, 28);
	assert_int_equal(counters[1].alloc_objects, 105);
	assert_int_equal(counters[1].alloc_bytes, 1050);
	assert_int_equal(counters[2].alloc_objects, 8);
	assert_int_equal(counters[2].alloc_bytes, (UINT64_C(1) << 40) + 70);
	free(counters);
	totals = hawk_table_totals(table);
	assert_int_equal(totals.alloc_objects, 116);
	assert_int_equal(totals.alloc_bytes, (UINT64_C(1) << 40) + 1148);
	assert_int_equal(totals.free_objects, 4);
	assert_int_equal(totals.free_bytes, 34);
	assert_int_equal(totals.threads, 2);
	assert_int_equal(totals.slots, 2);
	assert_int_equal(hawk_table_header(table)->dropped_objects, 55);
	assert_int_equal(hawk_table_header(table)->dropped_bytes, 4);
}

TABLE_TEST(damaged_thread_records_are_counted)
{
	struct synthetic_table *built = world->heap->table;

	built->header.thread_count = 4;
	built->threads[0].record.counter_offset = UINT32_MAX;
	built->threads[1].record.counter_count = UINT32_MAX;
	built->threads[2].record.state = 77;
	built->threads[3].record.counter_count++;
	open_heap(world);
	assert_int_equal(hawk_table_totals(table).damaged_threads, 4);
	assert_non_null(world_finding(world, "table-thread-damaged"));
}

TABLE_TEST(counters_of_older_thread_records_begin_where_newer_ones_count_drops)
{
	struct synthetic_table *built = world->heap->table;
	const struct hawk_counter_entry entry = {.trace = 1, .objects = 5, .bytes = 50};
	struct hawk_trace_counters *counters;

	add_trace(world, 0xa1, 1, 0, 0);
	built->header.thread_count = 1;
	built->threads[0].record.counter_offset = HAWK_THREAD_RECORD_BYTES_MIN;
	built->threads[0].record.counter_count = 1;
	memcpy(&built->threads[0].record.dropped_objects, &entry, sizeof(entry));
	open_heap(world);
	assert_int_equal(hawk_table_header(table)->dropped_objects, 0);
	assert_int_equal(hawk_table_header(table)->dropped_bytes, 0);
	assert_null(hawk_table_counters(table, &counters));
	assert_int_equal(counters[1].alloc_objects, 5);
	free(counters);
}

TABLE_TEST(thread_records_without_users_and_signal_stacks_have_none)
{
	struct synthetic_table *built = world->heap->table;
	struct hawk_thread_record *record = &built->threads[0].record;
	size_t count;

	built->header.thread_count = 1;
	record->counter_offset = offsetof(struct hawk_thread_record, users);
	record->counter_count = 1;
	record->dropped_objects = 3;
	record->users = 7; /* of an entry: trace and objects */
	record->signal_stack = SYNTHETIC_HEAP;
	open_heap(world);
	assert_int_equal(hawk_table_header(table)->dropped_objects, 3);
	assert_int_equal(hawk_table_totals(table).threads, 0);
	assert_int_equal(hawk_table_totals(table).slots, 1);
	hawk_table_signal_stacks(table, &count);
	assert_int_equal(count, 0);
}

TABLE_TEST(thread_records_of_the_least_size_are_read)
{
	struct synthetic_table *built = world->heap->table;

	built->header.thread_count = 1;
	built->header.thread_slot_bytes = HAWK_THREAD_RECORD_BYTES_MIN;
	built->threads[0].record.counter_offset = HAWK_THREAD_RECORD_BYTES_MIN;
	built->threads[0].record.counter_count = 0;
	synthetic_heap_check(world->heap);
	open_heap(world);
	assert_int_equal(hawk_table_totals(table).damaged_threads, 0);
}

TABLE_TEST(users_of_slots_add_up_and_signal_stacks_are_those_of_live_threads)
{
	struct synthetic_table *built = world->heap->table;
	const struct hawk_table_signal_stack *stacks;
	size_t count;

	built->header.thread_count = 3;
	for (uint32_t i = 0; i < 3; i++) {
		built->threads[i].record.users = 1 + 1000 * i;
		built->threads[i].record.tid = 100 + i;
		built->threads[i].record.signal_stack = SYNTHETIC_HEAP + 16 * i;
		built->threads[i].record.state = i == 1 ? HAWK_THREAD_FREE : HAWK_THREAD_LIVE;
	}
	open_heap(world);
	assert_int_equal(hawk_table_totals(table).threads, 3003);
	assert_int_equal(hawk_table_totals(table).slots, 3);
	stacks = hawk_table_signal_stacks(table, &count);
	assert_int_equal(count, 2);
	assert_int_equal(stacks[0].start, SYNTHETIC_HEAP);
	assert_int_equal(stacks[0].tid, 100);
	assert_int_equal(stacks[1].start, SYNTHETIC_HEAP + 32);
	assert_int_equal(stacks[1].tid, 102);
}

TABLE_TEST(a_free_that_was_taken_back_leaves_nothing)
{
	struct synthetic_table *built = world->heap->table;
	struct hawk_thread_record *thread = &built->threads[0].record;
	const uint64_t less_objects = 0 - UINT64_C(1), less_bytes = 0 - UINT64_C(100);
	struct hawk_trace_counters *counters;

	add_trace(world, 0xa1, 1, 0, 0);
	built->header.incompatible_flags |= HAWK_TABLE_TAGGED_COUNTERS;
	built->header.compatible_flags |= HAWK_TABLE_LIVE_COUNTERS;
	synthetic_heap_check(world->heap);
	built->traces[1].alloc_objects = hawk_counter_word0(7, 0);
	built->traces[1].alloc_bytes = hawk_counter_word1(7, 700);
	built->traces[1].free_objects = hawk_counter_word0(less_objects, 0);
	built->traces[1].free_bytes = hawk_counter_word1(less_objects, less_bytes);
	built->header.thread_count = 1;
	thread->counter_count = SYNTHETIC_COUNTERS / 2;
	thread->free_offset =
		thread->counter_offset + thread->counter_count * sizeof(struct hawk_counter_entry);
	thread->free_count = SYNTHETIC_COUNTERS / 2;
	built->threads[0].counters[SYNTHETIC_COUNTERS / 2 + 1] =
		(struct hawk_counter_entry){.trace = 1, .objects = 3, .bytes = 300};
	open_heap(world);
	assert_null(hawk_table_counters(table, &counters));
	assert_int_equal(counters[1].alloc_objects, 7);
	assert_int_equal(counters[1].free_objects, 2);
	assert_int_equal(counters[1].free_bytes, 200);
	free(counters);
}

TABLE_TEST(modules_are_told_apart_by_generation)
{
	struct synthetic_table *built = world->heap->table;
	const struct hawk_table_module *modules;
	size_t count;

	synthetic_heap_add_module(world->heap, "/usr/bin/app", 0x1000, 0x9000, 0x1000);
	synthetic_heap_add_module(world->heap, "/lib/one.so", 0x20000, 0x30000, 0x20000);
	synthetic_heap_add_module(world->heap, "/lib/two.so", 0x28000, 0x38000, 0x28000);
	synthetic_heap_add_module(world->heap, "/lib/gone.so", 0x50000, 0x50000, 0);
	built->modules[1].unload_generation = 3;
	built->modules[2].generation = 4;
	open_heap(world);
	modules = hawk_table_modules(table, &count);
	assert_int_equal(count, 3);
	assert_string_equal(modules[0].path, "/usr/bin/app");
	assert_int_equal(modules[0].build_id_bytes, 20);
	assert_memory_equal(modules[0].build_id, "/usr/bin/app/usr/bin", 20);
	assert_ptr_equal(hawk_table_module_at(table, 0x1000, 0), &modules[0]);
	assert_ptr_equal(hawk_table_module_at(table, 0x8fff, 9), &modules[0]);
	assert_null(hawk_table_module_at(table, 0xfff, 9));
	assert_null(hawk_table_module_at(table, 0x9000, 9));
	assert_ptr_equal(hawk_table_module_at(table, 0x29000, 0), &modules[1]);
	assert_ptr_equal(hawk_table_module_at(table, 0x29000, 4), &modules[2]);
	assert_ptr_equal(hawk_table_module_at(table, 0x21000, 4), &modules[1]);
	assert_null(hawk_table_module_at(table, 0x37fff, 3));
	assert_ptr_equal(hawk_table_module_at(table, 0x37fff, 4), &modules[2]);
	assert_null(hawk_table_module_at(table, 0x38000, 4));
	assert_non_null(world_finding(world, "table-module-damaged"));
}

TABLE_TEST(module_paths_and_build_ids_are_clamped)
{
	struct synthetic_table *built = world->heap->table;
	const struct hawk_table_module *modules;
	size_t count;

	synthetic_heap_add_module(world->heap, "/lib/one.so", 0x1000, 0x9000, 0);
	synthetic_heap_add_module(world->heap, "/lib/two.so", 0x10000, 0x19000, 0);
	synthetic_heap_add_module(world->heap, "/lib/three", 0x20000, 0x29000, 0);
	built->modules[0].path_bytes = UINT32_MAX;
	built->modules[1].path_index = UINT32_MAX - 1;
	built->modules[2].build_id_bytes = 33;
	open_heap(world);
	modules = hawk_table_modules(table, &count);
	assert_int_equal(count, 2);
	assert_true(strlen(modules[0].path) <= 4096);
	assert_string_equal(modules[1].path, "");
}

TABLE_TEST(a_twin_alone_gives_key_and_sizes)
{
	struct synthetic_core *core = synthetic_core_create();

	world->heap->twin->trace_count = 1000;
	synthetic_core_add_thread(core, 1, 6, NULL);
	synthetic_core_add_memory(core, SYNTHETIC_TWIN, world->heap->twin, HAWK_TABLE_HEADER_BYTES);
	open_core(world, core);
	assert_non_null(table);
	assert_true(hawk_table_is_twin(table));
	assert_memory_equal(&hawk_table_header(table)->key, &world->heap->twin->key, 16);
	assert_int_equal(hawk_table_header(table)->trace_count, 1);
	assert_int_equal(hawk_table_trace_limit(table), UINT32_MAX);
	assert_int_equal(hawk_table_birth_limit(table), UINT8_MAX);
	assert_non_null(world_finding(world, "table-twin-only"));
}

TABLE_TEST(a_twin_met_first_leads_to_its_primary)
{
	struct synthetic_core *core = synthetic_core_create();
	const uint64_t low = SYNTHETIC_TABLE - 0x100000;

	world->heap->twin->self_address = low;
	world->heap->table->header.twin_address = low;
	world->heap->twin->twin_address = low;
	synthetic_heap_check(world->heap);
	synthetic_core_add_thread(core, 1, 6, NULL);
	synthetic_core_add_memory(core, low, world->heap->twin, HAWK_TABLE_HEADER_BYTES);
	synthetic_core_add_memory(core, SYNTHETIC_TABLE, world->heap->table,
				  sizeof(*world->heap->table));
	open_core(world, core);
	assert_non_null(table);
	assert_false(hawk_table_is_twin(table));
	assert_false(hawk_findings_partial(&world->findings) &&
		     world_finding(world, "table-twin-only"));
}

TABLE_TEST(a_damaged_header_is_repaired_with_its_twin)
{
	add_trace(world, 0xa1, 2, 0, 0);
	world->heap->table->header.key.k[0] ^= 0xff00;
	open_heap(world);
	assert_non_null(table);
	assert_false(hawk_table_is_twin(table));
	assert_memory_equal(&hawk_table_header(table)->key, &world->heap->twin->key, 16);
	expect_frames(1, "a1 a2");
	assert_non_null(world_finding(world, "table-damaged"));
	assert_non_null(world_finding(world, "table-repaired"));
}

TABLE_TEST(a_header_without_magic_is_repaired_with_its_twin)
{
	add_trace(world, 0xa1, 2, 0, 0);
	world->heap->table->header.magic = 0;
	open_heap(world);
	assert_non_null(table);
	expect_frames(1, "a1 a2");
	assert_non_null(world_finding(world, "table-repaired"));
}

TABLE_TEST(a_damaged_header_without_a_twin_is_reported)
{
	world->heap->table->header.start_monotonic_ns++;
	world->heap->twin->magic = 0;
	open_heap(world);
	assert_null(table);
	assert_non_null(world_finding(world, "table-damaged"));
	assert_true(hawk_findings_partial(&world->findings));
}

/* Opens a heap in whose header a field of both copies was changed: there is no table, and
 * `finding`. */
static void expect_refused(struct world *world, const char *finding)
{
	synthetic_heap_check(world->heap);
	open_heap(world);
	assert_null(table);
	assert_true(!finding || world_finding(world, finding));
}

TABLE_TEST(a_newer_version_is_refused_by_name)
{
	world->heap->table->header.version = world->heap->twin->version = 2;
	expect_refused(world, "table-version");
	assert_non_null(strstr(world_finding(world, "table-version")->text, "version 2"));
}

TABLE_TEST(unknown_incompatible_flags_are_refused)
{
	world->heap->table->header.incompatible_flags = 1 << 20;
	world->heap->twin->incompatible_flags = 1 << 20;
	expect_refused(world, "table-flags");
}

TABLE_TEST(shorter_records_are_refused)
{
	world->heap->table->header.trace_record_bytes = sizeof(struct hawk_trace_record) - 8;
	world->heap->twin->trace_record_bytes = sizeof(struct hawk_trace_record) - 8;
	expect_refused(world, NULL);
}

TABLE_TEST(unknown_compatible_flags_are_accepted)
{
	world->heap->table->header.compatible_flags = UINT64_MAX;
	synthetic_heap_check(world->heap);
	open_heap(world);
	assert_non_null(table);
}

TABLE_TEST(longer_records_are_accepted)
{
	struct synthetic_table *built = world->heap->table;
	uint8_t *records = (uint8_t *)built->traces;

	add_trace(world, 0xa1, 1, 0, 0);
	add_trace(world, 0xb1, 1, 1, 1);
	memmove(records + 2 * 96, &built->traces[2], 64);
	memmove(records + 1 * 96, &built->traces[1], 64);
	built->header.trace_record_bytes = 96;
	synthetic_heap_check(world->heap);
	open_heap(world);
	expect_frames(1, "a1");
	expect_frames(2, "b1 a1");
}

TABLE_TEST(the_first_of_two_tables_is_used)
{
	struct synthetic_core *core = synthetic_heap_core(world->heap);
	const uint64_t second = SYNTHETIC_TABLE + 0x1000000;
	uint8_t *bytes = malloc(sizeof(*world->heap->table));
	struct hawk_table_header *header = (struct hawk_table_header *)bytes;

	memcpy(bytes, world->heap->table, sizeof(*world->heap->table));
	header->self_address = header->primary_address = second;
	header->pid = 4712;
	header->check = hawk_table_check(header);
	synthetic_core_add_memory(core, second, bytes, sizeof(*world->heap->table));
	free(bytes);
	open_core(world, core);
	assert_int_equal(hawk_table_header(table)->pid, 4711);
	assert_non_null(world_finding(world, "table-second"));
}

TABLE_TEST(counts_beyond_what_is_there_are_clamped)
{
	struct hawk_table_header *header = &world->heap->table->header;
	const struct hawk_table_header *clamped;

	add_trace(world, 0xa1, 1, 0, 0);
	header->trace_count = header->word_count = UINT32_MAX;
	header->thread_count = header->module_count = header->extent_count = UINT32_MAX;
	open_heap(world);
	clamped = hawk_table_header(table);
	assert_in_range(clamped->trace_count, 2, sizeof(*world->heap->table) / 64);
	assert_in_range(clamped->word_count, 1, sizeof(*world->heap->table) / 8);
	assert_in_range(clamped->thread_count, 1, SYNTHETIC_THREADS);
	assert_in_range(clamped->module_count, 0, sizeof(*world->heap->table) / 120);
	assert_int_equal(hawk_table_trace_limit(table), UINT32_MAX);
	expect_frames(1, "a1");
	assert_non_null(world_finding(world, "table-records-missing*"));
}

TABLE_TEST(segments_may_lie_on_top_of_each_other_and_of_the_header)
{
	struct hawk_table_header *header = &world->heap->table->header;

	for (unsigned i = 0; i < HAWK_TRACE_SEGMENTS; i++)
		header->trace_segments[i] = SYNTHETIC_TABLE;
	for (unsigned i = 0; i < HAWK_WORD_SEGMENTS; i++)
		header->word_segments[i] = SYNTHETIC_TABLE + 240;
	for (unsigned i = 0; i < HAWK_THREAD_SEGMENTS; i++)
		header->thread_segments[i] = SYNTHETIC_TABLE + 8;
	for (unsigned i = 0; i < HAWK_MODULE_SEGMENTS; i++)
		header->module_segments[i] = UINT64_MAX - 7;
	header->trace_count = header->word_count = 1 << 30;
	header->thread_count = header->module_count = 1 << 30;
	open_heap(world);
	assert_non_null(table);
	for (uint32_t id = 0; id < 2000; id++)
		hawk_table_trace(table, id, &trace);
}

TABLE_TEST(a_table_across_mappings_is_read)
{
	struct synthetic_core *core = synthetic_core_create();
	const uint8_t *bytes = (const uint8_t *)world->heap->table;
	size_t size = sizeof(*world->heap->table);

	add_trace(world, 0xa1, 5, 0, 0);
	add_trace(world, 0xb1, 3, 1, 4);
	synthetic_core_add_thread(core, 1, 6, NULL);
	for (size_t at = 0; at < size; at += 4096)
		synthetic_core_add_memory(core, SYNTHETIC_TABLE + at, bytes + at,
					  size - at < 4096 ? size - at : 4096);
	open_core(world, core);
	assert_non_null(table);
	expect_frames(2, "b1 b2 b3 a2 a3 a4 a5");
}

TABLE_TEST(births_after_the_last_clock_reading_are_plausible_for_a_minute)
{
	uint64_t now = world->heap->table->header.clock_units;

	open_heap(world);
	assert_true(hawk_table_birth_limit(table) >= hawk_birth_encode(now + 960));
	assert_true(hawk_table_birth_limit(table) < hawk_birth_encode(4 * now));
}
