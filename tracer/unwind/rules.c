/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Packing rows of call frame information into rules, and the cache.
 *
 * A rule is exact or HAWK_RULE_COMPLEX: values that do not fit its bits are never rounded.
 */
#include "rules.h"

#include "cfi.h"
#include "outside.h"
#include "unwind_full.h"
#include "table/syscall.h"
#include "walk.h"

enum {
	CACHE_PAGE_BYTES = 4096,
	CACHE_PAGES = HAWK_RULES_BYTES / CACHE_PAGE_BYTES,
	WORDS_PER_PAGE = CACHE_PAGE_BYTES / 8,
	RULE_BP_MAX = 63,
	RULE_FAR_BP_MAX = 7,
	RULE_FAR_CFA_MAX = 2 * 0x7ffff, /**< words */
};

uint64_t hawk_rules_table;
uint32_t hawk_rules_stored;

/** All tables, one behind the other. */
static uint64_t *cache;

/** Bit i: page i of the cache may hold rules. Lets a flush skip untouched pages. */
static uint64_t pages_used[(CACHE_PAGES + 63) / 64];

static uint32_t pack(enum hawk_rule_kind kind, int64_t cfa, int64_t bp)
{
	return (uint32_t)kind | ((uint32_t)(cfa / 8) & 0xffff) << 3 |
	       ((uint32_t)(bp / 8) & RULE_BP_MAX) << 19;
}

static uint32_t pack_far(int64_t cfa, int64_t bp)
{
	return HAWK_RULE_SP_FAR | (uint32_t)(cfa / 16) << 3 | (uint32_t)(bp / 8) << 22;
}

/** Returns true if `offset` is a multiple of 8 in [low, high] words. */
static bool fits(int64_t offset, int64_t low, int64_t high)
{
	return offset % 8 == 0 && offset / 8 >= low && offset / 8 <= high;
}

static bool bytes_equal(struct hawk_cfi_block block, const uint8_t *bytes, size_t size)
{
	if (block.size != size)
		return false;
	for (size_t i = 0; i < size; i++)
		if (block.bytes[i] != bytes[i])
			return false;
	return true;
}

/** Returns true if the block is DW_OP_breg<number> offset [DW_OP_deref]. */
static bool is_register_offset(struct hawk_cfi_block block, uint8_t number, bool dereferenced,
			       int64_t *offset)
{
	enum { OP_DEREF = 0x06, OP_BREG0 = 0x70 };
	struct hawk_cfi_reader reader = {.at = block.bytes, .end = block.bytes + block.size};

	if (hawk_cfi_number(&reader, 1) != (uint64_t)(OP_BREG0 + number))
		return false;
	*offset = hawk_cfi_sleb(&reader);
	if (dereferenced && hawk_cfi_number(&reader, 1) != OP_DEREF)
		return false;
	return !reader.failed && reader.at == reader.end;
}

/**
 * Recognizes the linkers' expression for lazy PLT entries: CFA = rsp + 8 + ((rip & 15) >= N) * 8. A
 * rule covers one program counter, so this is a plain offset.
 */
static bool is_plt(struct hawk_cfi_block block, uint64_t pc, int64_t *offset)
{
	enum { THRESHOLD = 6, OP_LIT0 = 0x30 };
	uint8_t expected[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0, 0x2a, 0x33, 0x24, 0x22};
	unsigned threshold;

	if (block.size != sizeof(expected))
		return false;
	threshold = (unsigned)block.bytes[THRESHOLD] - OP_LIT0;
	expected[THRESHOLD] = block.bytes[THRESHOLD];
	if (threshold > 15 || !bytes_equal(block, expected, sizeof(expected)))
		return false;
	*offset = (pc & 15) >= threshold ? 16 : 8;
	return true;
}

/** Returns true if register `number` is saved at rsp + `wanted`, as in rt_sigreturn's frame; see
 * unwind/walk_step.c. */
static bool saved_at(const struct hawk_cfi_row *row, unsigned number, int64_t wanted)
{
	int64_t offset;

	return row->how[number] == HAWK_CFI_EXPRESSION &&
	       is_register_offset(hawk_cfi_block_at(row->value[number]), HAWK_CFI_RSP, false,
				  &offset) &&
	       offset == wanted;
}

