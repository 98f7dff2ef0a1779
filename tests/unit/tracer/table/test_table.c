/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The table: equal stacks get one id, delta-coded records read back as they were written, racing
 * threads never split a stack; the cache of known stacks may forget, but never takes one for
 * another; memory that is kept out of cores is noted.
 */
#include "recorder_world.h"

#include <pthread.h>

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

TEST(equal_stacks_get_the_same_id_and_others_do_not)
{
	struct list a = {{10, 20, 30}, 3}, b = {{10, 20, 31}, 3};
	struct hawk_frames frames_a = frames_of(&a), frames_b = frames_of(&b);
	uint32_t id = hawk_traces_intern(&frames_a);

	assert_int_not_equal(id, 0);
	assert_int_equal(hawk_traces_intern(&frames_a), id);
	assert_int_not_equal(hawk_traces_intern(&frames_b), id);
}

TEST(equal_hashes_of_different_stacks_are_told_apart)
{
	struct list a = {{1, 2, 3, 4}, 4}, b = {{1, 2, 3, 5}, 4}, c = {{1, 2, 3}, 3};
	struct hawk_frames frames_a = frames_of(&a), frames_b = frames_of(&b),
			   frames_c = frames_of(&c);
	uint32_t id_a, id_b, id_c;

	frames_a.hash = frames_b.hash = frames_c.hash = 77;
	id_a = hawk_traces_intern(&frames_a);
	id_b = hawk_traces_intern(&frames_b);
	id_c = hawk_traces_intern(&frames_c);
	assert_true(id_a && id_b && id_c);
	assert_true(id_a != id_b && id_b != id_c && id_a != id_c);
	assert_int_equal(hawk_traces_intern(&frames_b), id_b);
}

