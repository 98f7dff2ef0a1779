/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Scopes and types read back: marks of traces, paths of labels, and what is left of damaged ones.
 */
#include <stdio.h>

#include "test.h"
#include "hawk/analysis/scope_groups.h"
#include "hawk/trace/table.h"
#include "synthetic_world.h"

enum {
	LABEL_WORDS = 1024, /**< the label array lies in the unused part of the words */
	LABELS = 32,
	NAMES = 512, /**< words with names, eight each */
};

static struct hawk_label_record *labels; /* of the heap that is built */
static struct hawk_table *table;
static struct hawk_trace trace;

static int setup(void **state)
{
	struct hawk_table_header *header;
	struct world *world;

	if (world_set_up(state))
		return -1;
	world = *state;
	world->heap = synthetic_heap_create(4096);
	header = &world->heap->table->header;
	header->incompatible_flags |= HAWK_TABLE_MARKED;
	header->label_segments[0] = SYNTHETIC_TABLE + offsetof(struct synthetic_table, words) +
				    LABEL_WORDS * sizeof(uint64_t);
	header->label_count = 1;
	labels = (void *)&world->heap->table->words[LABEL_WORDS];
	synthetic_heap_check(world->heap);
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
	world->heap->table->header.word_count = SYNTHETIC_WORDS;
	world_open(world);
	check(hawk_table_find(world->target, &world->findings, &table));
	assert_non_null(table);
}

static uint32_t add_label(struct world *world, uint32_t kind, uint32_t parent, const char *name)
{
	uint32_t id = world->heap->table->header.label_count++;

	assert_true(id < LABELS && strlen(name) <= 64);
	labels[id] = (struct hawk_label_record){
		.hash = id + 1000,
		.kind = kind,
		.parent = parent,
		.name_index = NAMES + 8 * id,
		.name_bytes = (uint32_t)strlen(name),
		.entries = 10 * id,
		.total_ns = 100 * id,
	};
	memcpy(&world->heap->table->words[NAMES + 8 * id], name, strlen(name));
	return id;
}

static uint32_t add_trace(struct world *world, uint64_t first, uint32_t count)
{
	uint64_t frames[64];

	for (uint32_t i = 0; i < count; i++)
		frames[i] = first + i;
	return synthetic_heap_add_trace(world->heap, frames, count, 0, 0);
}

/** All of `base`, or no stack if that is 0, with `count` marks. */
static uint32_t mark(struct world *world, uint32_t base, const uint64_t *marks, uint32_t count)
{
	struct hawk_trace_record *traces = world->heap->table->traces;
	uint32_t tail = base ? traces[base].own_count + (uint32_t)traces[base].tail_count : 0;
	uint32_t id = synthetic_heap_add_trace(world->heap, marks, count, base, tail);

	traces[id].flags |= HAWK_TRACE_MARKED;
	return id;
}

#define TABLE_LABELS_TEST(name) TEST_WITH(struct world *world, setup, teardown, name)

TABLE_LABELS_TEST(a_marked_trace_has_the_frames_of_its_base_and_its_labels)
{
	uint32_t outer = add_label(world, HAWK_LABEL_SCOPE, 0, "outer");
	uint32_t inner = add_label(world, HAWK_LABEL_SCOPE, outer, "inner scope");
	uint32_t type = add_label(world, HAWK_LABEL_TYPE, 0, "Node<int>");
	uint32_t base = add_trace(world, 0x100, 3);
	uint32_t marked = mark(world, base,
			       (uint64_t[]){hawk_mark(type, HAWK_MARK_UNPLACED),
					    hawk_mark(inner, 3), hawk_mark(outer, 1)},
			       3);

	open_heap(world);
	assert_true(hawk_table_trace(table, marked, &trace));
	assert_int_equal(trace.frame_count, 3);
	assert_int_equal(trace.frames[0], 0x100);
	assert_int_equal(trace.mark_count, 3);
	assert_int_equal(trace.marks[1].label, inner);
	assert_int_equal(trace.marks[1].frames_outside, 3);
	assert_int_equal(trace.marks[2].frames_outside, 1);
	assert_string_equal(hawk_table_type(table, marked), "Node<int>");
	assert_int_equal(hawk_table_scope(table, marked), inner);
	assert_string_equal(hawk_table_label(table, inner)->name, "inner scope");
	assert_int_equal(hawk_table_label(table, inner)->entries, 10 * inner);
	assert_int_equal(hawk_table_label(table, inner)->depth, 1);
	assert_true(hawk_table_trace(table, base, &trace));
	assert_int_equal(trace.mark_count, 0);
	assert_null(hawk_table_type(table, base));
	assert_int_equal(hawk_table_scope(table, base), 0);
	assert_null(world_finding(world, "table-label-damaged"));
}

