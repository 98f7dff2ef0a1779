/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Stacks that cannot be walked to their end, and those that change stacks by words in memory: they
 * cost no more than others once they are known. The code is such as wine and just-in-time compilers
 * without frame pointers have it.
 */
#include "unwind_oracle.h"

#include <sys/mman.h>

#include "unwind/outside.h"

enum { CODE_BYTES = 128 << 10, OTHER_STACK_BYTES = 64 << 10, ROUNDS = 64 };

static struct hawk_walk_result results[ROUNDS];
static bool same[ROUNDS];
static uint64_t probes[ROUNDS];
static uint32_t round_index;

/** Not inlined, so that every round walks from the same place. */
static NOINLINE void walk_once(void)
{
	uint64_t before = hawk_unwind_stats.probes;

	same[round_index] = walk_here();
	results[round_index] = last_result;
	probes[round_index] = hawk_unwind_stats.probes - before;
	NO_TAIL_CALL();
}

typedef void jit_function(void (*callee)(void), uint64_t rbp);

/** A region of its own with: push %rbp; mov %rsi, %rbp; call *%rdi; pop %rbp; ret */
static jit_function *make_code(void)
{
	static const uint8_t code[] = {0x55, 0x48, 0x89, 0xf5, 0xff, 0xd7, 0x5d, 0xc3};
	uint8_t *memory = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		abort();
	memcpy(memory + 64, code, sizeof(code));
	return (jit_function *)(uintptr_t)(memory + 64);
}

static NOINLINE void walk_from(jit_function *code, uint64_t (*rbp)(uint32_t))
{
	volatile uint32_t rounds = ROUNDS;

	for (round_index = 0; round_index < rounds; round_index++)
		code(walk_once, rbp(round_index));
}

static uint64_t zero(uint32_t index)
{
	return 0 * index;
}

static uint64_t odd_number(uint32_t index)
{
	return 2 * index + 1;
}

/** Into the test's own data, which begins no frame. */
static uint64_t any_pointer(uint32_t index)
{
	return (uint64_t)&results[index];
}

static NOINLINE uint64_t into_the_stack(uint32_t index)
{
	return (uint64_t)__builtin_frame_address(0) + 512 + 8 * (index % 64ul) + (index & 1);
}

TEST(a_frame_without_a_way_on_is_remembered)
{
	kept_stack->count = 0;
	walk_from(make_code(), zero);
	assert_int_equal(results[0].flags, HAWK_TRACE_INCOMPLETE);
	for (uint32_t i = 1; i < ROUNDS; i++) {
		assert_true(same[i]);
		assert_int_equal(results[i].hash, results[0].hash);
		assert_int_equal(probes[i], 0);
	}
}

TEST(code_in_which_rbp_never_leads_on_is_tried_no_more)
{
	static uint64_t (*const numbers[])(uint32_t) = {odd_number, any_pointer, into_the_stack};

	for (size_t i = 0; i < COUNT_OF(numbers); i++) {
		kept_stack->count = 0;
		walk_from(make_code(), numbers[i]);
		for (uint32_t round = ROUNDS / 2; round < ROUNDS; round++) {
			assert_true(same[round]);
			assert_int_equal(results[round].flags, HAWK_TRACE_INCOMPLETE);
			assert_int_equal(probes[round], 0);
		}
	}
}

TEST(a_region_is_given_up_tried_again_and_trusted)
{
	const uint64_t pc = UINT64_C(0x123456780000);
	uint32_t tries = 0;

	assert_false(hawk_outside_is_hopeless(pc));
	while (!hawk_outside_is_hopeless(pc)) {
		hawk_outside_note(pc, false);
		tries++;
	}
	assert_in_range(tries, 2, 100);
	assert_true(hawk_outside_is_hopeless(pc + 0xffff));
	assert_false(hawk_outside_is_hopeless(pc + 0x10000));
	for (tries = 0; hawk_outside_is_hopeless(pc); tries++)
		assert_true(tries < 10000);
	hawk_outside_note(pc, false); /* as before */
	assert_true(hawk_outside_is_hopeless(pc));
	assert_false(hawk_outside_is_trusted(pc));
	hawk_outside_note(pc, true);
	assert_true(hawk_outside_is_trusted(pc));
	for (tries = 0; tries < 100; tries++) {
		hawk_outside_note(pc, false);
		assert_false(hawk_outside_is_hopeless(pc));
	}
}

/** Calls rdi on the stack that ends at rsi, and leaves rip, rsp and rbp in words there, which its
 * call frame information finds by rbp. */
__asm__(".text\n.type call_on_other_stack, @function\ncall_on_other_stack:\n.cfi_startproc\n\t"
	"lea 8(%rsp), %rax\n\tmov (%rsp), %rdx\n\t"
	"mov %rbp, -8(%rsi)\n\tmov %rax, -16(%rsi)\n\tmov %rdx, -24(%rsi)\n\t"
	"lea -8(%rsi), %rbp\n\t"
	".cfi_remember_state\n\t"
	".cfi_escape 0x0f, 3, 0x76, 0x78, 6\n\t"
	".cfi_escape 0x10, 7, 2, 0x76, 0x78\n\t"
	".cfi_escape 0x10, 16, 2, 0x76, 0x70\n\t"
	".cfi_escape 0x10, 6, 2, 0x76, 0\n\t"
	"lea -32(%rsi), %rsp\n\tcall *%rdi\n\t"
	"mov -8(%rbp), %rax\n\tmov (%rbp), %rbp\n\tlea -8(%rax), %rsp\n\t"
	".cfi_restore_state\n\tret\n"
	".cfi_endproc\n.size call_on_other_stack, .-call_on_other_stack\n");
extern void call_on_other_stack(void (*function)(void), void *end) __asm__("call_on_other_stack");

static NOINLINE void check_again_and_again(void)
{
	for (volatile int i = 0; i < 4; i++)
		check_here();
}

TEST(registers_in_words_at_rbp_are_proven_by_those_words)
{
	uint8_t *memory = allocate(OTHER_STACK_BYTES);
	uint64_t before;

	check_here(); /* lazy binding may need the full stepper */
	before = hawk_unwind_stats.complex_rules;
	for (volatile int i = 0; i < 3; i++)
		call_on_other_stack(check_again_and_again, memory + OTHER_STACK_BYTES);
	assert_int_equal(hawk_unwind_stats.complex_rules, before);
	free(memory);
}

/** Its CFA is on rcx, which whatever it calls may change. */
__asm__(".text\n.type call_with_lost_frame, @function\ncall_with_lost_frame:\n.cfi_startproc\n\t"
	"sub $8, %rsp\n\tlea 16(%rsp), %rcx\n\t.cfi_def_cfa rcx, 0\n\t"
	"call *%rdi\n\tadd $8, %rsp\n\t.cfi_def_cfa rsp, 8\n\tret\n"
	".cfi_endproc\n.size call_with_lost_frame, .-call_with_lost_frame\n");
extern void call_with_lost_frame(void (*function)(void)) __asm__("call_with_lost_frame");

TEST(a_frame_that_needs_a_lost_register_is_the_last_one)
{
	uint64_t before = hawk_unwind_stats.complex_rules;

	kept_stack->count = 0;
	for (round_index = 0; round_index < ROUNDS; round_index++)
		call_with_lost_frame(walk_once);
	assert_int_equal(results[0].flags, HAWK_TRACE_INCOMPLETE);
	for (uint32_t i = 1; i < ROUNDS; i++) {
		assert_true(same[i]);
		assert_int_equal(results[i].hash, results[0].hash);
	}
	assert_int_equal(hawk_unwind_stats.complex_rules, before);
}
