/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The words of a block that may say its type: its first one, if it points into a module, as that of
 * an object with virtual functions does; and the one behind the count of an array made by new[].
 * What they are the names of is another matter (hawk_block_type.h): nothing here depends on files
 * beside the core.
 *
 * Most traces have blocks of one type: which pairs of such words the blocks of each trace have is
 * kept with the graph, so that few blocks are read for their type.
 */
#ifndef HAWK_TYPE_WORDS_H
#define HAWK_TYPE_WORDS_H

#include "hawk_near.h"

struct hawk_block_graph;
struct hawk_error;

enum {
	HAWK_TYPE_WORD_BYTES = 8,
	HAWK_MODULE_BITS = 4096,
	HAWK_MODULE_BITS_LOG2 = 21,    /**< bytes that have a bit together */
	HAWK_TRACE_TYPES_MAX = 15,     /**< of a trace; with more they are not told apart */
	HAWK_KEPT_TYPES_MAX = 1 << 20, /**< of all; what is too much is not told apart either */
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
struct hawk_type_words hawk_type_words_of(const struct hawk_block_graph *graph,
					  const struct hawk_module_words *modules,
					  struct hawk_near *near, uint32_t number);

/** What some blocks of a trace have. */
struct hawk_kept_type {
	struct hawk_type_words words;
	uint32_t trace;
	uint32_t several; /**< 1: there are more than are told apart; `words` are zeros */
};

/** Ascending by trace. Traces that are not there have blocks without such words only. */
struct hawk_kept_types {
	const struct hawk_kept_type *items; /**< NULL = not kept */
	uint64_t count;
	struct hawk_kept_type *owned; /**< NULL = `items` lie in memory of somebody else */
};

/** Reads the first words of all blocks, on as many threads as the graph has. Of blocks whose trace
 * the heap does not have nothing is kept. Needs HAWK_PART_INDEX; `ret` is to be deinitialized
 * after success only. */
struct hawk_error *hawk_kept_types_make(const struct hawk_block_graph *graph,
					struct hawk_kept_types *ret);

/** Accepts types of zeros, and leaves them behind. */
void hawk_kept_types_deinit(struct hawk_kept_types *types);

/** The types of `trace`, from `*at` on, which traces before it have moved: how many. */
uint64_t hawk_kept_types_of(const struct hawk_kept_types *types, uint32_t trace, uint64_t *at);

#endif