TABLE_LABELS_TEST(a_type_needs_no_stack)
{
	uint32_t type = add_label(world, HAWK_LABEL_TYPE, 0, "T");
	uint64_t word = hawk_mark(type, HAWK_MARK_UNPLACED);
	uint32_t marked = mark(world, 0, &word, 1);

	open_heap(world);
	assert_true(hawk_table_trace(table, marked, &trace));
	assert_int_equal(trace.frame_count, 0);
	assert_string_equal(hawk_table_type(table, marked), "T");
}

TABLE_LABELS_TEST(damaged_labels_are_left_out_with_a_finding)
{
	uint32_t good = add_label(world, HAWK_LABEL_SCOPE, 0, "good");
	uint32_t kind = add_label(world, 77, 0, "kind");
	uint32_t later = add_label(world, HAWK_LABEL_SCOPE, 5, "later");
	uint32_t self = add_label(world, HAWK_LABEL_SCOPE, 4, "self");
	uint32_t within_type = add_label(world, HAWK_LABEL_SCOPE, 6, "within a type");
	uint32_t type = add_label(world, HAWK_LABEL_TYPE, 1, "a type in a scope");
	uint32_t far = add_label(world, HAWK_LABEL_SCOPE, 0, "far");
	uint32_t longer = add_label(world, HAWK_LABEL_SCOPE, 0, "longer");
	uint32_t unpublished = add_label(world, HAWK_LABEL_SCOPE, 0, "unpublished");
	uint32_t base = add_trace(world, 0x100, 2);
	uint32_t marked = mark(world, base,
			       (uint64_t[]){hawk_mark(kind, 1), hawk_mark(UINT32_MAX, 1),
					    hawk_mark(good, 2), hawk_mark(good, 40)},
			       4);

	labels[far].name_index = UINT32_MAX - 1;
	labels[longer].name_bytes = UINT32_MAX;
	labels[unpublished].hash = 0;
	open_heap(world);
	assert_non_null(hawk_table_label(table, good));
	assert_null(hawk_table_label(table, kind));
	assert_null(hawk_table_label(table, later));
	assert_null(hawk_table_label(table, self));
	assert_null(hawk_table_label(table, within_type));
	assert_null(hawk_table_label(table, type));
	assert_string_equal(hawk_table_label(table, far)->name, "");
	assert_null(hawk_table_label(table, longer));
	assert_null(hawk_table_label(table, unpublished));
	assert_null(hawk_table_label(table, 0));
	assert_null(hawk_table_label(table, UINT32_MAX));
	assert_non_null(world_finding(world, "table-label-damaged"));
	assert_true(hawk_table_trace(table, marked, &trace));
	assert_int_equal(trace.mark_count, 2);
	assert_int_equal(trace.marks[0].frames_outside, 2);
	assert_int_equal(trace.marks[1].frames_outside, HAWK_MARK_UNPLACED);
	assert_int_equal(hawk_table_scope(table, marked), good);
}

