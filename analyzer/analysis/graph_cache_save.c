/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writing an index cache, or what one has not: the sections from where they lie in memory; the
 * header last.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "graph_cache_format.h"
#include "hawk_cleanup.h"
#include "hawk_progress.h"
#include "hawk_text.h"

enum { HEADS_AT_ONCE = 1 << 16, WRITTEN_AT_ONCE = 1 << 26 };

/** A section's bytes in memory. */
struct piece {
	const void *bytes;
	uint64_t size;
};

/** A file in the making. */
struct writer {
	int fd;
	const struct hawk_block_graph *graph;
	struct piece pieces[CACHE_SECTIONS];
	struct cache_header header; /**< of what has been written */
};

/** What has to be put together for the file; the rest lies where it is. */
struct small_pieces {
	struct cache_heap heap;
	struct cache_index index;
	struct cache_chunk *chunks; /**< owned */
	uint64_t chunk_count;
	struct hawk_text findings;
	struct cache_dominators dominators;
	struct cache_fold fold, paths_fold, start_fold;
	struct cache_order order, start_order, path_steps;
};

static inline void hawk_cleanup_small_pieces(struct small_pieces *small)
{
	free(small->chunks);
	hawk_text_deinit(&small->findings);
}

static inline void hawk_cleanup_xxh_state(XXH3_state_t **state)
{
	XXH3_freeState(*state);
}

static inline void hawk_cleanup_cache(struct hawk_graph_cache *cache)
{
	hawk_graph_cache_unmap(cache);
}

static struct hawk_error *collect_chunks(const struct hawk_block_index *index,
					 struct small_pieces *small)
{
	uint64_t count = 0;

	for (uint64_t i = 0; i < index->chunk_span; i++)
		count += index->directory[index->first_chunk + i] != 0;
	small->chunks = calloc(count + 1, sizeof(*small->chunks));
	if (!small->chunks)
		return &hawk_enomem;
	for (uint64_t i = 0; i < index->chunk_span; i++) {
		uint16_t number = index->directory[index->first_chunk + i];

		if (number)
			small->chunks[small->chunk_count++] = (struct cache_chunk){
				.chunk = (uint32_t)(index->first_chunk + i),
				.number = number,
			};
	}
	return NULL;
}

