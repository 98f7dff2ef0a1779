/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The index cache as it lies in a file. Internal to analysis/.
 *
 *     header (4096 bytes) | another | section | section | ...      each begins on a page
 *
 * The complete header with the higher generation counts. Who adds to a file writes behind what that
 * says, then the other header: whoever has mapped the file before sees nothing of it, and whoever
 * is interrupted has changed nothing.
 *
 * Sections are arrays of this program's own structures, so `layout` holds what their shape depends
 * on; another version of the program makes its own file. Prose twin: docs/format-index-cache.md.
 */
#ifndef HAWK_GRAPH_CACHE_FORMAT_H
#define HAWK_GRAPH_CACHE_FORMAT_H

#include "hawk_graph_cache.h"
#include "hawk_kept_evidence.h"
#include "hawk_kept_leaks.h"
#include "hawk_site_ages.h"
#include "hawk_site_tree.h"
#include "schema_kept.h"

enum {
	CACHE_VERSION = 11,
	CACHE_HEADER_BYTES = 4096,
	CACHE_HEADERS = 2,
	CACHE_FIRST_SECTION = CACHE_HEADERS * CACHE_HEADER_BYTES,
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
	CACHE_DOMINATORS_HEAD, /**< struct cache_dominators */
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
	CACHE_FOLD_HEAD, /**< struct cache_fold: of the section behind it, as below */
	CACHE_FOLD,      /**< struct hawk_tree_fold_node */
	CACHE_AGES,
	CACHE_FOLD_RETAINED_BY_SITE, /**< as CACHE_RETAINED_BY_SITE */
	CACHE_PATHS_FOLD_HEAD,
	CACHE_PATHS_FOLD,
	CACHE_START_FOLD_HEAD,
	CACHE_START_FOLD,
	CACHE_BY_START,
	CACHE_KEPT_SCHEMAS, /**< as in schema_kept.h: one for each enum hawk_kept_sort */
	CACHE_KEPT_SCHEMAS_LAST = CACHE_KEPT_SCHEMAS + HAWK_KEPT_SORTS - 1,
	CACHE_PLACE_WORDS, /**< hawk_pointer_places.words */
	CACHE_PLACES_SHARED,
	CACHE_LEAKS_HEAD, /**< struct hawk_kept_sums */
	CACHE_LEAKS,      /**< struct hawk_leak_record */
	CACHE_ASKED,      /**< hawk_asked_modules.words */
	CACHE_ORDER_HEAD, /**< struct cache_order: of the sections behind it, as below */
	CACHE_ORDER_BLOCKS,
	CACHE_ORDER_SIZES,
	CACHE_ORDER_STEPS,
	CACHE_START_ORDER_HEAD,
	CACHE_START_ORDER_BLOCKS, /**< empty: as the other one's, and so are sizes */
	CACHE_START_ORDER_SIZES,
	CACHE_START_ORDER_STEPS,
	CACHE_PATH_STEPS_HEAD,
	CACHE_PATH_STEPS,
	CACHE_TYPES,         /**< struct hawk_kept_type */
	CACHE_EVIDENCE_HEAD, /**< struct hawk_evidence_head */
	CACHE_EVIDENCE_CODES,
	CACHE_EVIDENCE, /**< struct hawk_evidence */
	CACHE_EVIDENCE_GROUPS,
	CACHE_LOST_THROUGH, /**< struct hawk_lost_through */
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
	uint32_t parts;      /**< of the graph: enum hawk_block_graph_part */
	uint64_t generation; /**< from 1 on */
	uint64_t layout;     /**< cache_layout() */
	struct hawk_core_identity identity;
	struct hawk_seal_key key; /**< of the process: another one in a core of the same name */
	uint64_t file_bytes;      /**< that it describes; what is behind them is of no meaning */
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

struct cache_dominators {
	uint64_t start_is_all; /**< 0, 1 */
};

struct cache_fold {
	uint64_t groups; /**< of roots */
};

struct cache_order {
	uint64_t fold; /**< hash of the section with the nodes that the steps are numbers of */
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
		sizeof(struct hawk_tree_fold_node),
		sizeof(struct hawk_site_ages),
		sizeof(struct hawk_kept_type),
		sizeof(struct kept_schema),
		sizeof(struct kept_group),
		sizeof(struct kept_word),
		sizeof(struct kept_value),
		sizeof(struct kept_outlier),
		sizeof(struct hawk_kept_sums),
		sizeof(struct hawk_leak_record),
		sizeof(struct hawk_evidence),
		sizeof(struct hawk_lost_through),
		HAWK_TREE_KINDS,
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
	static const struct {
		unsigned end; /**< behind its last section */
		unsigned part;
	} parts[] = {
		{CACHE_OFFSETS, HAWK_PART_INDEX},
		{CACHE_ROOTS_HEAD, HAWK_PART_EDGES},
		{CACHE_REACH_SUMS, HAWK_PART_ROOTS},
		{CACHE_DOMINATORS_HEAD, HAWK_PART_REACH},
		{CACHE_SITE_EDGES, HAWK_PART_RETAINED},
		{CACHE_PATHS_ORDER, HAWK_PART_SITES},
		{CACHE_FOLD_HEAD, HAWK_PART_PATHS},
		{CACHE_PATHS_FOLD_HEAD, HAWK_PART_FOLDS},
		{CACHE_START_FOLD_HEAD, HAWK_PART_PATHS_FOLD},
		{CACHE_BY_START, HAWK_PART_START_FOLD},
		{CACHE_KEPT_SCHEMAS, HAWK_PART_START_BLOCKS},
		{CACHE_PLACE_WORDS, HAWK_PART_SCHEMAS},
		{CACHE_LEAKS_HEAD, HAWK_PART_PLACES},
		{CACHE_ASKED, HAWK_PART_LEAKS},
		{CACHE_ORDER_HEAD, HAWK_PART_ASKED},
		{CACHE_START_ORDER_HEAD, HAWK_PART_ORDER},
		{CACHE_PATH_STEPS_HEAD, HAWK_PART_START_ORDER},
		{CACHE_TYPES, HAWK_PART_PATH_STEPS},
		{CACHE_EVIDENCE_HEAD, HAWK_PART_TYPES},
		{CACHE_SECTIONS, HAWK_PART_EVIDENCE},
	};
	unsigned i = 0;

