/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The object graph as V8's .heapsnapshot, written as a stream: nodes, edges in the order of their
 * sources, strings.
 *
 *     (root) -> groups of roots, as `retained --by=root` names them -> blocks -> blocks
 *            -> (lost: ...) -> the leader of every leak
 *
 * The last node ensures that readers find no unreachable blocks, which each of them treats
 * differently; dominators equal those of graph/dominators.h, which starts at the same places. A
 * block that a pool carved up is one node. Readers keep sizes in 32 bits: a larger block retains
 * extra nodes with the rest of its bytes.
 */
#include <search.h>
#include <stdlib.h>

#include "hawk/base/array.h"
#include "hawk/base/cleanup.h"
#include "hawk/base/progress.h"
#include "hawk/export/object_graph.h"
#include "hawk/graph/pointers.h"
#include "hawk/output/json.h"
#include "heap_snapshot_plan.h"

enum {
	LINES = 1,
	/* Indices into the lists of types below. */
	NODE_NATIVE = 8,
	NODE_SYNTHETIC = 9,
	EDGE_ELEMENT = 1,
	EDGE_INTERNAL = 3,
};

/** Numbers of strings; the names of groups, sites and types follow. */
enum { STRING_EMPTY, STRING_ROOT, STRING_LOST, STRING_REST, STRING_UNKNOWN, FIRST_STRING };

struct writer {
	struct hawk_snapshot_plan plan;
	struct hawk_json json;
	void *types;        /**< tree of struct type, by name */
	const char **names; /**< of types, in the order of their strings */
	size_t type_count, type_capacity;
	/* The next edge. */
	uint32_t block; /**< whose pointers are written */
	uint32_t edge;  /**< in the graph */
	size_t rest;
	uint64_t rest_node;
};

struct type {
	const char *name;
	uint32_t number;
};

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

/** Writes a list whose first item is the list of types; the rest gives the types of other
 * fields. */
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
	hawk_json_put_integer(json, "node_count", writer->plan.node_count);
	hawk_json_put_integer(json, "edge_count", writer->plan.edge_count);
	hawk_json_put_integer(json, "trace_function_count", 0);
	hawk_json_object_end(json);
}

static void put_node(struct writer *writer, unsigned type, uint32_t name, uint64_t id,
		     uint64_t bytes, uint64_t edges)
{
	const uint64_t fields[HAWK_SNAPSHOT_NODE_FIELDS] = {type, name, id, bytes, edges, 0, 0};

	for (unsigned i = 0; i < HAWK_SNAPSHOT_NODE_FIELDS; i++)
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
	*ret = FIRST_STRING + writer->plan.groups.count +
	       (uint32_t)writer->plan.graph->heap->site_count + 1 + (*found)->number;
	return NULL;
}

static struct hawk_error *put_block(struct writer *writer, struct hawk_near *near, uint32_t block,
				    size_t *rest)
{
	const struct hawk_heap *heap = writer->plan.graph->heap;
	uint64_t bytes = hawk_block_own_bytes(writer->plan.index, block);
	uint32_t site = hawk_heap_site_at(heap, block), name;
	struct hawk_block header;
	const char *type;

	hawk_heap_next_block(heap, near, block, &header);
	type = hawk_block_type(writer->plan.snapshot->types, &header);
	if (type) {
		struct hawk_error *err = type_string(writer, type, &name);

		if (err)
			return err;
	} else {
		name = FIRST_STRING + writer->plan.groups.count +
		       (site < heap->site_count ? site : (uint32_t)heap->site_count);
	}
	put_node(writer, NODE_NATIVE, name, hawk_snapshot_id_of_block(&writer->plan.ids, block),
		 bytes < UINT32_MAX ? bytes : UINT32_MAX,
		 hawk_snapshot_count_edges(&writer->plan, block, rest));
	return NULL;
}

static void put_rests(struct writer *writer)
{
	uint64_t number = 0;

	for (size_t i = 0; i < writer->plan.rest_count; i++) {
		for (uint64_t left = writer->plan.rests[i].bytes; left;) {
			uint64_t bytes = left < UINT32_MAX ? left : UINT32_MAX;

			put_node(writer, NODE_NATIVE, STRING_REST,
				 hawk_snapshot_id(HAWK_SNAPSHOT_FIRST_GROUP +
						  writer->plan.groups.count + number++),
				 bytes, 0);
			left -= bytes;
		}
	}
}

static struct hawk_error *put_nodes(struct writer *writer)
{
	struct hawk_error *err = NULL;
	struct hawk_near near = {.target = writer->plan.graph->heap->target};
	size_t rest = 0;

