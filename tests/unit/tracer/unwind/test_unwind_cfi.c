/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Call frame information that is not what compilers write: every byte may be wrong, and nothing
 * outside of the module may be read. And code that comes and goes.
 */
#include "unwind_oracle.h"

#include <pthread.h>
#include <sys/mman.h>

#include "unwind/cfi.h"
#include "unwind/rules.h"
#include "unwind/unwind_full.h"
#include "unwind/walk.h"

enum { PAGE_BYTES = 4096, CODE_OFFSET = 0, CODE_BYTES = 64 };

/** A module of one page between two that cannot be read. */
static uint8_t *page;

static const uint8_t usual_cie[] = {1,    'z',  'R', 0, 1,    0x78, 16, 1,
				    0x1b, 0x0c, 7,   8, 0x90, 1,    0,  0};
static const uint8_t usual_program[] = {0x44, 0x0e, 48, 0x86, 2,    0x48,
					0x0a, 0x0e, 8,  0x44, 0x0b, 0};

static int set_up_page(void **state)
{
	page = mmap(NULL, 3 * PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED ||
	    mprotect(page + PAGE_BYTES, PAGE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC))
		return -1;
	page += PAGE_BYTES;
	return set_up_unwinder(state);
}

__attribute__((constructor)) static void add_page(void)
{
	test_add_group(set_up_page, NULL);
}

static void put_number(uint8_t *at, int64_t value, size_t size)
{
	memcpy(at, &value, size);
}

/**
 * Writes .eh_frame_hdr, CIE and FDE so that they end with the page: whatever is read beyond faults.
 * Returns where they begin.
 */
static uint8_t *write_module(const uint8_t *cie, size_t cie_size, const uint8_t *program,
			     size_t program_size)
{
	uint8_t *fde = page + PAGE_BYTES - (4 + 4 + 4 + 4 + 1 + program_size);
	uint8_t *cie_at = fde - (8 + cie_size);
	uint8_t *hdr = cie_at - 20;

	memset(page, 0, PAGE_BYTES);
	put_number(cie_at, (int64_t)(4 + cie_size), 4);
	memcpy(cie_at + 8, cie, cie_size);
	put_number(fde, (int64_t)(4 + 4 + 4 + 1 + program_size), 4);
	put_number(fde + 4, fde + 4 - cie_at, 4);
	put_number(fde + 8, page + CODE_OFFSET - (fde + 8), 4);
	put_number(fde + 12, CODE_BYTES, 4);
	memcpy(fde + 17, program, program_size);
	memcpy(hdr, (const uint8_t[]){1, 0x1b, 0x03, 0x3b}, 4);
	put_number(hdr + 4, cie_at - (hdr + 4), 4);
	put_number(hdr + 8, 1, 4);
	put_number(hdr + 12, page + CODE_OFFSET - hdr, 4);
	put_number(hdr + 16, fde - hdr, 4);
	synthetic_module = (struct hawk_code_range){(uint64_t)page, (uint64_t)page + PAGE_BYTES,
						    (uint64_t)hdr};
	return hdr;
}

static uint32_t rule_at(unsigned offset)
{
	hawk_unwind_invalidate();
	return hawk_rules_make((uint64_t)page + CODE_OFFSET + offset, true);
}

TEST(rows_follow_the_program_counter)
{
	write_module(usual_cie, sizeof(usual_cie), usual_program, sizeof(usual_program));
	assert_int_equal(hawk_rule_kind(rule_at(0)), HAWK_RULE_SP);
	assert_int_equal(hawk_rule_cfa(rule_at(0)), 8);
	assert_int_equal(hawk_rule_bp(rule_at(3)), 0);
	assert_int_equal(hawk_rule_cfa(rule_at(4)), 48);
	assert_int_equal(hawk_rule_bp(rule_at(4)), 16);
	assert_int_equal(hawk_rule_cfa(rule_at(12)), 8);  /* remembered ... */
	assert_int_equal(hawk_rule_cfa(rule_at(16)), 48); /* ... and restored */
	assert_int_equal(hawk_rule_kind(rule_at(CODE_BYTES - 1)), HAWK_RULE_SP);
	assert_int_equal(hawk_rule_kind(rule_at(CODE_BYTES)), HAWK_RULE_NO_CFI);
}

