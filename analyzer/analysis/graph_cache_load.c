/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Taking a graph from an index cache, once it has been found to be as expected.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "graph_cache_format.h"
#include "hawk_cleanup.h"
#include "site_tree_nodes.h"

static const unsigned FOLDS = HAWK_PART_FOLDS | HAWK_PART_PATHS_FOLD | HAWK_PART_START_FOLD |
			      HAWK_PART_START_BLOCKS | HAWK_PART_LEAKS | HAWK_PART_ORDER |
			      HAWK_PART_START_ORDER | HAWK_PART_PATH_STEPS | HAWK_PART_EVIDENCE;

/** A copy on the heap, for what is freed one by one. */
static void *copy(const struct cache_reader *reader, enum cache_section_id id)
{
	uint64_t bytes = reader->header->sections[id].bytes;
	void *made = malloc((size_t)bytes + 1);

	if (made)
		memcpy(made, cache_section_at(reader, id), (size_t)bytes);
	return made;
}

/** As long as every granule id can ask for, as in an index that is made. */
static uint64_t *copy_chunk_addresses(const struct cache_reader *reader)
{
	uint64_t *made = calloc((size_t)HAWK_CHUNKS_MAX + 1, sizeof(*made));

	if (made)
		memcpy(made, cache_section_at(reader, CACHE_CHUNK_ADDRESSES),
		       (size_t)reader->header->sections[CACHE_CHUNK_ADDRESSES].bytes);
	return made;
}

static struct hawk_error *take_directory(const struct cache_reader *reader,
					 struct hawk_block_index *index)
{
	const struct cache_chunk *chunks = cache_section_at(reader, CACHE_DIRECTORY);
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

static struct hawk_error *take_index(const struct cache_reader *reader,
				     struct hawk_block_index *index)
{
	const struct cache_index *from = cache_section_at(reader, CACHE_INDEX);