static bool is_sigreturn(const struct hawk_cfi_row *row)
{
	int64_t offset;

	return row->cfa_is_expression &&
	       is_register_offset(hawk_cfi_block_at(row->cfa_value), HAWK_CFI_RSP, true, &offset) &&
	       offset == HAWK_UCONTEXT_RSP && saved_at(row, HAWK_CFI_RIP, HAWK_UCONTEXT_RIP) &&
	       saved_at(row, HAWK_CFI_RBP, HAWK_UCONTEXT_RBP);
}

/** Adds to `rule` that `which` is in the word at the block's rbp + N. Returns false if it is not,
 * or too far away.
 */
static bool add_saved(uint32_t *rule, enum hawk_rule_saved which, int64_t block, bool dereferenced)
{
	const int64_t limit = 1 << (HAWK_RULE_SAVED_BITS - 1);
	int64_t offset;

	if (!is_register_offset(hawk_cfi_block_at(block), HAWK_CFI_RBP, dereferenced, &offset) ||
	    !fits(offset, -limit, limit - 1))
		return false;
	*rule |= ((uint32_t)(offset / 8) & ((1u << HAWK_RULE_SAVED_BITS) - 1))
		 << (3 + HAWK_RULE_SAVED_BITS * (unsigned)which);
	return true;
}

/** Returns the rule for a row whose registers are all in a structure at rbp; 0 for others. */
static uint32_t pack_saved(const struct hawk_cfi_row *row)
{
	uint32_t rule = HAWK_RULE_COMPLEX | HAWK_RULE_SAVED, sp = 0;

	if (!row->cfa_is_expression || row->how[HAWK_CFI_RIP] != HAWK_CFI_EXPRESSION ||
	    row->how[HAWK_CFI_RBP] != HAWK_CFI_EXPRESSION ||
	    !add_saved(&rule, HAWK_RULE_SAVED_RIP, row->value[HAWK_CFI_RIP], false) ||
	    !add_saved(&rule, HAWK_RULE_SAVED_RBP, row->value[HAWK_CFI_RBP], false) ||
	    !add_saved(&rule, HAWK_RULE_SAVED_RSP, row->cfa_value, true))
		return 0;
	if (row->how[HAWK_CFI_RSP] == HAWK_CFI_UNSPECIFIED)
		return rule;
	if (row->how[HAWK_CFI_RSP] != HAWK_CFI_EXPRESSION ||
	    !add_saved(&sp, HAWK_RULE_SAVED_RSP, row->value[HAWK_CFI_RSP], false) ||
	    hawk_rule_saved_at(sp, HAWK_RULE_SAVED_RSP) !=
		    hawk_rule_saved_at(rule, HAWK_RULE_SAVED_RSP))
		return 0;
	return rule;
}

static bool is_lost(uint64_t number)
{
	return number >= HAWK_CFI_REGISTERS || !(HAWK_CFI_KNOWN_AFTER_CALL >> number & 1);
}

/** Returns true if the block begins with a register that functions do not preserve. */
static bool begins_with_lost(int64_t block)
{
	enum { OP_BREG0 = 0x70, OP_BREG15 = 0x7f };
	struct hawk_cfi_block bytes = hawk_cfi_block_at(block);

	return bytes.size && bytes.bytes[0] >= OP_BREG0 && bytes.bytes[0] <= OP_BREG15 &&
	       is_lost((uint64_t)bytes.bytes[0] - OP_BREG0);
}

/** Returns true if the row is useful only until the next call, as in wine's calls of its own
 * libraries (on rcx). */
static bool needs_lost_register(const struct hawk_cfi_row *row)
{
	if (row->cfa_is_expression ? begins_with_lost(row->cfa_value) : is_lost(row->cfa_register))
		return true;
	return row->how[HAWK_CFI_RIP] == HAWK_CFI_EXPRESSION &&
	       begins_with_lost(row->value[HAWK_CFI_RIP]);
}

