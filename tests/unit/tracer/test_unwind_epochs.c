/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Code that comes and goes: module generations, invalidation, libraries at the address of others.
 */
#include "unwind_oracle.h"

#include <pthread.h>
#include <sys/mman.h>

static void do_nothing(void)
{
}

static void raise_generation(void)
{
	module_generation++;
	hawk_unwind_note_generation();
}

static struct hawk_walk_result results[4];
static bool same[4];
static uint64_t misses[4];

/** Walks four times from one place, which no compiler can turn into two. */
static NOINLINE void walk_around(void (*event)(void))
{
	void (*volatile events[])(void) = {do_nothing, do_nothing, event, do_nothing};

	volatile int rounds = 4;

	for (int i = 0; i < rounds; i++) {
		events[i]();
		misses[i] = hawk_unwind_stats.rule_misses;
		same[i] = walk_here();
		results[i] = last_result;
		misses[i] = hawk_unwind_stats.rule_misses - misses[i];
	}
}

static void a_new_generation_is_no_longer_the_same_stack(void **state)
{
	(void)state;
	walk_around(raise_generation);
	assert_true(same[1]);
	assert_int_equal(results[1].hash, results[0].hash);
	assert_false(same[2]);
	assert_int_equal(results[2].kept, 0);
	assert_int_equal(results[2].count, results[1].count);
	assert_int_equal(results[2].generation, results[1].generation + 1);
	assert_int_not_equal(results[2].hash, results[1].hash);
	assert_true(same[3]);
	assert_int_equal(results[3].hash, results[2].hash);
}

static void an_invalidation_makes_the_stack_forget(void **state)
{
	(void)state;
	walk_around(hawk_unwind_invalidate);
	assert_true(same[1]);
	assert_false(same[2]);
	assert_int_equal(results[2].kept, 0);
	assert_int_equal(misses[1], 0);
	assert_int_equal(misses[2], results[2].count);
	assert_true(same[3]);
	assert_int_equal(results[3].hash, results[0].hash);
}

/*
 * Two libraries, one after the other, at the same address: their functions differ in the size of
 * their frames. .eh_frame_hdr, .eh_frame and code are written by hand into one page.
 */

enum { CODE_OFFSET = 0x800, EH_FRAME_OFFSET = 0x100 };

static uint8_t *put(uint8_t *at, const void *bytes, size_t size)
{
	memcpy(at, bytes, size);
	return at + size;
}

static uint8_t *put_number(uint8_t *at, int64_t value, size_t size)
{
	return put(at, &value, size);
}

/** void function(void (*callee)(void)): sub $frame, %rsp; call *%rdi; add $frame, %rsp; ret */
static void write_library(uint8_t *page, uint8_t frame)
{
	const uint8_t code[] = {0x48, 0x83, 0xec, frame, 0xff, 0xd7, 0x48, 0x83, 0xc4, frame, 0xc3};
	const uint8_t cie[] = {1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0};
	/* advance 4; def_cfa_offset frame + 8; advance 6; def_cfa_offset 8 */
	const uint8_t program[] = {0x44, 0x0e, (uint8_t)(frame + 8), 0x46, 0x0e, 8, 0};
	uint8_t *hdr = page, *at = page + EH_FRAME_OFFSET;
	uint8_t *fde;

	memset(page, 0, 4096);
	put(page + CODE_OFFSET, code, sizeof(code));
	at = put_number(at, 4 + sizeof(cie), 4);
	at = put_number(at, 0, 4);
	at = put(at, cie, sizeof(cie));
	fde = at;
	at = put_number(at, 4 + 4 + 4 + 1 + sizeof(program), 4);
	at = put_number(at, at - (page + EH_FRAME_OFFSET), 4);
	at = put_number(at, page + CODE_OFFSET - at, 4);
	at = put_number(at, sizeof(code), 4);
	at = put_number(at, 0, 1);
	put(at, program, sizeof(program));
	hdr = put(hdr, (const uint8_t[]){1, 0x1b, 0x03, 0x3b}, 4);
	hdr = put_number(hdr, page + EH_FRAME_OFFSET - hdr, 4);
	hdr = put_number(hdr, 1, 4);
	hdr = put_number(hdr, CODE_OFFSET, 4);
	put_number(hdr, fde - page, 4);
	synthetic_module =
		(struct hawk_code_range){(uint64_t)page, (uint64_t)page + 4096, (uint64_t)page};
}