	*index = (struct hawk_block_index){
		.count = from->count,
		.granules = (uint32_t *)cache_section_at(reader, CACHE_GRANULES),
		.sizes = (uint32_t *)cache_section_at(reader, CACHE_SIZES),
		.traces = (uint32_t *)cache_section_at(reader, CACHE_TRACES),
		.heads = (uint16_t *)cache_section_at(reader, CACHE_HEADS),
		.records = (struct hawk_index_record *)cache_section_at(reader, CACHE_RECORDS),
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

static struct hawk_error *take_heap(const struct cache_reader *reader, struct hawk_heap *heap)
{
	const struct cache_heap *from = cache_section_at(reader, CACHE_HEAP);

	heap->sweep = from->sweep;
	heap->accounting = from->accounting;
	heap->site_count = (size_t)from->site_count;
	heap->lost_site = from->lost_site;
	heap->plan.blocks_missing = from->blocks_missing;
	heap->sites = copy(reader, CACHE_SITES);
	heap->site_of_trace = copy(reader, CACHE_SITE_OF_TRACE);
	return heap->sites && heap->site_of_trace ? NULL : &hawk_enomem;
}

/** `id`: the section that has them. */
static struct hawk_error *take_by_site(const struct cache_reader *reader, enum cache_section_id id,
				       struct hawk_block_graph *graph)
{
	if (!graph->retained)
		graph->retained = copy(reader, id);
	return graph->retained ? NULL : &hawk_enomem;
}

static struct hawk_error *take_retained(const struct cache_reader *reader,
					struct hawk_block_graph *graph)
{
	const struct cache_dominators *head = cache_section_at(reader, CACHE_DOMINATORS_HEAD);

	graph->dominators = (struct hawk_dominators){
		.count = graph->index.count,
		.blocks = (uint32_t *)cache_section_at(reader, CACHE_DOMINATOR_BLOCKS),
		.dominators = (uint32_t *)cache_section_at(reader, CACHE_DOMINATORS),
		.retained = (uint64_t *)cache_section_at(reader, CACHE_RETAINED_BY_NUMBER),
		.sizes = (uint32_t *)cache_section_at(reader, CACHE_SUBTREES),
		.numbers = (uint32_t *)cache_section_at(reader, CACHE_NUMBERS),
	};
	graph->start_is_all = head->start_is_all;
	return take_by_site(reader, CACHE_RETAINED_BY_SITE, graph);
}

static struct hawk_error *take_site_graph(const struct cache_reader *reader,
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

static struct hawk_error *take_paths(const struct cache_reader *reader,
				     struct hawk_block_graph *graph)
{
	graph->paths = (struct hawk_paths){
		.order = (uint32_t *)cache_section_at(reader, CACHE_PATHS_ORDER),
		.from = (uint32_t *)cache_section_at(reader, CACHE_PATHS_FROM),
		.count = (uint32_t)cache_paths_count(reader),
		.found = copy(reader, CACHE_PATHS_FOUND),
		.index = &graph->index,
	};
	return graph->paths.found ? NULL : &hawk_enomem;
}

static void take_fold(const struct cache_reader *reader, enum cache_section_id head,
		      struct hawk_tree_fold *fold)
{
	const struct cache_fold *from = cache_section_at(reader, head);

	hawk_tree_fold_deinit(fold);
	*fold = (struct hawk_tree_fold){
		.nodes = cache_section_at(reader, (enum cache_section_id)(head + 1)),
		.count = (uint32_t)(reader->header->sections[head + 1].bytes /
				    sizeof(*fold->nodes)) -
			 1,
		.groups = from->groups,
	};
}

static struct hawk_error *take_leaks(const struct cache_reader *reader,
				     struct hawk_block_graph *graph)
{
	const struct hawk_kept_sums *sums = cache_section_at(reader, CACHE_LEAKS_HEAD);
	struct hawk_kept_leaks *leaks;

	if (graph->leaks)
		return NULL;
	leaks = calloc(1, sizeof(*leaks));
	if (!leaks)
		return &hawk_enomem;
	leaks->sums = *sums;
	leaks->records = cache_section_at(reader, CACHE_LEAKS);
	leaks->count = reader->header->sections[CACHE_LEAKS].bytes / sizeof(*leaks->records);
	graph->leaks = leaks;
	return NULL;
}

static struct hawk_error *take_evidence(const struct cache_reader *reader,
					struct hawk_block_graph *graph)
{
	const struct cache_section *sections = reader->header->sections;
	const struct hawk_evidence_head *head = cache_section_at(reader, CACHE_EVIDENCE_HEAD);
	struct hawk_kept_evidence *kept;

	if (graph->evidence)
		return NULL;
	kept = calloc(1, sizeof(*kept));
	if (!kept)
		return &hawk_enomem;
	kept->head = *head;
	kept->codes = cache_section_at(reader, CACHE_EVIDENCE_CODES);
	kept->items = cache_section_at(reader, CACHE_EVIDENCE);
	kept->item_count = sections[CACHE_EVIDENCE].bytes / sizeof(*kept->items);
	kept->groups = cache_section_at(reader, CACHE_EVIDENCE_GROUPS);
	kept->group_count = sections[CACHE_EVIDENCE_GROUPS].bytes / sizeof(*kept->groups);
	kept->lost = cache_section_at(reader, CACHE_LOST_THROUGH);
	kept->lost_count = sections[CACHE_LOST_THROUGH].bytes / sizeof(*kept->lost);
	graph->evidence = kept;
	return NULL;
}

/** Whether the numbers behind `head` are those of `fold`, which lies behind its own head. */
static bool is_of_fold(const struct cache_reader *reader, enum cache_section_id head,
		       enum cache_section_id fold_head, const struct hawk_tree_fold *fold)
{
	const struct cache_order *from = cache_section_at(reader, head);
	const void *nodes = cache_section_at(reader, (enum cache_section_id)(fold_head + 1));

	return fold->nodes && fold->nodes == nodes &&
	       from->fold == reader->header->sections[fold_head + 1].hash;
}

static void take_order(const struct cache_reader *reader, enum cache_section_id head,
		       const struct hawk_tree_order *same, uint64_t groups,
		       struct hawk_tree_order *order)
{
	bool is_same = !reader->header->sections[head + 1].bytes;
	const uint32_t *steps = cache_section_at(reader, (enum cache_section_id)(head + 3));

	hawk_tree_order_deinit(order);
	if (is_same && !same->blocks)
		return;
	*order = (struct hawk_tree_order){
		.blocks = is_same ? same->blocks : cache_section_at(reader, head + 1),
		.sizes = is_same ? same->sizes : cache_section_at(reader, head + 2),
		.steps = steps,
		.groups = groups,
	};
}

/** Of folds that have been taken. */
static void take_orders(const struct cache_reader *reader, struct hawk_tree_folds *folds)
{
	if (reader->parts & HAWK_PART_ORDER &&
	    is_of_fold(reader, CACHE_ORDER_HEAD, CACHE_FOLD_HEAD, &folds->retained))
		take_order(reader, CACHE_ORDER_HEAD, &folds->order, folds->retained.groups,
			   &folds->order);
	if (reader->parts & HAWK_PART_START_ORDER &&
	    is_of_fold(reader, CACHE_START_ORDER_HEAD, CACHE_START_FOLD_HEAD,
		       &folds->start_retained))
		take_order(reader, CACHE_START_ORDER_HEAD, &folds->order,
			   folds->start_retained.groups, &folds->start_order);
	if (!(reader->parts & HAWK_PART_PATH_STEPS) ||
	    !is_of_fold(reader, CACHE_PATH_STEPS_HEAD, CACHE_PATHS_FOLD_HEAD, &folds->paths))
		return;
	hawk_tree_steps_deinit(&folds->path_steps);
	folds->path_steps = (struct hawk_tree_steps){
		.nodes = cache_section_at(reader, CACHE_PATH_STEPS),
		.groups = folds->paths.groups,
	};
}

static struct hawk_error *take_folds(const struct cache_reader *reader,
				     struct hawk_block_graph *graph)
{
	struct hawk_tree_folds *folds = &graph->folds;
	struct hawk_error *err = NULL;

	if (reader->parts & HAWK_PART_PATHS_FOLD)
		take_fold(reader, CACHE_PATHS_FOLD_HEAD, &folds->paths);
	if (reader->parts & HAWK_PART_START_FOLD)
		take_fold(reader, CACHE_START_FOLD_HEAD, &folds->start_retained);
	if (reader->parts & HAWK_PART_START_BLOCKS)
		folds->by_start = cache_section_at(reader, CACHE_BY_START);
	if (reader->parts & HAWK_PART_FOLDS) {
		take_fold(reader, CACHE_FOLD_HEAD, &folds->retained);
		if (!folds->ages)
			folds->ages = copy(reader, CACHE_AGES);
		err = folds->ages ? take_by_site(reader, CACHE_FOLD_RETAINED_BY_SITE, graph)
				  : &hawk_enomem;
	}
	take_orders(reader, folds);
	if (!err && reader->parts & HAWK_PART_LEAKS)
		err = take_leaks(reader, graph);
	if (!err && reader->parts & HAWK_PART_EVIDENCE)
		err = take_evidence(reader, graph);
	hawk_block_graph_note_folds(graph);
	return err;
}

/** Of the graph's edges, wherever these have come from. */
static void take_places(const struct cache_reader *reader, struct hawk_block_graph *graph)
{
	if (reader->header->sections[CACHE_PLACE_WORDS].bytes != graph->edges.edge_count)
		return;
	graph->places = (struct hawk_pointer_places){
		.words = cache_section_at(reader, CACHE_PLACE_WORDS),
		.shared = cache_section_at(reader, CACHE_PLACES_SHARED),
	};
	graph->parts |= HAWK_PART_PLACES;
}

static void take_types(const struct cache_reader *reader, struct hawk_block_graph *graph)
{
	graph->types = (struct hawk_kept_types){
		.items = cache_section_at(reader, CACHE_TYPES),
		.count = reader->header->sections[CACHE_TYPES].bytes / sizeof(*graph->types.items),
	};
	graph->parts |= HAWK_PART_TYPES;
}

static struct hawk_error *take_graph(const struct cache_reader *reader,
				     struct hawk_block_graph *graph)
{
	const unsigned copied = HAWK_PART_RETAINED | HAWK_PART_SITES | HAWK_PART_PATHS |
				HAWK_PART_PLACES | HAWK_PART_TYPES | FOLDS;
	uint32_t count = graph->index.count;
	struct hawk_error *err = NULL;

	if (reader->parts & HAWK_PART_EDGES) {
		graph->edges.count = count;
		graph->edges.offsets = (uint32_t *)cache_section_at(reader, CACHE_OFFSETS);
		graph->edges.edges = (uint32_t *)cache_section_at(reader, CACHE_EDGES);
		graph->edges.edge_count = graph->edges.offsets[count];
	}
	if (reader->parts & HAWK_PART_ROOTS) {
		memcpy(&graph->roots, cache_section_at(reader, CACHE_ROOTS_HEAD),
		       sizeof(graph->roots));
		graph->roots.items = (struct hawk_root *)cache_section_at(reader, CACHE_ROOTS);
		graph->roots.capacity = 0; /* not ours */
	}
	if (reader->parts & HAWK_PART_REACH) {
		memcpy(graph->reach.sums, cache_section_at(reader, CACHE_REACH_SUMS),
		       sizeof(graph->reach.sums));
		graph->reach.kinds = (uint8_t *)cache_section_at(reader, CACHE_KINDS);
		graph->reach.edges = HAWK_EDGES_ALL;
	}
	if (reader->parts & HAWK_PART_SCHEMAS) {
		hawk_kept_schemas_deinit(&graph->schemas);
		graph->schemas = cache_kept_schemas(reader);
	}
	if (reader->parts & HAWK_PART_ASKED)
		graph->asked = (struct hawk_asked_modules){
			.words = cache_section_at(reader, CACHE_ASKED),
			.count = reader->header->sections[CACHE_ASKED].bytes /
				 sizeof(*graph->asked.words),
		};
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
	if (err)
		return err;
	graph->parts |= reader->parts & HAWK_PART_PATHS;
	if (reader->parts & HAWK_PART_PLACES)
		take_places(reader, graph);
	if (reader->parts & HAWK_PART_TYPES)
		take_types(reader, graph);
	return take_folds(reader, graph);
}

static bool is_of_roots(const char *key)
{
	return !strncmp(key, "roots-", 6) || !strcmp(key, "stack-missing");
}

/** Those of the reading that is spared for `parts`; keys stay in the mapping. */
static void take_findings(const struct cache_reader *reader, unsigned parts,
			  struct hawk_findings *findings)
{
	bool roots = hawk_block_graph_rests_on_roots(parts);
	struct cache_kept_finding kept;
	uint64_t at = 0;

	while (cache_next_finding(reader, &at, &kept)) {
		size_t before = findings->count;

		if ((is_of_roots(kept.key) && !roots) ||
		    hawk_findings_have(findings, kept.key, kept.text))
			continue;
		hawk_findings_add(findings, (enum hawk_finding_sort)kept.head->sort,
				  kept.head->partial, kept.key, "%s", kept.text);
		if (findings->count > before)
			findings->items[before].count = kept.head->count;
	}
}

/** The heap's table, and whether the file is about this process. */
static bool load_table(const struct cache_reader *reader, struct hawk_target *target,
		       struct hawk_findings *findings, struct hawk_heap *heap,
		       struct hawk_error **err)
{
	const struct cache_heap *from = cache_section_at(reader, CACHE_HEAP);

	*err = hawk_heap_load_plan(target, findings, heap);
	return !*err && heap->table && heap->trace_count == from->trace_count &&
	       !memcmp(&heap->plan.key, &reader->header->key, sizeof(heap->plan.key));
}

/** What a mapped file has, with its header. False: it does not fit. */
static bool open_reader(struct hawk_graph_cache *cache, const struct hawk_core_identity *identity,
			struct cache_reader *reader)
{
	CLEANUP(free_ptr) struct cache_header *header = malloc(sizeof(*header));

	*reader = (struct cache_reader){.bytes = cache->bytes, .size = cache->size};
	if (!header || !cache_find_header(reader, identity, header))
		return false;
	reader->header = cache->header = take_ptr(&header);
	return true;
}

static bool inspect(struct cache_reader *reader, unsigned parts)
{
	reader->parts =
		reader->header->parts & (hawk_block_graph_dependencies(parts) | HAWK_PART_INDEX);
	return cache_check_sections(reader) && cache_check_heap(reader) &&
	       cache_check_graph(reader);
}

unsigned hawk_graph_cache_parts(int fd, const struct hawk_core_identity *identity)
{
	struct hawk_graph_cache cache = {0};
	struct cache_reader reader;
	unsigned parts = 0;

	if (fd < 0 || !cache_map(fd, &cache))
		return 0;
	if (open_reader(&cache, identity, &reader))
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
	struct cache_reader reader;
	struct hawk_heap made = {0};

	*err = NULL;
	if (!cache_map(fd, cache))
		return false;
	if (!open_reader(cache, identity, &reader) || !inspect(&reader, parts) ||
	    !load_table(&reader, target, findings, &made, err)) {
		hawk_heap_deinit(&made);
		hawk_graph_cache_unmap(cache);
		return false;
	}
	take_findings(&reader, parts, findings);
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
	struct cache_reader reader = {
		.header = cache->header,
		.bytes = cache->bytes,
		.size = cache->size,
	};

	if (!cache->bytes)
		return NULL;
	reader.parts = reader.header->parts & hawk_block_graph_dependencies(parts) & ~graph->parts;
	if (!reader.parts || !cache_check_sections(&reader) || !cache_check_graph(&reader))
		return NULL;
	take_findings(&reader, parts, graph->findings);
	return take_graph(&reader, graph);
}

void hawk_graph_cache_unmap(struct hawk_graph_cache *cache)
{
	if (cache->bytes)
		munmap(cache->bytes, cache->size);
	free(cache->header);
	*cache = (struct hawk_graph_cache){0};
}
