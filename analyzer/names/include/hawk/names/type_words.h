/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The words of a block that may reveal its type: the first word if it points into a module, as for
 * an object with virtual functions; and the word after the count of a new[] array.
 * names/block_type.h names them; nothing here depends on files other than the core.
 */
#ifndef HAWK_ANALYZER_NAMES_TYPE_WORDS_H
#define HAWK_ANALYZER_NAMES_TYPE_WORDS_H

#include "hawk/target/near.h"

struct hawk_heap;
struct hawk_error;
struct hawk_snapshot_types;

enum {
	HAWK_TYPE_WORD_BYTES = 8,
	HAWK_MODULE_BITS = 4096,
	HAWK_MODULE_BITS_LOG2 = 21, /**< bytes per bit */
};

struct hawk_type_words {
	uint64_t first;  /**< 0 = it points into no module */
	uint64_t second; /**< the same for an array */
	/** A coroutine's functions, if both words may be such: they point into modules, or the
	 * first one is 0. 0 = they are not. */
	uint64_t resume, destroy;
};

/** A filter for words that point into modules; rejects nearly all others with one lookup. */
struct hawk_module_words {
	const struct hawk_target *target;
	/** Types from a snapshot, whose blocks cannot be read; borrowed. NULL = read memory. */
	const struct hawk_snapshot_types *kept;
	uint64_t bits[HAWK_MODULE_BITS / 64]; /**< by hash of an address */
};

/** Initializes; the target must outlive it. */
void hawk_module_words_init(struct hawk_module_words *modules, const struct hawk_target *target);

/** Returns true if `word` may be inside a module. */
static inline bool hawk_module_words_near(const struct hawk_module_words *modules, uint64_t word)
{
	uint64_t bit = (word >> HAWK_MODULE_BITS_LOG2) % HAWK_MODULE_BITS;

	return modules->bits[bit / 64] >> bit % 64 & 1;
}

/** Returns true if `word` is a multiple of 8 inside a module. */
static inline bool hawk_module_words_have(const struct hawk_module_words *modules, uint64_t word)
{
	return hawk_module_words_near(modules, word) && word % HAWK_TYPE_WORD_BYTES == 0 &&
	       hawk_target_module_at(modules->target, word);
}

/** Reads the words of the block of `bytes` requested bytes at `start`. `near` is for the target.
 * `second` is set for any block that looks like an array; the caller must check its kind. */
struct hawk_type_words hawk_type_words_at(const struct hawk_module_words *modules,
					  struct hawk_near *near, uint64_t start, uint64_t bytes);

/** Reads the type words of blocks whose types have names from `snapshot`. */
struct hawk_error *hawk_snapshot_types_read(const struct hawk_snapshot *snapshot,
					    struct hawk_snapshot_types **ret);

/** Accepts NULL. */
void hawk_snapshot_types_destroy(struct hawk_snapshot_types *kept);

/** Returns the words of the block at `start`; zeros if it has none. */
struct hawk_type_words hawk_snapshot_types_at(const struct hawk_snapshot_types *kept,
					      uint64_t start);

#endif