/** Packs CFA = *(rbp + N) and rbp at rbp + M: functions that align their stack (gcc's DRAP). */
static uint32_t pack_dereferenced(const struct hawk_cfi_row *row)
{
	int64_t cfa, bp;

	if (!row->cfa_is_expression ||
	    !is_register_offset(hawk_cfi_block_at(row->cfa_value), HAWK_CFI_RBP, true, &cfa) ||
	    row->how[HAWK_CFI_RBP] != HAWK_CFI_EXPRESSION ||
	    !is_register_offset(hawk_cfi_block_at(row->value[HAWK_CFI_RBP]), HAWK_CFI_RBP, false,
				&bp) ||
	    !fits(cfa, INT16_MIN, INT16_MAX) || !fits(bp, -(RULE_BP_MAX + 1) / 2, RULE_BP_MAX / 2))
		return pack(HAWK_RULE_COMPLEX, 0, 0);
	return pack(HAWK_RULE_BP_DEREF, cfa, bp);
}

/** Finds the CFA as rsp or rbp plus an offset. Returns false for any other form. */
static bool find_cfa(const struct hawk_cfi_row *row, uint64_t pc, enum hawk_rule_kind *kind,
		     int64_t *offset)
{
	*kind = HAWK_RULE_SP;
	*offset = row->cfa_value;
	if (row->cfa_is_expression)
		return is_plt(hawk_cfi_block_at(row->cfa_value), pc, offset);
	if (row->cfa_register == HAWK_CFI_RSP)
		return true;
	*kind = HAWK_RULE_BP;
	return row->cfa_register == HAWK_CFI_RBP;
}

/** Packs a row that no other kind of rule describes. */
static uint32_t pack_complex(const struct hawk_cfi_row *row, bool exact)
{
	uint32_t saved = pack_saved(row);

	if (saved)
		return saved;
	return !exact && needs_lost_register(row) ? HAWK_RULE_OUTERMOST | HAWK_RULE_LOST
						  : pack(HAWK_RULE_COMPLEX, 0, 0);
}

static uint32_t pack_row(const struct hawk_cfi_row *row, bool signal, uint64_t pc, bool exact)
{
	const uint32_t complex_rule = pack(HAWK_RULE_COMPLEX, 0, 0);
	enum hawk_rule_kind kind;
	int64_t cfa, bp = 0;

	if (row->how[HAWK_CFI_RIP] == HAWK_CFI_UNDEFINED)
		return pack(HAWK_RULE_OUTERMOST, 0, 0);
	if (signal)
		return is_sigreturn(row) ? pack(HAWK_RULE_SIGNAL, 0, 0) : complex_rule;
	if (row->how[HAWK_CFI_RIP] != HAWK_CFI_OFFSET || row->value[HAWK_CFI_RIP] != -8 ||
	    (row->how[HAWK_CFI_RSP] != HAWK_CFI_UNSPECIFIED))
		return pack_complex(row, exact);
	if (!exact && needs_lost_register(row))
		return HAWK_RULE_OUTERMOST | HAWK_RULE_LOST;
	if (!find_cfa(row, pc, &kind, &cfa))
		return pack_dereferenced(row);
	if (row->how[HAWK_CFI_RBP] == HAWK_CFI_OFFSET)
		bp = -row->value[HAWK_CFI_RBP];
	else if (row->how[HAWK_CFI_RBP] > HAWK_CFI_SAME)
		return complex_rule;
	if (!fits(bp, row->how[HAWK_CFI_RBP] == HAWK_CFI_OFFSET, RULE_BP_MAX))
		return complex_rule;
	if (kind == HAWK_RULE_SP && cfa % 16 == 0 && fits(bp, 0, RULE_FAR_BP_MAX) &&
	    fits(cfa, UINT16_MAX + 1, RULE_FAR_CFA_MAX))
		return pack_far(cfa, bp);
	if ((kind == HAWK_RULE_SP && !fits(cfa, 1, UINT16_MAX)) ||
	    (kind == HAWK_RULE_BP && !fits(cfa, INT16_MIN, INT16_MAX)))
		return complex_rule;
	return pack(kind, cfa, bp);
}

/** Returns true if `size` (8 or more) bytes of code at `address` are readable. */
static bool is_code(const struct hawk_code_range *module, uint64_t address, size_t size)
{
	return address >= module->start && address < module->end && module->end - address >= size &&
	       hawk_readable(address) && hawk_readable(address + size - 8);
}

/** Recognizes the nine bytes that end every handler, without call frame information. */
static bool is_sigreturn_code(const struct hawk_code_range *module, uint64_t pc)
{
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
	struct hawk_cfi_block block = {(const uint8_t *)pc, sizeof(code)};

	return is_code(module, pc, sizeof(code)) && bytes_equal(block, code, sizeof(code));
}

