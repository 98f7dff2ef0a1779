/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Rules to step over one frame, in 25 bits each, and their global cache by program counter.
 *
 *      63                                     25 24     19 18                    3 2    0
 *     +-----------------------------------------+---------+-----------------------+------+
 *     | tag: low 39 of the 48 bits of the mixed | rbp     | cfa                   | kind |
 *     | program counter                         | 8 bytes | 8 bytes               |      |
 *     +-----------------------------------------+---------+-----------------------+------+
 *
 * The program counter and the "exact" bit, 48 bits, are multiplied by an odd number modulo 2^48,
 * which is reversible: the high 9 bits or more choose a set of four words, the others are the tag.
 * So a matching word is always the right one. A word is read and written at once, so it needs no
 * further consistency.
 *
 * Most programs have a few hundred rules, compilers ten thousand. So there are three tables of 512,
 * 4,096 and 16,384 sets, each indexed by as many bits of the mixed program counter as it needs.
 * When one is more than half full, the next comes into use and rules are made again.
 *
 * Example: at a return address in a function that pushed rbp and made room for 32 bytes, CFA =
 * rsp + 48 and rbp is saved at CFA - 16: kind HAWK_RULE_SP, cfa 6, rbp 2.
 */
#ifndef HAWK_TRACER_UNWIND_RULES_H
#define HAWK_TRACER_UNWIND_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HAWK_RULES_SETS_LOG2_MIN = 9, /**< the tag holds what this leaves of 48 bits */
	HAWK_RULES_SETS_LOG2_NEXT = 12,
	HAWK_RULES_SETS_LOG2_MAX = 14,
	HAWK_RULES_WAYS = 4,
	HAWK_RULES_BYTES_MIN = 8 * HAWK_RULES_WAYS << HAWK_RULES_SETS_LOG2_MIN, /**< 16 KiB */
	/** All tables, 656 KiB; touched as needed. */
	HAWK_RULES_BYTES = HAWK_RULES_BYTES_MIN * (1 + 8 + 32),
	HAWK_RULE_BITS = 25,
};

enum hawk_rule_kind {
	HAWK_RULE_SP_FAR = 0, /**< as HAWK_RULE_SP, for frames above 512 KiB. All bits 0: no rule
				 (an empty word, or no memory to make one) */
	HAWK_RULE_SP,         /**< CFA = rsp + cfa; rbp at CFA - rbp, or unchanged with 0 */
	HAWK_RULE_BP,         /**< CFA = rbp + cfa (signed); rbp at CFA - rbp, or unchanged */
	HAWK_RULE_BP_DEREF,   /**< CFA = word at rbp + cfa (signed); rbp at rbp + rbp (signed) */
	HAWK_RULE_SIGNAL,     /**< rt_sigreturn: everything is in the ucontext at rsp */
	HAWK_RULE_OUTERMOST,  /**< the return address is undefined: a thread's first frame; with
				 HAWK_RULE_LOST it was in a register that is lost by now */
	HAWK_RULE_NO_CFI,     /**< nothing known: perhaps there is a frame pointer */
	HAWK_RULE_COMPLEX,    /**< with HAWK_RULE_SAVED rip, rsp and rbp are in words near rbp, as
				 wine's system calls leave them; anything else: unwind_full.h */
};

enum {
	HAWK_RULE_LOST = 1 << 3,
	HAWK_RULE_SAVED = 1 << 24,
	HAWK_RULE_SAVED_BITS = 7, /**< each, signed, in words from rbp */
};

enum hawk_rule_saved {
	HAWK_RULE_SAVED_RIP,
	HAWK_RULE_SAVED_RSP,
	HAWK_RULE_SAVED_RBP,
};

static inline enum hawk_rule_kind hawk_rule_kind(uint32_t rule)
{
	return (enum hawk_rule_kind)(rule & 7);
}

/** Returns the CFA offset of HAWK_RULE_SP in bytes. */
static inline uint64_t hawk_rule_cfa(uint32_t rule)
{
	return (uint64_t)(rule >> 3 & 0xffff) * 8;
}

/** Returns the CFA offset of HAWK_RULE_SP_FAR in bytes: below 8 MiB, and a multiple of 16, as after
 * every call. */
static inline uint64_t hawk_rule_far_cfa(uint32_t rule)
{
	return (uint64_t)(rule >> 3 & 0x7ffff) * 16;
}

/** Returns rbp's place for HAWK_RULE_SP_FAR, in bytes below the CFA; 0 = rbp is unchanged. */
static inline uint64_t hawk_rule_far_bp(uint32_t rule)
{
	return (uint64_t)(rule >> 22) * 8;
}

