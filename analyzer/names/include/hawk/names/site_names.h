/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A site in a few words: the innermost function that neither is plumbing nor wraps an allocator,
 * and its place in the source; where it has no name, the next caller that has one.
 * Each is looked up once.
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
	uint64_t offset;    /**< in the module, where there is no function */
	const char *caller; /**< likewise: the innermost one with a name */
	bool has_stack;
	const char *instead; /**< where there is no stack */
};

/** "(not sampled)", say: what to write in place of a stack. */
const char *hawk_site_no_stack(const struct hawk_heap *heap, uint32_t site);

/** `site` is an index into the heap's sites, or UINT32_MAX. Never NULL. */
const struct hawk_site_name *hawk_site_name(struct hawk_site_names *names, uint32_t site);

/** "make_cell  cells.c:30" or "libz.so.1+0x4712 < inflate", at most `width` columns, safe for a
 * terminal. */
void hawk_site_name_append(struct hawk_text *text, const struct hawk_site_name *name, size_t width);

/**
 * Names in one text, where different sites may read the same. Those are found out by saying all of
 * them twice: first with HAWK_NAMES_LEARN, to nowhere, then with HAWK_NAMES_TELL.
 */
enum hawk_names_mode {
	HAWK_NAMES_PLAIN,
	HAWK_NAMES_LEARN,
	HAWK_NAMES_TELL,
};

/** LEARN forgets what was learned before; the mode is PLAIN at first. */
void hawk_site_names_mode(struct hawk_site_names *names, enum hawk_names_mode mode);

/**
 * hawk_site_name_append() of `site`. When telling, with its id for the place in the source,
 * "make_cell  590a10118a02bdf2", if the same name, or what is left of it in `width`, was learned of
 * another site as well. Where the name would be cut, the id is, to its first digits
 * (names/site_prefix.h).
 */
void hawk_site_name_tell(struct hawk_site_names *names, uint32_t site, size_t width,
			 struct hawk_text *text);

/** Of a site whose id stands beside its name: others with that name are to have theirs. */
void hawk_site_name_learn(struct hawk_site_names *names, uint32_t site);

/** "make_cell" alone, for folded stacks: no ';' and no blanks at its ends. */
void hawk_site_name_append_folded(struct hawk_text *text, const struct hawk_site_name *name);

#endif
