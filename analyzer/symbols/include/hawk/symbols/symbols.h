/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Names for code addresses: function, file:line, inlined frames, from ELF and DWARF files found on
 * this machine.
 *
 * Lazy: opens a file when the first address in it is looked up. Uses a binary only if its build-id
 * matches the core (or the trace table); reports a mismatch as a finding. Opens regular files only
 * and fetches nothing from the network.
 */
#ifndef HAWK_ANALYZER_SYMBOLS_H
#define HAWK_ANALYZER_SYMBOLS_H

#include "hawk/target/target.h"

struct hawk_symbols;

struct hawk_symbols_options {
	const char *sysroot;         /**< prepended to the target's paths; NULL = none */
	const char *debug_directory; /**< searched as DIR/.build-id/xx/yyyy.debug first; NULL =
					none */
	const char *system_debug_directory; /**< searched next; NULL = /usr/lib/debug */
	const char *executable; /**< use this file for the main module; NULL = by path */
	/** Files anywhere below it are found by build-id alone; NULL = none. */
	const char *module_directory;
	/** Bytes that debuginfod servers may send (DEBUGINFOD_URLS); 0 = they are not asked. */
	uint64_t download_bytes_max;
};

/** One source location. Strings belong to the symbols object. */
struct hawk_frame {
	const char *function;     /**< demangled; NULL = unknown */
	const char *symbol;       /**< as in the file (mangled); NULL = unknown */
	const char *plain;        /**< DWARF name without scopes and parameters; NULL = unknown */
	uint64_t function_offset; /**< address minus the symbol's start; 0 for inlined frames */
	const char *file;         /**< path as in DWARF, directories included; NULL = unknown */
	const char *directory;    /**< base of a relative `file`; NULL = unknown */
	uint32_t line;            /**< 0 = unknown */
	bool inlined;             /**< inlined into the next frame of the same address */
};

static const uint64_t HAWK_SYMBOL_BIAS_UNKNOWN = UINT64_MAX;

/** A module to look up names in: the target's hawk_module or a record of the trace table's module
 * log. */
struct hawk_symbol_module {
	const char *path;
	uint64_t bias; /**< HAWK_SYMBOL_BIAS_UNKNOWN = take it from `start` and the file */
	uint64_t start, end;
	const uint8_t *build_id;
	uint32_t build_id_bytes;
	bool main;
};

/** Lookup status of a module's file, for the table "module, build-id wanted, found, status". */
enum hawk_symbol_status {
	HAWK_SYMBOL_UNUSED = 0, /**< not looked up yet */
	HAWK_SYMBOL_DWARF,      /**< function, file and line */
	HAWK_SYMBOL_SYMTAB,     /**< function names only */
	HAWK_SYMBOL_NOT_FOUND,
	HAWK_SYMBOL_MISMATCH, /**< a file has another build-id */
	HAWK_SYMBOL_REFUSED,  /**< not a regular file, or not an ELF file */
};

struct hawk_error *hawk_symbols_create(const struct hawk_target *target,
				       const struct hawk_symbols_options *options,
				       struct hawk_findings *findings, struct hawk_symbols **ret);
void hawk_symbols_destroy(struct hawk_symbols *symbols);

/**
 * Returns the frames at `pc`: innermost inlined one first, the real function last; at least one
 * (NULLs if unknown). `exact`: `pc` is an interrupted instruction; otherwise a return address, and
 * pc - 1 is looked up. Results are cached. `*ret` belongs to the symbols object.
 */
struct hawk_error *hawk_symbols_lookup(struct hawk_symbols *symbols,
				       const struct hawk_symbol_module *module, uint64_t pc,
				       bool exact, const struct hawk_frame **ret, size_t *count);

/**
 * Returns all symbol-table names of the function at `pc`, versions included ("strdup", "__strdup",
 * "pthread_create@@GLIBC_2.34"), best first, `max` at most. Strings belong to the symbols object.
 */
struct hawk_error *hawk_symbols_aliases(struct hawk_symbols *symbols,
					const struct hawk_symbol_module *module, uint64_t pc,
					bool exact, const char **names, size_t max, size_t *count);

/** Returns the data or function symbol that covers `address` of `module` in `*name`, or NULL. A
 * virtual table without a symbol is named by its type_info, as if it had one. */
struct hawk_error *hawk_symbols_name(struct hawk_symbols *symbols,
				     const struct hawk_symbol_module *module, uint64_t address,
				     const char **name, uint64_t *offset);

/**
 * Returns the bytes that the file of the target's module holds for `address`, as they were before
 * relocation, and how many follow. NULL: no file was found, or it has none. Opens the file. They
 * live as long as the symbols object.
 */
const uint8_t *hawk_symbols_bytes(struct hawk_symbols *symbols, uint64_t address,
				  uint64_t *available);

/** Copies code from the module's file, or else from the target's memory; returns false if neither
 * holds it. */
bool hawk_symbols_read_code(struct hawk_symbols *symbols, uint64_t address, void *to, size_t bytes);

/** Called for a data object; a returned error ends it. */
typedef struct hawk_error *hawk_object_function(void *context, uint64_t address, uint64_t bytes);

/** Goes through the data objects of a module whose symbols, as in the file, begin with `prefix`. */
struct hawk_error *hawk_symbols_each_object(struct hawk_symbols *symbols,
					    const struct hawk_symbol_module *module,
					    const char *prefix, hawk_object_function *take,
					    void *context);

/** Returns a copy of `string` that belongs to the symbols object, the same one for the same string.
 * NULL = out of memory. */
const char *hawk_symbols_intern(struct hawk_symbols *symbols, const char *string);

typedef void hawk_symbols_string_function(void *context, const char *string);

