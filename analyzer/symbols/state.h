/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The members of struct hawk_symbols, shared by lookup, naming and unwinding. Nothing outside this
 * folder includes it.
 *
 * A file is identified by path and build-id, not by its load address: two processes, or a core and
 * the module log of its trace table, share it. Addresses within a file are link-time addresses.
 */
#ifndef HAWK_ANALYZER_SYMBOLS_STATE_H
#define HAWK_ANALYZER_SYMBOLS_STATE_H

#include "dwarf_store.h"
#include "hawk/symbols/symbols.h"
#include "hawk/base/text.h"
#include "find.h"
#include "table.h"

struct hawk_cfi;
struct hawk_answers;
struct hawk_questions;

struct hawk_symbol_file {
	const char *path;
	uint64_t vdso_start; /**< address if this is the vdso, 0 = a file */
	uint8_t build_id[HAWK_MODULE_BUILD_ID_MAX];
	uint32_t build_id_bytes;
	bool main;
	enum hawk_symbol_status status;
	struct hawk_elf *binary; /**< NULL = not found */
	struct hawk_elf *debug;  /**< NULL = no separate one */
	struct hawk_symbol_table table;
	struct hawk_dwarf *dwarf; /**< NULL = none */
	struct hawk_cfi *cfi;     /**< unwind tables of `binary`; NULL = not asked for, or none */
	bool cfi_tried;
	bool names_missing;        /**< reported already */
	const char *nameless;      /**< text of that finding; NULL = not made yet */
	uint64_t first_page;       /**< lowest page of the file's addresses, if `has_layout` */
	bool has_layout;           /**< a file was found */
	bool for_graph;            /**< was open before questions were kept */
	struct hawk_findings said; /**< findings of opening and reading it */
	const struct hawk_answer_file *answers; /**< of a snapshot; NULL = none */
};

/** Key and result of a lookup. */
struct hawk_symbols_cached {
	const struct hawk_symbol_file *file; /**< NULL = free slot */
	uint64_t address;                    /**< pc at link time */
	const struct hawk_frame *frames;
	uint32_t count;
	bool exact;
	bool nameless; /**< the function has no name, and a debug file would have it */
};

struct hawk_symbols {
	const struct hawk_target *target; /**< NULL = none */
	struct hawk_symbols_search search;
	struct hawk_strings strings;
	struct hawk_text scratch; /**< demangled names */
	void *files;              /**< struct hawk_symbol_file, a tree of tsearch() */
	struct hawk_symbols_cached *cache;
	size_t frames_unwound; /**< of all threads so far */
	bool *noted_threads;   /**< by number: "stack-incomplete" was reported; NULL = for none */
	size_t cache_slots;    /**< a power of two, or 0 */
	size_t cache_count;
	struct hawk_dwarf_store types;    /**< asked for so far */
	void *coroutines;                 /**< found so far, a tree of tsearch() */
	struct hawk_answers *answers;     /**< in place of files: a snapshot's; NULL = none */
	struct hawk_questions *questions; /**< asked so far, for a snapshot; NULL = not kept */
};

/** Returns the module's file, opened; never NULL on success (see its status). */
struct hawk_error *hawk_symbols_file(struct hawk_symbols *symbols,
				     const struct hawk_symbol_module *module,
				     struct hawk_symbol_file **ret);

/** Returns the file's unwind tables, read on first use; NULL = none. */
const struct hawk_cfi *hawk_symbols_file_cfi(struct hawk_symbol_file *file);

/** Returns the difference between addresses in `module` and the file's. */
uint64_t hawk_symbols_bias(const struct hawk_symbol_file *file,
			   const struct hawk_symbol_module *module);

/** Compares files by identity. */
int hawk_symbols_compare_files(const void *left, const void *right);

/** A frame's registers, by their numbers in call frame information. */
struct hawk_frame_state {
	uint64_t pc;
	bool exact;
	const uint64_t *registers;
	uint64_t known; /**< bit per register whose value is known */
	uint64_t cfa;   /**< 0 = not known */
};

typedef void hawk_frame_function(void *context, uint32_t number,
				 const struct hawk_frame_state *frame);

/** Unwinds like hawk_symbols_unwind(), and calls `visit` for each frame. */
struct hawk_error *hawk_symbols_unwind_frames(struct hawk_symbols *symbols,
					      const struct hawk_thread *thread, size_t max,
					      hawk_frame_function *visit, void *context,
					      struct hawk_thread_frames *ret);

/** Returns the readable form of an ELF symbol's name, without version; interned; NULL = out of
 * memory. */
const char *hawk_symbols_readable(struct hawk_symbols *symbols, const char *name);

#endif
