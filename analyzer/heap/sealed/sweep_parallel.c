/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The sweep's threads. Each takes the next task: if the next share in address order has been
 * searched, decide about it, then fill it; else search another. Threads never wait while a slot is
 * free, and results are used while still in cache.
 */
#include "sweep.h"

#include <pthread.h>
#include <stdlib.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/parallel.h"
#include "hawk/base/quantity.h"
#include "sweep_state.h"

enum {
	SLOTS_PER_PART = 4,
	SHARES_PER_PART_MIN = 4, /* fewer are not worth a thread */
};

enum slot_state {
	SLOT_FREE = 0,
	SLOT_AT_WORK,
	SLOT_FOUND, /* to be decided about */
};

struct slot {
	enum slot_state state;
	struct hawk_sweep_found found;
	struct hawk_heap_run run;
};

struct workers {
	const struct hawk_target *target;
	const struct hawk_sweep_plan *plan;
	const struct hawk_heap_sink *taker;
	struct hawk_extent *extents;
	void (*progress)(void *context, uint64_t done, uint64_t all);
	void *progress_context;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Under the lock, as the slots' states are. */
	unsigned waiting;
	unsigned filling;
	struct hawk_sweep_walk walk;
	bool walked;      /* there are no more shares */
	uint64_t shares;  /* that have been given out */
	uint64_t decided; /* of these */
	bool deciding;    /* about the next one */
	uint64_t swept_bytes;
	struct hawk_error *err; /* the first one; nothing more is begun then */

	struct hawk_sweep_state sweep; /* belongs to who decides */
	unsigned slot_count;
	struct slot *slots; /* a share's: its number modulo their count */
};

/** One thread. */
struct worker {
	struct workers *workers;
	unsigned part;
	struct hawk_sweep_finder finder;
};

static void wake(struct workers *workers)
{
	if (workers->waiting)
		pthread_cond_broadcast(&workers->changed);
}

static void wait_for_change(struct workers *workers)
{
	workers->waiting++;
	pthread_cond_wait(&workers->changed, &workers->lock);
	workers->waiting--;
}

static void wait_for_fills(void *context)
{
	struct workers *workers = context;

	pthread_mutex_lock(&workers->lock);
	while (workers->filling)
		wait_for_change(workers);
	pthread_mutex_unlock(&workers->lock);
}

/* A later error is of no interest. */
static void note_error(struct workers *workers, struct hawk_error *err)
{
	if (workers->err)
		hawk_error_destroy(err);
	else
		workers->err = err;
}

/* With the lock, which is given up meanwhile, as in all of the following. */
static void find(struct worker *worker, struct slot *slot)
{
	struct workers *workers = worker->workers;
	uint64_t done = workers->swept_bytes;
	struct hawk_error *err;

	slot->state = SLOT_AT_WORK;
	workers->shares++;
	pthread_mutex_unlock(&workers->lock);
	if (workers->progress && !worker->part && done)
		workers->progress(workers->progress_context, done, workers->walk.all_bytes);
	err = hawk_sweep_find(&worker->finder, &slot->found);
	pthread_mutex_lock(&workers->lock);
	slot->state = SLOT_FOUND;
	if (err)
		note_error(workers, err);
	wake(workers);
}

static void decide(struct worker *worker, struct slot *slot)
{
	struct workers *workers = worker->workers;
	struct hawk_error *err;
	bool fill;

	slot->state = SLOT_AT_WORK;
	workers->deciding = true;
	pthread_mutex_unlock(&workers->lock);
	err = hawk_sweep_decide(&workers->sweep, &slot->found, &slot->run, &fill);
	pthread_mutex_lock(&workers->lock);
	workers->deciding = false;
	workers->decided++;
	workers->swept_bytes = workers->sweep.result.swept_bytes;
	if (err) {
		note_error(workers, err);
	} else if (fill) {
		workers->filling++;
		wake(workers);
		pthread_mutex_unlock(&workers->lock);
		workers->taker->fill(workers->taker->context, &slot->run, worker->part);
		pthread_mutex_lock(&workers->lock);
		workers->filling--;
	}
	slot->state = SLOT_FREE;
	wake(workers);
}

static struct slot *slot_of(struct workers *workers, uint64_t share)
{
	return &workers->slots[share % workers->slot_count];
}

/* False if there is nothing more to do. */
static bool work(struct worker *worker)
{
	struct workers *workers = worker->workers;
	struct slot *next = slot_of(workers, workers->decided);
	struct slot *last = slot_of(workers, workers->shares);

	if (workers->err || (workers->walked && workers->decided == workers->shares))
		return false;
	if (!workers->deciding && workers->decided < workers->shares && next->state == SLOT_FOUND)
		decide(worker, next);
	else if (workers->walked || last->state != SLOT_FREE)
		wait_for_change(workers);
	else if (hawk_sweep_walk_next(&workers->walk, &last->found.share))
		find(worker, last);
	else
		workers->walked = true;
	return true;
}

