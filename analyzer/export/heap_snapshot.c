/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The object graph as V8's .heapsnapshot, written as a stream: nodes, edges in the order of their
 * sources, strings.
 *
 *     (root) -> groups of roots, as `retained --by=root` names them -> blocks -> blocks
 *            -> (lost: ...) -> the leader of every leak
 *
 * The last node keeps readers from finding blocks that nothing leads to, which each treats in its
 * own way; the dominators are those of graph/dominators.h, which begins at the same places. A block
 * that a pool carved up is one node. Readers keep sizes in 32 bits: a larger block retains nodes
 * with the rest of its bytes.
 */
#include <search.h>
#include <stdlib.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "hawk/base/progress.h"
#include "hawk/export/heap_snapshot.h"
#include "hawk/graph/pointers.h"
#include "hawk/output/json.h"
#include "heap_snapshot_ids.h"

enum {
	NODE_FIELDS = 7,
	EDGE_FIELDS = 3,
	LINES = 1,
	/* Indices into the lists of types below. */
	NODE_NATIVE = 8,
	NODE_SYNTHETIC = 9,
	EDGE_ELEMENT = 1,
	EDGE_INTERNAL = 3,
};

/** Numbers of nodes; behind these the groups of roots, then the blocks, then rests. */
enum { ROOT, LOST, FIRST_GROUP };

/** Numbers of strings; behind these the names of groups, of sites, of types. */
enum { STRING_EMPTY, STRING_ROOT, STRING_LOST, STRING_REST, STRING_UNKNOWN, FIRST_STRING };

/** What is beyond a node's 32 bits. */
struct rest {
	uint32_t block;
	uint64_t bytes;
};

struct writer {
	const struct hawk_heap_snapshot *snapshot;
	const struct hawk_graph *graph;
	const struct hawk_block_index *index;
	struct hawk_json json;
	struct hawk_tree_roots groups;
	uint64_t *group_roots; /**< by group: how many roots it has */
	uint32_t *roots;       /**< sorted by group */
	uint32_t *nodes; /**< by block: its number among those that count; NULL = the block's */
	struct hawk_snapshot_ids ids;
	struct rest *rests; /**< ascending by block */
	size_t rest_count, rest_capacity;
	uint64_t rest_nodes;
	uint64_t leaders;
	uint64_t node_count, edge_count;
	void *types;        /**< tree of struct type, by name */
	const char **names; /**< of types, in the order of their strings */
	size_t type_count, type_capacity;
	/* The next edge. */
	uint32_t block; /**< whose edges are written */
	uint32_t part;  /**< the part of it */
	uint32_t edge;  /**< in the graph */
	size_t rest;
	uint64_t rest_node;
};

struct type {
	const char *name;
	uint32_t number;
};

static uint32_t node_of(const struct writer *writer, uint32_t block)
{
	uint32_t whole = hawk_block_index_whole(writer->index, block);

	return FIRST_GROUP + writer->groups.count + (writer->nodes ? writer->nodes[whole] : whole);
}

/** Pointers of one part, without the links between parts, which are its last ones. */
static uint32_t part_edges_end(const struct writer *writer, uint32_t block)
{
	const struct hawk_block_part *part =
		writer->index->part_count ? hawk_block_index_part(writer->index, block) : NULL;
	uint32_t end = writer->graph->offsets[block + 1];

	if (!part)
		return end;
	return end - (part->previous != HAWK_BLOCK_NOWHERE) - (part->next != HAWK_BLOCK_NOWHERE);
}

static uint64_t rest_nodes(uint64_t bytes)
{
	return bytes / UINT32_MAX + (bytes % UINT32_MAX != 0);
}

/** The rest number `at` if it is one of `block`, else NULL. */
static const struct rest *rest_of(const struct writer *writer, uint32_t block, size_t at)
{
	return at < writer->rest_count && writer->rests[at].block == block ? &writer->rests[at]
									   : NULL;
}

/** Edges of a block that counts. `rest` goes on. */
static uint64_t count_edges(const struct writer *writer, uint32_t block, size_t *rest)
{
	uint64_t count = 0;

	for (uint32_t part = block; part != HAWK_BLOCK_NOWHERE;
	     part = hawk_block_index_next_part(writer->index, part))
		count += part_edges_end(writer, part) - writer->graph->offsets[part];
	if (rest_of(writer, block, *rest))
		count += rest_nodes(writer->rests[(*rest)++].bytes);
	return count;
}

