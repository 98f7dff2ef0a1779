/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Types as debug information has them: of static variables, of thread-locals, of variables that are
 * live in a thread's frames; their members, targets and template arguments.
 *
 * An entry is read when it is asked for, and kept. An address's variable needs one pass over the
 * module's entries outside of functions. Debug information is foreign: members lie within their
 * type, lists are bounded, and what cannot be read has no type. Out of memory counts as unread.
 */
#ifndef HAWK_ANALYZER_SYMBOLS_DWARF_TYPES_H
#define HAWK_ANALYZER_SYMBOLS_DWARF_TYPES_H

#include "hawk/base/text.h"
#include "hawk/symbols/symbols.h"

enum hawk_dwarf_kind {
	HAWK_DWARF_OTHER, /**< void, functions, pointers to members */
	HAWK_DWARF_SCALAR,
	HAWK_DWARF_POINTER, /**< or a reference */
	HAWK_DWARF_STRUCT,
	HAWK_DWARF_UNION,
	HAWK_DWARF_ARRAY,
};

/** One entry, without typedefs and qualifiers. Belongs to the symbols object. */
struct hawk_dwarf_type {
	const char *name; /**< "ns::Node<int>"; "" of pointers, arrays, and unnamed types */
	uint64_t bytes;   /**< 0 = not known */
	uint64_t count;   /**< of an array's elements */
	uint32_t number;  /**< ascending from 0 */
	uint8_t kind;     /**< enum hawk_dwarf_kind */
};

struct hawk_dwarf_member {
	const char *name; /**< "" = a base, or an anonymous member */
	uint64_t offset;
	const struct hawk_dwarf_type *type;
	bool base;
};

/** A variable with a value: in memory, or in a register. */
struct hawk_dwarf_variable {
	const char *name; /**< qualified if static */
	const struct hawk_dwarf_type *type;
	uint64_t address; /**< 0 = `value` is all of it */
	uint64_t value;
	uint32_t frame; /**< of a local: 0 = innermost */
	bool is_static;
};

struct hawk_dwarf_variables {
	struct hawk_dwarf_variable *items;
	size_t count, capacity;
};

/** Finds the static variable that contains `address` of the module; false = none. */
bool hawk_dwarf_static_at(struct hawk_symbols *symbols, const struct hawk_symbol_module *module,
			  uint64_t address, struct hawk_dwarf_variable *ret);

/** Finds the main module's thread-local variable at `address` of the thread; false = none. */
bool hawk_dwarf_thread_local_at(struct hawk_symbols *symbols,
				const struct hawk_symbol_module *module, uint64_t address,
				uint64_t thread_pointer, struct hawk_dwarf_variable *ret);

/** Returns true if a variable in this range is of interest. */
typedef bool hawk_dwarf_wants_function(void *context, uint64_t start, uint64_t end);

/** Returns true for the C library, whose variables hold only blocks of its own: reading its debug
 * information, which packages compress, takes longer than all else. */
bool hawk_dwarf_is_c_library(const struct hawk_symbol_module *module);

/** Returns true if any module but the C library has debug information. Opens files of modules. */
bool hawk_dwarf_is_there(struct hawk_symbols *symbols);

/** Adds a module's static variables that `wants` accepts, or its thread-local ones of `thread` if
 * that is not NULL (the main module's only). Reads types of these alone. */
void hawk_dwarf_statics(struct hawk_symbols *symbols, const struct hawk_symbol_module *module,
			const struct hawk_thread *thread, hawk_dwarf_wants_function *wants,
			void *context, struct hawk_dwarf_variables *ret);

/** Adds the variables and parameters that are live in the thread's innermost frames. */
void hawk_dwarf_locals(struct hawk_symbols *symbols, const struct hawk_thread *thread,
		       struct hawk_dwarf_variables *ret);
void hawk_dwarf_variables_deinit(struct hawk_dwarf_variables *variables);

/** Finds a class by its symbols' name in the module at `address`; NULL = none. */
const struct hawk_dwarf_type *hawk_dwarf_class(struct hawk_symbols *symbols, uint64_t address,
					       const char *name);

/** Returns the target of a pointer, or the element of an array; NULL = none. */
const struct hawk_dwarf_type *hawk_dwarf_target(struct hawk_symbols *symbols,
						const struct hawk_dwarf_type *type);

/** Returns the members and bases, not static or virtual ones, nor bit-fields. */
const struct hawk_dwarf_member *
hawk_dwarf_members(struct hawk_symbols *symbols, const struct hawk_dwarf_type *type, size_t *count);

/** Returns the template argument `name`, or the first one if NULL; NULL = none. */
const struct hawk_dwarf_type *hawk_dwarf_argument(struct hawk_symbols *symbols,
						  const struct hawk_dwarf_type *type,
						  const char *name);

/** Finds the member at `path` ("_M_impl._M_start"), in bases and anonymous members as well. */
bool hawk_dwarf_member_at(struct hawk_symbols *symbols, const struct hawk_dwarf_type *type,
			  const char *path, struct hawk_dwarf_member *ret);

/** Returns the alignment that the type's scalars need. */
uint64_t hawk_dwarf_alignment(struct hawk_symbols *symbols, const struct hawk_dwarf_type *type);

/** Appends the type's name, also of pointers and arrays: "Session*[16]". */
void hawk_dwarf_append_name(struct hawk_symbols *symbols, const struct hawk_dwarf_type *type,
			    struct hawk_text *text);

/** Appends ".cache_.buckets_[3]": the members that lead to `offset`, without those that only the
 * standard library uses. */
void hawk_dwarf_append_path(struct hawk_symbols *symbols, const struct hawk_dwarf_type *type,
			    uint64_t offset, struct hawk_text *text);

#endif