TABLE_LABELS_TEST(damaged_marks_make_a_damaged_trace)
{
	struct hawk_trace_record *traces = world->heap->table->traces;
	uint32_t scope = add_label(world, HAWK_LABEL_SCOPE, 0, "scope");
	uint64_t word = hawk_mark(scope, 1);
	uint64_t no_mark = 0x401000;
	uint32_t base = add_trace(world, 0x100, 2);
	uint32_t marked = mark(world, base, &word, 1);
	uint32_t of_marked = mark(world, marked, &word, 1);
	uint32_t no_marks = mark(world, base, &no_mark, 1);
	uint32_t part = mark(world, base, &word, 1);
	uint32_t none = mark(world, base, &word, 1);
	uint32_t many = mark(world, base, &word, 1);
	uint32_t cycle = mark(world, base, &word, 1);
	uint32_t tail = add_trace(world, 0x200, 1);

	traces[part].tail_count = 1;
	traces[none].own_count = 0;
	traces[many].own_count = HAWK_TRACE_MARKS_MAX + 1;
	traces[cycle].tail_trace = cycle;
	traces[tail].tail_trace = marked; /* marks would become frames */
	traces[tail].tail_count = 3;
	open_heap(world);
	assert_true(hawk_table_trace(table, marked, &trace));
	for (uint32_t id = of_marked; id <= tail; id++) {
		assert_false(hawk_table_trace(table, id, &trace));
		assert_int_equal(hawk_table_scope(table, id), 0);
	}
	assert_int_equal(hawk_table_totals(table).damaged_traces, tail - of_marked + 1);
	assert_true(no_marks > of_marked);
}

TABLE_LABELS_TEST(groups_hold_what_lies_inside_of_them)
{
	uint32_t a = add_label(world, HAWK_LABEL_SCOPE, 0, "a");
	uint32_t b = add_label(world, HAWK_LABEL_SCOPE, a, "b");
	uint32_t c = add_label(world, HAWK_LABEL_SCOPE, b, "c");
	uint32_t base = add_trace(world, 0x100, 2);
	uint64_t in_a = hawk_mark(a, 1), in_c = hawk_mark(c, 1);
	struct hawk_site sites[] = {
		{.trace = mark(world, base, &in_a, 1), .inuse_bytes = 1, .alloc_bytes = 10},
		{.trace = mark(world, base, &in_c, 1), .inuse_bytes = 2, .alloc_bytes = 20},
		{.trace = base, .inuse_bytes = 4, .alloc_bytes = 40},
	};
	struct hawk_heap heap = {.sites = sites, .site_count = 3};
	struct hawk_scope_group *groups;
	struct hawk_text path = {0};
	size_t count;

	open_heap(world);
	heap.table = table;
	assert_null(hawk_scope_groups_make(&heap, (uint32_t[]){0, 1, 2}, 3, HAWK_SITE_SORT_SIZE,
					   &groups, &count));
	assert_int_equal(count, 4);
	assert_int_equal(groups[0].label, 0);
	assert_int_equal(groups[0].inuse_bytes, 4);
	assert_int_equal(groups[1].label, a);
	assert_int_equal(groups[1].inuse_bytes, 3);
	assert_int_equal(groups[1].alloc_bytes, 30);
	assert_int_equal(groups[1].entries, 10 * a);
	assert_int_equal(groups[2].inuse_bytes, 2);
	assert_int_equal(groups[3].inuse_bytes, 2);
	hawk_scope_append_path(&path, table, c);
	assert_string_equal(path.bytes, "a/b/c");
	free(path.bytes);
	free(groups);
}

TABLE_LABELS_TEST(site_ids_tell_scopes_and_types_apart)
{
	uint32_t a = add_label(world, HAWK_LABEL_SCOPE, 0, "name");
	uint32_t b = add_label(world, HAWK_LABEL_SCOPE, 0, "other");
	uint32_t type = add_label(world, HAWK_LABEL_TYPE, 0, "name");
	uint32_t base = add_trace(world, 0x100, 2);
	const uint64_t words[] = {hawk_mark(a, 1), hawk_mark(b, 1), hawk_mark(a, 2),
				  hawk_mark(type, HAWK_MARK_UNPLACED)};
	uint64_t ids[5];

	for (uint32_t i = 0; i < 4; i++)
		mark(world, base, &words[i], 1);
	open_heap(world);
	for (uint32_t i = 0; i < 5; i++) {
		assert_true(hawk_table_trace(table, base + i, &trace));
		ids[i] = hawk_site_id(table, &trace);
		for (uint32_t j = 0; j < i; j++)
			assert_true(ids[i] != ids[j]);
	}
}
