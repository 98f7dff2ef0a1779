/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * How to step over one frame, in 30 bits, and the global cache of such rules by program counter.
 *
 *      63                                30 29       20 19                    4 3    0
 *     +------------------------------------+-----------+-----------------------+------+
 *     | tag: what the set number leaves of | rbp       | cfa                   | kind |
 *     | the mixed program counter          | 8 bytes   | 8 bytes               |      |
 *     +------------------------------------+-----------+-----------------------+------+
 *
 * The program counter and the "exact" bit, 48 bits, are multiplied by an odd number modulo 2^48,
 * which can be undone: the high 14 bits choose one of 16,384 sets of four words, the other 34 are
 * the tag. So a word that fits is the right one, always. A word is read and written at once; there
 * is nothing else to be consistent with.
 *
 * Example: at a return address in a function that pushed rbp and made room for 32 bytes, CFA =
 * rsp + 48 and rbp is saved at CFA - 16: kind HAWK_RULE_SP, cfa 6, rbp 2.
 */
#ifndef HAWK_RULES_H
#define HAWK_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HAWK_RULES_SETS_LOG2 = 14,
	HAWK_RULES_WAYS = 4,
	HAWK_RULES_BYTES = 8 * HAWK_RULES_WAYS << HAWK_RULES_SETS_LOG2, /**< 512 KiB */
	HAWK_RULE_BITS = 30,
};

enum hawk_rule_kind {
	HAWK_RULE_NONE = 0,  /**< not a rule: an empty word, or no memory to make one */
	HAWK_RULE_SP,        /**< CFA = rsp + cfa; rbp at CFA - rbp, or unchanged with 0 */
	HAWK_RULE_BP,        /**< CFA = rbp + cfa (signed); rbp at CFA - rbp, or unchanged */
	HAWK_RULE_BP_DEREF,  /**< CFA = word at rbp + cfa (signed); rbp at rbp + rbp (signed) */
	HAWK_RULE_SIGNAL,    /**< rt_sigreturn: everything is in the ucontext at rsp */
	HAWK_RULE_OUTERMOST, /**< the return address is undefined: a thread's first frame */
	HAWK_RULE_NO_CFI,    /**< nothing known: perhaps there is a frame pointer */
	HAWK_RULE_COMPLEX,   /**< anything else: hawk_unwind_full.h */
};

static inline enum hawk_rule_kind hawk_rule_kind(uint32_t rule)
{
	return (enum hawk_rule_kind)(rule & 15);
}

/** Bytes, for HAWK_RULE_SP. */
static inline uint64_t hawk_rule_cfa(uint32_t rule)
{
	return (uint64_t)(rule >> 4 & 0xffff) * 8;
}

/** Bytes, for the kinds where it is signed. */
static inline uint64_t hawk_rule_signed_cfa(uint32_t rule)
{
	return (uint64_t)((int64_t)(int16_t)(rule >> 4) * 8);
}

/** Bytes. */
static inline uint64_t hawk_rule_bp(uint32_t rule)
{
	return (uint64_t)(rule >> 20 & 1023) * 8;
}

/** Bytes, for HAWK_RULE_BP_DEREF. */
static inline uint64_t hawk_rule_signed_bp(uint32_t rule)
{
	return (uint64_t)((int64_t)((int32_t)(rule << 2) >> 22) * 8);
}

extern uint64_t *hawk_rules_cache;

static inline uint64_t hawk_rules_mix(uint64_t pc, bool exact)
{
	return (pc << 16 | (uint64_t)exact << 63) * UINT64_C(0x9e3779b97f4a7c15);
}

/**
 * Rule for `pc` (below 2^47), 0 if it has to be made: two dependent loads. `exact`: the very
 * instruction, else a return address.
 */
static inline uint32_t hawk_rules_lookup(uint64_t pc, bool exact)
{
	uint64_t mixed = hawk_rules_mix(pc, exact);
	uint64_t tag = mixed << HAWK_RULES_SETS_LOG2;
	const uint64_t *set =
		hawk_rules_cache + (mixed >> (64 - HAWK_RULES_SETS_LOG2)) * HAWK_RULES_WAYS;

	for (unsigned i = 0; i < HAWK_RULES_WAYS; i++) {
		uint64_t word = __atomic_load_n(&set[i], __ATOMIC_RELAXED) ^ tag;

		/* An empty word can fit a tag of 0, but then gives rule 0. */
		if (word < UINT64_C(1) << HAWK_RULE_BITS)
			return (uint32_t)word;
	}
	return 0;
}

/**
 * Makes the rule of `pc` from the call frame information and caches it, unless the code at `pc` is
 * of no module: a module may come to lie there without anybody telling us. 0: no memory.
 */
uint32_t hawk_rules_make(uint64_t pc, bool exact);

/** Whether `pc` can be a return address: code of a module, or behind something that looks like a
 * call. */
bool hawk_rules_is_return_address(uint64_t pc);

/** `memory`: HAWK_RULES_BYTES, zeroed. */
void hawk_rules_init(void *memory);

/** Forgets all rules. After the epoch has been raised, never before. */
void hawk_rules_flush(void);

#endif
