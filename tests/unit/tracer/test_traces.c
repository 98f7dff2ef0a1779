/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Interning of stacks: equal stacks get one id, delta-coded records read back as they were written,
 * racing threads never split a stack.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "table/arena.h"
#include "table/traces.h"

enum { DEPTH_MAX = 64 };

struct list {
	uint64_t pcs[DEPTH_MAX];
	uint32_t count;
};

static uint64_t list_pc(const struct hawk_frames *self, uint32_t index)
{
	return ((const struct list *)self->frames)->pcs[index];
}

static uint64_t list_hash(const struct list *list)
{
	uint64_t hash = 1;

	for (uint32_t i = 0; i < list->count; i++)
		hash = (hash ^ list->pcs[i]) * UINT64_C(0x9e3779b97f4a7c15) + (hash >> 29);
	return hash | 1;
}

static struct hawk_frames frames_of(const struct list *list)
{
	return (struct hawk_frames){
		.frames = list, .pc = list_pc, .count = list->count, .hash = list_hash(list)};
}

/** Reads a record back the way a reader does: own words, then the outermost frames of the tail,
 * recursively. */
static uint32_t read_back(uint32_t id, uint64_t *pcs)
{
	const struct hawk_trace_record *record = hawk_arena_trace(id);
	uint64_t tail[DEPTH_MAX];
	uint32_t tail_count;

	for (uint32_t i = 0; i < record->own_count; i++)
		pcs[i] = hawk_arena_words(record->word_index)[i];
	if (!record->tail_count)
		return record->own_count;
	assert_true(record->tail_trace < id);
	tail_count = read_back(record->tail_trace, tail);
	assert_true(record->tail_count <= tail_count);
	for (uint32_t i = 0; i < record->tail_count; i++)
		pcs[record->own_count + i] = tail[tail_count - record->tail_count + i];
	return record->own_count + (uint32_t)record->tail_count;
}

static void equal_stacks_get_the_same_id_and_others_do_not(void **state)
{
	struct list a = {{10, 20, 30}, 3}, b = {{10, 20, 31}, 3};
	struct hawk_frames frames_a = frames_of(&a), frames_b = frames_of(&b);
	uint32_t id = hawk_traces_intern(&frames_a);

	(void)state;
	assert_int_not_equal(id, 0);
	assert_int_equal(hawk_traces_intern(&frames_a), id);
	assert_int_not_equal(hawk_traces_intern(&frames_b), id);
}

static void equal_hashes_of_different_stacks_are_told_apart(void **state)
{
	struct list a = {{1, 2, 3, 4}, 4}, b = {{1, 2, 3, 5}, 4}, c = {{1, 2, 3}, 3};
	struct hawk_frames frames_a = frames_of(&a), frames_b = frames_of(&b),
			   frames_c = frames_of(&c);
	uint32_t id_a, id_b, id_c;

	(void)state;
	frames_a.hash = frames_b.hash = frames_c.hash = 77;
	id_a = hawk_traces_intern(&frames_a);
	id_b = hawk_traces_intern(&frames_b);
	id_c = hawk_traces_intern(&frames_c);
	assert_true(id_a && id_b && id_c);
	assert_true(id_a != id_b && id_b != id_c && id_a != id_c);
	assert_int_equal(hawk_traces_intern(&frames_b), id_b);
}

/** More than there is room for in the tables that are mapped at start-up. */
static void stacks_of_one_hash_fill_one_table_after_the_other(void **state)
{
	enum { COUNT = HAWK_TRACES_WAYS * (HAWK_TRACES_TABLES_AT_ONCE + 2) };
	uint32_t ids[COUNT];

	(void)state;
	for (int round = 0; round < 2; round++)
		for (unsigned i = 0; i < COUNT; i++) {
			struct list list = {{500 + i, 20, 30}, 3};
			struct hawk_frames frames = frames_of(&list);
			uint32_t id;

			frames.hash = 4711;
			id = hawk_traces_intern(&frames);
			if (round)
				assert_int_equal(id, ids[i]);
			assert_true(id && (!i || id > ids[i - 1]));
			ids[i] = id;
		}
}

static void generations_keep_equal_program_counters_apart(void **state)
{
	struct list a = {{100, 200}, 2};
	struct hawk_frames first = frames_of(&a), second = frames_of(&a);

	(void)state;
	second.generation = 1;
	assert_int_not_equal(hawk_traces_intern(&first), hawk_traces_intern(&second));
}

/** A random walk over stacks, each new one delta-coded against the one before. */
static void delta_coded_stacks_read_back_whole(void **state)
{
	struct list stack = {{1}, 1};
	uint32_t previous = 0, previous_count = 0;

	(void)state;
	srand(1);
	for (int step = 0; step < 20000; step++) {
		uint32_t keep = previous ? (uint32_t)rand() % (previous_count + 1) : 0;
		uint32_t fresh = 1 + (uint32_t)rand() % 5;
		struct list next = {{0}, 0};
		uint64_t back[DEPTH_MAX];
		struct hawk_frames frames;
		uint32_t id;

		if (keep + fresh > DEPTH_MAX)
			keep = DEPTH_MAX - fresh;
		for (uint32_t i = 0; i < fresh; i++)
			next.pcs[next.count++] = 1000 + (uint64_t)rand() % 7;
		for (uint32_t i = 0; i < keep; i++)
			next.pcs[next.count++] = stack.pcs[previous_count - keep + i];
		frames = frames_of(&next);
		frames.tail_trace = previous;
		frames.tail_count = keep;
		id = hawk_traces_intern(&frames);
		assert_int_not_equal(id, 0);
		assert_int_equal(read_back(id, back), next.count);
		assert_memory_equal(back, next.pcs, next.count * sizeof(back[0]));
		stack = next;
		previous = id;
		previous_count = next.count;
	}
}

