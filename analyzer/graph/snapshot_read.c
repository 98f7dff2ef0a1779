/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads a graph from a snapshot. Frames are decoded on several threads, each into its own part of
 * the arrays. Every number is checked, because later stages rely on a valid graph.
 */
#include "snapshot.h"

#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/progress.h"
#include "pointer_offsets.h"

struct job {
	const struct hawk_snapshot *snapshot;
	struct hawk_graph *graph;
	size_t owners[HAWK_ROOT_KINDS]; /**< number of owners of each kind */
};

static struct hawk_error *take_degrees(void *context, struct hawk_snapshot_contents *contents)
{
	struct job *job = context;
	struct hawk_graph *graph = job->graph;
	uint64_t edge = hawk_column_get_below(&contents->cursor, graph->edge_count);

	for (uint64_t i = 0; i < contents->items && !contents->cursor.failed; i++) {
		graph->offsets[contents->first + i] = (uint32_t)edge;
		edge += hawk_column_get_below(&contents->cursor, graph->edge_count - edge);
	}
	return contents->cursor.failed ? hawk_snapshot_nonsense(HAWK_SNAPSHOT_DEGREES) : NULL;
}

/* Each frame states where its edges begin; these must agree. */
static struct hawk_error *check_offsets(const struct hawk_graph *graph)
{
	uint32_t before = 0;

	for (uint32_t i = 0; i <= graph->count; i++) {
		if (graph->offsets[i] < before)
			return hawk_snapshot_nonsense(HAWK_SNAPSHOT_DEGREES);
		before = graph->offsets[i];
	}
	return graph->offsets[0] ? hawk_snapshot_nonsense(HAWK_SNAPSHOT_DEGREES) : NULL;
}

static struct hawk_error *take_edges(void *context, struct hawk_snapshot_contents *contents)
{
	struct job *job = context;
	struct hawk_graph *graph = job->graph;
	uint32_t first = (uint32_t)contents->first;
	uint32_t block = contents->items ? hawk_graph_source(graph, first, 0) : 0;
	bool good = true;

	for (uint32_t i = 0; i < contents->items; i++) {
		int64_t value = hawk_column_get_signed(&contents->cursor);
		uint64_t target;

		while (graph->offsets[block + 1] <= first + i)
			block++;
		target = (uint64_t)((value >> 1) + (int64_t)block);
		good &= target < graph->count;
		graph->edges[first + i] = (uint32_t)target << 1 | (value & HAWK_EDGE_INTERIOR);
	}
	hawk_progress_add(contents->items);
	return good && !contents->cursor.failed ? NULL
						: hawk_snapshot_nonsense(HAWK_SNAPSHOT_EDGES);
}

static bool is_root(const struct job *job, const struct hawk_root *root)
{
	return root->owner < job->owners[root->kind] && root->edge >> 1 < job->graph->count;
}

static struct hawk_error *take_roots(void *context, struct hawk_snapshot_contents *contents)
{
	struct job *job = context;
	struct hawk_cursor *from = &contents->cursor;
	int64_t owner = 0, edge = 0;
	uint64_t address = 0;

	for (uint64_t i = 0; i < contents->items; i++) {
		struct hawk_root *root = &job->graph->roots.items[contents->first + i];
		uint64_t kind = hawk_column_get_below(from, HAWK_ROOT_KINDS - 1);

		owner += hawk_column_get_signed(from);
		address += (uint64_t)hawk_column_get_signed(from);
		edge += hawk_column_get_signed(from);
		*root = (struct hawk_root){
			.address = address,
			.edge = (uint32_t)edge,
			.kind = kind & 0xf,
			.owner = (uint32_t)owner & 0xfffffff,
		};
		if (from->failed || owner < 0 || owner > 0xfffffff || edge < 0 ||
		    edge > UINT32_MAX || !is_root(job, root))
			return hawk_snapshot_nonsense(HAWK_SNAPSHOT_ROOTS);
		if (root->edge & HAWK_ROOT_INTERIOR)
			job->graph->roots.insides[contents->first + i] = hawk_column_get(from) - 1;
	}
	return from->failed ? hawk_snapshot_nonsense(HAWK_SNAPSHOT_ROOTS) : NULL;
}

