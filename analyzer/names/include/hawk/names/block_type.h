/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What type a block is of, as far as it can be known: the name given with hawk_annotate_type(), or
 * the class whose virtual table its first word points to ("T[]" for arrays made by new[], whose
 * first word counts the elements). Reads the target; names are found once for each table.
 */
#ifndef HAWK_ANALYZER_NAMES_BLOCK_TYPE_H
#define HAWK_ANALYZER_NAMES_BLOCK_TYPE_H

#include "hawk/heap/sites.h"
#include "hawk/symbols/symbols.h"
#include "hawk/analysis/type_words.h"

struct hawk_block_types;

/** All three are used until the destroy; `table` may be NULL. */
struct hawk_error *hawk_block_types_create(const struct hawk_target *target,
					   const struct hawk_table *table,
					   struct hawk_symbols *symbols,
					   struct hawk_block_types **ret);
/** Accepts NULL. */
void hawk_block_types_destroy(struct hawk_block_types *types);

/** Which words can be of virtual tables. */
const struct hawk_module_words *hawk_block_types_modules(const struct hawk_block_types *types);

/** The name that was given to the blocks of `trace`; NULL = none. Any thread may ask. */
const char *hawk_block_type_name(const struct hawk_block_types *types, uint32_t trace);

/** NULL if the type is not known; else it lives as long as `types` and its symbols. */
const char *hawk_block_type(struct hawk_block_types *types, const struct hawk_block *block);

/** Likewise of words read before (hawk_type_words_at()): the target is not read. */
const char *hawk_block_type_of_words(struct hawk_block_types *types, const struct hawk_block *block,
				     const struct hawk_type_words *words);

/**
 * The class of a virtual table that `word` points into (as objects' first words do), NULL if it
 * does not. Any thread may ask, as of arrays.
 */
const char *hawk_block_type_of_vtable(struct hawk_block_types *types, uint64_t word);

/** Likewise of objects in arrays: the class with "[]". */
const char *hawk_block_type_of_array(struct hawk_block_types *types, uint64_t word);

#endif
