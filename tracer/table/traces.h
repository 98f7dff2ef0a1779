/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Distinct stacks and their ids. A lookup is one hash probe, with a full comparison on a match;
 * records are delta-coded. Lock-free: a new record is written, then entered in the index with one
 * compare-and-swap.
 */
#ifndef HAWK_TRACER_TABLE_TRACES_H
#define HAWK_TRACER_TABLE_TRACES_H

#include <stdbool.h>
#include <stdint.h>

enum {
	HAWK_TRACES_WAYS = 8,           /**< stacks in a bucket of the index */
	HAWK_TRACES_TABLES_AT_ONCE = 4, /**< mapped at start-up: 340 KiB, touched as needed */
};

/** Maps the first tables of the index. Returns false without memory. */
bool hawk_traces_init(void);

/**
 * Frames of a stack, given by a function, so that both a thread's last stack and a flat list can be
 * looked up without a copy. The function returns frame `index` counted from the leaf, HAWK_PC_EXACT
 * set where due.
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

/** Returns the id of the stack, making it if new; 0 without room (the caller counts it as
 * dropped). */
uint32_t hawk_traces_intern(const struct hawk_frames *frames);

/** Mixes one more word into a hash. */
static inline uint64_t hawk_hash_word(uint64_t hash, uint64_t word)
{
	unsigned __int128 product = (unsigned __int128)(hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint64_t)product ^ (uint64_t)(product >> 64) ^ UINT64_C(0xbe5466cf34e90c6c);
}

/** Returns a hash of `count` words and `seed`; never 0. */
static inline uint64_t hawk_hash_words(const uint64_t *words, uint32_t count, uint32_t seed)
{
	uint64_t hash = seed + UINT64_C(0x452821e638d01377);

	for (uint32_t i = 0; i < count; i++)
		hash = hawk_hash_word(hash, words[i]);
	return hash ? hash : 1;
}

/*
 * A cache in front of the index holds ids of stacks looked up before, by two independent hashes
 * (128 bits, of which 96 identify the stack). A hit costs one cache line instead of the table's
 * chain, record and frames.
 *
 *     set of 4 entries = 64 bytes, 64 .. 16,384 sets in use, as many as there are traces for
 *     entry: word 0 = hash ^ word 1
 *            word 1 = low half of check << 32 | trace id
 *
 * An entry may be replaced at any time; the index then answers instead. Lock-free: words are stored
 * and loaded one by one. Halves of two entries never match, since word 0 includes word 1.
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
	uint64_t set_mask; /**< number of sets in use, less 1; growing it hides entries of the old
			      size */
};
extern struct hawk_known hawk_known __attribute__((visibility("hidden")));

/** Maps the entries. Returns false without memory. */
bool hawk_known_init(void);

/** Notes `trace` as the stack with these hashes. Safe in any thread and in signal handlers. */
void hawk_known_add(uint64_t hash, uint64_t check, uint32_t trace);

/** Prefetches the cache line. Call as soon as the hash is known, to overlap with other work. */
static inline void hawk_known_prefetch(uint64_t hash)
{
	uint64_t set = hash & __atomic_load_n(&hawk_known.set_mask, __ATOMIC_RELAXED);

	__builtin_prefetch(&hawk_known.entries[set * HAWK_KNOWN_WAYS]);
}

/** Returns the trace with these hashes; 0 if not in the cache. `hash` must not be 0. */
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
