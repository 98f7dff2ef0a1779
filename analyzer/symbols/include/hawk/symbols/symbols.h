/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Names for code addresses: function, file:line, inlined frames, from ELF and DWARF files found on
 * this machine.
 *
 * Lazy: a file is opened when the first address in it is asked for. A binary is used only if its
 * build-id is the one in the core (or the trace table); one that does not match is named in the
 * findings and not used. Only regular files are opened, never anything else that a core may name,
 * and nothing is fetched from the network.
 */
#ifndef HAWK_ANALYZER_SYMBOLS_H
#define HAWK_ANALYZER_SYMBOLS_H

#include "hawk/target/target.h"

struct hawk_symbols;

struct hawk_symbols_options {
	const char *sysroot;         /**< put in front of the target's paths; NULL = none */
	const char *debug_directory; /**< searched as DIR/.build-id/xx/yyyy.debug before
					/usr/lib/debug; NULL = none */
	const char *executable;      /**< use this file for the main module; NULL = by path */
};

/** One place in the source. Strings belong to the symbols object and live as long as it. */
struct hawk_frame {
	const char *function;     /**< demangled; NULL = unknown */
	const char *symbol;       /**< as in the file (mangled); NULL = unknown */
	const char *plain;        /**< in DWARF, without scopes and parameters; NULL = unknown */
	uint64_t function_offset; /**< address minus the symbol's start; 0 for inlined frames */
	const char *file;         /**< path as in DWARF, directories included; NULL = unknown */
	uint32_t line;            /**< 0 = unknown */
	bool inlined;             /**< inlined into the next frame of the same address */
};

static const uint64_t HAWK_SYMBOL_BIAS_UNKNOWN = UINT64_MAX;

/** A module to take names from: a hawk_module of the target or a record of the trace table's module
 * log. */
struct hawk_symbol_module {
	const char *path;
	uint64_t bias; /**< HAWK_SYMBOL_BIAS_UNKNOWN = take it from `start` and the file */
	uint64_t start, end;
	const uint8_t *build_id;
	uint32_t build_id_bytes;
	bool main;
};

/** What became of a module's file; for the table "module, build-id wanted, found, status". */
enum hawk_symbol_status {
	HAWK_SYMBOL_UNUSED = 0, /**< nothing was asked for yet */
	HAWK_SYMBOL_DWARF,      /**< function, file and line */
	HAWK_SYMBOL_SYMTAB,     /**< function names only */
	HAWK_SYMBOL_NOT_FOUND,
	HAWK_SYMBOL_MISMATCH, /**< there is a file with another build-id */
	HAWK_SYMBOL_REFUSED,  /**< not a regular file, or not an ELF file */
};

struct hawk_error *hawk_symbols_create(const struct hawk_target *target,
				       const struct hawk_symbols_options *options,
				       struct hawk_findings *findings, struct hawk_symbols **ret);
void hawk_symbols_destroy(struct hawk_symbols *symbols);

/**
 * The frames at `pc`, innermost inlined one first, the real function last; at least one (with NULLs
 * if nothing is known). `exact` = the pc of an interrupted instruction; else it is a return address
 * and pc - 1 is looked up. Cached: asking again is cheap. `*ret` belongs to the symbols object.
 */
struct hawk_error *hawk_symbols_lookup(struct hawk_symbols *symbols,
				       const struct hawk_symbol_module *module, uint64_t pc,
				       bool exact, const struct hawk_frame **ret, size_t *count);

/**
 * All names that the symbol table has for the function at `pc`, versions included ("strdup",
 * "__strdup", "pthread_create@@GLIBC_2.34"), best first, `max` at most. Strings belong to the
 * symbols object.
 */
struct hawk_error *hawk_symbols_aliases(struct hawk_symbols *symbols,
					const struct hawk_symbol_module *module, uint64_t pc,
					bool exact, const char **names, size_t max, size_t *count);

