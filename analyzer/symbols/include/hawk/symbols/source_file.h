/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A source file that debug information names, found on this machine and read without trust: a
 * regular file of text, at most 64 MiB. Nothing else is opened. Debug information can name any file
 * that the user may read, so contents go to the user and nowhere else.
 */
#ifndef HAWK_ANALYZER_SYMBOLS_SOURCE_FILE_H
#define HAWK_ANALYZER_SYMBOLS_SOURCE_FILE_H

#include "hawk/symbols/symbols.h"

enum { HAWK_SOURCE_BYTES_MAX = 64 << 20 };

/** The user's own folders, searched first. */
struct hawk_source_directories {
	const char *const *items;
	size_t count;
};

struct hawk_source_file {
	char *path;      /**< the path found; NULL = none, or only a refused one */
	const char *why; /**< static: "is not a regular file"; NULL = nothing was refused */
	char *refused;   /**< the path that `why` is about; NULL = none */
	char *text;      /**< NUL-terminated, holds no other NUL; NULL without `path` */
	size_t bytes;
	uint32_t line_count;
	int64_t changed_ns; /**< CLOCK_REALTIME of the last change of its contents */

	/* Position of hawk_source_file_line(). */
	const char *at;
	uint32_t at_line;
};

/**
 * Looks for `path`, as DWARF has it: with its longest tail below each of `directories`, then below
 * the sysroot, below the root of a live process, and at the path itself. A relative path is
 * searched only in `directories`. Fails only if memory runs out; overwrites `*ret`.
 */
struct hawk_error *hawk_source_file_open(const struct hawk_symbols *symbols,
					 const struct hawk_source_directories *directories,
					 const char *path, struct hawk_source_file *ret);
void hawk_source_file_deinit(struct hawk_source_file *file);

/** Returns line `number` (from 1), `*bytes` long, or NULL if the file ends before it. Fast for
 * ascending numbers. */
const char *hawk_source_file_line(struct hawk_source_file *file, uint32_t number, size_t *bytes);

/** Returns true if `file` was changed after the file of `module`, which has been looked up. */
bool hawk_source_file_is_newer(struct hawk_symbols *symbols,
			       const struct hawk_symbol_module *module,
			       const struct hawk_source_file *file);

static inline void hawk_cleanup_source_file(struct hawk_source_file *file)
{
	hawk_source_file_deinit(file);
}

#endif
