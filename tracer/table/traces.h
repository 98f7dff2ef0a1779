/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Distinct stacks and their ids: one hash probe, full comparison on a match, delta-coded records.
 * Lock-free: a new record is written, then entered in the index with one compare-and-swap.
 */
#ifndef HAWK_TRACER_TABLE_TRACES_H
#define HAWK_TRACER_TABLE_TRACES_H

#include <stdbool.h>
#include <stdint.h>

enum {
	HAWK_TRACES_WAYS = 8,           /**< stacks in a bucket of the index */
	HAWK_TRACES_TABLES_AT_ONCE = 4, /**< mapped at start-up: 340 KiB, touched as needed */
};

/** Maps the first tables of the index. False: no memory. */
bool hawk_traces_init(void);

/**
 * Frames of a stack as a function, so that both a thread's last stack and a flat list can be looked
 * up without a copy: frame `index` counted from the leaf, HAWK_PC_EXACT set where due.
 */
struct hawk_frames {
	const void *frames;
	uint64_t (*pc)(const struct hawk_frames *self, uint32_t index);
	uint32_t count;
	uint32_t flags;      /**< enum hawk_trace_flag */
	uint32_t generation; /**< of modules */
	uint32_t tail_trace; /**< trace whose outermost `tail_count` frames are the same, 0 = none
				known */
	uint32_t tail_count;
	uint64_t hash; /**< of all the frames and the generation; never 0 */
};

/** The id of the stack, a new one if it was never seen; 0 if there is no room (the caller counts it
 * as dropped). */
uint32_t hawk_traces_intern(const struct hawk_frames *frames);

/** Mixes one more word into a hash. */
static inline uint64_t hawk_hash_word(uint64_t hash, uint64_t word)
{
	unsigned __int128 product = (unsigned __int128)(hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint64_t)product ^ (uint64_t)(product >> 64) ^ UINT64_C(0xbe5466cf34e90c6c);
}

/** A hash of `count` words and `seed`; never 0. */
static inline uint64_t hawk_hash_words(const uint64_t *words, uint32_t count, uint32_t seed)
{
	uint64_t hash = seed + UINT64_C(0x452821e638d01377);

	for (uint32_t i = 0; i < count; i++)
		hash = hawk_hash_word(hash, words[i]);
	return hash ? hash : 1;
}

/*
 * In front of the index, a cache of the ids of stacks that were looked up before, by two
 * independent hashes (128 bits, of which 96 name the stack): one cache line instead of the table's
 * chain, record and frames.
 *
 *     set of 4 entries = 64 bytes, 64 .. 16,384 sets in use, as many as there are traces for
 *     entry: word 0 = hash ^ word 1
 *            word 1 = low half of check << 32 | trace id
 *
 * A cache and nothing more: an entry may be replaced at any time, and the index is asked instead.
 * Lock-free: words are stored and loaded one by one; halves of two entries do not fit together,
 * since word 0 says what word 1 was.
 */

enum {
	HAWK_KNOWN_WAYS = 4,
	HAWK_KNOWN_SETS_LOG2_MIN = 6,
	HAWK_KNOWN_SETS_LOG2_MAX = 14, /**< 1 MiB, touched as needed */
};

struct hawk_known_entry {
	uint64_t words[2];
};

struct hawk_known {
	struct hawk_known_entry *entries;
	uint64_t set_mask; /**< number of sets in use, less 1; grows, and what was found by the old
			      one is found no more */
};
extern struct hawk_known hawk_known __attribute__((visibility("hidden")));

/** Maps the entries. False: no memory. */
bool hawk_known_init(void);

/** `trace` is the stack with these hashes. Any thread, also in signal handlers. */
void hawk_known_add(uint64_t hash, uint64_t check, uint32_t trace);

/** Called as soon as the hash is known: the line is on its way while other work is done. */
static inline void hawk_known_prefetch(uint64_t hash)
{
	uint64_t set = hash & __atomic_load_n(&hawk_known.set_mask, __ATOMIC_RELAXED);

	__builtin_prefetch(&hawk_known.entries[set * HAWK_KNOWN_WAYS]);
}

/** The trace with these hashes; 0 = not known here. `hash` must not be 0. */
static inline uint32_t hawk_known_find(uint64_t hash, uint64_t check)
{
	uint64_t set = hash & __atomic_load_n(&hawk_known.set_mask, __ATOMIC_RELAXED);
	const struct hawk_known_entry *entry = &hawk_known.entries[set * HAWK_KNOWN_WAYS];

	for (unsigned i = 0; i < HAWK_KNOWN_WAYS; i++, entry++) {
		uint64_t low = __atomic_load_n(&entry->words[1], __ATOMIC_RELAXED);

		if ((__atomic_load_n(&entry->words[0], __ATOMIC_RELAXED) ^ low) == hash &&
		    (uint32_t)(low >> 32) == (uint32_t)check)
			return (uint32_t)low;
	}
	return 0;
}

#endif
