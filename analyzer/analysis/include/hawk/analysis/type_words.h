/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The words of a block that may say its type: its first one, if it points into a module, as that of
 * an object with virtual functions does; and the one behind the count of an array made by new[].
 * What they are the names of is another matter (names/block_type.h): nothing here depends on files
 * beside the core.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_TYPE_WORDS_H
#define HAWK_ANALYZER_ANALYSIS_TYPE_WORDS_H

#include "hawk/target/near.h"

struct hawk_heap;
struct hawk_error;

enum {
	HAWK_TYPE_WORD_BYTES = 8,
	HAWK_MODULE_BITS = 4096,
	HAWK_MODULE_BITS_LOG2 = 21, /**< bytes that have a bit together */
};

struct hawk_type_words {
	uint64_t first;  /**< 0 = it points into no module */
	uint64_t second; /**< of an array, likewise */
};

/** Which words point into modules, nearly all of the others in one look. */
struct hawk_module_words {
	const struct hawk_target *target;
	uint64_t bits[HAWK_MODULE_BITS / 64]; /**< by hash of an address */
};

/** The target must outlive it. */
void hawk_module_words_init(struct hawk_module_words *modules, const struct hawk_target *target);

/** Whether `word` is a multiple of 8 in a module. */
static inline bool hawk_module_words_have(const struct hawk_module_words *modules, uint64_t word)
{
	uint64_t bit = (word >> HAWK_MODULE_BITS_LOG2) % HAWK_MODULE_BITS;

	return modules->bits[bit / 64] >> bit % 64 & 1 && word % HAWK_TYPE_WORD_BYTES == 0 &&
	       hawk_target_module_at(modules->target, word);
}

/** Of the block of `bytes` requested bytes at `start`. `near` is of the target. `second` is that
 * of any block that looks like an array: whoever finds one asks for its kind. */
struct hawk_type_words hawk_type_words_at(const struct hawk_module_words *modules,
					  struct hawk_near *near, uint64_t start, uint64_t bytes);

/** Of block `number`, or the block that it is a part of; with its kind. */
struct hawk_type_words hawk_type_words_of(const struct hawk_heap *heap,
					  const struct hawk_module_words *modules,
					  struct hawk_near *near, uint32_t number);

#endif
