/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Equal contents in live blocks: whole blocks, or strings. Contents are hashed once, and compared
 * byte by byte where hashes are equal. Takes 24 bytes for each block or string meanwhile and reads
 * each byte once, those of equal contents twice. Not of a process, whose memory moves on.
 */
#ifndef HAWK_ANALYZER_ANALYSIS_CONTENTS_H
#define HAWK_ANALYZER_ANALYSIS_CONTENTS_H

#include "hawk/analysis/selection.h"
#include "hawk/graph/dominators.h"

enum hawk_contents_of {
	HAWK_CONTENTS_BLOCKS,
	/** Strings at the start of blocks that end with a NUL in them, and those that a std::string
	 * of libstdc++ keeps in itself, anywhere in a block. */
	HAWK_CONTENTS_STRINGS,
};

enum { HAWK_STRING_MIN = 4 /**< bytes of a string, without its NUL */ };

/** One block or string. */
struct hawk_content {
	uint64_t hash;
	uint64_t address;
	uint32_t block;
	uint32_t bytes; /**< without a NUL */
};

/** Those with the same contents. */
struct hawk_content_group {
	const struct hawk_content *first; /**< `count` of them, ascending by address */
	uint64_t count;
	uint64_t bytes; /**< of all, with NULs */
};

struct hawk_contents {
	struct hawk_content *items; /**< by group */
	struct hawk_content_group *groups;
	size_t item_count, item_capacity, group_count, group_capacity;
	struct hawk_chosen all;      /**< what was looked at, or found */
	struct hawk_chosen repeated; /**< of these: all but the first of each group */
	struct hawk_chosen zeros;    /**< blocks of zeros, which are in no group */
	struct hawk_chosen unread;   /**< blocks whose contents are missing, or above 4 GiB */
};

/** Looks at the blocks in `chosen` (a bit for each; NULL = all); blocks carved up by a pool are
 * left out. With `only_repeated`, groups of one are dropped, and groups are sorted by the bytes of
 * all but one; else by all. Deinitialize after success only. */
struct hawk_error *hawk_contents_make(const struct hawk_heap *heap, const uint64_t *chosen,
				      enum hawk_contents_of what, bool only_repeated,
				      struct hawk_contents *ret);

/** Accepts zeros. */
void hawk_contents_deinit(struct hawk_contents *contents);

/** Returns the bytes that all but the first of a group take. */
static inline uint64_t hawk_content_wasted(const struct hawk_content_group *group)
{
	return group->bytes / group->count * (group->count - 1);
}

/** A site, and what it has to do with repeated blocks. */
struct hawk_wasting_site {
	uint32_t site; /**< UINT32_MAX = no single block */
	struct hawk_chosen blocks;
};

struct hawk_wasting_sites {
	struct hawk_wasting_site *items; /**< most bytes first */
	size_t count;
};

/** Adds up the repeated blocks by their sites; with `dominators`, by the sites of the blocks that
 * alone hold them. Deinitialize after success only. */
struct hawk_error *hawk_wasting_sites_make(const struct hawk_heap *heap,
					   const struct hawk_contents *contents,
					   const struct hawk_dominators *dominators,
					   struct hawk_wasting_sites *ret);
/** Accepts zeros. */
void hawk_wasting_sites_deinit(struct hawk_wasting_sites *sites);

#endif
