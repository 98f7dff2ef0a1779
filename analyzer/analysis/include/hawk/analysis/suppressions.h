/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Suppressions: leaks that are known and not to be told again, in the two notations that people
 * have files of. Names of frames come from the caller, so nothing here knows how they were found.
 *
 * LeakSanitizer: a line `leak:PATTERN`; some frame's function, file or module contains PATTERN,
 * where * is any text, ^ at its beginning and $ at its end are those of the name. Valgrind: an
 * entry in braces (name, Memcheck:Leak, match-leak-kinds:, then fun:, obj:, src: and ... for the
 * stack from the allocation function outwards, with * and ? for any text and any character). Both
 * may be in one file; # begins a comment line, and lines of memcheck's log are passed over.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_SUPPRESSIONS_H
#define HAWK_ANALYZER_ANALYSIS_SUPPRESSIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "hawk/base/error.h"
#include "hawk/graph/reach.h"

enum {
	HAWK_SUPPRESSION_BYTES_MAX = 16 << 20, /**< of one file */
	HAWK_SUPPRESSION_FRAMES_MAX = 256,     /**< of one entry */
};

/** Of one line of a stack; NULL = unknown. */
struct hawk_suppression_frame {
	const char *function; /**< demangled */
	const char *symbol;   /**< as in the file */
	const char *file;
	uint32_t line; /**< 0 = unknown */
	const char *module;
	const char *mapped;         /**< the module's file: what `module` may be a link to */
	const char *plain;          /**< as in DWARF, without scopes and parameters */
	const char *const *aliases; /**< other names as in the file, up to a NULL; NULL = none */
};

/** A stack of blocks, innermost frame first. */
struct hawk_suppression_stack {
	const struct hawk_suppression_frame *frames;
	size_t count;
	/** Names of the allocation function, which files for Valgrind begin with and our stacks do
	 * not; up to a NULL. */
	const char *const *allocators;
};

struct hawk_suppression {
	const char *text; /**< the pattern, or the entry's name */
	const char *file;
	unsigned line;
	uint64_t records; /**< that it matched, counted by the caller */
	uint64_t objects;
	uint64_t bytes;
};

struct hawk_suppressions;

struct hawk_error *hawk_suppressions_create(struct hawk_suppressions **ret);
/** Accepts NULL. */
void hawk_suppressions_destroy(struct hawk_suppressions *suppressions);

/** Adds those of the file at `path`. HAWK_ERROR_USAGE, "FILE:LINE: ...", for what cannot be read;
 * then some of the file may have been added. */
struct hawk_error *hawk_suppressions_read(struct hawk_suppressions *suppressions, const char *path);

/** The same for bytes in memory, which are copied; `name` stands for the file. */
struct hawk_error *hawk_suppressions_parse(struct hawk_suppressions *suppressions, const char *name,
					   const void *bytes, size_t size);

/** In the order in which they were added. */
size_t hawk_suppressions_count(const struct hawk_suppressions *suppressions);
struct hawk_suppression *hawk_suppressions_at(struct hawk_suppressions *suppressions, size_t i);

/** The first that matches blocks of `kind` with that stack, or NULL. */
struct hawk_suppression *hawk_suppressions_match(struct hawk_suppressions *suppressions,
						 enum hawk_reach_kind kind,
						 const struct hawk_suppression_stack *stack);

#endif