	while (section >= parts[i].end)
		i++;
	return parts[i].part;
}

static inline uint64_t cache_align(uint64_t offset)
{
	return (offset + CACHE_ALIGNMENT - 1) & -(uint64_t)CACHE_ALIGNMENT;
}

/** A file under inspection. */
struct cache_reader {
	const struct cache_header *header;
	const uint8_t *bytes;
	uint64_t size;  /**< of the file; sections end before header->file_bytes */
	unsigned parts; /**< that are wanted and there */
};

static inline const void *cache_section_at(const struct cache_reader *reader,
					   enum cache_section_id id)
{
	return reader->bytes + reader->header->sections[id].offset;
}

/** Blocks that paths lead to. */
static inline uint64_t cache_paths_count(const struct cache_reader *reader)
{
	return reader->header->sections[CACHE_PATHS_ORDER].bytes / sizeof(uint32_t);
}

/** The header that counts, into `header`; false: there is none for this core. */
bool cache_find_header(const struct cache_reader *reader, const struct hawk_core_identity *identity,
		       struct cache_header *header);

/** XXH3; counts as progress. */
uint64_t cache_hash(const void *bytes, uint64_t size);

/** Kept schemas where they lie. */
struct hawk_kept_schemas cache_kept_schemas(const struct cache_reader *reader);

/** That the sections of reader->parts lie in the file and are as they were written. */
bool cache_check_sections(const struct cache_reader *reader);
/** That what they hold of the heap and the index fits together. */
bool cache_check_heap(const struct cache_reader *reader);
/** Likewise the counts of both alone. */
bool cache_check_counts(const struct cache_reader *reader);
/** Likewise of other parts. */
bool cache_check_graph(const struct cache_reader *reader);

/** Findings that a file keeps, as they lie there. */
struct cache_kept_finding {
	const struct cache_finding *head;
	const char *text;
	const char *key;
};
/** False: there is none at `*at`, which moves behind it otherwise. */
bool cache_next_finding(const struct cache_reader *reader, uint64_t *at,
			struct cache_kept_finding *ret);

/** Whether the file's numbers are those of `graph`, which another reading of the same core has
 * made. */
bool cache_is_of(const struct cache_reader *reader, const struct hawk_block_graph *graph);

/** Maps the file `fd`. False: it is too short. */
bool cache_map(int fd, struct hawk_graph_cache *cache);

#endif
