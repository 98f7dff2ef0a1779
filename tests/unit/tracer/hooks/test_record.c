/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The recorder in an ordinary process: headers, counters per thread, slots of exited threads,
 * nested calls.
 */
#include "recorder_world.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include "table/clock.h"
#include "table/place.h"

/** Flushed and unflushed counters of one trace, as the analyzer adds them up. */
static struct hawk_counter_entry total_of(uint32_t trace)
{
	struct hawk_counter_entry total = {.trace = trace};
	const struct hawk_trace_record *flushed = hawk_arena_trace(trace);

	total.objects =
		(uint32_t)hawk_counter_objects(flushed->alloc_objects, flushed->alloc_bytes);
	total.bytes = hawk_counter_bytes(flushed->alloc_bytes);
	for (uint32_t i = 0; i < hawk_table_header->thread_count; i++) {
		const struct hawk_head *head = hawk_arena_element(HAWK_ARRAY_THREADS, i);

		for (uint32_t j = 0; j < HAWK_COUNTER_ENTRIES; j++) {
			if (head->counters[j].trace != trace)
				continue;
			total.objects += head->counters[j].objects;
			total.bytes += head->counters[j].bytes;
		}
	}
	return total;
}

TEST(a_sealed_header_is_valid_only_where_it_lies)
{
	_Alignas(16) char memory[96] = {0}, copy[96];

	hawk_header_seal(memory + 32, hawk_header_word0(HAWK_KIND_NEW, 4, 3, 20), 12345);
	assert_true(hawk_header_valid(memory + 32));
	memcpy(copy, memory, sizeof(copy));
	assert_false(hawk_header_valid(copy + 32));
	memmove(memory + 48, memory + 16, 16);
	assert_false(hawk_header_valid(memory + 64));
	assert_true(hawk_header_valid(memory + 32));
}

TEST(an_unsealed_header_is_dead_and_keeps_its_trace)
{
	_Alignas(16) char memory[32] = {0};
	const struct hawk_block_header *header = (const void *)memory;

	hawk_header_seal(memory + 16, hawk_header_word0(HAWK_KIND_MALLOC, 4, 0, 9), 777);
	hawk_header_unseal(memory + 16);
	assert_false(hawk_header_valid(memory + 16));
	assert_true(hawk_header_is_dead(&hawk_table_header->key, header->word1, (uint64_t)header));
	assert_int_equal(hawk_header_trace(header->word1), 777);
}

/** A foreign pointer may begin a mapping, so bytes before it cannot be read. */
TEST(a_pointer_at_the_start_of_a_mapping_is_foreign_and_no_fault)
{
	char *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_int_equal(mprotect(memory, 4096, PROT_NONE), 0);
	assert_false(hawk_header_valid(memory + 4096));
	munmap(memory, 8192);
}

TEST(the_same_call_path_has_one_id_and_counts_add_up)
{
	uint32_t traces[1000];
	struct hawk_counter_entry total;

	/* Nothing else in the loop: a compiler that peels it off makes two call paths. */
	for (int i = 0; i < 1000; i++)
		traces[i] = record(10);
	for (int i = 1; i < 1000; i++)
		assert_int_equal(traces[i], traces[0]);
	assert_int_not_equal(record(1), traces[0]);
	total = total_of(traces[0]);
	assert_int_equal(total.objects, 1000);
	assert_int_equal(total.bytes, 10000);
}

static NOINLINE uint32_t record_deeper(int depth)
{
	uint32_t trace = depth ? record_deeper(depth - 1) : record(1);

	__asm__ volatile("" : "+r"(trace));
	return trace;
}

TEST(evicted_counters_are_flushed_not_lost)
{
	uint32_t traces[400];

	for (int round = 0; round < 3; round++)
		for (int i = 0; i < 400; i++)
			traces[i] = record_deeper(i);
	for (int i = 0; i < 400; i++)
		assert_int_equal(total_of(traces[i]).objects, 3);
}

