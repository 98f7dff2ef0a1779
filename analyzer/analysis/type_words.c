/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reading them, and what the blocks of each trace have: each thread notes that of its share of the
 * blocks, in a list for each trace.
 */
#include "hawk_type_words.h"

#include <stdlib.h>

#include "hawk_block_graph.h"
#include "hawk_cleanup.h"
#include "hawk_parallel.h"
#include "hawk_progress.h"

enum {
	SHARES_MAX = 16,
	BLOCKS_PER_TRACE = 16, /**< fewer are not worth lists of their own for a share */
	BLOCKS_AHEAD = 16,
	TYPES_FIRST = 256,
};

static const uint32_t SEVERAL = UINT32_MAX; /**< in place of a list */

void hawk_module_words_init(struct hawk_module_words *modules, const struct hawk_target *target)
{
	size_t count;
	const struct hawk_module *items = hawk_target_modules(target, &count);

	*modules = (struct hawk_module_words){.target = target};
	for (size_t i = 0; i < count; i++) {
		uint64_t first = items[i].start >> HAWK_MODULE_BITS_LOG2;
		uint64_t end = items[i].end >> HAWK_MODULE_BITS_LOG2;

		for (uint64_t at = first; at <= end && at - first < HAWK_MODULE_BITS; at++)
			modules->bits[at % HAWK_MODULE_BITS / 64] |= UINT64_C(1) << at % 64;
	}
}

struct hawk_type_words hawk_type_words_at(const struct hawk_module_words *modules,
					  struct hawk_near *near, uint64_t start, uint64_t bytes)
{
	uint64_t words[2] = {0};
	size_t wanted = bytes < sizeof(words) ? HAWK_TYPE_WORD_BYTES : sizeof(words);
	struct hawk_type_words ret = {0};

	if (bytes < HAWK_TYPE_WORD_BYTES || hawk_near_read(near, start, words, wanted) < wanted)
		return ret;
	if (hawk_module_words_have(modules, words[0]))
		ret.first = words[0];
	/* new[] of a class with a destructor: a count, then the elements. */
	if (words[0] && words[0] <= (bytes - HAWK_TYPE_WORD_BYTES) / HAWK_TYPE_WORD_BYTES &&
	    hawk_module_words_have(modules, words[1]))
		ret.second = words[1];
	return ret;
}

struct hawk_type_words hawk_type_words_of(const struct hawk_block_graph *graph,
					  const struct hawk_module_words *modules,
					  struct hawk_near *near, uint32_t number)
{
	const struct hawk_block_index *index = &graph->index;
	uint32_t whole = hawk_block_index_whole(index, number);
	uint64_t bytes = index->part_count ? hawk_block_index_asked_bytes(index, whole)
					   : hawk_block_size(index, whole);
	struct hawk_type_words words =
		hawk_type_words_at(modules, near, hawk_block_start(index, whole), bytes);

	if (words.second) {
		struct hawk_block block;

		hawk_block_graph_next_block(graph, near, whole, &block);
		if (block.kind != HAWK_KIND_NEW_ARRAY)
			words.second = 0;
	}
	return words;
}

/** One of a trace's, in the making. */
struct noted {
	struct hawk_type_words words;
	uint32_t next; /**< number + 1; 0 = it is the last */
	uint32_t rank; /**< of the trace's, from 0 on */
};

/** What a thread notes of its share of the blocks. */
struct share {
	const struct hawk_block_graph *graph;
	const struct hawk_module_words *modules;
	uint32_t first, end;
	uint32_t *lists; /**< by trace: number of the latest one + 1, 0 = none, or SEVERAL */
	uint8_t *bare;   /**< by trace: has blocks without such words */
	struct noted *noted;
	size_t count, capacity;
	struct hawk_error *err;
};

/** Room for one more. */
static struct hawk_error *reserve(struct share *share)
{
	size_t more = share->capacity ? 2 * share->capacity : TYPES_FIRST;
	struct noted *moved;

	if (share->count < share->capacity)
		return NULL;
	moved = reallocarray(share->noted, more, sizeof(*moved));
	if (!moved)
		return &hawk_enomem;
	share->noted = moved;
	share->capacity = more;
	return NULL;
}

static bool is_same(const struct hawk_type_words *a, const struct hawk_type_words *b)
{
	return a->first == b->first && a->second == b->second;
}

static struct hawk_error *note(struct share *share, uint32_t trace,
			       const struct hawk_type_words *words)
{
	uint32_t *list = &share->lists[trace];
	struct hawk_error *err;
	uint32_t rank = 0;

	if (*list == SEVERAL)
		return NULL;
	for (uint32_t at = *list; at; at = share->noted[at - 1].next)
		if (is_same(&share->noted[at - 1].words, words))
			return NULL;
	if (*list)
		rank = share->noted[*list - 1].rank + 1;
	if (rank == HAWK_TRACE_TYPES_MAX || share->count == HAWK_KEPT_TYPES_MAX) {
		*list = SEVERAL;
		return NULL;
	}
	err = reserve(share);
	if (err)
		return err;
	share->noted[share->count++] = (struct noted){*words, *list, rank};
	*list = (uint32_t)share->count;
	return NULL;
}

