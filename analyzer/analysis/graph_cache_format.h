/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The index cache as it lies in a file. Internal to analysis/.
 *
 *     header (4096 bytes) | section | section | ...        each begins on a page
 *
 * Sections are arrays of this program's own structures, so `layout` holds what their shape depends
 * on; another version of the program makes its own file. Prose twin: docs/format-index-cache.md.
 */
#ifndef HAWK_GRAPH_CACHE_FORMAT_H
#define HAWK_GRAPH_CACHE_FORMAT_H

#include "hawk_graph_cache.h"

enum {
	CACHE_VERSION = 4,
	CACHE_HEADER_BYTES = 4096,
	CACHE_ALIGNMENT = 4096,
};

/** The order of sections in the header. */
enum cache_section_id {
	CACHE_HEAP, /**< struct cache_heap */
	CACHE_SITES,
	CACHE_SITE_OF_TRACE,
	CACHE_FINDINGS, /**< struct cache_finding, text, '\0', key, '\0', padding; and again */
	CACHE_INDEX,    /**< struct cache_index */
	CACHE_GRANULES,
	CACHE_SIZES,
	CACHE_TRACES,
	CACHE_HEADS,     /**< as hawk_block_index.heads; of parts of carved blocks: 0 */
	CACHE_DIRECTORY, /**< struct cache_chunk: what is not 0 */
	CACHE_RECORDS,
	CACHE_CHUNK_ADDRESSES,
	CACHE_LARGE,
	CACHE_BLOCK_PARTS,
	CACHE_OFFSETS,
	CACHE_EDGES,
	CACHE_ROOTS_HEAD, /**< struct hawk_roots, its pointer of no meaning */
	CACHE_ROOTS,
	CACHE_REACH_SUMS,
	CACHE_KINDS,
	CACHE_DOMINATOR_BLOCKS,
	CACHE_DOMINATORS,
	CACHE_RETAINED_BY_NUMBER,
	CACHE_SUBTREES,
	CACHE_NUMBERS,
	CACHE_RETAINED_BY_SITE,
	CACHE_SITE_EDGES,
	CACHE_SITE_PLACES,
	CACHE_PATHS_ORDER,
	CACHE_PATHS_FROM,
	CACHE_PATHS_FOUND,
	CACHE_SECTIONS
};

struct cache_section {
	uint64_t offset; /**< in the file; 0 = not there */
	uint64_t bytes;
	uint64_t hash; /**< XXH3 of the bytes */
};

struct cache_header {
	uint64_t magic;
	uint32_t version;
	uint32_t parts;  /**< of the graph: enum hawk_block_graph_part */
	uint64_t layout; /**< cache_layout() */
	struct hawk_core_identity identity;
	struct hawk_seal_key key; /**< of the process: another one in a core of the same name */
	uint64_t file_bytes;
	struct cache_section sections[CACHE_SECTIONS];
	uint64_t hash; /**< XXH3 of everything above */
};
static_assert(sizeof(struct cache_header) <= CACHE_HEADER_BYTES, "one page");

/** What there is of a heap beside its table. */
struct cache_heap {
	struct hawk_sweep_result sweep;
	struct hawk_accounting accounting;
	uint64_t site_count;
	uint32_t trace_count;
	uint32_t lost_site;
	uint64_t blocks_missing;
};

struct cache_index {
	uint64_t first_chunk;
	uint64_t chunk_span;
	uint64_t end;
	uint32_t count;
	uint32_t chunk_count;
	uint64_t large_count;
	uint64_t part_count;
};

struct cache_chunk {
	uint32_t chunk;
	uint32_t number;
};

struct cache_finding {
	uint64_t count;
	uint32_t sort;
	uint32_t partial;
	uint32_t text_bytes; /**< with the NUL */
	uint32_t key_bytes;
};

static inline uint64_t cache_magic(void)
{
	return UINT64_C(0x3158444948574148); /* "HAWHIDX1" */
}

/** A number that changes when a structure in the file changes its shape, or leak kinds what they
 * rest on. */
static inline uint64_t cache_layout(void)
{
	const uint64_t sizes[] = {
		sizeof(struct cache_header),
		sizeof(struct cache_heap),
		sizeof(struct cache_index),
		sizeof(struct hawk_site),
		sizeof(struct hawk_index_record),
		sizeof(struct hawk_large_block),
		sizeof(struct hawk_block_part),
		sizeof(struct hawk_root),
		sizeof(struct hawk_roots),
		sizeof(struct hawk_site_retained),
		sizeof(struct hawk_site_edge),
		sizeof(struct hawk_site_place),
		HAWK_REACH_KINDS,
		HAWK_ROOT_KINDS,
		HAWK_HEURISTIC_COUNT,
		HAWK_CHUNK_LOG2,
	};
	uint64_t layout = CACHE_VERSION;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		layout = (layout ^ sizes[i]) * UINT64_C(0x9e3779b97f4a7c15);
	return layout;
}

/** The sections of one part of a graph; HAWK_PART_INDEX has those of the heap, too. */
static inline unsigned cache_part_of(unsigned section)
{
	if (section < CACHE_OFFSETS)
		return HAWK_PART_INDEX;
	if (section < CACHE_ROOTS_HEAD)
		return HAWK_PART_EDGES;
	if (section < CACHE_REACH_SUMS)
		return HAWK_PART_ROOTS;
	if (section < CACHE_DOMINATOR_BLOCKS)
		return HAWK_PART_REACH;
	if (section < CACHE_SITE_EDGES)
		return HAWK_PART_RETAINED;
	if (section < CACHE_PATHS_ORDER)
		return HAWK_PART_SITES;
	return HAWK_PART_PATHS;
}

/**
 * Sections that the file `other` (-1 = none) has of parts that `graph` lacks, checked, as arrays in
 * `cache`, which is the caller's to unmap: their lengths come with them in its header. 0: none.
 */
unsigned cache_other_parts(int other, const struct hawk_core_identity *identity,
			   const struct hawk_block_graph *graph, struct hawk_graph_cache *cache);

#endif
