/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The ELF symbols of a module: functions and data objects by address. Own sorted tables, because
 * asking libdw address by address is linear in the number of symbols.
 *
 * Names point into the files, which must stay open longer than the table.
 */
#ifndef HAWK_ANALYZER_SYMBOLS_TABLE_H
#define HAWK_ANALYZER_SYMBOLS_TABLE_H

#include "elf.h"
#include "ranges.h"

struct hawk_symbol {
	uint64_t address; /**< link-time */
	uint64_t size;    /**< 0 = unknown */
	uint64_t limit;   /**< end of its section, the limit of a symbol without a size */
	const char *name; /**< as in the file; may end in "@VERSION" */
	uint32_t score;   /**< the highest one at an address is kept */
	bool function;
};

/** Another name of a function. */
struct hawk_symbol_alias {
	uint64_t address; /**< link-time */
	const char *name; /**< as in the file; may end in "@VERSION" */
};

struct hawk_symbol_table {
	struct hawk_symbol *symbols;
	size_t count;
	size_t capacity;
	struct hawk_symbol_alias *aliases; /**< sorted by address, better ones first */
	size_t alias_count;
	struct hawk_ranges functions;
	struct hawk_ranges objects;
	bool complete; /**< has a .symtab: local functions have names too */
};

/** Fills an all-zero table from .symtab and .dynsym of both files (either may be NULL). */
struct hawk_error *hawk_symbol_table_build(struct hawk_symbol_table *table,
					   const struct hawk_elf *binary,
					   const struct hawk_elf *debug);
void hawk_symbol_table_deinit(struct hawk_symbol_table *table);

/** Returns the function that covers `address`; NULL = none. */
const struct hawk_symbol *hawk_symbol_table_function(const struct hawk_symbol_table *table,
						     uint64_t address);

/** Returns the index of the first other name of functions that start at `address`; further ones
 * follow. */
size_t hawk_symbol_table_aliases(const struct hawk_symbol_table *table, uint64_t address);

/** Returns the length of `name` without its version ("memcpy@@GLIBC_2.14"). */
size_t hawk_symbol_name_length(const char *name);

#endif