static void note_share(void *context, unsigned part)
{
	struct share *share = (struct share *)context + part;
	const struct hawk_block_index *index = &share->graph->index;
	struct hawk_near near = {.target = share->graph->target};

	for (uint32_t i = share->first; i < share->end && !share->err; i++) {
		uint32_t trace = index->traces[i];

		if (share->end - i > BLOCKS_AHEAD)
			hawk_near_prefetch(&near, hawk_block_start(index, i + BLOCKS_AHEAD));
		if (trace < share->graph->heap->trace_count && share->lists[trace] != SEVERAL) {
			struct hawk_type_words words =
				hawk_type_words_of(share->graph, share->modules, &near, i);

			if (words.first || words.second)
				share->err = note(share, trace, &words);
			else
				share->bare[trace] = 1;
		}
		hawk_progress_tick(i);
	}
}

static void free_share(struct share *share)
{
	free(share->lists);
	free(share->bare);
	free(share->noted);
}

/** What another share has of a trace. */
static struct hawk_error *join_trace(struct share *share, const struct share *other, uint32_t trace)
{
	uint32_t list = other->lists[trace];
	struct hawk_error *err = NULL;

	share->bare[trace] |= other->bare[trace];
	if (list == SEVERAL)
		share->lists[trace] = SEVERAL;
	for (; list && list != SEVERAL && !err; list = other->noted[list - 1].next)
		err = note(share, trace, &other->noted[list - 1].words);
	return err;
}

static int compare(const void *left, const void *right)
{
	const struct hawk_type_words *a = &((const struct hawk_kept_type *)left)->words;
	const struct hawk_type_words *b = &((const struct hawk_kept_type *)right)->words;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return a->second < b->second ? -1 : a->second > b->second;
}

/** Puts a trace's into `items`; NULL = counts them. */
static uint64_t put_trace(const struct share *share, uint32_t trace, struct hawk_kept_type *items)
{
	uint32_t list = share->lists[trace];
	uint64_t count = 0;

	if (list == SEVERAL) {
		if (items)
			items[0] = (struct hawk_kept_type){.trace = trace, .several = 1};
		return 1;
	}
	if (list && share->bare[trace]) {
		if (items)
			items[0] = (struct hawk_kept_type){.trace = trace};
		count = 1;
	}
	for (; list; list = share->noted[list - 1].next, count++)
		if (items)
			items[count] = (struct hawk_kept_type){
				.words = share->noted[list - 1].words, .trace = trace};
	if (items && count > 1)
		qsort(items, count, sizeof(*items), compare);
	return count;
}

static struct hawk_error *put_all(const struct share *share, struct hawk_kept_types *ret)
{
	uint32_t traces = share->graph->heap->trace_count;
	struct hawk_kept_type *items;
	uint64_t count = 0;

	for (uint32_t trace = 0; trace < traces; trace++)
		count += put_trace(share, trace, NULL);
	items = calloc(count + 1, sizeof(*items));
	if (!items)
		return &hawk_enomem;
	*ret = (struct hawk_kept_types){items, count, items};
	for (uint32_t trace = 0; trace < traces; trace++)
		items += put_trace(share, trace, items);
	return NULL;
}

/** Into at most `SHARES_MAX` shares; how many. */
static unsigned cut(const struct hawk_block_graph *graph, const struct hawk_module_words *modules,
		    struct share *shares)
{
	uint64_t count = graph->index.count;
	unsigned threads = hawk_block_graph_threads(graph);

	if (threads > SHARES_MAX)
		threads = SHARES_MAX;
	if (count / BLOCKS_PER_TRACE < graph->heap->trace_count)
		threads = 1;
	for (unsigned i = 0; i < threads; i++)
		shares[i] = (struct share){
			.graph = graph,
			.modules = modules,
			.first = (uint32_t)(count * i / threads),
			.end = (uint32_t)(count * (i + 1) / threads),
			.lists = calloc((size_t)graph->heap->trace_count + 1, sizeof(uint32_t)),
			.bare = calloc((size_t)graph->heap->trace_count + 1, 1),
		};
	return threads;
}

static struct hawk_error *note_all(struct share *shares, unsigned count)
{
	struct hawk_error *err = NULL;
	struct hawk_progress progress;

	for (unsigned i = 0; i < count; i++)
		if (!shares[i].lists || !shares[i].bare)
			return &hawk_enomem;
	hawk_progress_begin(&progress, "reading first words", shares[0].graph->index.count);
	hawk_parallel_run(count, note_share, shares);
	hawk_progress_end(&progress);
	for (unsigned i = 0; i < count; i++) {
		if (err)
			hawk_error_destroy(shares[i].err);
		else
			err = shares[i].err;
	}
	for (unsigned i = 1; i < count; i++)
		for (uint32_t trace = 0; trace < shares[0].graph->heap->trace_count && !err;
		     trace++)
			err = join_trace(&shares[0], &shares[i], trace);
	return err;
}

struct hawk_error *hawk_kept_types_make(const struct hawk_block_graph *graph,
					struct hawk_kept_types *ret)
{
	struct hawk_module_words modules;
	struct share shares[SHARES_MAX];
	unsigned count;
	struct hawk_error *err;

	hawk_module_words_init(&modules, graph->target);
	count = cut(graph, &modules, shares);
	err = note_all(shares, count);
	if (!err)
		err = put_all(&shares[0], ret);
	for (unsigned i = 0; i < count; i++)
		free_share(&shares[i]);
	return err;
}

void hawk_kept_types_deinit(struct hawk_kept_types *types)
{
	free(types->owned);
	*types = (struct hawk_kept_types){0};
}

uint64_t hawk_kept_types_of(const struct hawk_kept_types *types, uint32_t trace, uint64_t *at)
{
	uint64_t count = 0;

	while (*at < types->count && types->items[*at].trace < trace)
		++*at;
	while (*at + count < types->count && types->items[*at + count].trace == trace)
		count++;
	return count;
}