/* Searches for an owner's roots rely on the order of roots. */
static struct hawk_error *check_roots(const struct hawk_roots *roots)
{
	for (size_t i = 1; i < roots->count; i++) {
		const struct hawk_root *a = &roots->items[i - 1], *b = &roots->items[i];

		if (a->kind > b->kind || (a->kind == b->kind && a->owner > b->owner))
			return hawk_snapshot_nonsense(HAWK_SNAPSHOT_ROOTS);
	}
	return NULL;
}

static void get_numbers(struct hawk_cursor *from, uint64_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		numbers[i] = hawk_column_get(from);
}

static struct hawk_error *get_set(struct hawk_cursor *from, uint64_t limit,
				  struct hawk_number_set *ret)
{
	struct hawk_error *err = hawk_number_set_init(ret, limit);
	size_t count = hawk_column_get_count(from);
	uint64_t number = 0;

	for (size_t i = 0; i < count && !err && !from->failed; i++) {
		uint64_t distance = hawk_column_get(from);

		if ((i && !distance) || distance >= limit - number) {
			from->failed = true;
			break;
		}
		number += distance;
		hawk_number_set_add(ret, number);
	}
	return err;
}

/* Reads pointers one past the end. Older snapshots end here and have none. */
static struct hawk_error *read_ends(struct hawk_cursor *from, struct hawk_graph *graph)
{
	struct hawk_explained *explained = &graph->explained;
	struct hawk_error *err;

	explained->ends = true;
	if (!hawk_cursor_left(from))
		return NULL;
	get_numbers(from, explained->counts + HAWK_SNAPSHOT_HEURISTICS,
		    HAWK_HEURISTIC_COUNT - HAWK_SNAPSHOT_HEURISTICS);
	err = get_set(from, graph->edge_count, &explained->end_edges);
	return err ? err : get_set(from, graph->roots.count, &explained->end_roots);
}

/* Makes room for the counts in the record, and reads all but the frames. */
static struct hawk_error *read_sums(struct hawk_cursor *from, struct hawk_graph *graph)
{
	struct hawk_roots *roots = &graph->roots;
	struct hawk_error *err;

	roots->count = (size_t)hawk_column_get_below(from, UINT32_MAX);
	roots->capacity = roots->count;
	get_numbers(from, roots->scanned_bytes, HAWK_ROOT_KINDS);
	get_numbers(from, roots->missing_bytes, HAWK_ROOT_KINDS);
	roots->heap_missing_bytes = hawk_column_get(from);
	roots->threads_without_stack = hawk_column_get(from);
	roots->undumped_bytes = hawk_column_get(from);
	roots->stacks_incomplete = hawk_column_get(from);
	get_numbers(from, graph->explained.counts, HAWK_SNAPSHOT_HEURISTICS);
	err = get_set(from, graph->edge_count, &graph->explained.edges);
	if (!err)
		err = get_set(from, roots->count, &graph->explained.roots);
	return err ? err : read_ends(from, graph);
}

static struct hawk_error *read_record(const struct hawk_snapshot *snapshot,
				      struct hawk_graph *graph)
{
	CLEANUP(contents) struct hawk_snapshot_contents contents = {0};
	struct hawk_error *err = hawk_snapshot_read(snapshot, HAWK_SNAPSHOT_GRAPH, 0, &contents);
	uint64_t blocks;

	if (err)
		return err;
	blocks = hawk_column_get(&contents.cursor);
	graph->edge_count = (uint32_t)hawk_column_get_below(&contents.cursor, UINT32_MAX - 1);
	/* Before commit ac6f42a, each part of a block with nested ones had a number. */
	if (blocks > graph->count)
		return hawk_error_create(HAWK_ERROR_FORMAT,
					 "is a snapshot of an older version that numbers blocks of "
					 "pools differently; make it anew from the core");
	err = read_sums(&contents.cursor, graph);
	if (!err && (contents.cursor.failed || blocks != graph->count))
		err = hawk_snapshot_nonsense(HAWK_SNAPSHOT_GRAPH);
	return err;
}