/** Returns true if an instruction that ends at `pc` may be a call: E8, or FF /2 of any length. */
static bool follows_call(const struct hawk_code_range *module, uint64_t pc)
{
	static const uint8_t lengths[] = {2, 3, 4, 6, 7};
	const uint8_t *code = (const uint8_t *)pc;

	if (!is_code(module, pc - 8, 8))
		return false;
	if (code[-5] == 0xe8)
		return true;
	for (size_t i = 0; i < sizeof(lengths); i++)
		if (code[-lengths[i]] == 0xff && (code[1 - lengths[i]] >> 3 & 7) == 2)
			return true;
	return false;
}

/**
 * CPython 3.12 and later (Python/asm_trampoline.S) calls each Python function by a copy of
 *
 *     [endbr64]; sub $8, %rsp; call *%rcx; add $8, %rsp; ret
 *
 * without frame pointer and call frame information, one behind the other or at multiples of 16.
 */
bool hawk_rules_is_trampoline(uint64_t pc)
{
	enum { BEFORE = 6 };
	static const uint8_t code[] = {0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3};
	const struct hawk_code_range anywhere = {.end = UINT64_MAX};
	struct hawk_cfi_block block = {(const uint8_t *)(pc - BEFORE), sizeof(code)};

	return is_code(&anywhere, pc - BEFORE, sizeof(code)) &&
	       bytes_equal(block, code, sizeof(code));
}

/** Makes the rule for code outside all modules. */
static uint32_t make_outside(uint64_t pc, bool exact)
{
	enum { TRAMPOLINE_CFA = 16 };

	if (hawk_outside_is_hopeless(pc))
		return HAWK_RULE_OUTERMOST | HAWK_RULE_LOST;
	return !exact && hawk_rules_is_trampoline(pc) ? pack(HAWK_RULE_SP, TRAMPOLINE_CFA, 0)
						      : pack(HAWK_RULE_NO_CFI, 0, 0);
}

/** Makes the rule for code of a module without call frame information. */
static uint32_t make_without_cfi(const struct hawk_code_range *module, uint64_t pc, bool exact)
{
	if (is_sigreturn_code(module, pc))
		return pack(HAWK_RULE_SIGNAL, 0, 0);
	/* No call: this address was stored as the first frame of a new stack, as makecontext() does
	 * with its trampoline. rbp belongs to another stack. */
	if (!exact && !follows_call(module, pc))
		return pack(HAWK_RULE_OUTERMOST, 0, 0);
	return pack(HAWK_RULE_NO_CFI, 0, 0);
}

static uint32_t make(uint64_t pc, bool exact, bool *cacheable)
{
	uint64_t lookup = exact ? pc : pc - 1;
	struct hawk_code_range module = {0};
	struct hawk_cfi_function function;
	struct hawk_scratch *scratch;
	uint32_t rule;

	*cacheable = hawk_modules_find(lookup, &module);
	if (!*cacheable || !hawk_cfi_find(&module, lookup, &function)) {
		hawk_unwind_count(&hawk_unwind_stats.no_rule);
		return *cacheable ? make_without_cfi(&module, pc, exact) : make_outside(pc, exact);
	}
	scratch = hawk_scratch_take();
	if (!scratch) {
		*cacheable = false;
		return 0;
	}
	if (hawk_cfi_run(&function, lookup, &scratch->full.machine))
		rule = pack_row(&scratch->full.machine.row, function.signal, pc, exact);
	else
		rule = pack(HAWK_RULE_NO_CFI, 0, 0);
	hawk_scratch_give(scratch);
	return rule;
}

/** Returns an empty word of the set, else one chosen by the tag. */
static uint64_t *choose_victim(uint64_t *set, uint64_t tag)
{
	for (unsigned i = 0; i < HAWK_RULES_WAYS; i++)
		if (!__atomic_load_n(&set[i], __ATOMIC_RELAXED))
			return &set[i];
	return &set[tag >> HAWK_RULE_BITS & (HAWK_RULES_WAYS - 1)];
}

