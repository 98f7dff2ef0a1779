/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Entries of types that were asked for, by address in the file; and, for each module, its static
 * variables and definitions of types. Internal to symbols/.
 */
#ifndef HAWK_ANALYZER_SYMBOLS_DWARF_STORE_H
#define HAWK_ANALYZER_SYMBOLS_DWARF_STORE_H

#include "dwarf_units.h"
#include "hawk/symbols/dwarf_types.h"

struct hawk_dwarf_entry {
	struct hawk_dwarf_type type; /**< first: the two convert into each other */
	Dwarf_Die die;
	struct hawk_dwarf *dwarf;
	const struct hawk_dwarf_type *target;
	struct hawk_dwarf_member *members;
	size_t member_count;
	uint64_t alignment; /**< 0 = not asked */
	bool has_target, has_members;
};

/** Open addressing, at most half full. */
struct hawk_dwarf_store {
	struct hawk_dwarf_slot {
		const void *key; /**< an entry's address in the file; NULL = free */
		struct hawk_dwarf_entry *entry;
	} * slots;
	size_t slot_count, count;
	uint32_t next_number;
	int depth; /**< of types being read for others */
};

/** A static or thread-local variable. */
struct hawk_dwarf_static {
	uint64_t address; /**< link-time, or the offset in the module's thread-local storage */
	Dwarf_Die die;
};

struct hawk_dwarf_statics {
	struct hawk_dwarf_static *items; /**< sorted by address */
	size_t count, capacity;
};

/** The definition of a type; `die.addr` NULL = there are different ones. */
struct hawk_dwarf_definition {
	uint64_t hash; /**< of the qualified name; 0 = free */
	uint64_t bytes;
	Dwarf_Die die;
};

struct hawk_dwarf_index {
	struct hawk_dwarf_statics globals, thread_locals;
	struct hawk_dwarf_definition *definitions; /**< hash table, at most half full */
	size_t slot_count, count;
	bool deep; /**< has variables of functions and nested types, too */
};

/** Returns the index of a module, made on first use; NULL = out of memory. */
const struct hawk_dwarf_index *hawk_dwarf_index_of(struct hawk_dwarf *dwarf);
/** Accepts NULL. */
void hawk_dwarf_index_destroy(struct hawk_dwarf_index *index);

/** Returns the variable with the highest address up to `address`; NULL = none. */
const struct hawk_dwarf_static *hawk_dwarf_statics_find(const struct hawk_dwarf_statics *statics,
							uint64_t address);

/** Finds the definition of a type; false = none, or different ones. */
bool hawk_dwarf_index_definition(const struct hawk_dwarf_index *index, const char *name,
				 Dwarf_Die *ret);

/** Returns the type of `die`; NULL = void, or unreadable. */
const struct hawk_dwarf_type *hawk_dwarf_type_of(struct hawk_symbols *symbols,
						 struct hawk_dwarf *dwarf, Dwarf_Die *die);
/** Returns the type that DW_AT_type of `die`, or of the entry that it completes, refers to. */
const struct hawk_dwarf_type *hawk_dwarf_type_attribute(struct hawk_symbols *symbols,
							struct hawk_dwarf *dwarf, Dwarf_Die *die);

void hawk_dwarf_store_destroy(struct hawk_dwarf_store *store);

#endif