TEST(what_is_noted_of_traces_that_are_not_there_can_be_forgotten)
{
	struct hawk_head *head = hawk_threads_head(hawk_threads_current());
	uint32_t trace = record(50), later = hawk_table_header->trace_count;

	hawk_counters_flush_all(head);
	hawk_threads_count(hawk_threads_current(), trace, 50);
	head->counters[later % HAWK_COUNTER_ENTRIES] = (struct hawk_counter_entry){later, 7, 70};
	head->frees[later % HAWK_FREE_ENTRIES] = (struct hawk_counter_entry){later, 3, 30};
	head->record.flush = HAWK_FLUSH_PENDING | (uint64_t)later << HAWK_FLUSH_TRACE_SHIFT;
	hawk_counters_forget(head, later);
	assert_int_equal(head->counters[later % HAWK_COUNTER_ENTRIES].trace, 0);
	assert_int_equal(head->counters[later % HAWK_COUNTER_ENTRIES].objects, 0);
	assert_int_equal(head->frees[later % HAWK_FREE_ENTRIES].objects, 0);
	assert_int_equal(head->record.flush, 0);
	assert_int_equal(head->counters[trace % HAWK_COUNTER_ENTRIES].objects, 1);
}

static void *record_in_thread(void *argument)
{
	*(uint32_t *)argument = record(5);
	return NULL;
}

TEST(slots_of_exited_threads_are_used_again_and_keep_their_counts)
{
	uint32_t before = hawk_table_header->thread_count;
	uint32_t trace = 0;

	for (int i = 0; i < 100; i++) {
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, record_in_thread, &trace), 0);
		pthread_join(thread, NULL);
	}
	assert_true(hawk_table_header->thread_count <= before + 1);
	assert_int_equal(total_of(trace).objects, 100);
	assert_int_equal(total_of(trace).bytes, 500);
}

static void *set_late_key(void *key)
{
	pthread_setspecific(*(pthread_key_t *)key, key);
	return NULL;
}

static void record_late(void *data)
{
	(void)data;
	record(1);
}

TEST(threads_that_allocate_only_while_they_exit_share_a_slot)
{
	uint32_t before = hawk_table_header->thread_count;
	pthread_key_t key;

	assert_int_equal(pthread_key_create(&key, record_late), 0);
	for (int i = 0; i < 100; i++) {
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, set_late_key, &key), 0);
		pthread_join(thread, NULL);
	}
	pthread_key_delete(key);
	assert_true(hawk_table_header->thread_count <= before + 1);
}

TEST(a_nested_call_is_recorded_without_touching_the_slot)
{
	struct hawk_slot *slot = hawk_threads_current();
	struct hawk_counter_entry total;
	struct hawk_slot *copy = aligned_alloc(_Alignof(struct hawk_slot), sizeof(*copy));
	struct hawk_hold hold;
	uint32_t nested, plain = 0;

	for (int i = 0; i < 2; i++) {
		slot->hold->busy = i == 0 ? HAWK_BUSY_FOR_SURE : HAWK_IDLE;
		if (i == 0) {
			*copy = *slot;
			hold = *slot->hold;
		}
		plain = record(3);
		if (i == 0) {
			nested = plain;
			assert_memory_equal(copy, slot, sizeof(*copy));
			assert_memory_equal(&hold, slot->hold, sizeof(hold));
		}
	}
	slot->hold->busy = HAWK_IDLE;
	assert_int_not_equal(nested, 0);
	total = total_of(nested);
	assert_int_equal(total.objects + (nested == plain ? 0 : total_of(plain).objects), 2);
	free(copy);
}

TEST(frees_are_counted)
{
	struct hawk_slot *slot = hawk_threads_current();
	const struct hawk_thread_record *thread = &hawk_threads_head(slot)->record;
	uint64_t objects = thread->free_objects, bytes = thread->free_bytes;

	hawk_record_free(0, 100);
	hawk_record_free(0, 23);
	assert_int_equal(thread->free_objects - objects, 2);
	assert_int_equal(thread->free_bytes - bytes, 123);
}

/** Objects of a trace that are not freed, as the analyzer counts them. */
static uint64_t live_of(uint32_t trace)
{
	const struct hawk_trace_record *record = hawk_arena_trace(trace);
	uint64_t freed = hawk_counter_objects(record->free_objects, record->free_bytes);

	for (uint32_t i = 0; i < hawk_table_header->thread_count; i++) {
		const struct hawk_head *head = hawk_arena_element(HAWK_ARRAY_THREADS, i);

		for (uint32_t j = 0; j < HAWK_FREE_ENTRIES; j++)
			if (head->frees[j].trace == trace)
				freed += head->frees[j].objects;
	}
	return (total_of(trace).objects - freed) & ((UINT64_C(1) << HAWK_COUNTER_OBJECTS_BITS) - 1);
}