static void mark_page(const uint64_t *word)
{
	size_t page = (size_t)(word - cache) / WORDS_PER_PAGE;
	uint64_t bit = UINT64_C(1) << (page % 64);

	if (!(__atomic_load_n(&pages_used[page / 64], __ATOMIC_RELAXED) & bit))
		__atomic_fetch_or(&pages_used[page / 64], bit, __ATOMIC_SEQ_CST);
}

static uint64_t table_of(const uint64_t *start, unsigned sets_log2)
{
	return (uint64_t)start | (64 - sets_log2);
}

/**
 * Counts a rule about to be stored in `table`. When the table is more than half full (overwritten
 * rules count too), switches to the next one. Rules that other threads still store in the old table
 * are not found. The last table overflows. Of two simultaneous counts one may be lost.
 */
static void count_stored(uint64_t table)
{
	unsigned sets_log2 = 64 - (table & 63);
	unsigned next_log2 = sets_log2 < HAWK_RULES_SETS_LOG2_NEXT ? HAWK_RULES_SETS_LOG2_NEXT
								   : HAWK_RULES_SETS_LOG2_MAX;
	uint32_t stored = __atomic_load_n(&hawk_rules_stored, __ATOMIC_RELAXED) + 1;
	const uint64_t *end = hawk_rules_set(table, 0) + ((size_t)HAWK_RULES_WAYS << sets_log2);

	__atomic_store_n(&hawk_rules_stored, stored, __ATOMIC_RELAXED);
	if (2 * (uint64_t)stored <= (uint64_t)(HAWK_RULES_WAYS + 1) << sets_log2 ||
	    sets_log2 == HAWK_RULES_SETS_LOG2_MAX)
		return;
	if (__atomic_compare_exchange_n(&hawk_rules_table, &table, table_of(end, next_log2), false,
					__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		__atomic_store_n(&hawk_rules_stored, 0, __ATOMIC_RELAXED);
}

uint32_t hawk_rules_make(uint64_t pc, bool exact)
{
	uint32_t epoch = __atomic_load_n(&hawk_unwind_epoch, __ATOMIC_SEQ_CST);
	uint64_t table = __atomic_load_n(&hawk_rules_table, __ATOMIC_RELAXED);
	uint64_t mixed = hawk_rules_mix(pc, exact);
	uint64_t tag = hawk_rules_tag(mixed);
	uint64_t *set = hawk_rules_set(table, mixed);
	bool cacheable;
	uint32_t rule = make(pc, exact, &cacheable);
	uint64_t *victim, word = tag | rule;

	hawk_unwind_count(&hawk_unwind_stats.rule_misses);
	if (!cacheable)
		return rule;
	count_stored(table);
	victim = choose_victim(set, tag);
	mark_page(victim);
	__atomic_store_n(victim, word, __ATOMIC_SEQ_CST);
	/* A thread that raised the epoch before this load may have flushed before the store
	 * above. */
	if (__atomic_load_n(&hawk_unwind_epoch, __ATOMIC_SEQ_CST) != epoch)
		__atomic_compare_exchange_n(victim, &word, 0, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED);
	return rule;
}

bool hawk_rules_is_return_address(uint64_t pc)
{
	const struct hawk_code_range anywhere = {.end = UINT64_MAX};
	struct hawk_code_range module = {0};

	if (hawk_rules_lookup(pc, false))
		return true;
	if (!hawk_modules_find(pc - 1, &module))
		return follows_call(&anywhere, pc);
	/* Stored only for the next lookup. */
	hawk_rules_make(pc, false);
	return true;
}

void hawk_rules_init(void *memory)
{
	cache = memory;
	hawk_rules_table = table_of(cache, HAWK_RULES_SETS_LOG2_MIN);
}

void hawk_rules_flush(void)
{
	for (size_t page = 0; page < CACHE_PAGES; page++) {
		uint64_t *words = cache + page * WORDS_PER_PAGE;

		if (!(__atomic_load_n(&pages_used[page / 64], __ATOMIC_SEQ_CST) >> (page % 64) & 1))
			continue;
		for (size_t i = 0; i < WORDS_PER_PAGE; i++)
			if (__atomic_load_n(&words[i], __ATOMIC_RELAXED))
				__atomic_store_n(&words[i], 0, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&hawk_rules_stored, 0, __ATOMIC_RELAXED);
}
