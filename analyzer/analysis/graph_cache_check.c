/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Whether an index cache is as expected. All lengths are compared with the counts that they belong
 * to before anything is pointed at, and numbers in small sections with what they are numbers of;
 * the long ones (what there is of every block) are believed because their hash is right and nobody
 * else can write the file.
 */
#include "graph_cache_format.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "hawk_parallel.h"
#include "hawk_progress.h"

enum {
	THREADS_MAX = 8,
	BYTES_FOR_TWO = 16 << 20, /**< fewer are not worth a thread */
	HASHED_AT_ONCE = 4 << 20, /**< what comes from a slow disk comes within a second */
};

bool cache_map(int fd, struct hawk_graph_cache *cache)
{
	struct stat status;

	if (fstat(fd, &status) != 0 || status.st_size < CACHE_FIRST_SECTION)
		return false;
	cache->size = (size_t)status.st_size;
	cache->bytes = mmap(NULL, cache->size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (cache->bytes != MAP_FAILED)
		return true;
	*cache = (struct hawk_graph_cache){0};
	return false;
}

static bool has_bytes(const struct cache_reader *reader, enum cache_section_id id, uint64_t count,
		      uint64_t each)
{
	uint64_t bytes;

	return !__builtin_mul_overflow(count, each, &bytes) &&
	       reader->header->sections[id].bytes == bytes;
}

static bool check_header(const struct cache_reader *reader,
			 const struct hawk_core_identity *identity,
			 const struct cache_header *header)
{
	return header->magic == cache_magic() && header->version == CACHE_VERSION &&
	       header->layout == cache_layout() && header->file_bytes <= reader->size &&
	       !memcmp(&header->identity, identity, sizeof(*identity)) &&
	       header->hash == XXH3_64bits(header, offsetof(struct cache_header, hash)) &&
	       header->parts & HAWK_PART_INDEX;
}

bool cache_find_header(const struct cache_reader *reader, const struct hawk_core_identity *identity,
		       struct cache_header *header)
{
	struct cache_header there;
	bool found = false;

	for (unsigned i = 0; i < CACHE_HEADERS; i++) {
		/* It may be written just now. */
		memcpy(&there, reader->bytes + (size_t)i * CACHE_HEADER_BYTES, sizeof(there));
		if (!check_header(reader, identity, &there) ||
		    (found && there.generation <= header->generation))
			continue;
		*header = there;
		found = true;
	}
	return found;
}

uint64_t cache_hash(const void *bytes, uint64_t size)
{
	XXH3_state_t *state = size > HASHED_AT_ONCE ? XXH3_createState() : NULL;
	const uint8_t *at = bytes;
	uint64_t hash;

	if (!state || XXH3_64bits_reset(state) != XXH_OK) {
		XXH3_freeState(state);
		hawk_progress_add(size);
		return XXH3_64bits(bytes, (size_t)size);
	}
	for (uint64_t left = size; left;) {
		size_t part = left < HASHED_AT_ONCE ? (size_t)left : HASHED_AT_ONCE;

		XXH3_64bits_update(state, at, part);
		hawk_progress_add(part);
		at += part;
		left -= part;
	}
	hash = XXH3_64bits_digest(state);
	XXH3_freeState(state);
	return hash;
}

/** Sections whose hashes are looked at by several threads: each takes the next one. */
struct hashing {
	const struct cache_reader *reader;
	unsigned next;
	bool is_bad;
};

static void hash_sections(void *context, unsigned part)
{
	struct hashing *hashing = context;
	const struct cache_reader *reader = hashing->reader;
	unsigned i;

	(void)part;
	while ((i = __atomic_fetch_add(&hashing->next, 1, __ATOMIC_RELAXED)) < CACHE_SECTIONS) {
		const struct cache_section *at = &reader->header->sections[i];

		if (reader->parts & cache_part_of(i) &&
		    at->hash != cache_hash(reader->bytes + at->offset, at->bytes))
			__atomic_store_n(&hashing->is_bad, true, __ATOMIC_RELAXED);
	}
}

bool cache_check_sections(const struct cache_reader *reader)
{
	struct hashing hashing = {.reader = reader};
	uint64_t size = reader->header->file_bytes;
	unsigned threads = hawk_parallel_processors();
	struct hawk_progress progress;
	uint64_t bytes = 0;

	for (unsigned i = 0; i < CACHE_SECTIONS; i++) {
		const struct cache_section *at = &reader->header->sections[i];

		if (!(reader->parts & cache_part_of(i)))
			continue;
		if (at->offset < CACHE_FIRST_SECTION || at->offset % CACHE_ALIGNMENT ||
		    at->offset > size || at->bytes > size - at->offset)
			return false;
		bytes += at->bytes;
	}
	if (size < BYTES_FOR_TWO)
		threads = 1;
	hawk_progress_begin_bytes(&progress, "reading the index cache", bytes);
	hawk_parallel_run(threads < THREADS_MAX ? threads : THREADS_MAX, hash_sections, &hashing);
	hawk_progress_end(&progress);
	return !hashing.is_bad;
}

bool cache_check_counts(const struct cache_reader *reader)
{
	const struct cache_heap *heap = cache_section_at(reader, CACHE_HEAP);
	const struct cache_index *index = cache_section_at(reader, CACHE_INDEX);
	uint64_t count;

	if (!has_bytes(reader, CACHE_HEAP, 1, sizeof(*heap)) ||
	    !has_bytes(reader, CACHE_INDEX, 1, sizeof(*index)))
		return false;
	count = index->count;
	return count <= HAWK_BLOCKS_MAX &&
	       has_bytes(reader, CACHE_SITES, heap->site_count, sizeof(struct hawk_site)) &&
	       has_bytes(reader, CACHE_SITE_OF_TRACE, heap->trace_count, sizeof(uint32_t)) &&
	       has_bytes(reader, CACHE_GRANULES, count, 4) &&
	       has_bytes(reader, CACHE_SIZES, count, 4) &&
	       has_bytes(reader, CACHE_TRACES, count, 4) &&
	       has_bytes(reader, CACHE_HEADS, count, 2) && index->chunk_count <= HAWK_CHUNKS_MAX &&
	       has_bytes(reader, CACHE_RECORDS,
			 ((uint64_t)index->chunk_count + 1) << HAWK_CHUNK_RECORDS_LOG2,
			 sizeof(struct hawk_index_record)) &&
	       has_bytes(reader, CACHE_CHUNK_ADDRESSES, (uint64_t)index->chunk_count + 1, 8) &&
	       has_bytes(reader, CACHE_LARGE, index->large_count,
			 sizeof(struct hawk_large_block)) &&
	       has_bytes(reader, CACHE_BLOCK_PARTS, index->part_count,
			 sizeof(struct hawk_block_part)) &&
	       reader->header->sections[CACHE_DIRECTORY].bytes % sizeof(struct cache_chunk) == 0;
}

/** One of `count` things, or none. */
static bool is_one_or_none(uint32_t number, uint64_t count)
{
	return number < count || number == UINT32_MAX;
}

/** Traces have sites that are there. */
static bool check_sites(const struct cache_reader *reader)
{
	const struct cache_heap *heap = cache_section_at(reader, CACHE_HEAP);
	const uint32_t *site_of_trace = cache_section_at(reader, CACHE_SITE_OF_TRACE);

	for (uint32_t i = 0; i < heap->trace_count; i++)
		if (!is_one_or_none(site_of_trace[i], heap->site_count))
			return false;
	return is_one_or_none(heap->lost_site, heap->site_count);
}

/** Chunks lie in the directory, and have records and addresses. */
static bool check_chunks(const struct cache_reader *reader)
{
	const uint64_t directory = UINT64_C(1) << HAWK_DIRECTORY_LOG2;
	const struct cache_index *index = cache_section_at(reader, CACHE_INDEX);
	const struct cache_chunk *chunks = cache_section_at(reader, CACHE_DIRECTORY);
	uint64_t count = reader->header->sections[CACHE_DIRECTORY].bytes / sizeof(*chunks);

	if (index->first_chunk > directory || index->chunk_span > directory - index->first_chunk)
		return false;
	for (uint64_t i = 0; i < count; i++)
		if (chunks[i].chunk >= directory || (chunks[i].number > index->chunk_count &&
						     chunks[i].number != HAWK_CHUNK_INSIDE))
			return false;
	return true;
}

/** Parts of a block come one behind the other: who follows them comes to an end. */
static bool is_part(const struct hawk_block_part *part, uint32_t count)
{
	return part->number < count && part->first <= part->number &&
	       (part->previous == HAWK_BLOCK_NOWHERE || part->previous < part->number) &&
	       (part->next == HAWK_BLOCK_NOWHERE ||
		(part->next > part->number && part->next < count));
}

/** Large blocks and parts of carved ones are blocks. */
static bool check_blocks(const struct cache_reader *reader)
{
	const struct cache_index *index = cache_section_at(reader, CACHE_INDEX);
	const struct hawk_large_block *large = cache_section_at(reader, CACHE_LARGE);
	const struct hawk_block_part *parts = cache_section_at(reader, CACHE_BLOCK_PARTS);

	for (uint64_t i = 0; i < index->large_count; i++)
		if (large[i].number >= index->count)
			return false;
	for (uint64_t i = 0; i < index->part_count; i++)
		if (!is_part(&parts[i], index->count) ||
		    (i && parts[i].number <= parts[i - 1].number))
			return false;
	return true;
}

/** They lead to blocks. Who owns them is as good as the core, which is the same. */
static bool check_roots(const struct cache_reader *reader)
{
	const struct cache_index *index = cache_section_at(reader, CACHE_INDEX);
	const struct hawk_roots *head = cache_section_at(reader, CACHE_ROOTS_HEAD);
	const struct hawk_root *roots = cache_section_at(reader, CACHE_ROOTS);

	for (size_t i = 0; i < head->count; i++)
		if (roots[i].edge >> 1 >= index->count || roots[i].kind >= HAWK_ROOT_KINDS)
			return false;
	return true;
}

/** Edges lead from sites to sites, and have places. */
static bool check_site_graph(const struct cache_reader *reader)
{
	const struct cache_heap *heap = cache_section_at(reader, CACHE_HEAP);
	const struct cache_section *sections = reader->header->sections;
	const struct hawk_site_edge *edges = cache_section_at(reader, CACHE_SITE_EDGES);
	uint64_t places = sections[CACHE_SITE_PLACES].bytes / sizeof(struct hawk_site_place);
	uint64_t count = sections[CACHE_SITE_EDGES].bytes / sizeof(*edges);

	if (!has_bytes(reader, CACHE_SITE_EDGES, count, sizeof(*edges)) ||
	    !has_bytes(reader, CACHE_SITE_PLACES, places, sizeof(struct hawk_site_place)))
		return false;
	for (uint64_t i = 0; i < count; i++)
		if ((edges[i].source >= heap->site_count && edges[i].source != HAWK_SITE_ROOTS) ||
		    edges[i].target >= heap->site_count || !edges[i].place_count ||
		    (uint64_t)edges[i].first_place + edges[i].place_count > places)
			return false;
	return true;
}

static bool check_paths(const struct cache_reader *reader)
{
	const struct cache_index *index = cache_section_at(reader, CACHE_INDEX);
	uint64_t count = cache_paths_count(reader);

	return count <= index->count && has_bytes(reader, CACHE_PATHS_ORDER, count, 4) &&
	       has_bytes(reader, CACHE_PATHS_FROM, count, 4) &&
	       has_bytes(reader, CACHE_PATHS_FOUND, hawk_paths_found_bytes(index->count), 1);
}

/** The whole, and one behind the last. Steps are looked at where the tree grows. */
static bool check_fold(const struct cache_reader *reader, enum cache_section_id head)
{
	const struct hawk_tree_fold_node *nodes =
		cache_section_at(reader, (enum cache_section_id)(head + 1));
	uint64_t count = reader->header->sections[head + 1].bytes / sizeof(*nodes);

	return has_bytes(reader, head, 1, sizeof(struct cache_fold)) &&
	       has_bytes(reader, (enum cache_section_id)(head + 1), count, sizeof(*nodes)) &&
	       count > 1 && count - 1 <= HAWK_TREE_FOLD_NODES_MAX;
}

static bool check_folds(const struct cache_reader *reader)
{
	const struct cache_heap *heap = cache_section_at(reader, CACHE_HEAP);
	const struct cache_index *index = cache_section_at(reader, CACHE_INDEX);

	if (reader->parts & HAWK_PART_FOLDS &&
	    (!check_fold(reader, CACHE_FOLD_HEAD) ||
	     !has_bytes(reader, CACHE_AGES, heap->site_count, sizeof(struct hawk_site_ages)) ||
	     !has_bytes(reader, CACHE_FOLD_RETAINED_BY_SITE, heap->site_count,
			sizeof(struct hawk_site_retained))))
		return false;
	if (reader->parts & HAWK_PART_PATHS_FOLD && !check_fold(reader, CACHE_PATHS_FOLD_HEAD))
		return false;
	if (reader->parts & HAWK_PART_START_FOLD && !check_fold(reader, CACHE_START_FOLD_HEAD))
		return false;
	return !(reader->parts & HAWK_PART_START_BLOCKS) ||
	       has_bytes(reader, CACHE_BY_START, index->count, 8);
}

struct hawk_kept_schemas cache_kept_schemas(const struct cache_reader *reader)
{
	struct hawk_kept_schemas kept = {0};

	for (unsigned sort = 0; sort < HAWK_KEPT_SORTS; sort++) {
		enum cache_section_id id = (enum cache_section_id)(CACHE_KEPT_SCHEMAS + sort);

		kept.arrays[sort] = (struct hawk_kept_array){
			.items = cache_section_at(reader, id),
			.count = reader->header->sections[id].bytes /
				 kept_size((enum hawk_kept_sort)sort),
		};
	}
	return kept;
}

/** Whole ones, of sites and blocks that are there. */
static bool check_schemas(const struct cache_reader *reader)
{
	const struct cache_heap *heap = cache_section_at(reader, CACHE_HEAP);
	const struct cache_index *index = cache_section_at(reader, CACHE_INDEX);
	struct hawk_kept_schemas kept = cache_kept_schemas(reader);

	for (unsigned sort = 0; sort < HAWK_KEPT_SORTS; sort++)
		if (!has_bytes(reader, (enum cache_section_id)(CACHE_KEPT_SCHEMAS + sort),
			       kept.arrays[sort].count, kept_size((enum hawk_kept_sort)sort)))
			return false;
	return kept_schemas_fit(&kept, heap->site_count, index->count);
}

/** A place for each edge, which are there. */
static bool check_places(const struct cache_reader *reader)
{
	const struct cache_index *index = cache_section_at(reader, CACHE_INDEX);

	return !index->part_count &&
	       has_bytes(reader, CACHE_PLACE_WORDS,
			 reader->header->sections[CACHE_EDGES].bytes / sizeof(uint32_t), 1) &&
	       has_bytes(reader, CACHE_PLACES_SHARED,
			 hawk_pointer_places_shared_bytes(index->count), 1);
}

static bool check_asked(const struct cache_reader *reader)
{
	uint64_t count = reader->header->sections[CACHE_ASKED].bytes / sizeof(uint64_t);

	return has_bytes(reader, CACHE_ASKED, count, sizeof(uint64_t)) &&
	       count <= HAWK_ASKED_MODULES_MAX;
}

/** Records are about sites, blocks and roots that are there. */
static bool check_leaks(const struct cache_reader *reader)
{
	const struct cache_section *sections = reader->header->sections;
	const struct cache_heap *heap = cache_section_at(reader, CACHE_HEAP);
	const struct cache_index *index = cache_section_at(reader, CACHE_INDEX);
	const struct hawk_leak_record *records = cache_section_at(reader, CACHE_LEAKS);
	uint64_t count = sections[CACHE_LEAKS].bytes / sizeof(*records);
	uint64_t roots = sections[CACHE_ROOTS].bytes / sizeof(struct hawk_root);

	if (!has_bytes(reader, CACHE_LEAKS_HEAD, 1, sizeof(struct hawk_kept_sums)) ||
	    !has_bytes(reader, CACHE_LEAKS, count, sizeof(*records)) ||
	    count > HAWK_KEPT_LEAKS_MAX || !(reader->header->parts & HAWK_PART_ROOTS))
		return false;
	for (uint64_t i = 0; i < count; i++)
		if (!is_one_or_none(records[i].site, heap->site_count) || !records[i].kind ||
		    (unsigned)records[i].kind >= HAWK_REACH_KINDS ||
		    records[i].example >= index->count ||
		    !is_one_or_none(records[i].first_root, roots))
			return false;
	return true;
}

/** Kinds are kinds, and blocks that are listed are there. Codes and groups are looked at where they
 * are used. */
static bool check_evidence(const struct cache_reader *reader)
{
	const struct cache_section *sections = reader->header->sections;
	const struct cache_index *index = cache_section_at(reader, CACHE_INDEX);
	const struct hawk_evidence_head *head = cache_section_at(reader, CACHE_EVIDENCE_HEAD);
	const struct hawk_evidence *items = cache_section_at(reader, CACHE_EVIDENCE);
	const struct hawk_lost_through *lost = cache_section_at(reader, CACHE_LOST_THROUGH);
	uint64_t count = sections[CACHE_EVIDENCE].bytes / sizeof(*items);
	uint64_t lost_count = sections[CACHE_LOST_THROUGH].bytes / sizeof(*lost);

	if (!has_bytes(reader, CACHE_EVIDENCE_HEAD, 1, sizeof(*head)) ||
	    !has_bytes(reader, CACHE_EVIDENCE_CODES, index->count, sizeof(uint16_t)) ||
	    !has_bytes(reader, CACHE_EVIDENCE, count, sizeof(*items)) ||
	    !has_bytes(reader, CACHE_LOST_THROUGH, lost_count, sizeof(*lost)) ||
	    sections[CACHE_EVIDENCE_GROUPS].bytes % sizeof(uint32_t) ||
	    head->coded_count > HAWK_EVIDENCE_ODD || head->coded_count > count ||
	    count - head->coded_count > HAWK_EVIDENCE_ODD_MAX ||
	    !(reader->header->parts & HAWK_PART_LEAKS))
		return false;
	for (uint64_t i = 0; i < count; i++)
		if (items[i].kind >= HAWK_REACH_KINDS || items[i].block >= index->count)
			return false;
	for (uint64_t i = 0; i < lost_count; i++)
		if (lost[i].block >= index->count)
			return false;
	return true;
}

/** `blocks`: how many there are in a section of the order. */
static bool check_order(const struct cache_reader *reader, enum cache_section_id head,
			uint64_t blocks)
{
	const struct cache_index *index = cache_section_at(reader, CACHE_INDEX);

	return has_bytes(reader, head, 1, sizeof(struct cache_order)) &&
	       has_bytes(reader, (enum cache_section_id)(head + 1), blocks, 4) &&
	       has_bytes(reader, (enum cache_section_id)(head + 2), blocks, 4) &&
	       has_bytes(reader, (enum cache_section_id)(head + 3), index->count, 4);
}

/** Numbers of blocks and nodes in them are looked at where they are used. */
static bool check_orders(const struct cache_reader *reader)
{
	const struct cache_index *index = cache_section_at(reader, CACHE_INDEX);

	if (reader->parts & HAWK_PART_ORDER && !check_order(reader, CACHE_ORDER_HEAD, index->count))
		return false;
	if (reader->parts & HAWK_PART_START_ORDER &&
	    !check_order(reader, CACHE_START_ORDER_HEAD, index->count) &&
	    !check_order(reader, CACHE_START_ORDER_HEAD, 0))
		return false;
	return !(reader->parts & HAWK_PART_PATH_STEPS) ||
	       (has_bytes(reader, CACHE_PATH_STEPS_HEAD, 1, sizeof(struct cache_order)) &&
		has_bytes(reader, CACHE_PATH_STEPS, index->count, 4));
}

/** Of traces that are there, in their order. */
static bool check_types(const struct cache_reader *reader)
{
	const struct cache_heap *heap = cache_section_at(reader, CACHE_HEAP);
	const struct hawk_kept_type *types = cache_section_at(reader, CACHE_TYPES);
	uint64_t count = reader->header->sections[CACHE_TYPES].bytes / sizeof(*types);

	if (!has_bytes(reader, CACHE_TYPES, count, sizeof(*types)))
		return false;
	for (uint64_t i = 0; i < count; i++)
		if (types[i].trace >= heap->trace_count || types[i].several > 1 ||
		    (i && types[i].trace < types[i - 1].trace))
			return false;
	return true;
}

bool cache_check_graph(const struct cache_reader *reader)
{
	const struct cache_heap *heap = cache_section_at(reader, CACHE_HEAP);
	const struct cache_index *index = cache_section_at(reader, CACHE_INDEX);
	const struct hawk_roots *roots = cache_section_at(reader, CACHE_ROOTS_HEAD);
	uint64_t count = index->count;

	if (reader->parts & HAWK_PART_EDGES &&
	    (!has_bytes(reader, CACHE_OFFSETS, count + 1, 4) ||
	     !has_bytes(reader, CACHE_EDGES,
			((const uint32_t *)cache_section_at(reader, CACHE_OFFSETS))[count], 4)))
		return false;
	if (reader->parts & HAWK_PART_ROOTS &&
	    (!has_bytes(reader, CACHE_ROOTS_HEAD, 1, sizeof(*roots)) ||
	     !has_bytes(reader, CACHE_ROOTS, roots->count, sizeof(*roots->items)) ||
	     !check_roots(reader)))
		return false;
	if (reader->parts & HAWK_PART_REACH &&
	    (!has_bytes(reader, CACHE_REACH_SUMS, HAWK_REACH_KINDS,
			sizeof(struct hawk_reach_sum)) ||
	     !has_bytes(reader, CACHE_KINDS, count, 1)))
		return false;
	if (reader->parts & HAWK_PART_SITES && !check_site_graph(reader))
		return false;
	if (reader->parts & HAWK_PART_PATHS && !check_paths(reader))
		return false;
	if (!check_folds(reader) || !check_orders(reader))
		return false;
	if (reader->parts & HAWK_PART_SCHEMAS && !check_schemas(reader))
		return false;
	if (reader->parts & HAWK_PART_PLACES && !check_places(reader))
		return false;
	if (reader->parts & HAWK_PART_ASKED && !check_asked(reader))
		return false;
	if (reader->parts & HAWK_PART_LEAKS && !check_leaks(reader))
		return false;
	if (reader->parts & HAWK_PART_EVIDENCE && !check_evidence(reader))
		return false;
	if (reader->parts & HAWK_PART_TYPES && !check_types(reader))
		return false;
	if (!(reader->parts & HAWK_PART_RETAINED))
		return true;
	return has_bytes(reader, CACHE_DOMINATORS_HEAD, 1, sizeof(struct cache_dominators)) &&
	       has_bytes(reader, CACHE_DOMINATOR_BLOCKS, count + 1, 4) &&
	       has_bytes(reader, CACHE_DOMINATORS, count + 1, 4) &&
	       has_bytes(reader, CACHE_RETAINED_BY_NUMBER, count + 1, 8) &&
	       has_bytes(reader, CACHE_SUBTREES, count + 1, 4) &&
	       has_bytes(reader, CACHE_NUMBERS, count, 4) &&
	       has_bytes(reader, CACHE_RETAINED_BY_SITE, heap->site_count,
			 sizeof(struct hawk_site_retained));
}

bool cache_next_finding(const struct cache_reader *reader, uint64_t *at,
			struct cache_kept_finding *ret)
{
	const uint8_t *bytes = cache_section_at(reader, CACHE_FINDINGS);
	uint64_t left = reader->header->sections[CACHE_FINDINGS].bytes - *at;
	const struct cache_finding *head = (const struct cache_finding *)(bytes + *at);
	uint64_t strings;

	if (left < sizeof(*head))
		return false;
	left -= sizeof(*head);
	strings = (uint64_t)head->text_bytes + head->key_bytes;
	ret->head = head;
	ret->text = (const char *)(head + 1);
	ret->key = ret->text + head->text_bytes;
	if (!head->text_bytes || !head->key_bytes || !head->count || strings > left ||
	    ((strings + 7) & ~UINT64_C(7)) > left || ret->text[head->text_bytes - 1] ||
	    ret->key[head->key_bytes - 1] ||
	    (head->sort != HAWK_FINDING_MISSING && head->sort != HAWK_FINDING_DAMAGE))
		return false;
	*at += sizeof(*head) + ((strings + 7) & ~UINT64_C(7));
	return true;
}

static bool check_findings(const struct cache_reader *reader)
{
	struct cache_kept_finding finding;
	uint64_t at = 0;

	while (cache_next_finding(reader, &at, &finding))
		;
	return at == reader->header->sections[CACHE_FINDINGS].bytes;
}

bool cache_check_heap(const struct cache_reader *reader)
{
	return cache_check_counts(reader) && check_sites(reader) && check_chunks(reader) &&
	       check_blocks(reader) && check_findings(reader);
}

bool cache_is_of(const struct cache_reader *reader, const struct hawk_block_graph *graph)
{
	const struct cache_heap *heap = cache_section_at(reader, CACHE_HEAP);
	const struct cache_index *index = cache_section_at(reader, CACHE_INDEX);

	return heap->site_count == graph->heap->site_count &&
	       heap->trace_count == graph->heap->trace_count &&
	       index->count == graph->index.count &&
	       !memcmp(&graph->heap->plan.key, &reader->header->key, sizeof(reader->header->key));
}
