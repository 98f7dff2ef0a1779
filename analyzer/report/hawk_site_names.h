/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A site in a few words: the innermost function that neither is plumbing nor wraps an allocator,
 * and its place in the source; where it has no name, the next caller that has one.
 * Each is looked up once.
 */
#ifndef HAWK_SITE_NAMES_H
#define HAWK_SITE_NAMES_H

#include "hawk_stack.h"
#include "hawk_text.h"

struct hawk_site_names;

struct hawk_error *hawk_site_names_create(const struct hawk_heap *heap,
					  struct hawk_symbols *symbols,
					  struct hawk_site_names **ret);
/** Accepts NULL. */
void hawk_site_names_destroy(struct hawk_site_names *names);

/** Strings belong to symbols and names; NULL = not known. */
struct hawk_site_name {
	const char *function;
	const char *file; /**< last component */
	uint32_t line;
	const char *module; /**< last component */
	uint64_t offset;    /**< in the module, where there is no function */
	const char *caller; /**< likewise: the innermost one with a name */
	bool has_stack;
	const char *instead; /**< where there is no stack */
};

/** "(not sampled)", say: what to write in place of a stack. */
const char *hawk_site_no_stack(const struct hawk_heap *heap, uint32_t site);

/** `site` is an index into the heap's sites, or UINT32_MAX. */
struct hawk_error *hawk_site_name(struct hawk_site_names *names, uint32_t site,
				  const struct hawk_site_name **ret);

/** "make_cell  cells.c:30" or "libz.so.1+0x4712 < inflate", at most `width` columns, safe for a
 * terminal. */
void hawk_site_name_append(struct hawk_text *text, const struct hawk_site_name *name, size_t width);

/** "make_cell" alone, for folded stacks: no ';' and no blanks at its ends. */
void hawk_site_name_append_folded(struct hawk_text *text, const struct hawk_site_name *name);

#endif
