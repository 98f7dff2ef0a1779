/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds the files of a module: the program or library, and its separate debug file. Returns only
 * files with the wanted build-id; a mismatch is a finding. Files are fetched only if the search has
 * a `debuginfod`.
 */
#ifndef HAWK_ANALYZER_SYMBOLS_FIND_H
#define HAWK_ANALYZER_SYMBOLS_FIND_H

#include "hawk/symbols/symbols.h"
#include "elf.h"

/** Settings of the search. Strings belong to the symbols object. */
struct hawk_symbols_search {
	const char *sysroot;
	const char *debug_directory;
	const char *system_debug_directory; /**< never NULL */
	const char *executable;
	const char *root;    /**< "/proc/PID/root" of a live process, or NULL */
	const char *program; /**< path of the main module if its own is empty, or NULL */
	struct hawk_module_tree *modules;   /**< of --module-dir, or NULL */
	struct hawk_debuginfod *debuginfod; /**< NULL = nothing is fetched */
	const struct hawk_target *target;   /**< NULL = not known */
	struct hawk_findings *findings;
};

struct hawk_symbols_files {
	struct hawk_elf *binary; /**< NULL = none that matches */
	struct hawk_elf *debug;  /**< separate debug file; NULL = none (or none needed) */
	enum hawk_symbol_status
		status; /**< HAWK_SYMBOL_UNUSED if a file was found, else the reason */
};

/**
 * Finds, opens and checks the files, which the caller owns. Fails only if memory runs out; a file
 * that cannot be opened for want of descriptors or memory is a finding. `mapped`
 * is a path to the module's file that works even if it was deleted or replaced (/proc of a live
 * process), or NULL.
 */
struct hawk_error *hawk_symbols_find(const struct hawk_symbols_search *search,
				     const struct hawk_symbol_module *module, const char *mapped,
				     struct hawk_symbols_files *ret);

/**
 * Finds the file of .gnu_debugaltlink, which dwz makes for several programs: `name`, perhaps
 * relative to the file `beside`, or by build-id. `*ret` stays NULL if none is found. Sets
 * `*refused` if an unusable file lies where libdw would look too.
 */
struct hawk_error *hawk_symbols_find_shared(const struct hawk_symbols_search *search,
					    const char *beside, const char *name, const uint8_t *id,
					    size_t bytes, bool *refused, struct hawk_elf **ret);

/** Turns HAWK_ERROR_OS into a finding and sets `*told`; passes NULL and other errors on. */
struct hawk_error *hawk_symbols_tell_unread(const struct hawk_symbols_search *search,
					    struct hawk_error *err, bool *told);

enum { HAWK_BUILD_ID_TEXT_MAX = 2 * HAWK_MODULE_BUILD_ID_MAX + 1 };

/** Writes lower-case hexadecimal digits, or "none" for no bytes. Returns `text`. */
const char *hawk_symbols_build_id_text(const uint8_t *id, size_t bytes,
				       char text[HAWK_BUILD_ID_TEXT_MAX]);

#endif
