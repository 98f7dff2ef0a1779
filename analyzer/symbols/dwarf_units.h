/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * DWARF of one module: finds the unit of an address, its line table, and the functions and inlined
 * calls at the address. A unit is read on the first lookup in it.
 *
 * The index of units is our own, from their ranges: clang writes no .debug_aranges, and libdw's
 * search by address is linear. Nothing is fetched from the network. A split unit (.dwo) or a shared
 * one (.gnu_debugaltlink) is opened only if it is a regular file.
 */
#ifndef HAWK_ANALYZER_SYMBOLS_DWARF_UNITS_H
#define HAWK_ANALYZER_SYMBOLS_DWARF_UNITS_H

#include <elfutils/libdw.h>

#include "find.h"
#include "hawk/base/text.h"
#include "ranges.h"
#include "strings.h"

struct hawk_dwarf_index;

enum { HAWK_DWARF_NO_NODE = UINT32_MAX };

/** A function or an inlined call that has code in the unit. */
struct hawk_dwarf_node {
	Dwarf_Die die;
	uint32_t parent; /**< index of the node around it, or HAWK_DWARF_NO_NODE */
	uint32_t call_line;
	uint64_t call_file;   /**< index into the unit's files */
	uint64_t start;       /**< lowest address */
	const char *function; /**< demangled and qualified; NULL = unknown, or not `named` yet */
	const char *symbol;   /**< linkage name, or the plain one */
	const char *plain;    /**< without scopes and parameters; NULL = unknown */
	bool inlined;
	bool named;
};

/** A namespace, class or function that qualifies names, with the range of its subtree. */
struct hawk_dwarf_scope {
	Dwarf_Die die;
	uint32_t parent; /**< index of the scope around it, or HAWK_DWARF_NO_NODE */
};

struct hawk_dwarf_unit {
	Dwarf_Die skeleton; /**< has the ranges and the line table */
	Dwarf_Die die;      /**< has the functions; differs from `skeleton` in split DWARF */
	Dwarf_Files *files;
	size_t file_count;
	struct hawk_dwarf_node *nodes;
	size_t node_count;
	size_t node_capacity;
	struct hawk_ranges ranges; /**< ids are indices of nodes */
	struct hawk_dwarf_scope *scopes;
	size_t scope_count;
	size_t scope_capacity;
	struct hawk_ranges
		scope_ranges; /**< of offsets in .debug_info; ids are indices of scopes */
	bool prepared;
};

struct hawk_dwarf {
	Dwarf *dwarf;
	Dwarf *shared;                               /**< of `shared_elf`; NULL = none */
	struct hawk_elf *shared_elf;                 /**< .gnu_debugaltlink */
	struct hawk_elf *unpacked, *shared_unpacked; /**< hawk_elf_unpack(); NULL = not needed */
	const struct hawk_elf *elf;                  /**< the file it came from; not owned */
	const struct hawk_elf *layout; /**< its segments show which addresses are code; not owned */
	const struct hawk_symbols_search *search; /**< not owned */
	struct hawk_strings *strings;
	struct hawk_dwarf_unit *units;
	size_t unit_count;
	size_t unit_capacity;
	struct hawk_ranges ranges;      /**< ids are indices of units */
	size_t scope_searches;          /**< linear ones made so far */
	size_t last_unit;               /**< of hawk_dwarf_unit_of() */
	uint64_t info_bytes;            /**< where the last unit begins */
	struct hawk_dwarf_index *index; /**< dwarf_index.c; NULL = not asked for */
};

/**
 * Opens the DWARF of `elf`; `*ret` is NULL if it has none usable. `layout` is the binary (or the
 * same file). All arguments must outlive `*ret`.
 */
struct hawk_error *hawk_dwarf_create(const struct hawk_elf *elf, const struct hawk_elf *layout,
				     const struct hawk_symbols_search *search,
				     struct hawk_strings *strings, struct hawk_dwarf **ret);

/** Accepts NULL. */
void hawk_dwarf_destroy(struct hawk_dwarf *dwarf);

/** Finds and prepares the unit that covers `address`; `*ret` is NULL if none. */
struct hawk_error *hawk_dwarf_unit_at(struct hawk_dwarf *dwarf, uint64_t address,
				      struct hawk_dwarf_unit **ret);

/** Returns the prepared unit of an entry; NULL = it has no code, or out of memory. */
struct hawk_dwarf_unit *hawk_dwarf_unit_of(struct hawk_dwarf *dwarf, Dwarf_Die *die);

/** dwarf_functions.c: fills nodes, scopes and their ranges of a unit. */
struct hawk_error *hawk_dwarf_read_functions(struct hawk_dwarf *dwarf,
					     struct hawk_dwarf_unit *unit);

/** dwarf_names.c: sets function and symbol of a node; out of memory leaves NULLs. */
void hawk_dwarf_name(struct hawk_dwarf *dwarf, struct hawk_dwarf_unit *unit,
		     struct hawk_dwarf_node *node);

/** dwarf_names.c: replaces gcc's names of integers from byte `from` on ("long unsigned int") by
 * those of demangled names ("unsigned long"). The text has been appended to. */
void hawk_dwarf_spell_integers(struct hawk_text *text, size_t from);

/** dwarf_names.c: returns an entry's name with namespaces and classes; NULL = it has none. */
const char *hawk_dwarf_qualified(struct hawk_dwarf *dwarf, Dwarf_Die *die);

/**
 * Adds the code ranges of `die` to `ranges`; `*lowest` becomes the lowest start. `budget` bounds
 * all ranges of a unit together. Returns false if memory runs out.
 */
bool hawk_dwarf_add_ranges(const struct hawk_dwarf *dwarf, Dwarf_Die *die, uint32_t rank,
			   uint32_t id, struct hawk_ranges *ranges, uint64_t *lowest,
			   size_t *budget);

/**
 * Returns true if memory suffices for libdw's unchecked allocations: the hash tables of
 * abbreviations (lib/dynamicsizehash_concurrent.c up to elfutils 0.196 crashes or aborts). Call
 * before libdw reads entries that may be new to it, and again after own allocations.
 */
bool hawk_dwarf_has_room(void);

/** Grows the stack as far as libdw will. Call before memory can be short: then the kernel would end
 * the process instead. */
void hawk_dwarf_reserve_stack(void);

/** Returns an interned copy of `string`; NULL for NULL, or if memory runs out. */
const char *hawk_dwarf_intern(struct hawk_dwarf *dwarf, const char *string);

#endif