/** The data or function symbol that covers `address` of `module` (whatis), or NULL in `*name`. */
struct hawk_error *hawk_symbols_name(struct hawk_symbols *symbols,
				     const struct hawk_symbol_module *module, uint64_t address,
				     const char **name, uint64_t *offset);

/** What names an address in memory of a module. Strings belong to the symbols object. */
struct hawk_symbol_place {
	const char *name;    /**< data or function symbol; NULL = none covers it */
	uint64_t offset;     /**< from the symbol's start; 0 without one */
	const char *section; /**< NULL = not known, or thread-local */
	/** Addresses around it, `end` exclusive, that have the same names: at least the one, not
	 * always all. */
	uint64_t start, end;
};

/** hawk_symbols_name() with more around it. */
struct hawk_error *hawk_symbols_place(struct hawk_symbols *symbols,
				      const struct hawk_symbol_module *module, uint64_t address,
				      struct hawk_symbol_place *ret);

/**
 * The thread-local variable at `address` of the thread whose thread pointer is given. Only for the
 * main module: where those of others lie is known to the dynamic loader.
 */
struct hawk_error *hawk_symbols_tls_place(struct hawk_symbols *symbols,
					  const struct hawk_symbol_module *module, uint64_t address,
					  uint64_t thread_pointer, struct hawk_symbol_place *ret);

enum hawk_symbol_status hawk_symbols_status(const struct hawk_symbols *symbols,
					    const struct hawk_symbol_module *module);

/** Module of the target as a symbol module. */
struct hawk_symbol_module hawk_symbol_module_of(const struct hawk_module *module);

/** Fills `*ret` with the module of the target that has `address`, or has a copy there; false =
 * none. */
bool hawk_symbols_module_at(const struct hawk_symbols *symbols, uint64_t address,
			    struct hawk_symbol_module *ret);

/**
 * Fills `*ret` with the module whose code is mapped once more at `address`, as node does with its
 * own; false = none. The dynamic loader does not know of such mappings.
 */
bool hawk_symbols_copy_at(const struct hawk_symbols *symbols, uint64_t address,
			  struct hawk_symbol_module *ret);

/** One frame of an unwound thread. */
struct hawk_stack_frame {
	uint64_t pc;
	uint64_t sp; /**< stack pointer in that frame */
	bool exact;  /**< leaf frame, or interrupted by a signal */
};

/** Why unwinding ended. */
enum hawk_unwind_end {
	HAWK_UNWIND_END_OUTERMOST = 0, /**< the thread's first frame was reached */
	HAWK_UNWIND_END_LOST,          /**< there are more frames, but they cannot be found */
	HAWK_UNWIND_END_LIMIT,         /**< there may be more than were asked for */
};

/** The frames of a thread, innermost first. */
struct hawk_thread_frames {
	struct hawk_stack_frame *frames;
	size_t count;
	enum hawk_unwind_end end;
	bool guessed; /**< frame pointers of unknown code were followed: frames may be missing */
};

enum {
	/** More than fit into the usual 8 MiB of stack: a frame takes 8 bytes or more. 24 MiB. */
	HAWK_UNWIND_FRAMES_MAX = 1 << 20,
	/** Of all threads together, about 6 s; then each gets no more than the lower number. A
	 * damaged core can have any number of threads on one deep stack. */
	HAWK_UNWIND_FRAMES_TOTAL = 1 << 23,
	HAWK_UNWIND_FRAMES_LATER = 1 << 12,
};

/**
 * Unwinds `thread` by CFI of the files that match (the core holds no .eh_frame), falling back to
 * frame pointers; at most `max` frames. Stops at the first frame that makes no sense. Never loops:
 * the stack pointer must grow. `*ret` is filled anew, and to be freed also after an error.
 */
struct hawk_error *hawk_symbols_unwind(struct hawk_symbols *symbols,
				       const struct hawk_thread *thread, size_t max,
				       struct hawk_thread_frames *ret);

void hawk_thread_frames_deinit(struct hawk_thread_frames *frames);

#endif