	hawk_json_put_array(&writer->json, "nodes");
	put_node(writer, NODE_SYNTHETIC, STRING_ROOT, hawk_snapshot_id(HAWK_SNAPSHOT_ROOT), 0,
		 HAWK_SNAPSHOT_FIRST_GROUP - 1 + writer->plan.groups.count);
	put_node(writer, NODE_SYNTHETIC, STRING_LOST, hawk_snapshot_id(HAWK_SNAPSHOT_LOST), 0,
		 writer->plan.leaders);
	for (uint32_t i = 0; i < writer->plan.groups.count; i++)
		put_node(writer, NODE_SYNTHETIC, FIRST_STRING + i,
			 hawk_snapshot_id(HAWK_SNAPSHOT_FIRST_GROUP + i), 0,
			 writer->plan.group_roots[i]);
	for (uint32_t i = 0; !err && i < writer->plan.index->count; i++) {
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
	hawk_json_integer(&writer->json, node * HAWK_SNAPSHOT_NODE_FIELDS);
}

static void put_root_edges(struct writer *writer)
{
	const struct hawk_root *roots = writer->plan.graph->roots.items;
	uint64_t at = 0, leader = 0;

	for (uint32_t i = HAWK_SNAPSHOT_LOST;
	     i < HAWK_SNAPSHOT_FIRST_GROUP + writer->plan.groups.count; i++)
		put_edge(writer, EDGE_ELEMENT, i, i);
	for (uint32_t i = 0; i < writer->plan.index->count; i++)
		if (hawk_snapshot_is_leader(&writer->plan, i))
			put_edge(writer, EDGE_ELEMENT, leader++,
				 hawk_snapshot_node(&writer->plan, i));
	for (uint32_t i = 0; i < writer->plan.groups.count; i++)
		for (uint64_t j = 0; j < writer->plan.group_roots[i]; j++, at++)
			put_edge(writer, EDGE_ELEMENT, j,
				 hawk_snapshot_node(&writer->plan,
						    roots[writer->plan.roots[at]].edge >> 1));
}

/** Ends the blocks whose pointers are all written. */
static void reach_edge(struct writer *writer)
{
	while (writer->block < writer->plan.index->count &&
	       writer->edge == writer->plan.graph->offsets[writer->block + 1]) {
		const struct hawk_snapshot_rest *rest =
			hawk_snapshot_rest(&writer->plan, writer->block, writer->rest);

		if (rest) {
			for (uint64_t i = hawk_snapshot_rest_nodes(rest->bytes); i > 0; i--)
				put_edge(writer, EDGE_INTERNAL, STRING_REST, writer->rest_node++);
			writer->rest++;
		}
		writer->block++;
	}
}

/** Writes the next pointer; one that could not be read again has no offset. */
static void put_pointer(struct writer *writer, const struct hawk_pointer *pointer)
{
	uint64_t target =
		hawk_snapshot_node(&writer->plan, writer->plan.graph->edges[writer->edge++] >> 1);

	if (pointer)
		put_edge(writer, EDGE_ELEMENT, pointer->offset, target);
	else
		put_edge(writer, EDGE_INTERNAL, STRING_UNKNOWN, target);
	reach_edge(writer);
}

static struct hawk_error *put_pointers(void *context, const struct hawk_pointer *pointers,
				       size_t count)
{
	struct writer *writer = context;

	for (size_t i = 0; i < count; i++) {
		while (writer->block != pointers[i].source)
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
	writer->rest_node = writer->plan.node_count - writer->plan.rest_nodes;
	reach_edge(writer);
	err = hawk_pointers_read(writer->plan.graph, 0, writer->plan.index->count, NULL,
				 put_pointers, writer);
	while (!err && writer->block < writer->plan.index->count)
		put_pointer(writer, NULL);
	hawk_json_array_end(&writer->json);
	return err;
}

static struct hawk_error *put_strings(struct writer *writer)
{
	CLEANUP(text) struct hawk_text name = {0};
	struct hawk_json *json = &writer->json;
	uint32_t sites = (uint32_t)writer->plan.graph->heap->site_count;

	hawk_json_put_array(json, "strings");
	hawk_json_string(json, "");
	hawk_json_string(json, "(root)");
	hawk_json_string(json, hawk_object_graph_lost(writer->plan.snapshot));
	hawk_json_string(json, "(rest of a block of 4 GiB or more)");
	hawk_json_string(json, "(place not known)");
	for (uint32_t i = 0; i < writer->plan.groups.count; i++)
		hawk_json_string(json, writer->plan.groups.names[i]);
	for (uint32_t i = 0; i <= sites && !name.failed; i++) {
		hawk_text_clear(&name);
		hawk_site_name_append_folded(&name, hawk_site_name(writer->plan.snapshot->names,
								   i < sites ? i : UINT32_MAX));
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
	hawk_progress_begin(&progress, "writing blocks", writer->plan.index->count);
	err = put_nodes(writer);
	hawk_progress_end(&progress);
	hawk_progress_begin(&progress, "writing pointers", writer->plan.index->count);
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

struct hawk_error *hawk_export_heap_snapshot(const struct hawk_object_graph *snapshot,
					     struct hawk_output *output)
{
	struct writer writer = {0};
	struct hawk_error *err = hawk_snapshot_plan_make(snapshot, &writer.plan);

	hawk_json_init(&writer.json, output, LINES);
	if (!err)
		err = put_document(&writer);
	hawk_snapshot_plan_deinit(&writer.plan);
	tdestroy(writer.types, free);
	free(writer.names);
	return err;
}
