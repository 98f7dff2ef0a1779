/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * All virtual tables of a process (Itanium C++ ABI), found by the type_infos before them: no symbol
 * and no file is needed, only modules' relocated data, which is in every core.
 */
#ifndef HAWK_ANALYZER_HEAP_VTABLES_H
#define HAWK_ANALYZER_HEAP_VTABLES_H

#include "hawk/target/target.h"

struct hawk_vtable {
	uint64_t address;   /**< the first word of an object */
	uint64_t type_info; /**< of its class */
	int64_t to_top; /**< from this table's part of an object to the object's start: 0, or below
			 */
};

/** Ascending by address. */
struct hawk_vtables {
	struct hawk_vtable *items;
	size_t count, capacity;
};

/** Finds all tables; reads the data of all modules once. A core lacks tables in unwritten file
 * memory (programs at a fixed address); these are not found. Deinitialize `ret` only after success.
 */
struct hawk_error *hawk_vtables_find(const struct hawk_target *target, struct hawk_vtables *ret);
void hawk_vtables_deinit(struct hawk_vtables *vtables);

/** Returns the table at the address `word`, or NULL. */
const struct hawk_vtable *hawk_vtables_at(const struct hawk_vtables *vtables, uint64_t word);

#endif