static bool is_leader(const struct writer *writer, uint32_t block)
{
	return writer->snapshot->reach->kinds[block] == HAWK_REACH_DEFINITELY_LOST;
}

/** The next block from `block` on that is a node; the number of blocks = there is none. */
static uint32_t next_node(const struct writer *writer, uint32_t block)
{
	while (block < writer->index->count && !hawk_block_index_counts(writer->index, block))
		block++;
	return block;
}

static struct hawk_error *sort_roots(struct writer *writer)
{
	const struct hawk_roots *roots = &writer->graph->roots;
	CLEANUP(free_ptr) uint64_t *at = calloc(writer->groups.count + 1, sizeof(*at));

	writer->group_roots = calloc(writer->groups.count + 1, sizeof(*writer->group_roots));
	writer->roots = calloc(roots->count + 1, sizeof(*writer->roots));
	if (!at || !writer->group_roots || !writer->roots)
		return &hawk_enomem;
	for (size_t i = 0; i < roots->count; i++)
		writer->group_roots[writer->groups.groups[i]]++;
	for (uint32_t i = 1; i < writer->groups.count; i++)
		at[i] = at[i - 1] + writer->group_roots[i - 1];
	for (size_t i = 0; i < roots->count; i++)
		writer->roots[at[writer->groups.groups[i]]++] = (uint32_t)i;
	return NULL;
}

static struct hawk_error *keep_rest(struct writer *writer, uint32_t block)
{
	uint64_t bytes = hawk_block_index_left_bytes(writer->index, block);

	if (bytes <= UINT32_MAX)
		return NULL;
	if (!hawk_array_reserve(&writer->rests, writer->rest_count, &writer->rest_capacity,
				sizeof(*writer->rests)))
		return &hawk_enomem;
	writer->rests[writer->rest_count++] = (struct rest){block, bytes - UINT32_MAX};
	writer->rest_nodes += rest_nodes(bytes - UINT32_MAX);
	return NULL;
}

/** Counts nodes and edges, which are written before any of them, and numbers the nodes. */
static struct hawk_error *count(struct writer *writer)
{
	uint32_t end = writer->index->count, nodes = 0;
	struct hawk_error *err = NULL;
	size_t rest = 0;

	if (writer->index->part_count) {
		writer->nodes = calloc(end, sizeof(*writer->nodes));
		if (!writer->nodes)
			return &hawk_enomem;
	}
	for (uint32_t i = next_node(writer, 0); !err && i < end; i = next_node(writer, i + 1)) {
		if (writer->nodes)
			writer->nodes[i] = nodes;
		nodes++;
		writer->leaders += is_leader(writer, i);
		err = keep_rest(writer, i);
		writer->edge_count += count_edges(writer, i, &rest);
	}
	writer->node_count = FIRST_GROUP + writer->groups.count + nodes + writer->rest_nodes;
	writer->edge_count += FIRST_GROUP - 1 + writer->groups.count + writer->leaders +
			      writer->graph->roots.count;
	if (!err && (writer->node_count > UINT32_MAX / NODE_FIELDS ||
		     writer->edge_count > UINT32_MAX / EDGE_FIELDS))
		err = hawk_error_create(
			HAWK_ERROR_UNSUPPORTED,
			"a heap snapshot cannot hold %llu blocks with %llu pointers",
			(unsigned long long)writer->node_count,
			(unsigned long long)writer->edge_count);
	return err;
}

static void put_words(struct hawk_json *json, const char *const *words)
{
	hawk_json_array(json);
	for (; *words; words++)
		hawk_json_string(json, *words);
	hawk_json_array_end(json);
}

static void put_fields(struct hawk_json *json, const char *key, const char *const *words)
{
	hawk_json_key(json, key);
	put_words(json, words);
}

/** A list whose first item is the list of types; the rest says what other fields hold. */
static void put_types(struct hawk_json *json, const char *key, const char *const *types,
		      const char *const *others)
{
	hawk_json_put_array(json, key);
	put_words(json, types);
	for (; *others; others++)
		hawk_json_string(json, *others);
	hawk_json_array_end(json);
}