/** Goes through all strings that belong to the symbols object, names of functions, types and files
 * among them, in no particular order. `take` must not ask for further names. */
void hawk_symbols_each_string(const struct hawk_symbols *symbols,
			      hawk_symbols_string_function *take, void *context);

/** Names for an address in a module. Strings belong to the symbols object. */
struct hawk_symbol_place {
	const char *name;    /**< data or function symbol; NULL = none */
	uint64_t offset;     /**< from the symbol's start; 0 without one */
	const char *section; /**< NULL = not known, or thread-local */
	/** A range around the address, `end` exclusive, with the same names; not always the
	 * largest. */
	uint64_t start, end;
};

/** Like hawk_symbols_name(), with more detail. */
struct hawk_error *hawk_symbols_place(struct hawk_symbols *symbols,
				      const struct hawk_symbol_module *module, uint64_t address,
				      struct hawk_symbol_place *ret);

/**
 * Finds the thread-local variable at `address` of the thread with that thread pointer. Works for
 * the main module only: the dynamic loader places the others' variables.
 */
struct hawk_error *hawk_symbols_tls_place(struct hawk_symbols *symbols,
					  const struct hawk_symbol_module *module, uint64_t address,
					  uint64_t thread_pointer, struct hawk_symbol_place *ret);

enum hawk_symbol_status hawk_symbols_status(const struct hawk_symbols *symbols,
					    const struct hawk_symbol_module *module);

/** Converts a module of the target to a symbol module. */
struct hawk_symbol_module hawk_symbol_module_of(const struct hawk_module *module);

/** Fills `*ret` with the target's module that contains `address`, or whose code is copied there;
 * false = none. */
bool hawk_symbols_module_at(const struct hawk_symbols *symbols, uint64_t address,
			    struct hawk_symbol_module *ret);

/**
 * Fills `*ret` with the module whose code is mapped a second time at `address`, as node does with
 * its own; false = none. The dynamic loader does not know such mappings.
 */
bool hawk_symbols_copy_at(const struct hawk_symbols *symbols, uint64_t address,
			  struct hawk_symbol_module *ret);

/**
 * Keeps the places asked for from now on, for snapshots: they could not be asked again without
 * files. Files that are open already were needed to make the graph.
 */
struct hawk_error *hawk_symbols_keep_questions(struct hawk_symbols *symbols);

/**
 * Writes every frame looked up, the places kept, and the frames of all threads to a snapshot. A
 * snapshot's symbols give only these, without opening a file.
 */
struct hawk_error *hawk_symbols_save(struct hawk_symbols *symbols,
				     struct hawk_snapshot_writer *writer);

/** Adds a snapshot's findings about the files that were needed to make the graph. */
struct hawk_error *hawk_symbols_open_for_graph(struct hawk_symbols *symbols);

/** The way a frame was found. */
enum hawk_frame_confidence {
	HAWK_FRAME_CFI = 0, /**< by rules; the innermost one by registers */
	/** By the frame pointer of unknown code: frames are missing if that does not keep it. */
	HAWK_FRAME_FP,
	HAWK_FRAME_GUESS, /**< by a search */
};

/** One frame of an unwound thread. */
struct hawk_stack_frame {
	uint64_t pc;
	uint64_t sp;        /**< stack pointer in that frame */
	bool exact;         /**< leaf frame, or interrupted by a signal */
	uint8_t confidence; /**< enum hawk_frame_confidence */
};

/** The reason why unwinding ended. */
enum hawk_unwind_end {
	HAWK_UNWIND_END_OUTERMOST = 0, /**< the thread's first frame was reached */
	HAWK_UNWIND_END_LOST,          /**< more frames exist but cannot be found */
	HAWK_UNWIND_END_LIMIT,         /**< stopped at the limit; more may exist */
};

/** The frames of a thread, innermost first. */
struct hawk_thread_frames {
	struct hawk_stack_frame *frames;
	size_t count, capacity;
	enum hawk_unwind_end end;
	bool guessed; /**< frame pointers were followed through unknown code: frames may be missing
		       */
};

enum {
	/** Upper limit on frames of one thread (24 MiB). An 8 MiB stack cannot hold more: a frame
	 * takes at least 8 bytes. */
	HAWK_UNWIND_FRAMES_MAX = 1 << 20,
	/** Upper limit on frames of all threads together (about 6 s); beyond it each thread gets
	 * the smaller limit. A damaged core can put any number of threads on one deep stack. */
	HAWK_UNWIND_FRAMES_TOTAL = 1 << 23,
	HAWK_UNWIND_FRAMES_LATER = 1 << 12,
};

/**
 * Unwinds `thread` by the CFI of matching files (the core holds no .eh_frame), falling back to
 * frame pointers; at most `max` frames. Stops at the first implausible frame. Never loops: the
 * stack pointer must grow. Overwrites `*ret`; free it even after an error.
 */
struct hawk_error *hawk_symbols_unwind(struct hawk_symbols *symbols,
				       const struct hawk_thread *thread, size_t max,
				       struct hawk_thread_frames *ret);

/**
 * Finds all frames. Where hawk_symbols_unwind() loses the next one, adds the finding
 * "stack-incomplete" and searches the stack upward for a return address from which rules lead to
 * the thread's first frame: these frames are guesses. A snapshot has none.
 */
struct hawk_error *hawk_symbols_unwind_whole(struct hawk_symbols *symbols,
					     const struct hawk_thread *thread,
					     struct hawk_thread_frames *ret);

/** Adds the finding "stack-incomplete", once for each of the target's threads. */
void hawk_symbols_note_incomplete(struct hawk_symbols *symbols, const struct hawk_thread *thread);

void hawk_thread_frames_deinit(struct hawk_thread_frames *frames);

#endif