TEST(frees_are_counted_by_trace_when_asked_for)
{
	uint32_t trace = record(10);
	uint64_t live = live_of(trace);

	hawk_options.live = true;
	hawk_record_free(trace, 10);
	assert_int_equal(live_of(trace), live - 1);
	hawk_counters_flush_all(hawk_threads_head(hawk_threads_current()));
	assert_int_equal(live_of(trace), live - 1);
	hawk_options.live = false;
}

TEST(a_free_that_is_taken_back_was_none)
{
	uint32_t trace = record(10);
	const struct hawk_thread_record *thread =
		&hawk_threads_head(hawk_threads_current())->record;
	uint64_t live = live_of(trace);

	for (int i = 0; i < 2; i++) {
		uint64_t objects = thread->free_objects, bytes = thread->free_bytes;

		hawk_options.live = i;
		hawk_record_free(trace, 10);
		assert_int_equal(thread->free_bytes, bytes + 10);
		hawk_record_free_taken_back(trace, 10);
		assert_int_equal(thread->free_objects, objects);
		assert_int_equal(thread->free_bytes, bytes);
		assert_int_equal(live_of(trace), live);
	}
	hawk_options.live = false;
}

/** Stops a flush before and after its decisive step, as a longjmp would. */
TEST(an_interrupted_flush_is_ended_once)
{
	uint32_t trace = record(7);
	struct hawk_head *head = hawk_threads_head(hawk_threads_current());
	uint32_t at = trace % HAWK_COUNTER_ENTRIES;
	struct hawk_counter_entry total = total_of(trace);
	uint64_t flush = HAWK_FLUSH_PENDING | HAWK_FLUSH_TAG_BIT |
			 (uint64_t)at << HAWK_FLUSH_ENTRY_SHIFT |
			 (uint64_t)trace << HAWK_FLUSH_TRACE_SHIFT;

	head->record.flush = flush;
	hawk_counters_recover(head); /* not applied: the entry still counts */
	assert_int_equal(head->record.flush, 0);
	assert_int_equal(total_of(trace).objects, total.objects);
	head->record.flush = flush | HAWK_FLUSH_APPLIED;
	hawk_counters_add_allocations(trace, head->counters[at].objects, head->counters[at].bytes);
	hawk_counters_recover(head); /* applied: the entry goes */
	assert_int_equal(head->record.flush, 0);
	assert_int_equal(head->counters[at].trace, 0);
	assert_int_equal(total_of(trace).objects, total.objects);
	assert_int_equal(total_of(trace).bytes, total.bytes);
}

TEST(births_follow_the_clock_of_a_slow_thread)
{
	struct timespec pause = {0, 300000000};

	for (int i = 0; i < 1000; i++)
		record(1);
	nanosleep(&pause, NULL);
	for (int i = 0; i < 70; i++)
		record(1);
	assert_true(hawk_table_header->clock_units >= 4);
	assert_int_equal(hawk_clock_birth, hawk_birth_encode(hawk_table_header->clock_units));
}

static NOINLINE uint32_t ping(int depth);

static NOINLINE uint32_t pong(int depth)
{
	uint32_t trace = ping(depth);

	__asm__ volatile("" : "+r"(trace));
	return trace;
}

static NOINLINE uint32_t ping(int depth)
{
	uint32_t trace = depth ? pong(depth - 1) : record(1);

	__asm__ volatile("" : "+r"(trace));
	return trace;
}

TEST(collapsed_recursion_gives_one_trace_for_all_depths)
{
	volatile int rounds = 2; /* one call site: the loop must not be unrolled */
	uint32_t traces[2];

	hawk_options.collapse = 4;
	for (int i = 0; i < rounds; i++)
		traces[i] = ping(5 + 2 * i);
	hawk_options.collapse = 0;
	assert_int_equal(traces[0], traces[1]);
	assert_true(hawk_arena_trace(traces[0])->flags & HAWK_TRACE_COLLAPSED);
	for (int i = 0; i < rounds; i++)
		traces[i] = ping(5 + 2 * i);
	assert_int_not_equal(traces[0], traces[1]);
}

