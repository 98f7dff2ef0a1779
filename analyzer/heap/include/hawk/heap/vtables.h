/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * All virtual tables of a process (Itanium C++ ABI), found by the type_infos before them. No symbol
 * is needed, only modules' relocated data, which is in every core. Those of a program at a fixed
 * address lie in its file, which is read for them; without type_infos (-fno-rtti) its symbols tell.
 */
#ifndef HAWK_ANALYZER_HEAP_VTABLES_H
#define HAWK_ANALYZER_HEAP_VTABLES_H

#include "hawk/symbols/symbols.h"

struct hawk_vtable {
	uint64_t address;   /**< the first word of an object */
	uint64_t type_info; /**< of its class; 0 = known by a symbol alone */
	int64_t to_top; /**< from this table's part of an object to the object's start: 0, or below
			 */
	/** Range of table addresses: one word, or the rest of the symbol if that alone is known. */
	uint64_t bytes;
};

/** The tables of a target. The caller sets the first two; hawk_vtables_find() does the rest. */
struct hawk_vtables {
	const struct hawk_target *target;
	struct hawk_symbols *symbols; /**< NULL = no file is read */
	struct hawk_vtable *items;    /**< ascending by address */
	size_t count, capacity;
	bool found;
};

/** Finds all tables, unless they have been found; reads the data of all modules once. A snapshot
 * has none. */
struct hawk_error *hawk_vtables_find(struct hawk_vtables *vtables);
void hawk_vtables_deinit(struct hawk_vtables *vtables);

/** Returns the table at the address `word`, or NULL. */
const struct hawk_vtable *hawk_vtables_at(const struct hawk_vtables *vtables, uint64_t word);

#endif
