/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Which interior pointers heuristics explain: blocks with such pointers are read again, because the
 * graph does not keep where inside a block a pointer points.
 *
 * Every thread looks through a piece of the blocks; what they find is put behind each other.
 */
#include "hawk/graph/heuristics.h"

#include "hawk/target/words.h"
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
	"stdstring",    "length64", "newarray",    "multipleinheritance",
	"lengthprefix", "listnode", "backpointer",
};

struct finder {
	const struct hawk_graph *graph;
	struct hawk_explained explained;
	struct hawk_explainer explainer;
};

static void add_explained(struct finder *finder, struct hawk_number_set *set, uint64_t number,
			  unsigned heuristic)
{
	finder->explained.counts[__builtin_ctz(heuristic)]++;
	hawk_number_set_add(set, number);
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

static struct hawk_error *find_in_roots(struct finder *finder)
{
	for (size_t i = 0; i < finder->graph->roots.count; i++) {
		const struct hawk_root *root = &finder->graph->roots.items[i];
		struct hawk_error *err;
		uint64_t value;
		unsigned heuristic;

		if (!(root->edge & HAWK_EDGE_INTERIOR))
			continue;
		if (root->kind == HAWK_ROOT_REGISTER
			    ? !read_register(finder, root, &value)
			    : !hawk_explainer_read_word(&finder->explainer, root->address, &value))
			continue;
		err = hawk_explainer_explain(&finder->explainer, root->edge >> 1, value,
					     &heuristic);
		if (err)
			return err;
		if (heuristic)
			add_explained(finder, &finder->explained.roots, i, heuristic);
	}
	return NULL;
}

/* The words of `block` in order; `*edge` is its next edge. Words that are no edges (they belong to
 * blocks carved out of this one) are passed over. */
static struct hawk_error *find_in_words(struct finder *finder, const struct hawk_word_range *range,
					uint32_t *edge, uint32_t end)
{
	const uint32_t *edges = finder->graph->edges;

	for (size_t i = 0; i < range->words && *edge < end; i++) {
		struct hawk_error *err;
		uint64_t value;
		uint32_t block;
		unsigned heuristic;
		bool interior;

		memcpy(&value, range->bytes + i * WORD, WORD);
		block = hawk_block_index_find(finder->explainer.index, value, &interior);
		if (block == HAWK_BLOCK_NOWHERE || edges[*edge] != (block << 1 | interior))
			continue;
		++*edge;
		if (!interior)
			continue;
		err = hawk_explainer_explain(&finder->explainer, block, value, &heuristic);
		if (err)
			return err;
		if (heuristic)
			add_explained(finder, &finder->explained.edges, *edge - 1, heuristic);
	}
	return NULL;
}

static struct hawk_error *find_in_block(struct finder *finder, struct hawk_words *words,
					uint32_t block)
{
	uint32_t edge = finder->graph->offsets[block];
	uint32_t edges_end = finder->graph->offsets[block + 1];
	uint64_t at = hawk_block_start(finder->explainer.index, block);
	uint64_t end = (at + hawk_block_size(finder->explainer.index, block)) & -(uint64_t)WORD;
	struct hawk_word_range range;
	struct hawk_error *err = NULL;

	while (at < end && !err && hawk_words_next(words, at, end, &range)) {
		err = find_in_words(finder, &range, &edge, edges_end);
		at = range.start + range.words * WORD;
	}
	return !err && words->failed ? &hawk_enomem : err;
}

/* Of the blocks [first, end). */
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
		err = find_in_block(finder, &words, block);
		hawk_progress_add(edge - before);
		before = edge;
	}
	hawk_words_deinit(&words);
	return err;
}

/** Pieces of all blocks, and who looks through them. */
struct finding {
	unsigned pieces;
	uint32_t firsts[PIECES_MAX + 1]; /**< piece p is blocks [firsts[p], firsts[p + 1]) */
	struct finder finders[PIECES_MAX];
	struct hawk_error *errors[PIECES_MAX];
};

/* Into pieces of as many edges. */
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
	struct hawk_error *err = piece ? NULL : find_in_roots(finder);

	if (!err)
		err = find_in_blocks(finder, finding->firsts[piece], finding->firsts[piece + 1]);
	finding->errors[piece] = err;
}

static struct hawk_error *begin(struct finder *finder)
{
	struct hawk_explained *explained = &finder->explained;
	struct hawk_error *err = hawk_number_set_init(&explained->edges, finder->graph->edge_count);

	if (!err)
		err = hawk_number_set_init(&explained->roots, finder->graph->roots.count);
	return err;
}

/* All that was found, into the first one's. */
static struct hawk_error *join(struct finding *finding)
{
	struct hawk_explained *explained = &finding->finders[0].explained;
	struct hawk_error *err = finding->errors[0];

	for (unsigned i = 1; i < finding->pieces; i++) {
		const struct hawk_explained *more = &finding->finders[i].explained;

		if (err)
			hawk_error_destroy(finding->errors[i]);
		else
			err = finding->errors[i];
		if (err)
			continue;
		hawk_number_set_add_all(&explained->edges, &more->edges);
		for (unsigned j = 0; j < HAWK_HEURISTIC_COUNT; j++)
			explained->counts[j] += more->counts[j];
	}
	return err;
}

static struct hawk_error *find(struct finding *finding)
{
	for (unsigned i = 0; i < finding->pieces; i++) {
		struct hawk_error *err = begin(&finding->finders[i]);

		if (err)
			return err;
	}
	hawk_parallel_run(finding->pieces, find_in_piece, finding);
	return join(finding);
}

struct hawk_error *hawk_heuristics_find(const struct hawk_graph *graph, unsigned heuristics,
					const struct hawk_vtable_oracle *oracle,
					struct hawk_explained *ret)
{
	pthread_mutex_t oracle_lock = PTHREAD_MUTEX_INITIALIZER;
	struct finding finding = {0};
	struct hawk_progress progress;
	struct hawk_error *err;

	*ret = (struct hawk_explained){0};
	if (!heuristics || !graph->count)
		return NULL;
	cut(&finding, graph, hawk_parallel_threads());
	for (unsigned i = 0; i < finding.pieces; i++)
		finding.finders[i] = (struct finder){
			.graph = graph,
			.explainer =
				{
					.near = {.target = graph->heap->target},
					.index = &graph->heap->index,
					.heuristics = heuristics,
					.oracle = oracle,
					.oracle_lock = &oracle_lock,
				},
		};
	hawk_progress_begin(&progress, "reading interior pointers", graph->edge_count);
	err = find(&finding);
	hawk_progress_end(&progress);
	for (unsigned i = err ? 0 : 1; i < finding.pieces; i++)
		hawk_explained_deinit(&finding.finders[i].explained);
	if (!err)
		*ret = finding.finders[0].explained;
	return err;
}

void hawk_explained_deinit(struct hawk_explained *explained)
{
	hawk_number_set_deinit(&explained->edges);
	hawk_number_set_deinit(&explained->roots);
	*explained = (struct hawk_explained){0};
}