static void put_head(struct writer *writer)
{
	static const char *const node_fields[] = {"type",         "name",       "id",
						  "self_size",    "edge_count", "trace_node_id",
						  "detachedness", NULL};
	static const char *const node_types[] = {"hidden",
						 "array",
						 "string",
						 "object",
						 "code",
						 "closure",
						 "regexp",
						 "number",
						 "native",
						 "synthetic",
						 "concatenated string",
						 "sliced string",
						 "symbol",
						 "bigint",
						 NULL};
	static const char *const node_others[] = {"string", "number", "number", "number",
						  "number", "number", NULL};
	static const char *const edge_fields[] = {"type", "name_or_index", "to_node", NULL};
	static const char *const edge_types[] = {"context", "element",  "property", "internal",
						 "hidden",  "shortcut", "weak",     NULL};
	static const char *const edge_others[] = {"string_or_number", "node", NULL};
	static const char *const location_fields[] = {"object_index", "script_id", "line", "column",
						      NULL};
	static const char *const none[] = {NULL};
	struct hawk_json *json = &writer->json;

	hawk_json_put_object(json, "snapshot");
	hawk_json_put_object(json, "meta");
	put_fields(json, "node_fields", node_fields);
	put_types(json, "node_types", node_types, node_others);
	put_fields(json, "edge_fields", edge_fields);
	put_types(json, "edge_types", edge_types, edge_others);
	put_fields(json, "trace_function_info_fields", none);
	put_fields(json, "trace_node_fields", none);
	put_fields(json, "sample_fields", none);
	put_fields(json, "location_fields", location_fields);
	hawk_json_object_end(json);
	hawk_json_put_integer(json, "node_count", writer->node_count);
	hawk_json_put_integer(json, "edge_count", writer->edge_count);
	hawk_json_put_integer(json, "trace_function_count", 0);
	hawk_json_object_end(json);
}

static void put_node(struct writer *writer, unsigned type, uint32_t name, uint64_t id,
		     uint64_t bytes, uint64_t edges)
{
	const uint64_t fields[NODE_FIELDS] = {type, name, id, bytes, edges, 0, 0};

	for (unsigned i = 0; i < NODE_FIELDS; i++)
		hawk_json_integer(&writer->json, fields[i]);
}

static int compare_types(const void *left, const void *right)
{
	return strcmp(((const struct type *)left)->name, ((const struct type *)right)->name);
}

/** Returns the string of a type; `*ret` is its number. */
static struct hawk_error *type_string(struct writer *writer, const char *name, uint32_t *ret)
{
	struct type wanted = {.name = name, .number = (uint32_t)writer->type_count};
	struct type *const *found = tfind(&wanted, &writer->types, compare_types);
	struct type *type;

	if (!found) {
		type = malloc(sizeof(*type));
		if (!type || !hawk_array_reserve(&writer->names, writer->type_count,
						 &writer->type_capacity, sizeof(*writer->names))) {
			free(type);
			return &hawk_enomem;
		}
		*type = wanted;
		found = tsearch(type, &writer->types, compare_types);
		if (!found) {
			free(type);
			return &hawk_enomem;
		}
		writer->names[writer->type_count++] = name;
	}
	*ret = FIRST_STRING + writer->groups.count + (uint32_t)writer->graph->heap->site_count + 1 +
	       (*found)->number;
	return NULL;
}

static struct hawk_error *put_block(struct writer *writer, struct hawk_near *near, uint32_t block,
				    size_t *rest)
{
	const struct hawk_heap *heap = writer->graph->heap;
	uint64_t bytes = hawk_block_index_left_bytes(writer->index, block);
	uint32_t site = hawk_heap_site_at(heap, block), name;
	struct hawk_block header;
	const char *type;

	hawk_heap_next_block(heap, near, block, &header);
	type = hawk_block_type(writer->snapshot->types, &header);
	if (type) {
		struct hawk_error *err = type_string(writer, type, &name);

		if (err)
			return err;
	} else {
		name = FIRST_STRING + writer->groups.count +
		       (site < heap->site_count ? site : (uint32_t)heap->site_count);
	}
	put_node(writer, NODE_NATIVE, name, hawk_snapshot_id_of_block(&writer->ids, block),
		 bytes < UINT32_MAX ? bytes : UINT32_MAX, count_edges(writer, block, rest));
	return NULL;
}