/** More than there is room for in the tables that are mapped at start-up. */
TEST(stacks_of_one_hash_fill_one_table_after_the_other)
{
	enum { COUNT = HAWK_TRACES_WAYS * (HAWK_TRACES_TABLES_AT_ONCE + 2) };
	uint32_t ids[COUNT];

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

TEST(generations_keep_equal_program_counters_apart)
{
	struct list a = {{100, 200}, 2};
	struct hawk_frames first = frames_of(&a), second = frames_of(&a);

	second.generation = 1;
	assert_int_not_equal(hawk_traces_intern(&first), hawk_traces_intern(&second));
}

/** A random walk over stacks, each new one delta-coded against the one before. */
TEST(delta_coded_stacks_read_back_whole)
{
	struct list stack = {{1}, 1};
	uint32_t previous = 0, previous_count = 0;

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
TEST(a_stack_that_is_all_tail_still_has_a_frame_of_its_own)
{
	struct list whole = {{51, 52, 53}, 3}, part = {{52, 53}, 2};
	struct hawk_frames frames = frames_of(&whole);
	uint32_t id = hawk_traces_intern(&frames);
	uint64_t back[DEPTH_MAX];

	frames = frames_of(&part);
	frames.tail_trace = id;
	frames.tail_count = 2;
	id = hawk_traces_intern(&frames);
	assert_int_equal(hawk_arena_trace(id)->own_count, 1);
	assert_int_equal(read_back(id, back), 2);
	assert_memory_equal(back, part.pcs, 2 * sizeof(back[0]));
}

/** Leaf calls one after the other from the same place: each is coded against the one before. */
TEST(tails_do_not_lead_through_traces_that_add_nothing)
{
	uint32_t previous = 0;

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

TEST(racing_threads_agree_on_every_id)
{
	pthread_t threads[RACERS];

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

TEST(words_of_one_reservation_never_straddle_segments)
{
	uint32_t index;

	for (int i = 0; i < 20000; i++) {
		uint32_t count = 1 + (uint32_t)rand() % 64;

		assert_true(hawk_arena_reserve_words(count, &index));
		assert_int_equal(hawk_segment_of(index, HAWK_WORD_SEGMENT_LOG2),
				 hawk_segment_of(index + count - 1, HAWK_WORD_SEGMENT_LOG2));
		hawk_arena_words(index)[count - 1] = 1;
	}
}

TEST(the_header_and_its_twin_certify_themselves)
{
	const struct hawk_table_header *header = hawk_table_header;
	const struct hawk_table_header *twin = (const void *)header->twin_address;

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

/* Notes of memory that is kept out of cores. */

static unsigned noted(const struct hawk_table_header *header, uint64_t start, uint64_t end)
{
	unsigned count = 0;

	for (unsigned i = 0; i < HAWK_TABLE_UNDUMPED; i++)
		count += header->undumped[i].start == start && header->undumped[i].end == end;
	return count;
}

TEST(a_range_is_noted_once)
{
	struct hawk_table_header header = {0};

	hawk_undumped_add(&header, 0x1000, 0x9000);
	hawk_undumped_add(&header, 0x1000, 0x9000);
	hawk_undumped_add(&header, 0x2000, 0x3000);
	hawk_undumped_add(&header, 0x8000, 0xa000);
	assert_int_equal(noted(&header, 0x1000, 0x9000), 1);
	assert_int_equal(noted(&header, 0x2000, 0x3000), 0);
	assert_int_equal(noted(&header, 0x8000, 0xa000), 1);
	assert_int_equal(noted(&header, 0, 0), HAWK_TABLE_UNDUMPED - 2);
	assert_int_equal(header.undumped_lost, 0);
}

TEST(what_is_dumped_again_is_taken_back)
{
	struct hawk_table_header header = {0};

	hawk_undumped_add(&header, 0x1000, 0x3000);
	hawk_undumped_add(&header, 0x5000, 0x9000);
	hawk_undumped_remove(&header, 0x1000, 0x8000); /* of the second only a part */
	assert_int_equal(noted(&header, 0x1000, 0x3000), 0);
	assert_int_equal(noted(&header, 0x5000, 0x9000), 1);
	hawk_undumped_add(&header, 0xa000, 0xb000);
	assert_int_equal(header.undumped[0].start, 0xa000);
}

TEST(ranges_without_room_are_counted)
{
	struct hawk_table_header header = {0};

	for (uint64_t i = 1; i <= HAWK_TABLE_UNDUMPED + 3; i++)
		hawk_undumped_add(&header, i << 16, (i << 16) + 0x1000);
	assert_int_equal(header.undumped_lost, 3);
}

/* The cache of known stacks. Comes last: it changes the number of traces. */

/** Two hashes of stack `i`; never 0. */
static uint64_t hash_of(uint64_t i)
{
	return ((i + 1) * UINT64_C(0x9e3779b97f4a7c15)) | 1;
}

static uint64_t check_of(uint64_t i)
{
	return (i + 7) * UINT64_C(0xa0761d6478bd642f);
}

TEST(what_was_added_is_found)
{
	assert_int_equal(hawk_known_find(hash_of(1), check_of(1)), 0);
	hawk_known_add(hash_of(1), check_of(1), 4711);
	assert_int_equal(hawk_known_find(hash_of(1), check_of(1)), 4711);
}

TEST(one_hash_alone_names_no_stack)
{
	hawk_known_add(hash_of(2), check_of(2), 12);
	assert_int_equal(hawk_known_find(hash_of(2), check_of(3)), 0);
	assert_int_equal(hawk_known_find(hash_of(2) + (UINT64_C(1) << 40), check_of(2)), 0);
}

/** A reader may see the first word of one entry and the second of another. */
TEST(halves_of_two_entries_do_not_fit)
{
	const uint64_t hash = hash_of(4), other = hash ^ UINT64_C(1) << 50;
	struct hawk_known_entry *set =
		&hawk_known.entries[(hash & hawk_known.set_mask) * HAWK_KNOWN_WAYS];

	for (unsigned i = 0; i < HAWK_KNOWN_WAYS; i++)
		set[i] = (struct hawk_known_entry){{0, 0}};
	hawk_known_add(hash, check_of(4), 21);
	hawk_known_add(other, check_of(5), 22);
	assert_int_equal(hawk_known_find(other, check_of(5)), 22);
	set[0].words[1] = set[1].words[1];
	assert_int_equal(hawk_known_find(hash, check_of(4)), 0);
	assert_int_equal(hawk_known_find(hash, check_of(5)), 0);
	assert_int_equal(hawk_known_find(other, check_of(5)), 22);
}

TEST(it_grows_with_the_table_and_forgets_little)
{
	unsigned found = 0;

	for (uint32_t i = 10; i < 10 + STACKS; i++) {
		hawk_table_header->trace_count = i;
		hawk_known_add(hash_of(i), check_of(i), i);
	}
	/* Look up again the stacks that were found by fewer bits. */
	for (uint32_t i = 10; i < 10 + STACKS; i++)
		if (!hawk_known_find(hash_of(i), check_of(i)))
			hawk_known_add(hash_of(i), check_of(i), i);
	for (uint32_t i = 10; i < 10 + STACKS; i++) {
		uint32_t trace = hawk_known_find(hash_of(i), check_of(i));

		assert_true(!trace || trace == i);
		found += trace != 0;
	}
	assert_true(found > STACKS / 10 * 7);
	assert_true(hawk_known.set_mask + 1 >= STACKS / HAWK_KNOWN_WAYS);
}
