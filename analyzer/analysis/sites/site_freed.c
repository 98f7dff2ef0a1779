/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Two floods per site. The first marks all that its blocks lead to. The second starts from roots
 * and blocks outside the first, stays inside it and skips the site's blocks: its marks survive, the
 * rest is freed. Blocks outside the first flood keep their state.
 */
#include "hawk/analysis/site_freed.h"

#include <stdlib.h>
#include <string.h>

#include "hawk/base/area.h"
#include "hawk/analysis/selection.h"
#include "hawk/base/cleanup.h"
#include "hawk/base/parallel.h"
#include "hawk/base/progress.h"

enum { WAYS = 2, WORKERS_MAX = 8, WORD_BLOCKS = 64 };

/** One question for each site and way. */
struct job {
	const struct hawk_graph *graph;
	const struct hawk_reach *reach; /**< by all pointers */
	const uint64_t *chosen;
	const uint32_t *sites;
	struct hawk_site_retained *ret;
	size_t questions, next;
	uint64_t *reached[WAYS]; /**< a bit for each block that roots lead to */
};

/** A thread that answers one question after the other. */
struct worker {
	struct job *job;
	uint32_t mask; /**< edges with one of these bits do not count */
	const uint64_t *reached;
	uint64_t *own;     /**< the site's blocks */
	uint64_t *led;     /**< these, and what they lead to */
	uint64_t *staying; /**< of that, what goes on being led to */
	struct hawk_area area;
	uint32_t *stack; /**< in the area: room for every block */
	size_t depth;
};

static void push(struct worker *worker, uint64_t *bits, uint32_t block)
{
	bits[block / 64] |= UINT64_C(1) << block % 64;
	worker->stack[worker->depth++] = block;
}

/* Follows what is on the stack to all that is not in `bits`. */
static void flood(struct worker *worker, uint64_t *bits)
{
	const struct hawk_graph *edges = worker->job->graph;

	while (worker->depth) {
		uint32_t block = worker->stack[--worker->depth];

		for (uint32_t i = edges->offsets[block]; i < edges->offsets[block + 1]; i++)
			if (!(edges->edges[i] & worker->mask) &&
			    !hawk_block_is_chosen(bits, edges->edges[i] >> 1))
				push(worker, bits, edges->edges[i] >> 1);
	}
}

static bool root_counts(const struct worker *worker, const struct hawk_root *root)
{
	return !worker->mask || hawk_root_is_strong(root);
}

/* Marks what `block`, which stays, leads to. Lost blocks keep only lost ones. */
static void keep_targets(struct worker *worker, uint32_t block)
{
	const struct hawk_graph *edges = worker->job->graph;
	bool is_reached = hawk_block_is_chosen(worker->reached, block);

	for (uint32_t i = edges->offsets[block]; i < edges->offsets[block + 1]; i++) {
		uint32_t target = edges->edges[i] >> 1;

		if (edges->edges[i] & worker->mask || !hawk_block_is_chosen(worker->led, target) ||
		    hawk_block_is_chosen(worker->staying, target) ||
		    hawk_block_is_chosen(worker->own, target) ||
		    (!is_reached && hawk_block_is_chosen(worker->reached, target)))
			continue;
		push(worker, worker->staying, target);
	}
}

static void keep_led_from_outside(struct worker *worker)
{
	const struct hawk_graph *graph = worker->job->graph;

	for (size_t i = 0; i < graph->roots.count; i++) {
		uint32_t target = graph->roots.items[i].edge >> 1;

		if (root_counts(worker, &graph->roots.items[i]) &&
		    hawk_block_is_chosen(worker->led, target) &&
		    !hawk_block_is_chosen(worker->staying, target) &&
		    !hawk_block_is_chosen(worker->own, target))
			push(worker, worker->staying, target);
	}
	for (uint32_t block = 0; block < graph->heap->index.count; block++) {
		hawk_progress_tick(block);
		if (!hawk_block_is_chosen(worker->led, block))
			keep_targets(worker, block);
	}
	while (worker->depth)
		keep_targets(worker, worker->stack[--worker->depth]);
}

/* Marks and pushes the site's blocks. */
static void begin(struct worker *worker, uint32_t site)
{
	const struct job *job = worker->job;
	uint32_t count = job->graph->heap->index.count;
	size_t bytes = ((size_t)count / 64 + 1) * sizeof(uint64_t);

	memset(worker->own, 0, bytes);
	memset(worker->staying, 0, bytes);
	for (uint32_t block = 0; block < count; block++)
		if (hawk_heap_site_at(job->graph->heap, block) == site &&
		    hawk_block_is_chosen(job->chosen, block))
			push(worker, worker->own, block);
	memcpy(worker->led, worker->own, bytes);
}

