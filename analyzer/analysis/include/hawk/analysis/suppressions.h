/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Suppressions: known leaks to hide, in the LeakSanitizer and Valgrind formats. The caller supplies
 * frame names.
 *
 * LeakSanitizer: a line `leak:PATTERN` matches if a frame's function, file or module contains
 * PATTERN; * matches any text, a leading ^ and trailing $ anchor it. Valgrind: an entry in braces
 * (name, Memcheck:Leak, match-leak-kinds:, then fun:, obj:, src: and ... for the stack from the
 * allocation function outwards; * matches any text, ? any character). One file may mix both. #
 * starts a comment line; memcheck log lines are skipped.
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

/** One line of a stack; NULL = unknown. */
struct hawk_suppression_frame {
	const char *function; /**< demangled */
	const char *symbol;   /**< as in the file */
	const char *file;
	uint32_t line; /**< 0 = unknown */
	const char *module;
	const char *mapped;         /**< the module's file, which `module` may link to */
	const char *plain;          /**< DWARF name without scopes and parameters */
	const char *const *aliases; /**< other names in the file, NULL-terminated; NULL = none */
};

/** A stack of blocks, innermost frame first. */
struct hawk_suppression_stack {
	const struct hawk_suppression_frame *frames;
	size_t count;
	/** Names of the allocation function, NULL-terminated. Valgrind entries begin with it; our
	 * stacks omit it. */
	const char *const *allocators;
};

struct hawk_suppression {
	const char *text; /**< the pattern, or the entry's name */
	const char *file;
	unsigned line;
	uint64_t records; /**< matched; counted by the caller */
	uint64_t objects;
	uint64_t bytes;
};

struct hawk_suppressions;

struct hawk_error *hawk_suppressions_create(struct hawk_suppressions **ret);
/** Accepts NULL. */
void hawk_suppressions_destroy(struct hawk_suppressions *suppressions);

/** Adds the suppressions in the file at `path`. HAWK_ERROR_USAGE ("FILE:LINE: ...") for a syntax
 * error; part of the file may then have been added. */
struct hawk_error *hawk_suppressions_read(struct hawk_suppressions *suppressions, const char *path);

/** The same for bytes in memory, which are copied; `name` stands for the file. */
struct hawk_error *hawk_suppressions_parse(struct hawk_suppressions *suppressions, const char *name,
					   const void *bytes, size_t size);

/** In insertion order. */
size_t hawk_suppressions_count(const struct hawk_suppressions *suppressions);
struct hawk_suppression *hawk_suppressions_at(struct hawk_suppressions *suppressions, size_t i);

/** Returns the first that matches blocks of `kind` with `stack`, or NULL. */
struct hawk_suppression *hawk_suppressions_match(struct hawk_suppressions *suppressions,
						 enum hawk_reach_kind kind,
						 const struct hawk_suppression_stack *stack);

#endif
