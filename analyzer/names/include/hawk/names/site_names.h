/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A site in a few words: the innermost function that neither is plumbing nor wraps an allocator,
 * and its source line. If it has no name, the next named caller is added; if it is in a runtime
 * such as CPython, who called the runtime, whose source line it is then. Each site is looked up
 * once.
 */
#ifndef HAWK_ANALYZER_NAMES_SITE_NAMES_H
#define HAWK_ANALYZER_NAMES_SITE_NAMES_H

#include "hawk/names/stack.h"
#include "hawk/base/text.h"

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
	uint64_t offset;    /**< in the module, if the function is unknown */
	const char *caller; /**< likewise: the innermost named caller; or who called a runtime */
	bool runtime;       /**< `caller` called a runtime; file and line are its place */
	uint64_t caller_offset; /**< not 0: `caller` is a module, and this the place in it */
	const char *callee;     /**< the wrapper that `function` called to allocate */
	bool has_stack;
	const char *instead; /**< text shown if there is no stack */
};

/** Returns the text shown in place of a missing stack: "(not sampled)", say. */
const char *hawk_site_no_stack(const struct hawk_heap *heap, uint32_t site);

/** `site` is an index into the heap's sites, or UINT32_MAX. Never NULL. */
const struct hawk_site_name *hawk_site_name(struct hawk_site_names *names, uint32_t site);

/** "make_cell  cells.c:30", "libz.so.1+0x4712 < inflate" or "list_resize < parse  pym.c:31", at
 * most `width` columns, safe for a terminal. */
void hawk_site_name_append(struct hawk_text *text, const struct hawk_site_name *name, size_t width);

/**
 * Distinguishes sites whose names look the same in one text. Write all names twice: first with
 * HAWK_NAMES_LEARN to nowhere, then with HAWK_NAMES_TELL.
 */
enum hawk_names_mode {
	HAWK_NAMES_PLAIN,
	HAWK_NAMES_LEARN,
	HAWK_NAMES_TELL,
};

/** Sets the mode, initially PLAIN. LEARN forgets earlier names. */
void hawk_site_names_mode(struct hawk_site_names *names, enum hawk_names_mode mode);

/**
 * Appends the name of `site` like hawk_site_name_append(). In TELL mode, replaces the source line
 * by the id ("make_cell 590a10118a02bdf2") if another site's name looks the same in `width`. Too
 * narrow a `width` cuts the id to its first digits (names/site_prefix.h) instead of the name.
 */
void hawk_site_name_tell(struct hawk_site_names *names, uint32_t site, size_t width,
			 struct hawk_text *text);

/** Learns the name of a site whose id is shown beside it, so that others with that name show
 * theirs. */
void hawk_site_name_learn(struct hawk_site_names *names, uint32_t site);

/** "make_cell" alone, for folded stacks: no ';' and no blanks at its ends. */
void hawk_site_name_append_folded(struct hawk_text *text, const struct hawk_site_name *name);

#endif