TEST(a_return_address_is_looked_up_one_byte_before)
{
	uint64_t pc = (uint64_t)page + CODE_OFFSET + 4;

	write_module(usual_cie, sizeof(usual_cie), usual_program, sizeof(usual_program));
	hawk_unwind_invalidate();
	assert_int_equal(hawk_rule_cfa(hawk_rules_make(pc, false)), 8);
	assert_int_equal(hawk_rule_cfa(hawk_rules_make(pc, true)), 48);
	assert_int_equal(hawk_rule_cfa(hawk_rules_lookup(pc, false)), 8);
	assert_int_equal(hawk_rule_cfa(hawk_rules_lookup(pc, true)), 48);
}

/** As many rules as there are program counters in a page. */
TEST(rules_that_fill_a_table_are_found_in_the_next)
{
	enum { LAST = 1000 };
	uint64_t first_table = hawk_rules_table;

	write_module(usual_cie, sizeof(usual_cie), usual_program, sizeof(usual_program));
	hawk_unwind_invalidate();
	for (uint64_t pc = (uint64_t)page + 16; pc < (uint64_t)page + PAGE_BYTES; pc++) {
		uint32_t rule = hawk_rules_make(pc, true);

		if (hawk_rules_table == first_table)
			assert_int_equal(hawk_rules_lookup(pc, true), rule);
	}
	assert_int_not_equal(hawk_rules_table, first_table);
	for (uint64_t pc = (uint64_t)page + PAGE_BYTES - LAST; pc < (uint64_t)page + PAGE_BYTES;
	     pc++)
		assert_int_not_equal(hawk_rules_lookup(pc, true), 0);
	hawk_unwind_invalidate();
	for (uint64_t pc = (uint64_t)page + 16; pc < (uint64_t)page + PAGE_BYTES; pc++)
		assert_int_equal(hawk_rules_lookup(pc, true), 0);
}

/** The rule at the function's first byte under a CIE that ends with `instructions`. */
static uint32_t rule_of(const uint8_t *instructions, size_t size)
{
	uint8_t program[64] = {0};

	memcpy(program, instructions, size);
	write_module(usual_cie, sizeof(usual_cie), program, sizeof(program));
	return rule_at(1);
}

#define RULE_OF(...) rule_of((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