TEST(loaded_modules_are_in_the_log)
{
	struct hawk_code_range range;
	const struct hawk_module_record *record;
	bool found = false;

	hawk_modules_log_all();
	assert_true(hawk_modules_find((uint64_t)&loaded_modules_are_in_the_log, &range));
	assert_false(hawk_modules_find((uint64_t)&range, &range));
	for (uint32_t i = 0; i < hawk_table_header->module_count; i++) {
		record = hawk_arena_element(HAWK_ARRAY_MODULES, i);
		if (!(record->flags & HAWK_MODULE_MAIN))
			continue;
		found = true;
		assert_true(record->start <= (uint64_t)&loaded_modules_are_in_the_log);
		assert_true((uint64_t)&loaded_modules_are_in_the_log < record->end);
		assert_true(record->path_bytes > 0 && record->segment_count > 0);
		assert_int_equal(*(const char *)hawk_arena_words(record->path_index), '/');
	}
	assert_true(found);
}

static uint32_t record_right(uint32_t path, int depth);

/** Records at the end of a path of calls, of which each bit of `path` is one. */
static NOINLINE uint32_t record_left(uint32_t path, int depth)
{
	uint32_t trace = !depth     ? record(1)
			 : path & 1 ? record_right(path >> 1, depth - 1)
				    : record_left(path >> 1, depth - 1);

	__asm__ volatile("" : "+r"(trace));
	return trace;
}

static NOINLINE uint32_t record_right(uint32_t path, int depth)
{
	uint32_t trace = !depth     ? record(1)
			 : path & 1 ? record_right(path >> 1, depth - 1)
				    : record_left(path >> 1, depth - 1);

	__asm__ volatile("" : "+r"(trace));
	return trace;
}

/** Returns the blocks dropped so far. */
static uint64_t count_dropped(void)
{
	uint64_t sum = hawk_table_header->dropped_objects;

	for (uint32_t i = 0; i < hawk_table_header->thread_count; i++) {
		const struct hawk_head *head = hawk_arena_element(HAWK_ARRAY_THREADS, i);

		sum += head->record.dropped_objects;
	}
	return sum;
}

enum {
	PATH_FRAMES = 17,
	FILLING = 1 << 15, /**< more stacks than there is room for */
	DROPPED = 1 << 15,
	KNOWN = 100,
};

static uint32_t paths[FILLING + DROPPED + KNOWN], path_traces[FILLING + DROPPED + KNOWN];

struct after {
	uint64_t walked, dropped;
};

/** Records all paths, up to each end in turn. Nothing is chosen in the loops: see above. */
static void record_paths(const uint32_t *ends, const uint32_t *ends_end, struct after *after)
{
	uint32_t i = 0;

	for (; ends != ends_end; ends++) {
		for (; i < *ends; i++)
			path_traces[i] = record_left(paths[i], PATH_FRAMES);
		*after++ = (struct after){hawk_threads_current()->changed_stacks, count_dropped()};
	}
}

/** Fills the table: from now on there is no room for another stack. Comes last. */
TEST(stacks_that_find_no_room_are_rarely_walked)
{
	const uint32_t ends[] = {FILLING, FILLING + DROPPED, FILLING + DROPPED + KNOWN};
	uint32_t found = 0;
	struct after after[3];

	for (uint32_t i = 0; i < FILLING + DROPPED; i++)
		paths[i] = i;
	for (uint32_t i = 0; i < KNOWN; i++)
		paths[FILLING + DROPPED + i] = 7;
	hawk_place_limit = hawk_place_bytes();
	record_paths(ends, ends + 3, after);
	assert_int_not_equal(path_traces[7], 0);
	for (uint32_t i = FILLING - 1; i < FILLING + DROPPED; i++)
		assert_int_equal(path_traces[i], 0);
	assert_int_equal(after[1].dropped - after[0].dropped, DROPPED);
	assert_in_range(after[1].walked - after[0].walked, DROPPED / 64 - 1, DROPPED / 64 + 1);

	/* One that is known is found after a while, and then always. */
	for (uint32_t i = FILLING + DROPPED; i < FILLING + DROPPED + KNOWN; i++) {
		assert_true(path_traces[i] == path_traces[7] || (!found && !path_traces[i]));
		found += path_traces[i] != 0;
	}
	assert_in_range(found, KNOWN - 63, KNOWN);
	assert_int_equal(after[2].dropped - after[1].dropped, KNOWN - found);
}