/** The new stack is only an outer part of the previous one: nothing is left that would be its own.
 */
static void a_stack_that_is_all_tail_still_has_a_frame_of_its_own(void **state)
{
	struct list whole = {{51, 52, 53}, 3}, part = {{52, 53}, 2};
	struct hawk_frames frames = frames_of(&whole);
	uint32_t id = hawk_traces_intern(&frames);
	uint64_t back[DEPTH_MAX];

	(void)state;
	frames = frames_of(&part);
	frames.tail_trace = id;
	frames.tail_count = 2;
	id = hawk_traces_intern(&frames);
	assert_int_equal(hawk_arena_trace(id)->own_count, 1);
	assert_int_equal(read_back(id, back), 2);
	assert_memory_equal(back, part.pcs, 2 * sizeof(back[0]));
}

/** Leaf calls one after the other from the same place: each is coded against the one before. */
static void tails_do_not_lead_through_traces_that_add_nothing(void **state)
{
	uint32_t previous = 0;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		struct list list = {{UINT64_C(0x600000) + i, 601, 602, 603}, 4};
		struct hawk_frames frames = frames_of(&list);
		const struct hawk_trace_record *record;

		frames.tail_trace = previous;
		frames.tail_count = previous ? 3 : 0;
		previous = hawk_traces_intern(&frames);
		record = hawk_arena_trace(previous);
		assert_true(i == 0 || hawk_arena_trace(record->tail_trace)->tail_count == 0);
	}
}

enum { RACERS = 8, STACKS = 20000 };

static uint32_t raced[RACERS][STACKS];

static void *race(void *argument)
{
	uint32_t *ids = argument;

	for (uint64_t i = 0; i < STACKS; i++) {
		struct list list = {{UINT64_C(0x5000000000) + i, 7, 8}, 3};
		struct hawk_frames frames = frames_of(&list);

		ids[i] = hawk_traces_intern(&frames);
	}
	return NULL;
}

static void racing_threads_agree_on_every_id(void **state)
{
	pthread_t threads[RACERS];

	(void)state;
	for (int i = 0; i < RACERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, race, raced[i]), 0);
	for (int i = 0; i < RACERS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < STACKS; i++) {
		assert_int_not_equal(raced[0][i], 0);
		for (int j = 1; j < RACERS; j++)
			assert_int_equal(raced[j][i], raced[0][i]);
	}
}

static void words_of_one_reservation_never_straddle_segments(void **state)
{
	uint32_t index;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint32_t count = 1 + (uint32_t)rand() % 64;

		assert_true(hawk_arena_reserve_words(count, &index));
		assert_int_equal(hawk_segment_of(index, HAWK_WORD_SEGMENT_LOG2),
				 hawk_segment_of(index + count - 1, HAWK_WORD_SEGMENT_LOG2));
		hawk_arena_words(index)[count - 1] = 1;
	}
}

static void the_header_and_its_twin_certify_themselves(void **state)
{
	const struct hawk_table_header *header = hawk_table_header;
	const struct hawk_table_header *twin = (const void *)header->twin_address;

	(void)state;
	assert_true(header->magic == hawk_table_magic());
	assert_true(header->self_address == (uint64_t)header);
	assert_true(header->check == hawk_table_check(header));
	assert_non_null(twin);
	assert_true(twin->magic == hawk_table_magic());
	assert_true(twin->self_address == (uint64_t)twin);
	assert_true(twin->check == hawk_table_check(twin));
	assert_memory_equal(&twin->key, &header->key, sizeof(header->key));
	assert_true((uint64_t)header < (uint64_t)&the_header_and_its_twin_certify_themselves);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_header_and_its_twin_certify_themselves),
		cmocka_unit_test(equal_stacks_get_the_same_id_and_others_do_not),
		cmocka_unit_test(equal_hashes_of_different_stacks_are_told_apart),
		cmocka_unit_test(stacks_of_one_hash_fill_one_table_after_the_other),
		cmocka_unit_test(generations_keep_equal_program_counters_apart),
		cmocka_unit_test(a_stack_that_is_all_tail_still_has_a_frame_of_its_own),
		cmocka_unit_test(delta_coded_stacks_read_back_whole),
		cmocka_unit_test(tails_do_not_lead_through_traces_that_add_nothing),
		cmocka_unit_test(words_of_one_reservation_never_straddle_segments),
		cmocka_unit_test(racing_threads_agree_on_every_id),
	};

	if (!hawk_arena_init(0, "test") || !hawk_traces_init())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