/** It came from reading blocks and roots, which will be spared; all others are found again. */
static bool is_of_graph(const struct hawk_finding *finding)
{
	static const char *const prefixes[] = {"block-", "roots-", "stack-"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(finding->key, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

static void append_finding(struct hawk_text *text, const struct hawk_finding *finding)
{
	static const char padding[8];
	struct cache_finding head = {
		.count = finding->count,
		.sort = finding->sort,
		.partial = finding->partial,
		.text_bytes = (uint32_t)strlen(finding->text) + 1,
		.key_bytes = (uint32_t)strlen(finding->key) + 1,
	};

	hawk_text_append(text, &head, sizeof(head));
	hawk_text_append(text, finding->text, head.text_bytes);
	hawk_text_append(text, finding->key, head.key_bytes);
	hawk_text_append(text, padding, -(head.text_bytes + head.key_bytes) & 7);
}

static uint64_t fold_bytes(const struct hawk_tree_fold *fold)
{
	return ((uint64_t)fold->count + 1) * sizeof(*fold->nodes);
}

/** As its section will have it. */
static uint64_t hash_fold(const struct hawk_tree_fold *fold)
{
	return fold->nodes ? XXH3_64bits(fold->nodes, fold_bytes(fold)) : 0;
}

static struct hawk_error *collect(const struct hawk_block_graph *graph,
				  const struct hawk_findings *findings, struct small_pieces *small)
{
	const struct hawk_block_index *index = &graph->index;
	const struct hawk_heap *heap = graph->heap;

	small->heap.sweep = heap->sweep;
	small->heap.accounting = heap->accounting;
	small->heap.site_count = heap->site_count;
	small->heap.trace_count = heap->trace_count;
	small->heap.lost_site = heap->lost_site;
	small->heap.blocks_missing = heap->plan.blocks_missing;
	small->index.first_chunk = index->first_chunk;
	small->index.chunk_span = index->chunk_span;
	small->index.end = index->end;
	small->index.count = index->count;
	small->index.chunk_count = index->chunk_count;
	small->index.large_count = index->large_count;
	small->index.part_count = index->part_count;
	small->dominators.start_is_all = graph->start_is_all;
	small->fold.groups = graph->folds.retained.groups;
	small->paths_fold.groups = graph->folds.paths.groups;
	small->start_fold.groups = graph->folds.start_retained.groups;
	small->order.fold = hash_fold(&graph->folds.retained);
	small->start_order.fold = hash_fold(&graph->folds.start_retained);
	small->path_steps.fold = hash_fold(&graph->folds.paths);
	for (size_t i = 0; i < findings->count; i++)
		if (is_of_graph(&findings->items[i]))
			append_finding(&small->findings, &findings->items[i]);
	if (small->findings.failed)
		return &hawk_enomem;
	return collect_chunks(index, small);
}

static void list_heap(const struct hawk_heap *heap, const struct small_pieces *small,
		      struct piece *pieces)
{
	pieces[CACHE_HEAP] = (struct piece){&small->heap, sizeof(small->heap)};
	pieces[CACHE_SITES] = (struct piece){heap->sites, heap->site_count * sizeof(*heap->sites)};
	pieces[CACHE_SITE_OF_TRACE] = (struct piece){
		heap->site_of_trace, heap->trace_count * sizeof(*heap->site_of_trace)};
	pieces[CACHE_FINDINGS] = (struct piece){small->findings.bytes, small->findings.size};
}

static void list_index(const struct hawk_block_index *index, const struct small_pieces *small,
		       struct piece *pieces)
{
	uint64_t words = (uint64_t)index->count * sizeof(uint32_t);

	pieces[CACHE_INDEX] = (struct piece){&small->index, sizeof(small->index)};
	pieces[CACHE_GRANULES] = (struct piece){index->granules, words};
	pieces[CACHE_SIZES] = (struct piece){index->sizes, words};
	pieces[CACHE_TRACES] = (struct piece){index->traces, words};
	pieces[CACHE_HEADS] = (struct piece){index->heads, words / 2}; /* NULL: see write_heads() */
	pieces[CACHE_DIRECTORY] =
		(struct piece){small->chunks, small->chunk_count * sizeof(*small->chunks)};
	pieces[CACHE_RECORDS] = (struct piece){index->records, (uint64_t)(index->chunk_count + 1)
								       << HAWK_CHUNK_RECORDS_LOG2};
	pieces[CACHE_RECORDS].size *= sizeof(*index->records);
	pieces[CACHE_CHUNK_ADDRESSES] =
		(struct piece){index->chunk_addresses, ((uint64_t)index->chunk_count + 1) * 8};
	pieces[CACHE_LARGE] =
		(struct piece){index->large, index->large_count * sizeof(*index->large)};
	pieces[CACHE_BLOCK_PARTS] =
		(struct piece){index->parts, index->part_count * sizeof(*index->parts)};
}

static void list_fold(const struct hawk_tree_fold *fold, const struct cache_fold *head,
		      enum cache_section_id section, struct piece *pieces)
{
	pieces[section] = (struct piece){head, sizeof(*head)};
	pieces[section + 1] = (struct piece){fold->nodes, fold_bytes(fold)};
}

static void list_folds(const struct hawk_block_graph *graph, const struct small_pieces *small,
		       struct piece *pieces)
{
	const struct hawk_tree_folds *folds = &graph->folds;
	size_t sites = graph->heap->site_count;

	if (graph->parts & HAWK_PART_FOLDS) {
		list_fold(&folds->retained, &small->fold, CACHE_FOLD_HEAD, pieces);
		pieces[CACHE_AGES] = (struct piece){folds->ages, sites * sizeof(*folds->ages)};
		pieces[CACHE_FOLD_RETAINED_BY_SITE] =
			(struct piece){graph->retained, sites * sizeof(*graph->retained)};
	}
	if (graph->parts & HAWK_PART_PATHS_FOLD)
		list_fold(&folds->paths, &small->paths_fold, CACHE_PATHS_FOLD_HEAD, pieces);
	if (graph->parts & HAWK_PART_START_FOLD)
		list_fold(&folds->start_retained, &small->start_fold, CACHE_START_FOLD_HEAD,
			  pieces);
	if (graph->parts & HAWK_PART_START_BLOCKS)
		pieces[CACHE_BY_START] = (struct piece){
			folds->by_start, graph->index.count * sizeof(*folds->by_start)};
}

static void list_orders(const struct hawk_block_graph *graph, const struct small_pieces *small,
			struct piece *pieces)
{
	const struct hawk_tree_order *order = &graph->folds.order;
	const struct hawk_tree_order *start = &graph->folds.start_order;
	uint64_t words = (uint64_t)graph->index.count * sizeof(uint32_t);

	if (graph->parts & HAWK_PART_ORDER) {
		pieces[CACHE_ORDER_HEAD] = (struct piece){&small->order, sizeof(small->order)};
		pieces[CACHE_ORDER_BLOCKS] = (struct piece){order->blocks, words};
		pieces[CACHE_ORDER_SIZES] = (struct piece){order->sizes, words};
		pieces[CACHE_ORDER_STEPS] = (struct piece){order->steps, words};
	}
	if (graph->parts & HAWK_PART_START_ORDER) {
		uint64_t own = start->blocks == order->blocks ? 0 : words;

		pieces[CACHE_START_ORDER_HEAD] =
			(struct piece){&small->start_order, sizeof(small->start_order)};
		pieces[CACHE_START_ORDER_BLOCKS] = (struct piece){start->blocks, own};
		pieces[CACHE_START_ORDER_SIZES] = (struct piece){start->sizes, own};
		pieces[CACHE_START_ORDER_STEPS] = (struct piece){start->steps, words};
	}
	if (graph->parts & HAWK_PART_PATH_STEPS) {
		pieces[CACHE_PATH_STEPS_HEAD] =
			(struct piece){&small->path_steps, sizeof(small->path_steps)};
		pieces[CACHE_PATH_STEPS] = (struct piece){graph->folds.path_steps.nodes, words};
	}
}

static void list_evidence(const struct hawk_block_graph *graph, struct piece *pieces)
{
	const struct hawk_kept_evidence *kept = graph->evidence;

	pieces[CACHE_EVIDENCE_HEAD] = (struct piece){&kept->head, sizeof(kept->head)};
	pieces[CACHE_EVIDENCE_CODES] =
		(struct piece){kept->codes, graph->index.count * sizeof(*kept->codes)};
	pieces[CACHE_EVIDENCE] =
		(struct piece){kept->items, kept->item_count * sizeof(*kept->items)};
	pieces[CACHE_EVIDENCE_GROUPS] =
		(struct piece){kept->groups, kept->group_count * sizeof(*kept->groups)};
	pieces[CACHE_LOST_THROUGH] =
		(struct piece){kept->lost, kept->lost_count * sizeof(*kept->lost)};
}

/** Answers to what is asked of all blocks, of blocks and of pointers one by one. */
static void list_kept(const struct hawk_block_graph *graph, struct piece *pieces)
{
	for (unsigned sort = 0; sort < HAWK_KEPT_SORTS && graph->parts & HAWK_PART_SCHEMAS; sort++)
		pieces[CACHE_KEPT_SCHEMAS + sort] = (struct piece){
			graph->schemas.arrays[sort].items,
			graph->schemas.arrays[sort].count * kept_size((enum hawk_kept_sort)sort)};
	if (graph->parts & HAWK_PART_PLACES) {
		pieces[CACHE_PLACE_WORDS] =
			(struct piece){graph->places.words, graph->edges.edge_count};
		pieces[CACHE_PLACES_SHARED] = (struct piece){
			graph->places.shared, hawk_pointer_places_shared_bytes(graph->index.count)};
	}
	if (graph->parts & HAWK_PART_TYPES)
		pieces[CACHE_TYPES] = (struct piece){
			graph->types.items, graph->types.count * sizeof(*graph->types.items)};
	if (graph->parts & HAWK_PART_EVIDENCE)
		list_evidence(graph, pieces);
	if (graph->parts & HAWK_PART_LEAKS) {
		const struct hawk_kept_leaks *leaks = graph->leaks;

		pieces[CACHE_LEAKS_HEAD] = (struct piece){&leaks->sums, sizeof(leaks->sums)};
		pieces[CACHE_LEAKS] =
			(struct piece){leaks->records, leaks->count * sizeof(*leaks->records)};
	}
	if (graph->parts & HAWK_PART_ASKED)
		pieces[CACHE_ASKED] = (struct piece){
			graph->asked.words, graph->asked.count * sizeof(*graph->asked.words)};
}

static void list_graph(const struct hawk_block_graph *graph, const struct small_pieces *small,
		       struct piece *pieces)
{
	uint64_t words = ((uint64_t)graph->index.count + 1) * sizeof(uint32_t);

	if (graph->parts & HAWK_PART_EDGES) {
		pieces[CACHE_OFFSETS] = (struct piece){graph->edges.offsets, words};
		pieces[CACHE_EDGES] =
			(struct piece){graph->edges.edges, (uint64_t)graph->edges.edge_count * 4};
	}
	if (graph->parts & HAWK_PART_ROOTS) {
		pieces[CACHE_ROOTS_HEAD] = (struct piece){&graph->roots, sizeof(graph->roots)};
		pieces[CACHE_ROOTS] = (struct piece){
			graph->roots.items, graph->roots.count * sizeof(*graph->roots.items)};
	}
	if (graph->parts & HAWK_PART_REACH) {
		pieces[CACHE_REACH_SUMS] =
			(struct piece){graph->reach.sums, sizeof(graph->reach.sums)};
		pieces[CACHE_KINDS] = (struct piece){graph->reach.kinds, graph->index.count};
	}
	if (graph->parts & HAWK_PART_RETAINED) {
		const struct hawk_dominators *dominators = &graph->dominators;

		pieces[CACHE_DOMINATORS_HEAD] =
			(struct piece){&small->dominators, sizeof(small->dominators)};
		pieces[CACHE_DOMINATOR_BLOCKS] = (struct piece){dominators->blocks, words};
		pieces[CACHE_DOMINATORS] = (struct piece){dominators->dominators, words};
		pieces[CACHE_RETAINED_BY_NUMBER] = (struct piece){dominators->retained, 2 * words};
		pieces[CACHE_SUBTREES] = (struct piece){dominators->sizes, words};
		pieces[CACHE_NUMBERS] = (struct piece){dominators->numbers, words - 4};
		pieces[CACHE_RETAINED_BY_SITE] = (struct piece){
			graph->retained, graph->heap->site_count * sizeof(*graph->retained)};
	}
	if (graph->parts & HAWK_PART_SITES) {
		const struct hawk_site_graph *sites = &graph->sites;

		pieces[CACHE_SITE_EDGES] =
			(struct piece){sites->edges, sites->edge_count * sizeof(*sites->edges)};
		pieces[CACHE_SITE_PLACES] =
			(struct piece){sites->places, sites->place_count * sizeof(*sites->places)};
	}
	if (graph->parts & HAWK_PART_PATHS) {
		const struct hawk_paths *paths = &graph->paths;

		pieces[CACHE_PATHS_ORDER] = (struct piece){paths->order, paths->count * 4ull};
		pieces[CACHE_PATHS_FROM] = (struct piece){paths->from, paths->count * 4ull};
		pieces[CACHE_PATHS_FOUND] =
			(struct piece){paths->found, hawk_paths_found_bytes(graph->index.count)};
	}
	list_kept(graph, pieces);
	list_folds(graph, small, pieces);
	list_orders(graph, small, pieces);
}

static struct hawk_error *write_at(int fd, const void *bytes, uint64_t size, uint64_t offset)
{
	const char *at = bytes;

	while (size) {
		size_t part = size < WRITTEN_AT_ONCE ? (size_t)size : WRITTEN_AT_ONCE;
		ssize_t written = pwrite(fd, at, part, (off_t)offset);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return hawk_error_os(errno, "write", "the index cache");
		at += written;
		offset += (uint64_t)written;
		hawk_progress_add((uint64_t)written);
		size -= (uint64_t)written;
	}
	return NULL;
}

/** What headers of blocks say, read from the core now: a question that comes later finds it side by
 * side. */
static struct hawk_error *write_heads(int fd, const struct hawk_block_graph *graph,
				      struct cache_section *section)
{
	CLEANUP(free_ptr) uint16_t *heads = malloc(HEADS_AT_ONCE * sizeof(*heads));
	CLEANUP(xxh_state) XXH3_state_t *hash = XXH3_createState();
	struct hawk_near near = {.target = graph->target};
	struct hawk_error *err = NULL;

	if (!heads || !hash || XXH3_64bits_reset(hash) != XXH_OK)
		return &hawk_enomem;
	for (uint32_t first = 0; first < graph->index.count && !err; first += HEADS_AT_ONCE) {
		uint32_t left = graph->index.count - first;
		uint32_t count = left < HEADS_AT_ONCE ? left : HEADS_AT_ONCE;

		for (uint32_t i = 0; i < count; i++)
			heads[i] = hawk_block_graph_head(graph, &near, first + i);
		XXH3_64bits_update(hash, heads, count * sizeof(*heads));
		err = write_at(fd, heads, count * sizeof(*heads),
			       section->offset + (uint64_t)first * sizeof(*heads));
	}
	section->hash = XXH3_64bits_digest(hash);
	return err;
}

uint64_t hawk_graph_cache_bytes(const struct hawk_block_graph *graph)
{
	struct piece pieces[CACHE_SECTIONS] = {0};
	uint64_t bytes = CACHE_FIRST_SECTION;
	struct small_pieces small;

	memset(&small, 0, sizeof(small));
	list_heap(graph->heap, &small, pieces);
	list_index(&graph->index, &small, pieces);
	list_graph(graph, &small, pieces);
	for (unsigned i = 0; i < CACHE_SECTIONS; i++)
		bytes += cache_align(pieces[i].size);
	return bytes;
}

static struct hawk_error *write_section(struct writer *writer, unsigned i)
{
	const struct piece *piece = &writer->pieces[i];
	struct cache_section *section = &writer->header.sections[i];

	*section = (struct cache_section){
		.offset = writer->header.file_bytes,
		.bytes = piece->size,
	};
	writer->header.file_bytes = cache_align(section->offset + piece->size);
	if (i == CACHE_HEADS && !piece->bytes)
		return write_heads(writer->fd, writer->graph, section);
	section->hash = XXH3_64bits(piece->bytes, (size_t)piece->size);
	return write_at(writer->fd, piece->bytes, piece->size, section->offset);
}

/** Sections of `parts` behind all that is there, then a header that says so. */
static struct hawk_error *write_parts(struct writer *writer, unsigned parts)
{
	struct cache_header *header = &writer->header;
	struct hawk_error *err = NULL;

	/* Parts that are added may have brought findings. */
	if (header->generation)
		err = write_section(writer, CACHE_FINDINGS);
	for (unsigned i = 0; i < CACHE_SECTIONS && !err; i++)
		if (parts & cache_part_of(i))
			err = write_section(writer, i);
	if (err)
		return err;
	if (ftruncate(writer->fd, (off_t)header->file_bytes) != 0)
		return hawk_error_os(errno, "write", "the index cache");
	header->parts |= parts;
	header->generation++;
	header->hash = XXH3_64bits(header, offsetof(struct cache_header, hash));
	return write_at(writer->fd, header, sizeof(*header),
			header->generation % CACHE_HEADERS * CACHE_HEADER_BYTES);
}

/** Has the writer know what there is to write. */
static struct hawk_error *prepare(struct writer *writer, const struct hawk_findings *findings,
				  struct small_pieces *small)
{
	struct hawk_error *err = collect(writer->graph, findings, small);

	list_heap(writer->graph->heap, small, writer->pieces);
	list_index(&writer->graph->index, small, writer->pieces);
	list_graph(writer->graph, small, writer->pieces);
	return err;
}

struct hawk_error *hawk_graph_cache_save(int fd, const struct hawk_core_identity *identity,
					 const struct hawk_block_graph *graph,
					 const struct hawk_findings *findings)
{
	CLEANUP(free_ptr) struct writer *writer = calloc(1, sizeof(*writer));
	CLEANUP(small_pieces) struct small_pieces small;
	struct hawk_error *err;

	memset(&small, 0, sizeof(small)); /* padding is written, too */
	if (!writer)
		return &hawk_enomem;
	writer->fd = fd;
	writer->graph = graph;
	writer->header.magic = cache_magic();
	writer->header.version = CACHE_VERSION;
	writer->header.layout = cache_layout();
	writer->header.identity = *identity;
	writer->header.key = graph->heap->plan.key;
	writer->header.file_bytes = CACHE_FIRST_SECTION;
	err = prepare(writer, findings, &small);
	return err ? err : write_parts(writer, graph->parts);
}

/** What the file has found, and the session has not. */
static void append_kept(const struct cache_reader *reader, const struct hawk_findings *findings,
			struct hawk_text *text)
{
	struct cache_kept_finding kept;
	uint64_t at = 0, before = 0;

	for (; cache_next_finding(reader, &at, &kept); before = at)
		if (!hawk_findings_have(findings, kept.key, kept.text))
			hawk_text_append(text, kept.head, (size_t)(at - before));
}

/** What is there stays as it is, and need not be looked at, but for what the new parts go by. */
static bool check_file(struct cache_reader *reader, const struct hawk_core_identity *identity,
		       const struct hawk_block_graph *graph, struct cache_header *header)
{
	reader->header = header;
	if (!cache_find_header(reader, identity, header))
		return false;
	reader->parts = HAWK_PART_INDEX;
	return cache_check_sections(reader) && cache_check_heap(reader) &&
	       cache_is_of(reader, graph);
}

static struct hawk_error *add(struct writer *writer, const struct cache_reader *reader,
			      const struct hawk_findings *findings)
{
	CLEANUP(small_pieces) struct small_pieces small;
	struct hawk_error *err;

	memset(&small, 0, sizeof(small));
	append_kept(reader, findings, &small.findings);
	err = prepare(writer, findings, &small);
	if (err)
		return err;
	return write_parts(writer, writer->graph->parts & ~writer->header.parts);
}

struct hawk_error *hawk_graph_cache_add(int fd, const struct hawk_core_identity *identity,
					const struct hawk_block_graph *graph,
					const struct hawk_findings *findings, bool *ret)
{
	CLEANUP(free_ptr) struct writer *writer = calloc(1, sizeof(*writer));
	CLEANUP(cache) struct hawk_graph_cache cache = {0};
	struct cache_reader reader = {0};
	struct hawk_error *err;
	uint64_t before;

	*ret = false;
	if (!writer)
		return &hawk_enomem;
	if (!cache_map(fd, &cache))
		return NULL;
	reader.bytes = cache.bytes;
	reader.size = cache.size;
	writer->fd = fd;
	writer->graph = graph;
	*ret = check_file(&reader, identity, graph, &writer->header);
	if (!*ret)
		return NULL;
	before = writer->header.file_bytes;
	err = add(writer, &reader, findings);
	/* Where it was too much, the room is given back; nobody looks behind what a header says. */
	if (err && ftruncate(fd, (off_t)before) != 0)
		return err;
	return err;
}
