/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The type of a block, if known: the name given with hawk_annotate_type(), a guest's type, or the
 * class whose virtual table its first word points to ("T[]" for new[] arrays, whose first word is
 * the element count), or the coroutine whose frame it is. Reads the target; looks up each virtual
 * table once.
 */
#ifndef HAWK_ANALYZER_NAMES_BLOCK_TYPE_H
#define HAWK_ANALYZER_NAMES_BLOCK_TYPE_H

#include "hawk/heap/heap.h"
#include "hawk/heap/vtables.h"
#include "hawk/symbols/coroutines.h"
#include "hawk/symbols/symbols.h"
#include "hawk/names/type_words.h"

struct hawk_block_types;

/** All arguments must outlive `*ret`. `tables` names classes without a name by the places of their
 * tables; NULL = none are known. */
struct hawk_error *hawk_block_types_create(const struct hawk_heap *heap,
					   const struct hawk_vtables *tables,
					   struct hawk_symbols *symbols,
					   struct hawk_block_types **ret);
/** Accepts NULL. */
void hawk_block_types_destroy(struct hawk_block_types *types);

/** Returns the filter for words that can point to virtual tables. */
const struct hawk_module_words *hawk_block_types_modules(const struct hawk_block_types *types);

/** Returns the name given to the blocks of `trace`, or their guest's; NULL = none. Any thread may
 * call it. */
const char *hawk_block_type_name(const struct hawk_block_types *types, uint32_t trace);

/** Returns the type, or NULL if unknown. It lives as long as `types` and its symbols. */
const char *hawk_block_type(struct hawk_block_types *types, const struct hawk_block *block);

/** Likewise from words read before (hawk_type_words_at()), without reading the target. */
const char *hawk_block_type_of_words(struct hawk_block_types *types, const struct hawk_block *block,
				     const struct hawk_type_words *words);

/**
 * Returns the class of the virtual table that `word` points into, or NULL: its name, else the
 * table's place. Any thread may call it, and the next two.
 */
const char *hawk_block_type_of_vtable(struct hawk_block_types *types, uint64_t word);

/** Returns true if that is the table's place. */
bool hawk_block_type_is_place(struct hawk_block_types *types, uint64_t word);

/** Likewise for arrays: the class with "[]". */
const char *hawk_block_type_of_array(struct hawk_block_types *types, uint64_t word);

/** Returns the coroutine whose frame begins with these words; NULL = none. Any thread may call it.
 */
const struct hawk_coroutine *hawk_block_coroutine(struct hawk_block_types *types,
						  const struct hawk_type_words *words);

/** Writes the type words of all blocks of `heap` whose types have names to a snapshot: the address
 * of the virtual table. */
struct hawk_error *hawk_block_types_save(struct hawk_block_types *types,
					 const struct hawk_heap *heap,
					 struct hawk_snapshot_writer *writer);

#endif
