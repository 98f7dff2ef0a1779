/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Finds the interior pointers that heuristics explain. Reads blocks with such pointers again,
 * because the graph does not keep where inside a block a pointer points.
 *
 * Each thread searches a piece of the blocks; their results are then joined in order.
 */
#include "hawk/graph/heuristics.h"

#include "hawk/target/words.h"
#include "heuristics_prefix.h"
#include "hawk/graph/graph.h"
#include "hawk/graph/heuristics_explain.h"
#include "hawk/base/parallel.h"
#include "hawk/base/progress.h"

enum {
	WORD = HAWK_WORD_BYTES,
	PIECES_MAX = 8,
	EDGES_FOR_TWO = 1 << 13, /* fewer are not worth a thread */
};

const char *const hawk_heuristic_names[HAWK_HEURISTIC_COUNT] = {
	"stdstring",   "length64",   "newarray", "multipleinheritance", "lengthprefix", "listnode",
	"backpointer", "endpointer", "prefix",
};

struct finder;

/** Decides about an interior pointer from block `source` to `block`, whose value is `value`: number
 * `number` among edges, or among roots (`source` is HAWK_BLOCK_NOWHERE). */
typedef void judge_function(struct finder *finder, uint32_t number, uint32_t source, uint32_t block,
			    uint64_t value);

struct finder {
	const struct hawk_graph *graph;
	judge_function *judge;
	struct hawk_prefixes *prefixes; /**< all threads'; NULL = not asked for */
	bool keeps_ends;                /**< the graph does not know them yet */
	struct hawk_explained explained;
	struct hawk_explainer explainer;
};

static void add_explained(struct finder *finder, uint32_t number, uint32_t source,
			  unsigned heuristic)
{
	struct hawk_explained *explained = &finder->explained;
	bool root = source == HAWK_BLOCK_NOWHERE;

	explained->counts[__builtin_ctz(heuristic)]++;
	if (heuristic != HAWK_HEURISTIC_ENDPOINTER)
		hawk_number_set_add(root ? &explained->roots : &explained->edges, number);
	else if (finder->keeps_ends)
		hawk_number_set_add(root ? &explained->end_roots : &explained->end_edges, number);
}

/* Judges by the block's contents, or by the pointer being one past its end. */
static void judge_contents(struct finder *finder, uint32_t number, uint32_t source, uint32_t block,
			   uint64_t value)
{
	const struct hawk_block_index *index = &finder->explainer.heap->index;
	unsigned heuristic = hawk_explainer_explain(&finder->explainer, block, value);

	if (heuristic)
		add_explained(finder, number, source, heuristic);
	if (finder->prefixes && heuristic != HAWK_HEURISTIC_ENDPOINTER && source != block)
		hawk_prefixes_note(finder->prefixes, block, value - hawk_block_start(index, block));
}

/* Judges the pointers that contents do not explain, by other pointers to the site's blocks. */
static void judge_prefix(struct finder *finder, uint32_t number, uint32_t source, uint32_t block,
			 uint64_t value)
{
	bool known = source == HAWK_BLOCK_NOWHERE ? hawk_explained_root(&finder->explained, number)
						  : hawk_explained_edge(&finder->explained, number);
	uint64_t inside = value - hawk_block_start(&finder->explainer.heap->index, block);

	if (!known && hawk_prefixes_has(finder->prefixes, block, inside) &&
	    inside < hawk_block_size(&finder->explainer.heap->index, block))
		add_explained(finder, number, source, HAWK_HEURISTIC_PREFIX);
}

static bool read_register(const struct finder *finder, const struct hawk_root *root, uint64_t *ret)
{
	size_t count;
	const struct hawk_thread *threads =
		hawk_target_threads(finder->explainer.near.target, &count);
	const struct hawk_thread *thread;
	uint64_t at = root->address - HAWK_ROOT_VECTORS;

	if (root->owner >= count)
		return false;
	thread = &threads[root->owner];
	if (root->address < HAWK_REGISTERS_MAX) {
		*ret = thread->registers[root->address];
		return true;
	}
	if (root->address < HAWK_ROOT_VECTORS || !thread->vectors || thread->vectors_bytes < WORD ||
	    at > thread->vectors_bytes - WORD)
		return false;
	memcpy(ret, thread->vectors + at, WORD);
	return true;
}

static void find_in_roots(struct finder *finder)
{
	for (size_t i = 0; i < finder->graph->roots.count; i++) {
		const struct hawk_root *root = &finder->graph->roots.items[i];
		uint64_t value;

		if (!(root->edge & HAWK_EDGE_INTERIOR))
			continue;
		if (root->kind == HAWK_ROOT_REGISTER
			    ? !read_register(finder, root, &value)
			    : !hawk_explainer_read_word(&finder->explainer, root->address, &value))
			continue;
		finder->judge(finder, (uint32_t)i, HAWK_BLOCK_NOWHERE, root->edge >> 1, value);
	}
}

