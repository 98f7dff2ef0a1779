/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Taking a graph from an index cache. All lengths are compared with the counts that they belong to
 * before anything is pointed at, and numbers in small sections with what they are numbers of; the
 * long ones (what there is of every block) are believed because their hash is right and nobody else
 * can write the file.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "graph_cache_format.h"
#include "hawk_cleanup.h"
#include "hawk_parallel.h"

enum {
	THREADS_MAX = 8,
	BYTES_FOR_TWO = 16 << 20, /**< fewer are not worth a thread */
};

/** A file under inspection. */
struct reader {
	const struct cache_header *header;
	const uint8_t *bytes;
	uint64_t size;
	unsigned parts; /**< that are wanted and there */
};

static const void *section(const struct reader *reader, enum cache_section_id id)
{
	return reader->bytes + reader->header->sections[id].offset;
}

static bool has_bytes(const struct reader *reader, enum cache_section_id id, uint64_t count,
		      uint64_t each)
{
	uint64_t bytes;

	return !__builtin_mul_overflow(count, each, &bytes) &&
	       reader->header->sections[id].bytes == bytes;
}

/** Blocks that paths lead to. */
static uint64_t paths_count(const struct reader *reader)
{
	return reader->header->sections[CACHE_PATHS_ORDER].bytes / sizeof(uint32_t);
}

static bool check_header(const struct reader *reader, const struct hawk_core_identity *identity)
{
	const struct cache_header *header = reader->header;

	return reader->size >= CACHE_HEADER_BYTES && header->magic == cache_magic() &&
	       header->version == CACHE_VERSION && header->layout == cache_layout() &&
	       header->file_bytes == reader->size &&
	       !memcmp(&header->identity, identity, sizeof(*identity)) &&
	       header->hash == XXH3_64bits(header, offsetof(struct cache_header, hash)) &&
	       header->parts & HAWK_PART_INDEX;
}

/** Sections whose hashes are looked at by several threads: each takes the next one. */
struct hashing {
	const struct reader *reader;
	unsigned next;
	bool is_bad;
};

static void hash_sections(void *context, unsigned part)
{
	struct hashing *hashing = context;
	const struct reader *reader = hashing->reader;
	unsigned i;

	(void)part;
	while ((i = __atomic_fetch_add(&hashing->next, 1, __ATOMIC_RELAXED)) < CACHE_SECTIONS) {
		const struct cache_section *at = &reader->header->sections[i];

		if (reader->parts & cache_part_of(i) &&
		    at->hash != XXH3_64bits(reader->bytes + at->offset, (size_t)at->bytes))
			__atomic_store_n(&hashing->is_bad, true, __ATOMIC_RELAXED);
	}
}

/** That they lie in the file and are as they were written. */
static bool check_sections(const struct reader *reader)
{
	struct hashing hashing = {.reader = reader};
	unsigned threads = hawk_parallel_processors();

	for (unsigned i = 0; i < CACHE_SECTIONS; i++) {
		const struct cache_section *at = &reader->header->sections[i];

		if (!(reader->parts & cache_part_of(i)))
			continue;
		if (at->offset < CACHE_HEADER_BYTES || at->offset % CACHE_ALIGNMENT ||
		    at->offset > reader->size || at->bytes > reader->size - at->offset)
			return false;
	}
	if (reader->size < BYTES_FOR_TWO)
		threads = 1;
	hawk_parallel_run(threads < THREADS_MAX ? threads : THREADS_MAX, hash_sections, &hashing);
	return !hashing.is_bad;
}