TEST(every_shape_has_its_kind)
{
	uint32_t rule;

	/* def_cfa rbp, 16; rbp at CFA - 16 */
	rule = RULE_OF(0x0c, 6, 16, 0x86, 2);
	assert_int_equal(hawk_rule_kind(rule), HAWK_RULE_BP);
	assert_int_equal(hawk_rule_signed_cfa(rule), 16);
	assert_int_equal(hawk_rule_bp(rule), 16);
	/* CFA = *(rbp - 8), rbp at rbp + 0 */
	rule = RULE_OF(0x0f, 3, 0x76, 0x78, 6, 0x10, 6, 2, 0x76, 0);
	assert_int_equal(hawk_rule_kind(rule), HAWK_RULE_BP_DEREF);
	assert_int_equal(hawk_rule_signed_cfa(rule), (uint64_t)-8);
	assert_int_equal(hawk_rule_signed_bp(rule), 0);
	/* CFA = rsp + 512 KiB; CFA = rsp + 8 MiB - 16, rbp at CFA - 48, at CFA - 64 */
	rule = RULE_OF(0x0e, 0x80, 0x80, 0x20);
	assert_int_equal(hawk_rule_kind(rule), HAWK_RULE_SP_FAR);
	assert_int_equal(hawk_rule_far_cfa(rule), 512 << 10);
	assert_int_equal(hawk_rule_far_bp(rule), 0);
	rule = RULE_OF(0x0e, 0xf0, 0xff, 0xff, 0x03, 0x86, 6);
	assert_int_equal(hawk_rule_kind(rule), HAWK_RULE_SP_FAR);
	assert_int_equal(hawk_rule_far_cfa(rule), (8 << 20) - 16);
	assert_int_equal(hawk_rule_far_bp(rule), 48);
	rule = RULE_OF(0x0e, 0xf0, 0xff, 0xff, 0x03, 0x86, 8);
	assert_int_equal(hawk_rule_kind(rule), HAWK_RULE_COMPLEX);
	/* CFA and rsp = *(rbp - 16), rip at rbp - 40, rbp at rbp + 0: wine's system calls */
	rule = RULE_OF(0x0f, 3, 0x76, 0x70, 6, 0x10, 7, 2, 0x76, 0x70, 0x10, 16, 2, 0x76, 0x58,
		       0x10, 6, 2, 0x76, 0);
	assert_int_equal(hawk_rule_kind(rule), HAWK_RULE_COMPLEX);
	assert_true(rule & HAWK_RULE_SAVED);
	assert_int_equal(hawk_rule_saved_at(rule, HAWK_RULE_SAVED_RSP), (uint64_t)-16);
	assert_int_equal(hawk_rule_saved_at(rule, HAWK_RULE_SAVED_RIP), (uint64_t)-40);
	assert_int_equal(hawk_rule_saved_at(rule, HAWK_RULE_SAVED_RBP), 0);
	/* rsp is elsewhere; rip is too far */
	rule = RULE_OF(0x0f, 3, 0x76, 0x70, 6, 0x10, 7, 2, 0x76, 0, 0x10, 16, 2, 0x76, 0x58, 0x10,
		       6, 2, 0x76, 0);
	assert_int_equal(rule, HAWK_RULE_COMPLEX);
	rule = RULE_OF(0x0f, 3, 0x76, 0x70, 6, 0x10, 16, 3, 0x76, 0x80, 4, 0x10, 6, 2, 0x76, 0);
	assert_int_equal(rule, HAWK_RULE_COMPLEX);
	/* rip undefined */
	assert_int_equal(hawk_rule_kind(RULE_OF(0x07, 16)), HAWK_RULE_OUTERMOST);
	/* The PLT's expression, here at byte 1 of 16: CFA = rsp + 8. */
	rule = RULE_OF(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
	assert_int_equal(hawk_rule_kind(rule), HAWK_RULE_SP);
	assert_int_equal(hawk_rule_cfa(rule), 8);
	rule = rule_at(11);
	assert_int_equal(hawk_rule_kind(rule), HAWK_RULE_SP);
	assert_int_equal(hawk_rule_cfa(rule), 16);
}

TEST(what_does_not_fit_is_complex_and_never_rounded)
{
	/* CFA on rbx; CFA = rsp + 12; CFA = rsp + 512 KiB + 8, + 8 MiB; CFA = rsp + 0 */
	assert_int_equal(hawk_rule_kind(RULE_OF(0x0c, 3, 16)), HAWK_RULE_COMPLEX);
	assert_int_equal(hawk_rule_kind(RULE_OF(0x0e, 12)), HAWK_RULE_COMPLEX);
	assert_int_equal(hawk_rule_kind(RULE_OF(0x0e, 0x88, 0x80, 0x20)), HAWK_RULE_COMPLEX);
	assert_int_equal(hawk_rule_kind(RULE_OF(0x0e, 0x80, 0x80, 0x80, 0x04)), HAWK_RULE_COMPLEX);
	assert_int_equal(hawk_rule_cfa(RULE_OF(0x0e, 0xf8, 0xff, 0x1f)), 0x7fff8);
	assert_int_equal(hawk_rule_kind(RULE_OF(0x0e, 0)), HAWK_RULE_COMPLEX);
	/* rip at CFA - 16; rbp in rax; rbp at CFA - 8192; rbp at CFA + 0 */
	assert_int_equal(hawk_rule_kind(RULE_OF(0x90, 2)), HAWK_RULE_COMPLEX);
	assert_int_equal(hawk_rule_kind(RULE_OF(0x09, 6, 0)), HAWK_RULE_COMPLEX);
	assert_int_equal(hawk_rule_kind(RULE_OF(0x86, 0x80, 0x08)), HAWK_RULE_COMPLEX);
	assert_int_equal(hawk_rule_kind(RULE_OF(0x86, 0)), HAWK_RULE_COMPLEX);
	/* rsp restored from memory; CFA = *(rbp + 4); another expression */
	assert_int_equal(hawk_rule_kind(RULE_OF(0x87, 3)), HAWK_RULE_COMPLEX);
	assert_int_equal(hawk_rule_kind(RULE_OF(0x0f, 3, 0x76, 4, 6, 0x10, 6, 2, 0x76, 0)),
			 HAWK_RULE_COMPLEX);
	assert_int_equal(hawk_rule_kind(RULE_OF(0x0f, 2, 0x73, 8)), HAWK_RULE_COMPLEX);
}

TEST(broken_programs_are_no_information)
{
	uint8_t endless[64];

	/* restore_state without remember_state; an unknown instruction; CFA on register 99 */
	assert_int_equal(hawk_rule_kind(RULE_OF(0x0b)), HAWK_RULE_NO_CFI);
	assert_int_equal(hawk_rule_kind(RULE_OF(0x3f)), HAWK_RULE_NO_CFI);
	assert_int_equal(hawk_rule_kind(RULE_OF(0x0c, 99, 8)), HAWK_RULE_NO_CFI);
	/* nine times remember_state; a block longer than the program; an endless LEB128 */
	assert_int_equal(hawk_rule_kind(RULE_OF(10, 10, 10, 10, 10, 10, 10, 10, 10)),
			 HAWK_RULE_NO_CFI);
	assert_int_equal(hawk_rule_kind(RULE_OF(0x0f, 0x7f)), HAWK_RULE_NO_CFI);
	memset(endless, 0xff, sizeof(endless));
	endless[0] = 0x0e;
	assert_int_equal(hawk_rule_kind(rule_of(endless, sizeof(endless))), HAWK_RULE_NO_CFI);
}

/** Everything that can be asked about the module, with registers that point nowhere. */
static void ask_everything(void)
{
	struct hawk_readable_range range = {0};
	struct hawk_scratch *scratch = hawk_scratch_take();
	struct hawk_registers registers = {.known = 0x1ffff, .exact = true};
	uint64_t stack[64];

	for (unsigned i = 0; i < HAWK_CFI_REGISTERS; i++)
		registers.value[i] = (uint64_t)stack + 8 * i;
	for (unsigned i = 0; i < 64; i++)
		stack[i] = (uint64_t)stack + i;
	for (unsigned offset = 0; offset < CODE_BYTES; offset += 7) {
		registers.value[HAWK_CFI_RIP] = (uint64_t)page + CODE_OFFSET + offset;
		rule_at(offset);
		hawk_walk_enter_stack(&range, (uint64_t)stack);
		hawk_unwind_full_step(&range, scratch, &registers, &scratch->full.caller);
	}
	hawk_scratch_give(scratch);
}

TEST(any_single_byte_may_be_anything)
{
	static const uint8_t program[] = {
		0x0f, 4, 0x76, 0x78, 6,    0x06, 0x44, 0x0e, 48,   0x86, 2,    0x0a, 0x16, 3, 3,
		0x73, 8, 0x22, 0x48, 0x0b, 0x10, 12,   2,    0x7c, 0x10, 0x44, 0x02, 3,    0};
	uint8_t *start = write_module(usual_cie, sizeof(usual_cie), program, sizeof(program));

	ask_everything();
	for (uint8_t *at = start; at < page + PAGE_BYTES; at++) {
		uint8_t right = *at;

		for (unsigned value = 0; value < 256; value++) {
			*at = (uint8_t)value;
			ask_everything();
		}
		*at = right;
	}
}

TEST(any_bytes_may_be_anything)
{
	for (int round = 0; round < 30000; round++) {
		uint8_t program[96];
		uint8_t *start;

		for (size_t i = 0; i < sizeof(program); i++)
			program[i] = (uint8_t)next_random();
		start = write_module(usual_cie, sizeof(usual_cie), program,
				     1 + next_random() % sizeof(program));
		for (uint32_t i = next_random() % 4; i > 0; i--)
			start[next_random() % (uint32_t)(page + PAGE_BYTES - start)] =
				(uint8_t)next_random();
		ask_everything();
	}
}

TEST(a_header_outside_of_the_module_is_ignored)
{
	static const int64_t places[] = {-1, PAGE_BYTES - 1, PAGE_BYTES, PAGE_BYTES - 11};

	for (size_t i = 0; i < COUNT_OF(places); i++) {
		write_module(usual_cie, sizeof(usual_cie), usual_program, sizeof(usual_program));
		synthetic_module.eh_frame_hdr = (uint64_t)page + (uint64_t)places[i];
		assert_int_equal(hawk_rule_kind(rule_at(4)), HAWK_RULE_NO_CFI);
	}
	synthetic_module.eh_frame_hdr = 0;
	assert_int_equal(hawk_rule_kind(rule_at(4)), HAWK_RULE_NO_CFI);
}

/** Evaluates an expression with rax .. r15 = 1000, 1001 ...; UINT64_MAX for failure. */
static uint64_t value_of(const uint8_t *bytes, size_t size)
{
	static struct hawk_cfi_evaluation evaluation;
	uint64_t registers[HAWK_CFI_REGISTERS];
	struct hawk_readable_range range = {0};
	uint64_t result;

	for (unsigned i = 0; i < HAWK_CFI_REGISTERS; i++)
		registers[i] = 1000 + i;
	evaluation.registers = registers;
	evaluation.known = 0x1fffe;
	evaluation.range = &range;
	evaluation.depth = 0;
	return hawk_cfi_evaluate(&evaluation, (struct hawk_cfi_block){bytes, size}, &result)
		       ? result
		       : UINT64_MAX;
}

#define VALUE_OF(...)                                                                              \
	value_of((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

TEST(operations_compute)
{
	assert_int_equal(VALUE_OF(0x30 + 7), 7);
	assert_int_equal(VALUE_OF(0x08, 200), 200);
	assert_int_equal(VALUE_OF(0x09, 200), (uint64_t)-56);
	assert_int_equal(VALUE_OF(0x0b, 0xfe, 0xff), (uint64_t)-2);
	assert_int_equal(VALUE_OF(0x10, 0x80, 1), 128);
	assert_int_equal(VALUE_OF(0x11, 0x7f, 0x1f), 1);
	assert_int_equal(VALUE_OF(0x73, 5), 1008);
	assert_int_equal(VALUE_OF(0x92, 15, 0x7b), 1010);
	assert_int_equal(VALUE_OF(0x39, 0x34, 0x1c), 5);
	assert_int_equal(VALUE_OF(0x39, 0x34, 0x22), 13);
	assert_int_equal(VALUE_OF(0x39, 0x34, 0x1e), 36);
	assert_int_equal(VALUE_OF(0x39, 0x34, 0x1b), 2);
	assert_int_equal(VALUE_OF(0x39, 0x34, 0x1d), 1);
	assert_int_equal(VALUE_OF(0x31, 0x34, 0x24), 16);
	assert_int_equal(VALUE_OF(0x09, 0xf0, 0x32, 0x26), (uint64_t)-4);
	assert_int_equal(VALUE_OF(0x39, 0x34, 0x16, 0x1c), (uint64_t)-5);
	assert_int_equal(VALUE_OF(0x31, 0x32, 0x33, 0x17, 0x1c), (uint64_t)-1);
	assert_int_equal(VALUE_OF(0x31, 0x32, 0x15, 1), 1);
	assert_int_equal(VALUE_OF(0x39, 0x34, 0x2a), 1);
	assert_int_equal(VALUE_OF(0x39, 0x34, 0x2d), 0);
	assert_int_equal(VALUE_OF(0x35, 0x31, 0x28, 1, 0, 0x1f, 0x23, 3), 8);
	assert_int_equal(VALUE_OF(0x35, 0x30, 0x28, 1, 0, 0x1f), (uint64_t)-5);
}

TEST(hopeless_expressions_fail)
{
	assert_int_equal(value_of(NULL, 0), UINT64_MAX);
	assert_int_equal(VALUE_OF(0x22), UINT64_MAX);                   /* nothing to add */
	assert_int_equal(VALUE_OF(0x70, 0), UINT64_MAX);                /* rax is not known */
	assert_int_equal(VALUE_OF(0x31, 0x30, 0x1b), UINT64_MAX);       /* 1 / 0 */
	assert_int_equal(VALUE_OF(0x31, 0x06), UINT64_MAX);             /* *1 */
	assert_int_equal(VALUE_OF(0x31, 0x2f, 0xfd, 0xff), UINT64_MAX); /* for ever */
	assert_int_equal(VALUE_OF(0x31, 0x2f, 0x01, 0x00), UINT64_MAX); /* out of the block */
	assert_int_equal(VALUE_OF(0x31, 0x12, 0x2f, 0xfc, 0xff), UINT64_MAX);
	assert_int_equal(VALUE_OF(0x31, 0xff), UINT64_MAX);
	assert_int_equal(VALUE_OF(0x0e, 1, 2, 3), UINT64_MAX);
}

TEST(frame_pointers_are_followed_while_they_make_sense)
{
	uint64_t stack[32] = {0}, pcs[8];
	struct hawk_frame_state start = {0x400000, (uint64_t)&stack[0], (uint64_t)&stack[4]};
	/* Four return addresses: code of this program. */
	const uint64_t code = (uint64_t)hopeless_expressions_fail;
	struct hawk_walk_result result;

	hawk_unwind_options.mode = HAWK_UNWIND_FP;
	stack[4] = (uint64_t)&stack[10];
	stack[5] = code + 1;
	stack[10] = (uint64_t)&stack[20];
	stack[11] = code + 2;
	hawk_walk_stateless(&start, pcs, 8, &result);
	assert_int_equal(result.count, 3);
	assert_int_equal(pcs[1], code + 1);
	assert_int_equal(pcs[2], code + 2);
	assert_int_equal(result.flags, 0); /* the third returns to 0 */
	stack[21] = code + 3;
	stack[20] = (uint64_t)&stack[10]; /* inwards: no */
	hawk_walk_stateless(&start, pcs, 8, &result);
	assert_int_equal(result.count, 4);
	assert_int_equal(result.flags, HAWK_TRACE_INCOMPLETE);
	stack[20] = (uint64_t)&stack[24] + 1; /* misaligned: no */
	hawk_walk_stateless(&start, pcs, 8, &result);
	assert_int_equal(result.count, 4);
	stack[20] = (uint64_t)stack + (1 << 30); /* far away: no */
	assert_false(hawk_walk(kept_stack, &start, &result));
	assert_int_equal(result.count, 4);
	/* How the end was found is not proven by words: it is tried again, and ends there again. */
	assert_true(hawk_walk(kept_stack, &start, &result));
	assert_int_equal(result.kept, 4);
	stack[20] = (uint64_t)&stack[24];
	stack[25] = code + 4;
	assert_false(hawk_walk(kept_stack, &start, &result));
	assert_int_equal(result.count, 5);
	assert_int_equal(result.flags, HAWK_TRACE_INCOMPLETE);
	stack[25] = (uint64_t)&stack[0]; /* no code: rbp was used for something else */
	assert_false(hawk_walk(kept_stack, &start, &result));
	assert_int_equal(result.count, 4);
	hawk_unwind_options.mode = HAWK_UNWIND_CFI;
}

/* Code that comes and goes: module generations, invalidation, libraries at the address of others.
 */

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

TEST(a_new_generation_is_no_longer_the_same_stack)
{
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

TEST(an_invalidation_makes_the_stack_forget)
{
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
 * their frames.
 */

/** void function(void (*callee)(void)): sub $frame, %rsp; call *%rdi; add $frame, %rsp; ret */
static void write_library(uint8_t frame)
{
	const uint8_t code[] = {0x48, 0x83, 0xec, frame, 0xff, 0xd7, 0x48, 0x83, 0xc4, frame, 0xc3};
	/* advance 4; def_cfa_offset frame + 8; advance 6; def_cfa_offset 8 */
	const uint8_t program[] = {0x44, 0x0e, (uint8_t)(frame + 8), 0x46, 0x0e, 8};

	write_module(usual_cie, sizeof(usual_cie), program, sizeof(program));
	memcpy(page + CODE_OFFSET, code, sizeof(code));
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

static NOINLINE void call_library(uint8_t frame)
{
	void (*function)(void (*)(void)) = (void (*)(void (*)(void)))(page + CODE_OFFSET);

	above_library.sp = 0;
	function(look);
	assert_int_equal(above_library.sp - library_frame.sp, frame + 8);
	assert_int_equal(last_result.flags, 0);
}

TEST(a_library_at_the_address_of_another_has_its_own_rules)
{
	uint32_t complete;

	write_library(8);
	call_library(8);
	complete = frames_seen;
	for (int i = 0; i < 50; i++) {
		uint8_t frame = (uint8_t)(8 + 16 * (i % 6));

		write_library(frame);
		hawk_unwind_invalidate();
		call_library(frame);
		assert_int_equal(frames_seen, complete);
		call_library(frame);
	}
	synthetic_module = (struct hawk_code_range){0};
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

TEST(no_stale_rule_survives_a_flush)
{
	uint64_t pc = (uint64_t)page + CODE_OFFSET + 6;
	uint64_t stack[64], pcs[4];
	struct hawk_frame_state start = {.pc = pc, .sp = (uint64_t)stack};
	struct hawk_walk_result result;
	pthread_t thread;

	write_library(8);
	stop_filling = false;
	assert_int_equal(pthread_create(&thread, NULL, fill_rules, &pc), 0);
	for (int i = 0; i < 2000; i++) {
		uint8_t frame = (uint8_t)(8 + 16 * (i % 6));

		write_library(frame);
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
}