/* Judges the edges among the words of `source`, in order; `*edge` is its next edge. Skips words
 * that are no edges. The range begins with word `number`. */
static void find_in_words(struct finder *finder, const struct hawk_word_range *range,
			  uint64_t number, uint32_t source, uint32_t *edge, uint32_t end)
{
	const struct hawk_guest_type *type =
		hawk_guests_type(&finder->explainer.heap->guests, source);
	const struct hawk_heap *heap = finder->explainer.heap;
	const uint32_t *edges = finder->graph->edges;
	/* Most words have one value, the last. */
	size_t step = type && hawk_guest_is_narrow(&type->layout) ? 1 : HAWK_GUEST_VALUES;

	for (size_t i = step < HAWK_GUEST_VALUES ? 0 : HAWK_GUEST_VALUES - 1;
	     i < range->words * HAWK_GUEST_VALUES && *edge < end; i += step) {
		uint64_t word, value;
		uint32_t found;

		memcpy(&word, range->bytes + i / HAWK_GUEST_VALUES * WORD, WORD);
		if (!hawk_guest_value(type ? &type->layout : NULL, number + i / HAWK_GUEST_VALUES,
				      i % HAWK_GUEST_VALUES, word, &value))
			continue;
		found = hawk_block_index_edge(&heap->index, value);
		if (edges[*edge] != hawk_guests_edge(&heap->guests, &heap->index, value, found))
			continue;
		++*edge;
		if (edges[*edge - 1] & HAWK_EDGE_INTERIOR)
			finder->judge(finder, *edge - 1, source, edges[*edge - 1] >> 1, value);
	}
}

static struct hawk_error *find_in_block(struct finder *finder, struct hawk_words *words,
					uint32_t block)
{
	uint32_t edge = finder->graph->offsets[block];
	uint32_t edges_end = finder->graph->offsets[block + 1];
	struct hawk_stretch stretch = {0};
	struct hawk_word_range range;

	while (hawk_block_next_stretch(&finder->explainer.heap->index, block, &stretch)) {
		uint64_t at = stretch.start, end = stretch.end & -(uint64_t)WORD;

		while (at < end && hawk_words_next(words, at, end, &range)) {
			find_in_words(finder, &range, (range.start - stretch.start) / WORD, block,
				      &edge, edges_end);
			at = range.start + range.words * WORD;
		}
	}
	return words->failed ? &hawk_enomem : NULL;
}

/* Returns true if a block must be read again: it points to a block of a site with a prefix. */
static bool leads_to_prefix(const struct finder *finder, uint32_t block)
{
	const struct hawk_graph *graph = finder->graph;

	for (uint32_t i = graph->offsets[block]; i < graph->offsets[block + 1]; i++)
		if (graph->edges[i] & HAWK_EDGE_INTERIOR &&
		    hawk_prefixes_of(finder->prefixes, graph->edges[i] >> 1))
			return true;
	return false;
}

/* Judges the edges of the blocks [first, end). */
static struct hawk_error *find_in_blocks(struct finder *finder, uint32_t first, uint32_t end)
{
	const struct hawk_graph *graph = finder->graph;
	uint32_t edges_end = graph->offsets[end];
	struct hawk_error *err = NULL;
	struct hawk_words words;
	uint32_t before = graph->offsets[first];
	uint32_t block = first;

	hawk_words_init(&words, finder->explainer.near.target);
	for (uint32_t edge = hawk_graph_next_interior(graph, graph->offsets[first]);
	     edge < edges_end && !err;
	     edge = hawk_graph_next_interior(graph, graph->offsets[block + 1])) {
		block = hawk_graph_source(graph, edge, block);
		if (finder->judge == judge_contents || leads_to_prefix(finder, block))
			err = find_in_block(finder, &words, block);
		hawk_progress_add(edge - before);
		before = edge;
	}
	hawk_words_deinit(&words);
	return err;
}

/** The pieces of all blocks, each with its finder. */
struct finding {
	unsigned pieces;
	uint32_t firsts[PIECES_MAX + 1]; /**< piece p is blocks [firsts[p], firsts[p + 1]) */
	struct finder finders[PIECES_MAX];
	struct hawk_error *errors[PIECES_MAX];
};

/* Cuts the blocks into pieces with equally many edges. */
static void cut(struct finding *finding, const struct hawk_graph *graph, unsigned threads)
{
	if (threads > PIECES_MAX)
		threads = PIECES_MAX;
	finding->pieces = graph->edge_count < EDGES_FOR_TWO || !threads ? 1 : threads;
	for (unsigned i = 1; i < finding->pieces; i++) {
		uint32_t edge = (uint32_t)((uint64_t)graph->edge_count * i / finding->pieces);

		finding->firsts[i] = hawk_graph_source(graph, edge, finding->firsts[i - 1]);
	}
	finding->firsts[finding->pieces] = graph->count;
}

