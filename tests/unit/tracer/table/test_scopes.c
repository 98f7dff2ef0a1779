/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Scopes and types in the recorder: open scopes, their places in a stack, their names, and the
 * types of blocks.
 */
#include "recorder_world.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "hooks/annotated.h"

/** As the exported function that the header calls. */
static NOINLINE uint32_t enter(void *object, const char *tag)
{
	struct hawk_frame_state caller = CALLER();
	struct hawk_slot *slot = hawk_threads_current();

	return hawk_scopes_enter(&slot->scopes, &slot->stack, &caller, (uint64_t)object, tag,
				 strlen(tag), &slot->scope_key);
}

static NOINLINE void leave(void *object, uint32_t token)
{
	hawk_scopes_leave(&hawk_thread_slot->scopes, (uint64_t)object, token,
			  &hawk_thread_slot->scope_key);
}

/** "inner outer" */
static const char *tags_of(uint32_t trace)
{
	static char text[1024];
	uint64_t marks[HAWK_TRACE_MARKS_MAX];
	uint32_t count;

	text[0] = '\0';
	hawk_marks_of(trace, marks, &count);
	for (uint32_t i = 0; i < count; i++) {
		const struct hawk_label_record *label = hawk_arena_label(hawk_mark_label(marks[i]));

		sprintf(text + strlen(text), "%s%.*s", i ? " " : "", (int)label->name_bytes,
			(const char *)hawk_arena_words(label->name_index));
	}
	return text;
}

static uint64_t allocations_of(uint32_t trace)
{
	const struct hawk_trace_record *record = hawk_arena_trace(trace);
	uint64_t sum = hawk_counter_objects(record->alloc_objects, record->alloc_bytes);
	const struct hawk_counter_entry *entry =
		&hawk_threads_head(hawk_thread_slot)->counters[trace % HAWK_COUNTER_ENTRIES];

	sum += entry->trace == trace ? entry->objects : 0;
	return sum & ((UINT64_C(1) << HAWK_COUNTER_OBJECTS_BITS) - 1);
}

static int close_scopes(void **state)
{
	struct hawk_slot *slot = hawk_threads_current();

	(void)state;
	hawk_scopes_clear(&slot->scopes, &slot->scope_key);
	return 0;
}

TEST_WITH(void *unused, close_scopes, NULL, the_same_stack_is_another_trace_in_a_scope)
{
	uint32_t traces[3];
	long object;

	for (volatile int i = 0; i < 3; i++) { /* not unrolled: one call of record() */
		uint32_t token = i == 1 ? enter(&object, "tag") : 0;

		traces[i] = record(8);
		if (i == 1)
			leave(&object, token);
	}
	assert_int_equal(traces[0], traces[2]);
	assert_int_not_equal(traces[0], traces[1]);
	assert_string_equal(tags_of(traces[0]), "");
	assert_string_equal(tags_of(traces[1]), "tag");
	assert_int_equal(hawk_arena_trace(traces[1])->tail_trace, traces[0]);
	assert_int_equal(allocations_of(traces[1]), 1);
}

static NOINLINE uint32_t record_in_inner(void)
{
	long object;
	uint32_t token = enter(&object, "inner");
	uint32_t trace = record(16);

	leave(&object, token);
	return trace;
}

TEST_WITH(void *unused, close_scopes, NULL, a_mark_says_how_many_frames_are_outside)
{
	uint64_t marks[HAWK_TRACE_MARKS_MAX];
	uint32_t count, frames, trace, token;
	const struct hawk_trace_record *base;
	long object;

	token = enter(&object, "outer");
	trace = record_in_inner();
	leave(&object, token);
	base = hawk_arena_trace(hawk_marks_of(trace, marks, &count));
	frames = base->own_count + (uint32_t)base->tail_count;
	assert_string_equal(tags_of(trace), "inner outer");
	assert_int_equal(hawk_mark_frames_outside(marks[0]), frames);
	assert_int_equal(hawk_mark_frames_outside(marks[1]), frames - 1);
}

TEST_WITH(void *unused, close_scopes, NULL, leaving_a_scope_closes_those_inside_of_it)
{
	long objects[3];
	uint32_t first, third;

	first = enter(&objects[0], "1");
	enter(&objects[1], "2");
	third = enter(&objects[2], "3");
	leave(&objects[0], first);
	assert_int_equal(hawk_thread_slot->scopes.depth, 0);
	assert_int_equal(hawk_thread_slot->scope_key, 0);
	leave(&objects[2], third); /* as a coroutine would: ignored */
	assert_string_equal(tags_of(record(8)), "");
}

TEST_WITH(void *unused, close_scopes, NULL, a_scope_in_the_place_of_another_ends_it)
{
	long object, other;

	enter(&object, "left by a jump");
	enter(&other, "inside of it");
	enter(&object, "next");
	assert_int_equal(hawk_thread_slot->scopes.depth, 1);
	assert_string_equal(tags_of(record(8)), "next");
}

static NOINLINE void enter_without_leaving(void)
{
	long object[100];

	enter(&object[50], "deep");
	__asm__ volatile("" : : "r"(object) : "memory");
}

TEST_WITH(void *unused, close_scopes, NULL, a_scope_whose_frame_is_gone_does_not_count)
{
	long object;
	uint32_t token;

	enter_without_leaving();
	assert_int_equal(hawk_thread_slot->scopes.depth, 1);
	assert_string_equal(tags_of(record(8)), "");
	token = enter(&object, "here");
	assert_int_equal(hawk_thread_slot->scopes.depth, 1);
	assert_string_equal(tags_of(record(8)), "here");
	leave(&object, token);
}