static struct hawk_error *make_area(struct hawk_area *area, uint64_t items)
{
	uint64_t bytes = items * sizeof(uint32_t);
	struct hawk_error *err = hawk_area_create(area, bytes);

	if (!err)
		err = hawk_area_grow(area, bytes);
	if (!err)
		hawk_area_trim(area, (size_t)bytes);
	return err;
}

static struct hawk_error *read_edges(struct job *job)
{
	struct hawk_graph *graph = job->graph;
	struct hawk_error *err = make_area(&graph->offsets_area, (uint64_t)graph->count + 1);

	if (!err)
		err = make_area(&graph->edges_area, (uint64_t)graph->edge_count + 1);
	if (err)
		return err;
	graph->offsets = graph->offsets_area.bytes;
	graph->edges = graph->edges_area.bytes;
	graph->offsets[graph->count] = graph->edge_count;
	err = hawk_snapshot_read_all(job->snapshot, HAWK_SNAPSHOT_DEGREES, graph->count,
				     take_degrees, job);
	if (!err)
		err = check_offsets(graph);
	if (!err)
		err = hawk_snapshot_read_all(job->snapshot, HAWK_SNAPSHOT_EDGES, graph->edge_count,
					     take_edges, job);
	return err;
}

static struct hawk_error *read_roots(struct job *job)
{
	struct hawk_roots *roots = &job->graph->roots;
	struct hawk_error *err =
		hawk_snapshot_is_whole(job->snapshot, HAWK_SNAPSHOT_ROOTS, roots->count);

	if (err)
		return err;
	roots->items = calloc(roots->count + 1, sizeof(*roots->items));
	roots->insides = calloc(roots->count + 1, sizeof(*roots->insides));
	if (!roots->items || !roots->insides)
		return &hawk_enomem;
	err = hawk_snapshot_read_all(job->snapshot, HAWK_SNAPSHOT_ROOTS, roots->count, take_roots,
				     job);
	return err ? err : check_roots(roots);
}

static void count_owners(const struct hawk_target *target, struct job *job)
{
	size_t threads, modules, mappings;

	hawk_target_threads(target, &threads);
	hawk_target_modules(target, &modules);
	hawk_target_mappings(target, &mappings);
	job->owners[HAWK_ROOT_REGISTER] = threads;
	job->owners[HAWK_ROOT_STACK] = threads;
	job->owners[HAWK_ROOT_TLS] = threads;
	job->owners[HAWK_ROOT_MODULE] = modules;
	job->owners[HAWK_ROOT_OTHER] = mappings;
	job->owners[HAWK_ROOT_UNOWNED] = mappings;
}

static struct hawk_error *read_graph(struct job *job)
{
	struct hawk_graph *graph = job->graph;
	struct hawk_error *err = read_record(job->snapshot, graph);
	struct hawk_progress progress;

	if (err)
		return err;
	hawk_progress_begin(&progress, "reading pointers", graph->edge_count);
	err = read_edges(job);
	if (!err)
		err = read_roots(job);
	if (!err)
		err = hawk_snapshot_is_whole(job->snapshot, HAWK_SNAPSHOT_PLACES,
					     graph->edge_count);
	if (!err)
		err = hawk_pointer_offsets_create(graph, &graph->pointer_offsets);
	hawk_progress_end(&progress);
	return err;
}

struct hawk_error *hawk_graph_read_snapshot(const struct hawk_heap *heap,
					    struct hawk_findings *findings, struct hawk_graph *ret)
{
	struct hawk_graph graph = {.heap = heap, .count = heap->index.count};
	struct job job = {.snapshot = hawk_target_snapshot(heap->target), .graph = &graph};
	struct hawk_error *err;

	count_owners(heap->target, &job);
	err = read_graph(&job);
	if (err) {
		hawk_graph_deinit(&graph);
		return err;
	}
	hawk_roots_report(heap, &graph.roots, findings);
	*ret = graph;
	return NULL;
}