static uint64_t freed_bytes(struct worker *worker, uint32_t site)
{
	const struct hawk_block_index *index = &worker->job->graph->heap->index;
	struct hawk_chosen freed = {0};
	size_t words = (size_t)index->count / WORD_BLOCKS + 1;

	begin(worker, site);
	flood(worker, worker->led);
	/* Blocks of most sites lead nowhere: only they are freed. */
	if (memcmp(worker->own, worker->led, words * sizeof(uint64_t)))
		keep_led_from_outside(worker);
	for (size_t i = 0; i < words; i++) {
		uint64_t bits = worker->led[i] & ~worker->staying[i];

		if (bits)
			hawk_chosen_add_64(&freed, index, (uint32_t)(i * WORD_BLOCKS), bits);
	}
	return freed.bytes;
}

static struct hawk_error *make_worker(struct job *job, struct worker *worker)
{
	uint64_t count = job->graph->heap->index.count;
	size_t words = (size_t)count / WORD_BLOCKS + 1;
	struct hawk_error *err =
		hawk_area_create_sparse(&worker->area, (count + 1) * sizeof(*worker->stack));

	worker->job = job;
	worker->stack = worker->area.bytes;
	worker->own = calloc(words, sizeof(uint64_t));
	worker->led = calloc(words, sizeof(uint64_t));
	worker->staying = calloc(words, sizeof(uint64_t));
	if (!err && (!worker->own || !worker->led || !worker->staying))
		err = &hawk_enomem;
	return err;
}

static void drop_worker(struct worker *worker)
{
	free(worker->own);
	free(worker->led);
	free(worker->staying);
	hawk_area_destroy(&worker->area);
}

static void run_worker(void *context, unsigned part)
{
	struct worker *worker = (struct worker *)context + part;
	struct job *job = worker->job;
	size_t number;

	while ((number = __atomic_fetch_add(&job->next, 1, __ATOMIC_RELAXED)) < job->questions) {
		uint32_t site = job->sites[number / WAYS];
		struct hawk_site_retained *retained = &job->ret[number / WAYS];

		worker->reached = job->reached[number % WAYS];
		if (number % WAYS) {
			worker->mask = HAWK_EDGES_START_ONLY;
			retained->start_pointers = freed_bytes(worker, site);
		} else {
			worker->mask = HAWK_EDGES_ALL;
			retained->all_pointers = freed_bytes(worker, site);
		}
	}
}

/* Marks what roots reach: copied from `reach` for all pointers, flooded for start pointers. */
static void find_reached(struct worker *worker, uint64_t *all, uint64_t *start)
{
	const struct hawk_graph *graph = worker->job->graph;

	for (uint32_t block = 0; block < graph->heap->index.count; block++)
		all[block / 64] |=
			(uint64_t)(worker->job->reach->kinds[block] <= HAWK_REACH_POSSIBLY)
			<< block % 64;
	worker->mask = HAWK_EDGES_START_ONLY;
	for (size_t i = 0; i < graph->roots.count; i++)
		if (root_counts(worker, &graph->roots.items[i]) &&
		    !hawk_block_is_chosen(start, graph->roots.items[i].edge >> 1))
			push(worker, start, graph->roots.items[i].edge >> 1);
	flood(worker, start);
}

static void run(struct job *job, struct worker *workers, unsigned count)
{
	struct hawk_progress progress;

	hawk_progress_begin(&progress, "finding what sites retain",
			    (uint64_t)job->graph->heap->index.count * job->questions);
	find_reached(&workers[0], job->reached[0], job->reached[1]);
	hawk_parallel_run(count, run_worker, workers);
	hawk_progress_end(&progress);
}

struct hawk_error *hawk_site_freed(const struct hawk_graph *graph, const struct hawk_reach *reach,
				   const uint64_t *chosen, const uint32_t *sites, size_t count,
				   struct hawk_site_retained *ret)
{
	size_t words = (size_t)graph->heap->index.count / WORD_BLOCKS + 1;
	CLEANUP(free_ptr) uint64_t *reached = calloc(WAYS * words, sizeof(*reached));
	struct worker workers[WORKERS_MAX] = {{0}};
	struct job job = {
		.graph = graph,
		.reach = reach,
		.chosen = chosen,
		.sites = sites,
		.ret = ret,
		.questions = WAYS * count,
		.reached = {reached, reached + words},
	};
	unsigned threads = hawk_parallel_threads(), made = 0;
	struct hawk_error *err = reached ? NULL : &hawk_enomem;

	while (!err && made < threads && made < WORKERS_MAX && made < job.questions)
		err = make_worker(&job, &workers[made++]);
	if (!err && made)
		run(&job, workers, made);
	for (unsigned i = 0; i < made; i++)
		drop_worker(&workers[i]);
	return err;
}