static void run_part(void *context, unsigned part)
{
	struct workers *workers = context;
	struct worker *worker = calloc(1, sizeof(*worker));

	pthread_mutex_lock(&workers->lock);
	if (!worker) {
		note_error(workers, &hawk_enomem);
	} else {
		worker->workers = workers;
		worker->part = part;
		worker->finder.target = workers->target;
		worker->finder.plan = workers->plan;
		worker->finder.extents = workers->extents;
		hawk_scan_window_init(&worker->finder.window, workers->target,
				      workers->walk.share_bytes);
		while (work(worker))
			;
		hawk_scan_window_deinit(&worker->finder.window);
	}
	wake(workers);
	pthread_mutex_unlock(&workers->lock);
	free(worker);
}

void hawk_sweep_report(const struct hawk_heap_sums *result, struct hawk_findings *findings)
{
	if (result->overlapping)
		hawk_findings_add(findings, HAWK_FINDING_DAMAGE, false, "block-overlap",
				  "%llu sealed headers overlap a younger block and were set aside",
				  (unsigned long long)result->overlapping);
	if (result->implausible)
		hawk_findings_add(findings, HAWK_FINDING_DAMAGE, true, "block-implausible",
				  "%llu sealed headers have an impossible size, trace, birth or "
				  "alignment and were left out",
				  (unsigned long long)result->implausible);
	if (result->clipped)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "block-clipped",
				  "the end of %s live block%s is not in the core",
				  hawk_quantity_count(result->clipped).text,
				  result->clipped == 1 ? "" : "s");
}

static void hawk_cleanup_workers(struct workers **workers)
{
	if (!*workers)
		return;
	for (unsigned i = 0; (*workers)->slots && i < (*workers)->slot_count; i++)
		hawk_sweep_found_deinit(&(*workers)->slots[i].found);
	free((*workers)->slots);
	free((*workers)->extents);
	pthread_cond_destroy(&(*workers)->changed);
	pthread_mutex_destroy(&(*workers)->lock);
	free(*workers);
}

/* How many threads there is something to do for. */
static unsigned count_parts(const struct workers *workers, unsigned threads)
{
	uint64_t worth =
		workers->walk.all_bytes / (SHARES_PER_PART_MIN * workers->walk.share_bytes) + 1;
	unsigned parts = hawk_sweep_parts(threads);

	return parts < worth ? parts : (unsigned)worth;
}

static struct hawk_error *prepare(struct workers *workers, unsigned parts)
{
	struct hawk_error *err = hawk_extents_create(workers->target, &workers->extents);

	workers->slot_count = parts > 1 ? SLOTS_PER_PART * parts : 1;
	workers->slots = calloc(workers->slot_count, sizeof(*workers->slots));
	if (!err && !workers->slots)
		err = &hawk_enomem;
	for (unsigned i = 0; !err && i < workers->slot_count; i++)
		err = hawk_sweep_found_init(&workers->slots[i].found, workers->walk.share_bytes);
	workers->sweep.target = workers->target;
	workers->sweep.taker = workers->taker;
	workers->sweep.mappings = workers->walk.mappings;
	workers->sweep.extents = workers->extents;
	workers->sweep.wait = wait_for_fills;
	workers->sweep.wait_context = workers;
	workers->sweep.mapping = SIZE_MAX;
	return err;
}

unsigned hawk_sweep_parts(unsigned threads)
{
	unsigned parts = threads ? threads : hawk_parallel_processors();

	return parts < HAWK_HEAP_PARTS_MAX ? parts : HAWK_HEAP_PARTS_MAX;
}

struct hawk_error *hawk_sweep_parallel(const struct hawk_target *target,
				       const struct hawk_sweep_plan *plan, unsigned threads,
				       const struct hawk_heap_sink *taker,
				       void (*progress)(void *context, uint64_t done, uint64_t all),
				       void *progress_context, struct hawk_findings *findings,
				       struct hawk_sweep_result *ret)
{
	CLEANUP(workers) struct workers *workers = calloc(1, sizeof(*workers));
	struct hawk_error *err;
	unsigned parts;

	if (!workers)
		return &hawk_enomem;
	pthread_mutex_init(&workers->lock, NULL);
	pthread_cond_init(&workers->changed, NULL);
	workers->target = target;
	workers->plan = plan;
	workers->taker = taker;
	workers->progress = progress;
	workers->progress_context = progress_context;
	hawk_sweep_walk_init(&workers->walk, target, plan, plan->window_bytes);
	parts = count_parts(workers, threads);
	err = prepare(workers, parts);
	if (err)
		return err;
	hawk_parallel_run(parts, run_part, workers);
	err = workers->err ? workers->err : hawk_sweep_finish(&workers->sweep);
	if (err)
		return err;
	if (progress)
		progress(progress_context, workers->sweep.result.swept_bytes,
			 workers->walk.all_bytes);
	hawk_sweep_report(&workers->sweep.result.sums, findings);
	*ret = workers->sweep.result;
	return NULL;
}