TEST_WITH(void *unused, close_scopes, NULL, scopes_beyond_the_limit_are_dropped_and_counted)
{
	uint64_t before = hawk_table_header->dropped_scopes;
	long objects[HAWK_SCOPES_DEPTH + 5];
	uint32_t trace;

	for (int i = 0; i < HAWK_SCOPES_DEPTH + 5; i++)
		assert_true(!enter(&objects[i], i % 2 ? "odd" : "even") ==
			    (i >= HAWK_SCOPES_DEPTH));
	assert_int_equal(hawk_table_header->dropped_scopes - before, 5);
	trace = record(8);
	assert_int_equal(hawk_arena_trace(trace)->own_count, HAWK_SCOPES_DEPTH);
}

TEST_WITH(void *unused, close_scopes, NULL, recursion_counts_entries_and_the_outer_time)
{
	struct hawk_label_record *label =
		hawk_arena_label(hawk_labels_intern(HAWK_LABEL_SCOPE, 0, "recursion", 9));
	struct timespec pause = {.tv_nsec = 2000000};
	uint32_t tokens[3];
	long objects[3];

	for (int i = 0; i < 3; i++)
		tokens[i] = enter(&objects[i], "recursion");
	nanosleep(&pause, NULL);
	leave(&objects[2], tokens[2]);
	assert_int_equal(label->total_ns, 0);
	leave(&objects[1], tokens[1]);
	leave(&objects[0], tokens[0]);
	assert_int_equal(label->entries, 3);
	assert_true(label->total_ns >= 2000000);
}

TEST_WITH(void *unused, close_scopes, NULL, names_are_copied_cut_and_told_apart)
{
	char name[1000];
	uint32_t first, longer;

	strcpy(name, "in memory that changes");
	first = hawk_labels_intern(HAWK_LABEL_TYPE, 0, name, strlen(name));
	memset(name, 'x', sizeof(name));
	assert_int_equal(first,
			 hawk_labels_intern(HAWK_LABEL_TYPE, 0, "in memory that changes", 22));
	assert_int_not_equal(first,
			     hawk_labels_intern(HAWK_LABEL_SCOPE, 0, "in memory that changes", 22));
	assert_int_not_equal(first, hawk_labels_intern(HAWK_LABEL_TYPE, 0, "in memory", 9));
	longer = hawk_labels_intern(HAWK_LABEL_TYPE, 0, name, 999);
	assert_int_equal(longer, hawk_labels_intern(HAWK_LABEL_TYPE, 0, name, 256));
	assert_int_equal(hawk_arena_label(longer)->name_bytes, HAWK_LABEL_NAME_BYTES_MAX);
	assert_int_not_equal(hawk_labels_intern(HAWK_LABEL_TYPE, 0, NULL, 0), 0);
}

enum { RACE_NAMES = 500 };

static void *intern_many(void *ids)
{
	for (uint32_t i = 0; i < RACE_NAMES; i++) {
		char name[32];
		int length = sprintf(name, "racing %u", i);
		uint64_t mark;

		((uint32_t *)ids)[i] = hawk_labels_intern(HAWK_LABEL_TYPE, 0, name, (size_t)length);
		mark = hawk_mark(((uint32_t *)ids)[i], HAWK_MARK_UNPLACED);
		((uint32_t *)ids)[RACE_NAMES + i] = hawk_marks_intern(0, &mark, 1);
	}
	return NULL;
}

TEST_WITH(void *unused, close_scopes, NULL, threads_get_the_same_labels_and_traces)
{
	static uint32_t ids[4][2 * RACE_NAMES];
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, intern_many, ids[i]), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_not_equal(ids[0][0], 0);
	for (int i = 1; i < 4; i++)
		assert_memory_equal(ids[0], ids[i], sizeof(ids[0]));
}

TEST_WITH(void *unused, close_scopes, NULL, a_type_moves_the_allocation_to_a_trace_of_its_own)
{
	_Alignas(16) char memory[2][64] = {{0}};
	uint32_t trace = 0;
	uint64_t before;

	for (volatile int i = 0; i < 2; i++) {
		trace = record(40);
		hawk_header_seal(memory[i] + 16, hawk_header_word0(HAWK_KIND_MALLOC, 4, 0, 40),
				 trace);
	}
	before = allocations_of(trace);
	hawk_annotated_set_type(memory[0] + 16, "Wrong", 5);
	hawk_annotated_set_type(memory[0] + 16, "Right", 5);
	hawk_annotated_set_type(memory[1] + 16, "Right", 5);
	hawk_annotated_set_type(memory[1] + 16, "Right", 5);
	hawk_annotated_set_type(memory[1] + 32, "Inside", 6);
	hawk_annotated_set_type(memory[1] + 1, "Odd", 3);
	for (int i = 0; i < 2; i++) {
		uint32_t typed = hawk_header_trace(hawk_header_of(memory[i] + 16)->word1);

		assert_true(hawk_header_valid(memory[i] + 16));
		assert_string_equal(tags_of(typed), "Right");
		assert_int_equal(hawk_arena_trace(typed)->tail_trace, trace);
		assert_int_equal(allocations_of(typed), 2);
	}
	assert_int_equal(allocations_of(trace), before - 2);
}

TEST_WITH(void *unused, close_scopes, NULL, with_only_scopes_nothing_else_has_a_stack)
{
	uint32_t token, inside;
	long object;

	hawk_options.only_scopes = hawk_options.selective = true;
	assert_int_equal(record(8), 0);
	token = enter(&object, "the only one");
	inside = record(8);
	leave(&object, token);
	enter_without_leaving();
	assert_int_equal(record(8), 0);
	hawk_options.only_scopes = hawk_options.selective = false;
	assert_string_equal(tags_of(inside), "the only one");
}