static void find_in_piece(void *context, unsigned piece)
{
	struct finding *finding = context;
	struct finder *finder = &finding->finders[piece];

	if (!piece)
		find_in_roots(finder);
	finding->errors[piece] =
		find_in_blocks(finder, finding->firsts[piece], finding->firsts[piece + 1]);
}

static struct hawk_error *begin(struct finder *finder)
{
	struct hawk_explained *explained = &finder->explained;
	struct hawk_error *err = hawk_number_set_init(&explained->edges, finder->graph->edge_count);

	if (!err)
		err = hawk_number_set_init(&explained->roots, finder->graph->roots.count);
	if (!err && finder->keeps_ends)
		err = hawk_number_set_init(&explained->end_edges, finder->graph->edge_count);
	if (!err && finder->keeps_ends)
		err = hawk_number_set_init(&explained->end_roots, finder->graph->roots.count);
	return err;
}

/* Returns the first error or NULL; destroys the others. */
static struct hawk_error *first_error(struct finding *finding)
{
	struct hawk_error *err = finding->errors[0];

	for (unsigned i = 1; i < finding->pieces; i++) {
		if (err)
			hawk_error_destroy(finding->errors[i]);
		else
			err = finding->errors[i];
	}
	return err;
}

/* Moves all results into the first finder's. */
static void join(struct finding *finding)
{
	struct hawk_explained *explained = &finding->finders[0].explained;

	for (unsigned i = 1; i < finding->pieces; i++) {
		const struct hawk_explained *more = &finding->finders[i].explained;

		hawk_number_set_add_all(&explained->edges, &more->edges);
		hawk_number_set_add_all(&explained->end_edges, &more->end_edges);
		for (unsigned j = 0; j < HAWK_HEURISTIC_COUNT; j++)
			explained->counts[j] += more->counts[j];
	}
}

/* Judges all interior pointers. */
static struct hawk_error *run(struct finding *finding, judge_function *judge)
{
	struct hawk_progress progress;

	for (unsigned i = 0; i < finding->pieces; i++)
		finding->finders[i].judge = judge;
	hawk_progress_begin(&progress, "reading interior pointers",
			    finding->finders[0].graph->edge_count);
	hawk_parallel_run(finding->pieces, find_in_piece, finding);
	hawk_progress_end(&progress);
	return first_error(finding);
}

static struct hawk_error *find(struct finding *finding)
{
	struct hawk_prefixes *prefixes = finding->finders[0].prefixes;
	struct hawk_error *err = NULL;

	for (unsigned i = 0; i < finding->pieces && !err; i++)
		err = begin(&finding->finders[i]);
	if (!err)
		err = run(finding, judge_contents);
	if (!err && prefixes)
		err = hawk_prefixes_choose(prefixes);
	if (!err && prefixes && prefixes->any)
		err = run(finding, judge_prefix);
	if (!err)
		join(finding);
	return err;
}

struct hawk_error *hawk_heuristics_find(const struct hawk_graph *graph, unsigned heuristics,
					const struct hawk_vtables *vtables,
					struct hawk_explained *ret)
{
	struct hawk_prefixes prefixes = {0};
	struct finding finding = {0};
	struct hawk_error *err = NULL;

	*ret = (struct hawk_explained){.ends = heuristics & HAWK_HEURISTIC_ENDPOINTER};
	if (!heuristics || !graph->count)
		return NULL;
	if (heuristics & HAWK_HEURISTIC_PREFIX)
		err = hawk_prefixes_init(graph->heap, &prefixes);
	if (err)
		return err;
	cut(&finding, graph, hawk_parallel_threads());
	for (unsigned i = 0; i < finding.pieces; i++)
		finding.finders[i] = (struct finder){
			.graph = graph,
			.prefixes = heuristics & HAWK_HEURISTIC_PREFIX ? &prefixes : NULL,
			.keeps_ends = !graph->explained.end_edges.limit,
			.explained = {.ends = ret->ends},
			.explainer =
				{
					.near = {.target = graph->heap->target},
					.heap = graph->heap,
					.heuristics = heuristics,
					.vtables = vtables,
				},
		};
	err = find(&finding);
	for (unsigned i = err ? 0 : 1; i < finding.pieces; i++)
		hawk_explained_deinit(&finding.finders[i].explained);
	if (!err)
		*ret = finding.finders[0].explained;
	hawk_prefixes_deinit(&prefixes);
	return err;
}

void hawk_explained_deinit(struct hawk_explained *explained)
{
	hawk_number_set_deinit(&explained->edges);
	hawk_number_set_deinit(&explained->roots);
	hawk_number_set_deinit(&explained->end_edges);
	hawk_number_set_deinit(&explained->end_roots);
	*explained = (struct hawk_explained){0};
}