/** Returns the CFA offset in bytes, for kinds with a signed one. */
static inline uint64_t hawk_rule_signed_cfa(uint32_t rule)
{
	return (uint64_t)((int64_t)(int16_t)(rule >> 3) * 8);
}

/** Returns rbp's place in bytes below the CFA. Compilers save rbp within 16 words of the CFA. */
static inline uint64_t hawk_rule_bp(uint32_t rule)
{
	return (uint64_t)(rule >> 19) * 8;
}

/** Returns rbp's place in bytes from rbp, for HAWK_RULE_BP_DEREF. */
static inline uint64_t hawk_rule_signed_bp(uint32_t rule)
{
	return (uint64_t)((int64_t)((int32_t)(rule << 7) >> 26) * 8);
}

/** Returns the bytes from rbp to the register's word, for HAWK_RULE_COMPLEX with
 * HAWK_RULE_SAVED. */
static inline uint64_t hawk_rule_saved_at(uint32_t rule, enum hawk_rule_saved which)
{
	unsigned top = 3 + HAWK_RULE_SAVED_BITS * ((unsigned)which + 1);

	return (uint64_t)((int64_t)((int32_t)(rule << (32 - top)) >> (32 - HAWK_RULE_SAVED_BITS)) *
			  8);
}

/** The table in use, in one word: its page-aligned address, and the right shift that turns a mixed
 * program counter into a set number. 0 = none yet. */
extern uint64_t hawk_rules_table __attribute__((visibility("hidden")));

/** Number of rules stored in that table since the last flush; decides when to grow. */
extern uint32_t hawk_rules_stored;

static inline uint64_t hawk_rules_mix(uint64_t pc, bool exact)
{
	return (pc << 16 | (uint64_t)exact << 63) * UINT64_C(0x9e3779b97f4a7c15);
}

/** Returns the set of `mixed` in a table. */
static inline uint64_t *hawk_rules_set(uint64_t table, uint64_t mixed)
{
	return (uint64_t *)(table & -UINT64_C(64)) + (mixed >> (table & 63)) * HAWK_RULES_WAYS;
}

static inline uint64_t hawk_rules_tag(uint64_t mixed)
{
	return mixed << HAWK_RULES_SETS_LOG2_MIN;
}

/**
 * Returns the rule for `pc` (below 2^47), 0 if it must be made: two dependent loads. `exact` means
 * the very instruction, else a return address.
 */
static inline uint32_t hawk_rules_lookup(uint64_t pc, bool exact)
{
	uint64_t mixed = hawk_rules_mix(pc, exact);
	uint64_t tag = hawk_rules_tag(mixed);
	const uint64_t *set =
		hawk_rules_set(__atomic_load_n(&hawk_rules_table, __ATOMIC_RELAXED), mixed);

	uint64_t first = __atomic_load_n(&set[0], __ATOMIC_RELAXED) ^ tag;
	uint64_t second = __atomic_load_n(&set[1], __ATOMIC_RELAXED) ^ tag;
	uint64_t third = __atomic_load_n(&set[2], __ATOMIC_RELAXED) ^ tag;
	uint64_t fourth = __atomic_load_n(&set[3], __ATOMIC_RELAXED) ^ tag;
	uint64_t word;

	/* Take the smallest: a rule's place in its set is unpredictable for branches. */
	first = first < second ? first : second;
	third = third < fourth ? third : fourth;
	word = first < third ? first : third;
	/* An empty word can match tag 0, but then yields rule 0. */
	return word < UINT64_C(1) << HAWK_RULE_BITS ? (uint32_t)word : 0;
}

/**
 * Makes the rule of `pc` from the call frame information. Caches it unless the code at `pc` is
 * outside all modules: a module may be mapped there later without notice. Returns 0 without memory.
 */
uint32_t hawk_rules_make(uint64_t pc, bool exact);

/** Returns true if `pc` can be a return address: code of a module, or after something that looks
 * like a call. */
bool hawk_rules_is_return_address(uint64_t pc);

/** Returns true if `pc` is the return address in a trampoline of CPython's -X perf: CFA = rsp +
 * 16. */
bool hawk_rules_is_trampoline(uint64_t pc);

/** Sets the cache's memory: HAWK_RULES_BYTES of zeroed pages. */
void hawk_rules_init(void *memory);

/** Forgets all rules. Call only after raising the epoch. */
void hawk_rules_flush(void);

#endif
