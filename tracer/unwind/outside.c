/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Direct-mapped table of regions. A word holds the region's number in its upper 48 bits, below it a
 * flag "rbp is trusted here" and a count.
 */
#include "outside.h"

enum {
	REGION_LOG2 = 16,
	TABLE_LOG2 = 8,
	TRIES = 8,         /**< failed tries before a region is skipped */
	RETRY_AFTER = 256, /**< frames skipped before another try */
	COUNT = 0x7fff,
	TRUSTED = 0x8000,
};

static uint64_t regions[1 << TABLE_LOG2];

static uint64_t *entry_of(uint64_t pc)
{
	return &regions[(pc >> REGION_LOG2) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - TABLE_LOG2)];
}

static bool is_of(uint64_t word, uint64_t pc)
{
	return word >> REGION_LOG2 == pc >> REGION_LOG2;
}

bool hawk_outside_is_hopeless(uint64_t pc)
{
	uint64_t *entry = entry_of(pc);
	uint64_t word = __atomic_load_n(entry, __ATOMIC_RELAXED);
	bool again = (word & COUNT) >= TRIES + RETRY_AFTER;

	if (!is_of(word, pc) || word & TRUSTED || (word & COUNT) < TRIES)
		return false;
	/* After one more failure the region is skipped again. */
	word = again ? (word & ~(uint64_t)COUNT) + TRIES - 1 : word + 1;
	__atomic_store_n(entry, word, __ATOMIC_RELAXED);
	return !again;
}

bool hawk_outside_is_trusted(uint64_t pc)
{
	uint64_t word = __atomic_load_n(entry_of(pc), __ATOMIC_RELAXED);

	return is_of(word, pc) && word & TRUSTED;
}

void hawk_outside_note(uint64_t pc, bool led_on)
{
	uint64_t *entry = entry_of(pc);
	uint64_t word = __atomic_load_n(entry, __ATOMIC_RELAXED);

	if (!is_of(word, pc))
		word = pc >> REGION_LOG2 << REGION_LOG2;
	if (led_on)
		word |= TRUSTED;
	else if ((word & COUNT) < TRIES)
		word++;
	__atomic_store_n(entry, word, __ATOMIC_RELAXED);
}