static bool check_heap(const struct reader *reader)
{
	const struct cache_heap *heap = section(reader, CACHE_HEAP);
	const struct cache_index *index = section(reader, CACHE_INDEX);
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
static bool check_sites(const struct reader *reader)
{
	const struct cache_heap *heap = section(reader, CACHE_HEAP);
	const uint32_t *site_of_trace = section(reader, CACHE_SITE_OF_TRACE);

	for (uint32_t i = 0; i < heap->trace_count; i++)
		if (!is_one_or_none(site_of_trace[i], heap->site_count))
			return false;
	return is_one_or_none(heap->lost_site, heap->site_count);
}

/** Chunks lie in the directory, and have records and addresses. */
static bool check_chunks(const struct reader *reader)
{
	const uint64_t directory = UINT64_C(1) << HAWK_DIRECTORY_LOG2;
	const struct cache_index *index = section(reader, CACHE_INDEX);
	const struct cache_chunk *chunks = section(reader, CACHE_DIRECTORY);
	uint64_t count = reader->header->sections[CACHE_DIRECTORY].bytes / sizeof(*chunks);

	if (index->first_chunk > directory || index->chunk_span > directory - index->first_chunk)
		return false;
	for (uint64_t i = 0; i < count; i++)
		if (chunks[i].chunk >= directory || (chunks[i].number > index->chunk_count &&
						     chunks[i].number != HAWK_CHUNK_INSIDE))
			return false;
	return true;
}

/** Large blocks and parts of carved ones are blocks. */
static bool check_blocks(const struct reader *reader)
{
	const struct cache_index *index = section(reader, CACHE_INDEX);
	const struct hawk_large_block *large = section(reader, CACHE_LARGE);
	const struct hawk_block_part *parts = section(reader, CACHE_BLOCK_PARTS);

	for (uint64_t i = 0; i < index->large_count; i++)
		if (large[i].number >= index->count)
			return false;
	for (uint64_t i = 0; i < index->part_count; i++)
		if (parts[i].number >= index->count || parts[i].first >= index->count ||
		    !is_one_or_none(parts[i].previous, index->count) ||
		    !is_one_or_none(parts[i].next, index->count))
			return false;
	return true;
}

/** They lead to blocks. Who owns them is as good as the core, which is the same. */
static bool check_roots(const struct reader *reader)
{
	const struct cache_index *index = section(reader, CACHE_INDEX);
	const struct hawk_roots *head = section(reader, CACHE_ROOTS_HEAD);
	const struct hawk_root *roots = section(reader, CACHE_ROOTS);

	for (size_t i = 0; i < head->count; i++)
		if (roots[i].edge >> 1 >= index->count || roots[i].kind >= HAWK_ROOT_KINDS)
			return false;
	return true;
}

/** Edges lead from sites to sites, and have places. */
static bool check_site_graph(const struct reader *reader)
{
	const struct cache_heap *heap = section(reader, CACHE_HEAP);
	const struct cache_section *sections = reader->header->sections;
	const struct hawk_site_edge *edges = section(reader, CACHE_SITE_EDGES);
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

static bool check_paths(const struct reader *reader)
{
	const struct cache_index *index = section(reader, CACHE_INDEX);
	uint64_t count = paths_count(reader);

	return count <= index->count && has_bytes(reader, CACHE_PATHS_ORDER, count, 4) &&
	       has_bytes(reader, CACHE_PATHS_FROM, count, 4) &&
	       has_bytes(reader, CACHE_PATHS_FOUND, hawk_paths_found_bytes(index->count), 1);
}

static bool check_graph(const struct reader *reader)
{
	const struct cache_heap *heap = section(reader, CACHE_HEAP);
	const struct cache_index *index = section(reader, CACHE_INDEX);
	const struct hawk_roots *roots = section(reader, CACHE_ROOTS_HEAD);
	uint64_t count = index->count;

	if (reader->parts & HAWK_PART_EDGES &&
	    (!has_bytes(reader, CACHE_OFFSETS, count + 1, 4) ||
	     !has_bytes(reader, CACHE_EDGES,
			((const uint32_t *)section(reader, CACHE_OFFSETS))[count], 4)))
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
	if (!(reader->parts & HAWK_PART_RETAINED))
		return true;
	return has_bytes(reader, CACHE_DOMINATOR_BLOCKS, count + 1, 4) &&
	       has_bytes(reader, CACHE_DOMINATORS, count + 1, 4) &&
	       has_bytes(reader, CACHE_RETAINED_BY_NUMBER, count + 1, 8) &&
	       has_bytes(reader, CACHE_SUBTREES, count + 1, 4) &&
	       has_bytes(reader, CACHE_NUMBERS, count, 4) &&
	       has_bytes(reader, CACHE_RETAINED_BY_SITE, heap->site_count,
			 sizeof(struct hawk_site_retained));
}

/** A copy on the heap, for what is freed one by one. */
static void *copy(const struct reader *reader, enum cache_section_id id)
{
	uint64_t bytes = reader->header->sections[id].bytes;
	void *made = malloc((size_t)bytes + 1);

	if (made)
		memcpy(made, section(reader, id), (size_t)bytes);
	return made;
}

/** As long as every granule id can ask for, as in an index that is made. */
static uint64_t *copy_chunk_addresses(const struct reader *reader)
{
	uint64_t *made = calloc((size_t)HAWK_CHUNKS_MAX + 1, sizeof(*made));

	if (made)
		memcpy(made, section(reader, CACHE_CHUNK_ADDRESSES),
		       (size_t)reader->header->sections[CACHE_CHUNK_ADDRESSES].bytes);
	return made;
}

static struct hawk_error *take_directory(const struct reader *reader,
					 struct hawk_block_index *index)
{
	const struct cache_chunk *chunks = section(reader, CACHE_DIRECTORY);
	uint64_t count = reader->header->sections[CACHE_DIRECTORY].bytes / sizeof(*chunks);
	struct hawk_error *err = hawk_area_create_sparse(&index->directory_area,
							 sizeof(uint16_t) << HAWK_DIRECTORY_LOG2);

	if (err)
		return err;
	index->directory = index->directory_area.bytes;
	for (uint64_t i = 0; i < count; i++)
		index->directory[chunks[i].chunk] = (uint16_t)chunks[i].number;
	return NULL;
}

static struct hawk_error *take_index(const struct reader *reader, struct hawk_block_index *index)
{
	const struct cache_index *from = section(reader, CACHE_INDEX);

	*index = (struct hawk_block_index){
		.count = from->count,
		.granules = (uint32_t *)section(reader, CACHE_GRANULES),
		.sizes = (uint32_t *)section(reader, CACHE_SIZES),
		.traces = (uint32_t *)section(reader, CACHE_TRACES),
		.heads = (uint16_t *)section(reader, CACHE_HEADS),
		.records = (struct hawk_index_record *)section(reader, CACHE_RECORDS),
		.first_chunk = from->first_chunk,
		.chunk_span = from->chunk_span,
		.chunk_addresses = copy_chunk_addresses(reader),
		.chunk_count = from->chunk_count,
		.chunk_max = HAWK_CHUNKS_MAX,
		.large = copy(reader, CACHE_LARGE),
		.large_count = (size_t)from->large_count,
		.large_capacity = (size_t)from->large_count,
		.end = from->end,
		.parts = copy(reader, CACHE_BLOCK_PARTS),
		.part_count = (size_t)from->part_count,
		.part_capacity = (size_t)from->part_count,
	};
	if (!index->chunk_addresses || !index->large || !index->parts)
		return &hawk_enomem;
	return take_directory(reader, index);
}

static struct hawk_error *take_heap(const struct reader *reader, struct hawk_heap *heap)
{
	const struct cache_heap *from = section(reader, CACHE_HEAP);

	heap->sweep = from->sweep;
	heap->accounting = from->accounting;
	heap->site_count = (size_t)from->site_count;
	heap->lost_site = from->lost_site;
	heap->plan.blocks_missing = from->blocks_missing;
	heap->sites = copy(reader, CACHE_SITES);
	heap->site_of_trace = copy(reader, CACHE_SITE_OF_TRACE);
	return heap->sites && heap->site_of_trace ? NULL : &hawk_enomem;
}

static struct hawk_error *take_retained(const struct reader *reader, struct hawk_block_graph *graph)
{
	struct hawk_site_retained *retained = copy(reader, CACHE_RETAINED_BY_SITE);

	if (!retained)
		return &hawk_enomem;
	graph->dominators = (struct hawk_dominators){
		.count = graph->index.count,
		.blocks = (uint32_t *)section(reader, CACHE_DOMINATOR_BLOCKS),
		.dominators = (uint32_t *)section(reader, CACHE_DOMINATORS),
		.retained = (uint64_t *)section(reader, CACHE_RETAINED_BY_NUMBER),
		.sizes = (uint32_t *)section(reader, CACHE_SUBTREES),
		.numbers = (uint32_t *)section(reader, CACHE_NUMBERS),
	};
	graph->retained = retained;
	return NULL;
}

static struct hawk_error *take_site_graph(const struct reader *reader,
					  struct hawk_site_graph *sites)
{
	const struct cache_section *sections = reader->header->sections;

	*sites = (struct hawk_site_graph){
		.edges = copy(reader, CACHE_SITE_EDGES),
		.edge_count = sections[CACHE_SITE_EDGES].bytes / sizeof(*sites->edges),
		.places = copy(reader, CACHE_SITE_PLACES),
		.place_count = sections[CACHE_SITE_PLACES].bytes / sizeof(*sites->places),
	};
	if (sites->edges && sites->places)
		return NULL;
	hawk_site_graph_deinit(sites);
	return &hawk_enomem;
}

static struct hawk_error *take_paths(const struct reader *reader, struct hawk_block_graph *graph)
{
	graph->paths = (struct hawk_paths){
		.order = (uint32_t *)section(reader, CACHE_PATHS_ORDER),
		.from = (uint32_t *)section(reader, CACHE_PATHS_FROM),
		.count = (uint32_t)paths_count(reader),
		.found = copy(reader, CACHE_PATHS_FOUND),
		.index = &graph->index,
	};
	return graph->paths.found ? NULL : &hawk_enomem;
}

static struct hawk_error *take_graph(const struct reader *reader, struct hawk_block_graph *graph)
{
	const unsigned copied = HAWK_PART_RETAINED | HAWK_PART_SITES | HAWK_PART_PATHS;
	uint32_t count = graph->index.count;
	struct hawk_error *err = NULL;

	if (reader->parts & HAWK_PART_EDGES) {
		graph->edges.count = count;
		graph->edges.offsets = (uint32_t *)section(reader, CACHE_OFFSETS);
		graph->edges.edges = (uint32_t *)section(reader, CACHE_EDGES);
		graph->edges.edge_count = graph->edges.offsets[count];
	}
	if (reader->parts & HAWK_PART_ROOTS) {
		memcpy(&graph->roots, section(reader, CACHE_ROOTS_HEAD), sizeof(graph->roots));
		graph->roots.items = (struct hawk_root *)section(reader, CACHE_ROOTS);
		graph->roots.capacity = 0; /* not ours */
	}
	if (reader->parts & HAWK_PART_REACH) {
		memcpy(graph->reach.sums, section(reader, CACHE_REACH_SUMS),
		       sizeof(graph->reach.sums));
		graph->reach.kinds = (uint8_t *)section(reader, CACHE_KINDS);
		graph->reach.edges = HAWK_EDGES_ALL;
	}
	/* What has been taken stays the graph's, even if memory runs out for the rest. */
	graph->parts |= reader->parts & ~copied;
	if (reader->parts & HAWK_PART_RETAINED)
		err = take_retained(reader, graph);
	if (err)
		return err;
	graph->parts |= reader->parts & HAWK_PART_RETAINED;
	if (reader->parts & HAWK_PART_SITES)
		err = take_site_graph(reader, &graph->sites);
	if (err)
		return err;
	graph->parts |= reader->parts & HAWK_PART_SITES;
	if (reader->parts & HAWK_PART_PATHS)
		err = take_paths(reader, graph);
	if (!err)
		graph->parts |= reader->parts & HAWK_PART_PATHS;
	return err;
}

static bool is_known(const struct hawk_findings *findings, const char *key, const char *text)
{
	for (size_t i = 0; i < findings->count; i++)
		if (!strcmp(findings->items[i].key, key) && !strcmp(findings->items[i].text, text))
			return true;
	return false;
}

/** One that is kept. */
struct kept_finding {
	const struct cache_finding *head;
	const char *text;
	const char *key;
};

/** False: there is none at `*at`, which moves behind it otherwise. */
static bool next_finding(const struct reader *reader, uint64_t *at, struct kept_finding *ret)
{
	const uint8_t *bytes = section(reader, CACHE_FINDINGS);
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

static bool check_findings(const struct reader *reader)
{
	struct kept_finding finding;
	uint64_t at = 0;

	while (next_finding(reader, &at, &finding))
		;
	return at == reader->header->sections[CACHE_FINDINGS].bytes;
}

/** Those of the reading that is spared now; keys stay in the mapping. */
static void take_findings(const struct reader *reader, struct hawk_findings *findings)
{
	struct kept_finding kept;
	uint64_t at = 0;

	while (next_finding(reader, &at, &kept)) {
		size_t before = findings->count;

		if (is_known(findings, kept.key, kept.text))
			continue;
		hawk_findings_add(findings, (enum hawk_finding_sort)kept.head->sort,
				  kept.head->partial, kept.key, "%s", kept.text);
		if (findings->count > before)
			findings->items[before].count = kept.head->count;
	}
}

static bool map_file(int fd, struct hawk_graph_cache *cache)
{
	struct stat status;

	if (fstat(fd, &status) != 0 || status.st_size < CACHE_HEADER_BYTES)
		return false;
	cache->size = (size_t)status.st_size;
	cache->bytes = mmap(NULL, cache->size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (cache->bytes != MAP_FAILED)
		return true;
	*cache = (struct hawk_graph_cache){0};
	return false;
}

/** The heap's table, and whether the file is about this process. */
static bool load_table(const struct reader *reader, struct hawk_target *target,
		       struct hawk_findings *findings, struct hawk_heap *heap,
		       struct hawk_error **err)
{
	const struct cache_heap *from = section(reader, CACHE_HEAP);

	*err = hawk_heap_load_plan(target, findings, heap);
	return !*err && heap->table && heap->trace_count == from->trace_count &&
	       !memcmp(&heap->plan.key, &reader->header->key, sizeof(heap->plan.key));
}

static bool inspect(struct reader *reader, const struct hawk_core_identity *identity,
		    unsigned parts)
{
	if (!check_header(reader, identity))
		return false;
	reader->parts =
		reader->header->parts & (hawk_block_graph_dependencies(parts) | HAWK_PART_INDEX);
	return check_sections(reader) && check_heap(reader) && check_sites(reader) &&
	       check_chunks(reader) && check_blocks(reader) && check_findings(reader) &&
	       check_graph(reader);
}

/** Whether its numbers are those of `graph`, which another reading of the same core has made. */
static bool is_of(const struct reader *reader, const struct hawk_block_graph *graph)
{
	const struct cache_heap *heap = section(reader, CACHE_HEAP);
	const struct cache_index *index = section(reader, CACHE_INDEX);

	return heap->site_count == graph->heap->site_count &&
	       heap->trace_count == graph->heap->trace_count &&
	       index->count == graph->index.count &&
	       !memcmp(&graph->heap->plan.key, &reader->header->key, sizeof(reader->header->key));
}

unsigned hawk_graph_cache_parts(int fd, const struct hawk_core_identity *identity)
{
	struct hawk_graph_cache cache = {0};
	struct reader reader = {0};
	unsigned parts = 0;

	if (fd < 0 || !map_file(fd, &cache))
		return 0;
	reader.header = cache.bytes;
	reader.bytes = cache.bytes;
	reader.size = cache.size;
	if (check_header(&reader, identity))
		parts = reader.header->parts;
	hawk_graph_cache_unmap(&cache);
	return parts;
}

bool hawk_graph_cache_load(int fd, const struct hawk_core_identity *identity,
			   struct hawk_target *target, struct hawk_findings *findings,
			   unsigned parts, struct hawk_graph_cache *cache,
			   struct hawk_block_graph *graph, struct hawk_heap *heap,
			   struct hawk_error **err)
{
	struct reader reader = {0};
	struct hawk_heap made = {0};

	*err = NULL;
	if (!map_file(fd, cache))
		return false;
	reader.header = cache->bytes;
	reader.bytes = cache->bytes;
	reader.size = cache->size;
	if (!inspect(&reader, identity, parts) ||
	    !load_table(&reader, target, findings, &made, err)) {
		hawk_heap_deinit(&made);
		hawk_graph_cache_unmap(cache);
		return false;
	}
	take_findings(&reader, findings);
	*heap = made;
	hawk_block_graph_reset(graph, target, heap, findings);
	cache->file_parts = reader.header->parts;
	*err = take_heap(&reader, heap);
	if (!*err)
		*err = take_index(&reader, &graph->index);
	if (!*err)
		*err = take_graph(&reader, graph);
	return true;
}

struct hawk_error *hawk_graph_cache_more(const struct hawk_graph_cache *cache, unsigned parts,
					 struct hawk_block_graph *graph)
{
	struct reader reader = {
		.header = cache->bytes,
		.bytes = cache->bytes,
		.size = cache->size,
	};

	if (!cache->bytes)
		return NULL;
	reader.parts = reader.header->parts & hawk_block_graph_dependencies(parts) & ~graph->parts;
	if (!reader.parts || !check_sections(&reader) || !check_graph(&reader))
		return NULL;
	return take_graph(&reader, graph);
}

unsigned cache_other_parts(int other, const struct hawk_core_identity *identity,
			   const struct hawk_block_graph *graph, struct hawk_graph_cache *cache)
{
	struct reader reader = {0};
	unsigned parts;

	if (other < 0 || !map_file(other, cache))
		return 0;
	reader.header = cache->bytes;
	reader.bytes = cache->bytes;
	reader.size = cache->size;
	if (check_header(&reader, identity)) {
		parts = reader.header->parts & ~graph->parts;
		/* With the counts that the others go by. */
		reader.parts = parts | HAWK_PART_INDEX;
		if (parts && check_sections(&reader) && check_heap(&reader) &&
		    is_of(&reader, graph) && check_graph(&reader))
			return parts;
	}
	hawk_graph_cache_unmap(cache);
	return 0;
}

void hawk_graph_cache_unmap(struct hawk_graph_cache *cache)
{
	if (cache->bytes)
		munmap(cache->bytes, cache->size);
	*cache = (struct hawk_graph_cache){0};
}