static void put_rests(struct writer *writer)
{
	uint64_t number = 0;

	for (size_t i = 0; i < writer->rest_count; i++) {
		for (uint64_t left = writer->rests[i].bytes; left;) {
			uint64_t bytes = left < UINT32_MAX ? left : UINT32_MAX;

			put_node(writer, NODE_NATIVE, STRING_REST,
				 hawk_snapshot_id(FIRST_GROUP + writer->groups.count + number++),
				 bytes, 0);
			left -= bytes;
		}
	}
}

static struct hawk_error *put_nodes(struct writer *writer)
{
	struct hawk_error *err = NULL;
	struct hawk_near near = {.target = writer->graph->heap->target};
	size_t rest = 0;

	hawk_json_put_array(&writer->json, "nodes");
	put_node(writer, NODE_SYNTHETIC, STRING_ROOT, hawk_snapshot_id(ROOT), 0,
		 FIRST_GROUP - 1 + writer->groups.count);
	put_node(writer, NODE_SYNTHETIC, STRING_LOST, hawk_snapshot_id(LOST), 0, writer->leaders);
	for (uint32_t i = 0; i < writer->groups.count; i++)
		put_node(writer, NODE_SYNTHETIC, FIRST_STRING + i,
			 hawk_snapshot_id(FIRST_GROUP + i), 0, writer->group_roots[i]);
	for (uint32_t i = next_node(writer, 0); !err && i < writer->index->count;
	     i = next_node(writer, i + 1)) {
		err = put_block(writer, &near, i, &rest);
		hawk_progress_tick(i);
	}
	put_rests(writer);
	hawk_json_array_end(&writer->json);
	return err;
}

static void put_edge(struct writer *writer, unsigned type, uint64_t name, uint64_t node)
{
	hawk_json_integer(&writer->json, type);
	hawk_json_integer(&writer->json, name < UINT32_MAX ? name : UINT32_MAX);
	hawk_json_integer(&writer->json, node * NODE_FIELDS);
}

static void put_root_edges(struct writer *writer)
{
	const struct hawk_root *roots = writer->graph->roots.items;
	uint64_t at = 0, leader = 0;

	for (uint32_t i = LOST; i < FIRST_GROUP + writer->groups.count; i++)
		put_edge(writer, EDGE_ELEMENT, i, i);
	for (uint32_t i = next_node(writer, 0); i < writer->index->count;
	     i = next_node(writer, i + 1))
		if (is_leader(writer, i))
			put_edge(writer, EDGE_ELEMENT, leader++, node_of(writer, i));
	for (uint32_t i = 0; i < writer->groups.count; i++)
		for (uint64_t j = 0; j < writer->group_roots[i]; j++, at++)
			put_edge(writer, EDGE_ELEMENT, j,
				 node_of(writer, roots[writer->roots[at]].edge >> 1));
}

static void begin_block(struct writer *writer, uint32_t block)
{
	writer->block = writer->part = next_node(writer, block);
	if (writer->block < writer->index->count)
		writer->edge = writer->graph->offsets[writer->block];
}

/** Ends the parts and blocks whose pointers are all written. */
static void reach_edge(struct writer *writer)
{
	while (writer->block < writer->index->count &&
	       writer->edge == part_edges_end(writer, writer->part)) {
		const struct rest *rest = rest_of(writer, writer->block, writer->rest);

		writer->part = hawk_block_index_next_part(writer->index, writer->part);
		if (writer->part != HAWK_BLOCK_NOWHERE) {
			writer->edge = writer->graph->offsets[writer->part];
			continue;
		}
		if (rest) {
			for (uint64_t i = rest_nodes(rest->bytes); i > 0; i--)
				put_edge(writer, EDGE_INTERNAL, STRING_REST, writer->rest_node++);
			writer->rest++;
		}
		begin_block(writer, writer->block + 1);
	}
}

/** Writes the next pointer; one that could not be read again has no place. */
static void put_pointer(struct writer *writer, const struct hawk_pointer *pointer)
{
	uint64_t target = node_of(writer, writer->graph->edges[writer->edge++] >> 1);
	uint64_t start = hawk_block_start(writer->index, writer->block);

	if (pointer)
		put_edge(writer, EDGE_ELEMENT,
			 hawk_block_start(writer->index, pointer->source) - start + pointer->offset,
			 target);
	else
		put_edge(writer, EDGE_INTERNAL, STRING_UNKNOWN, target);
	reach_edge(writer);
}