static uint32_t frames_seen;
static struct hawk_frame_state library_frame, above_library;

static void look(void)
{
	walk_here();
	frames_seen = last_result.count;
	for (uint32_t i = 1; i < last_result.count; i++) {
		const struct hawk_stack_frame *frame = &kept_stack->frames[i];

		if (frame->state.pc < synthetic_module.start ||
		    frame->state.pc >= synthetic_module.end)
			continue;
		library_frame = frame->state;
		above_library = kept_stack->frames[i - 1].state;
		return;
	}
	fail_msg("the library's frame is missing");
}

static NOINLINE void call_library(uint8_t *page, uint8_t frame)
{
	void (*function)(void (*)(void)) = (void (*)(void (*)(void)))(page + CODE_OFFSET);

	above_library.sp = 0;
	function(look);
	assert_int_equal(above_library.sp - library_frame.sp, frame + 8);
	assert_int_equal(last_result.flags, 0);
}

static void a_library_at_the_address_of_another_has_its_own_rules(void **state)
{
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t complete;

	(void)state;
	assert_true(page != MAP_FAILED);
	write_library(page, 8);
	call_library(page, 8);
	complete = frames_seen;
	for (int i = 0; i < 50; i++) {
		uint8_t frame = (uint8_t)(8 + 16 * (i % 6));

		write_library(page, frame);
		hawk_unwind_invalidate();
		call_library(page, frame);
		assert_int_equal(frames_seen, complete);
		call_library(page, frame);
	}
	synthetic_module = (struct hawk_code_range){0};
	munmap(page, 4096);
}

static bool stop_filling;

/** Keeps the cache full of rules of the synthetic library, as fast as it can. */
static void *fill_rules(void *data)
{
	uint64_t pcs[4];
	uint64_t stack[64] = {0};
	struct hawk_frame_state start = {.pc = *(const uint64_t *)data, .sp = (uint64_t)stack};
	struct hawk_walk_result result;

	while (!__atomic_load_n(&stop_filling, __ATOMIC_RELAXED))
		hawk_walk_stateless(&start, pcs, 4, &result);
	return NULL;
}

static void no_stale_rule_survives_a_flush(void **state)
{
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t pc = (uint64_t)page + CODE_OFFSET + 6;
	uint64_t stack[64], pcs[4];
	struct hawk_frame_state start = {.pc = pc, .sp = (uint64_t)stack};
	struct hawk_walk_result result;
	pthread_t thread;

	(void)state;
	write_library(page, 8);
	stop_filling = false;
	assert_int_equal(pthread_create(&thread, NULL, fill_rules, &pc), 0);
	for (int i = 0; i < 2000; i++) {
		uint8_t frame = (uint8_t)(8 + 16 * (i % 6));

		write_library(page, frame);
		hawk_unwind_invalidate();
		for (int j = 0; j < 64; j++)
			stack[j] = (uint64_t)j << 20;
		/* The filler may have read a half-written description: but never one of before. */
		for (int tries = 0;; tries++) {
			hawk_walk_stateless(&start, pcs, 2, &result);
			if (result.count == 2 && pcs[1] == (uint64_t)(frame / 8) << 20)
				break;
			assert_true(tries < 1);
			hawk_unwind_invalidate();
		}
	}
	__atomic_store_n(&stop_filling, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	synthetic_module = (struct hawk_code_range){0};
	munmap(page, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_generation_is_no_longer_the_same_stack),
		cmocka_unit_test(an_invalidation_makes_the_stack_forget),
		cmocka_unit_test(a_library_at_the_address_of_another_has_its_own_rules),
		cmocka_unit_test(no_stale_rule_survives_a_flush),
	};

	return cmocka_run_group_tests(tests, set_up_unwinder, NULL);
}