static struct hawk_error *put_pointers(void *context, const struct hawk_pointer *pointers,
				       size_t count)
{
	struct writer *writer = context;

	for (size_t i = 0; i < count; i++) {
		while (writer->part != pointers[i].source)
			put_pointer(writer, NULL);
		put_pointer(writer, &pointers[i]);
	}
	return NULL;
}

static struct hawk_error *put_edges(struct writer *writer)
{
	struct hawk_error *err;

	hawk_json_put_array(&writer->json, "edges");
	put_root_edges(writer);
	writer->rest_node = writer->node_count - writer->rest_nodes;
	begin_block(writer, 0);
	reach_edge(writer);
	err = hawk_pointers_read(writer->graph, 0, writer->index->count, NULL, put_pointers,
				 writer);
	while (!err && writer->block < writer->index->count)
		put_pointer(writer, NULL);
	hawk_json_array_end(&writer->json);
	return err;
}

static struct hawk_error *put_strings(struct writer *writer)
{
	CLEANUP(text) struct hawk_text name = {0};
	struct hawk_json *json = &writer->json;
	uint32_t sites = (uint32_t)writer->graph->heap->site_count;

	hawk_json_put_array(json, "strings");
	hawk_json_string(json, "");
	hawk_json_string(json, "(root)");
	hawk_json_string(json, writer->snapshot->in_doubt
				       ? "(perhaps lost: no root was found to lead there)"
				       : "(lost: no root leads there)");
	hawk_json_string(json, "(rest of a block of 4 GiB or more)");
	hawk_json_string(json, "(place not known)");
	for (uint32_t i = 0; i < writer->groups.count; i++)
		hawk_json_string(json, writer->groups.names[i]);
	for (uint32_t i = 0; i <= sites && !name.failed; i++) {
		hawk_text_clear(&name);
		hawk_site_name_append_folded(
			&name, hawk_site_name(writer->snapshot->names, i < sites ? i : UINT32_MAX));
		hawk_json_string(json, hawk_text_string(&name));
	}
	for (size_t i = 0; i < writer->type_count; i++)
		hawk_json_string(json, writer->names[i]);
	hawk_json_array_end(json);
	return name.failed ? &hawk_enomem : NULL;
}

static struct hawk_error *put_document(struct writer *writer)
{
	static const char *const empty[] = {"trace_function_infos", "trace_tree", "samples",
					    "locations"};
	struct hawk_progress progress;
	struct hawk_error *err;

	hawk_json_object(&writer->json);
	put_head(writer);
	hawk_progress_begin(&progress, "writing blocks", writer->index->count);
	err = put_nodes(writer);
	hawk_progress_end(&progress);
	hawk_progress_begin(&progress, "writing pointers", writer->index->count);
	if (!err)
		err = put_edges(writer);
	hawk_progress_end(&progress);
	for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
		hawk_json_put_array(&writer->json, empty[i]);
		hawk_json_array_end(&writer->json);
	}
	if (!err)
		err = put_strings(writer);
	if (err)
		return err;
	hawk_json_object_end(&writer->json);
	hawk_json_finish(&writer->json);
	return NULL;
}

struct hawk_error *hawk_export_heap_snapshot(const struct hawk_heap_snapshot *snapshot,
					     struct hawk_output *output)
{
	struct writer writer = {
		.snapshot = snapshot,
		.graph = snapshot->graph,
		.index = &snapshot->graph->heap->index,
	};
	struct hawk_error *err = hawk_tree_roots_make(snapshot->roots, &writer.groups);

	if (!err)
		err = sort_roots(&writer);
	if (!err)
		err = count(&writer);
	if (!err)
		err = hawk_snapshot_ids_make(writer.index,
					     FIRST_GROUP + writer.groups.count + writer.rest_nodes,
					     &writer.ids);
	hawk_json_init(&writer.json, output, LINES);
	if (!err)
		err = put_document(&writer);
	hawk_tree_roots_deinit(&writer.groups);
	hawk_snapshot_ids_deinit(&writer.ids);
	tdestroy(writer.types, free);
	free(writer.group_roots);
	free(writer.roots);
	free(writer.nodes);
	free(writer.rests);
	free(writer.names);
	return err;
}
