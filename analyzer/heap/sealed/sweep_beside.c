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

struct crew {
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
struct hand {
	struct crew *crew;
	unsigned part;
	struct hawk_sweep_finder finder;
};

static void wake(struct crew *crew)
{
	if (crew->waiting)
		pthread_cond_broadcast(&crew->changed);
}

static void wait_for_change(struct crew *crew)
{
	crew->waiting++;
	pthread_cond_wait(&crew->changed, &crew->lock);
	crew->waiting--;
}

static void wait_for_fills(void *context)
{
	struct crew *crew = context;

	pthread_mutex_lock(&crew->lock);
	while (crew->filling)
		wait_for_change(crew);
	pthread_mutex_unlock(&crew->lock);
}

/* A later error is of no interest. */
static void note_error(struct crew *crew, struct hawk_error *err)
{
	if (crew->err)
		hawk_error_destroy(err);
	else
		crew->err = err;
}

/* With the lock, which is given up meanwhile, as in all of the following. */
static void find(struct hand *hand, struct slot *slot)
{
	struct crew *crew = hand->crew;
	uint64_t done = crew->swept_bytes;
	struct hawk_error *err;

	slot->state = SLOT_AT_WORK;
	crew->shares++;
	pthread_mutex_unlock(&crew->lock);
	if (crew->progress && !hand->part && done)
		crew->progress(crew->progress_context, done, crew->walk.all_bytes);
	err = hawk_sweep_find(&hand->finder, &slot->found);
	pthread_mutex_lock(&crew->lock);
	slot->state = SLOT_FOUND;
	if (err)
		note_error(crew, err);
	wake(crew);
}

static void decide(struct hand *hand, struct slot *slot)
{
	struct crew *crew = hand->crew;
	struct hawk_error *err;
	bool fill;

	slot->state = SLOT_AT_WORK;
	crew->deciding = true;
	pthread_mutex_unlock(&crew->lock);
	err = hawk_sweep_decide(&crew->sweep, &slot->found, &slot->run, &fill);
	pthread_mutex_lock(&crew->lock);
	crew->deciding = false;
	crew->decided++;
	crew->swept_bytes = crew->sweep.result.swept_bytes;
	if (err) {
		note_error(crew, err);
	} else if (fill) {
		crew->filling++;
		wake(crew);
		pthread_mutex_unlock(&crew->lock);
		crew->taker->fill(crew->taker->context, &slot->run, hand->part);
		pthread_mutex_lock(&crew->lock);
		crew->filling--;
	}
	slot->state = SLOT_FREE;
	wake(crew);
}

static struct slot *slot_of(struct crew *crew, uint64_t share)
{
	return &crew->slots[share % crew->slot_count];
}

/* False if there is nothing more to do. */
static bool work(struct hand *hand)
{
	struct crew *crew = hand->crew;
	struct slot *next = slot_of(crew, crew->decided);
	struct slot *last = slot_of(crew, crew->shares);

	if (crew->err || (crew->walked && crew->decided == crew->shares))
		return false;
	if (!crew->deciding && crew->decided < crew->shares && next->state == SLOT_FOUND)
		decide(hand, next);
	else if (crew->walked || last->state != SLOT_FREE)
		wait_for_change(crew);
	else if (hawk_sweep_walk_next(&crew->walk, &last->found.share))
		find(hand, last);
	else
		crew->walked = true;
	return true;
}

static void run_part(void *context, unsigned part)
{
	struct crew *crew = context;
	struct hand *hand = calloc(1, sizeof(*hand));

	pthread_mutex_lock(&crew->lock);
	if (!hand) {
		note_error(crew, &hawk_enomem);
	} else {
		hand->crew = crew;
		hand->part = part;
		hand->finder.target = crew->target;
		hand->finder.plan = crew->plan;
		hand->finder.extents = crew->extents;
		hawk_scan_window_init(&hand->finder.window, crew->target, crew->walk.share_bytes);
		while (work(hand))
			;
		hawk_scan_window_deinit(&hand->finder.window);
	}
	wake(crew);
	pthread_mutex_unlock(&crew->lock);
	free(hand);
}

static void report_findings(const struct hawk_sweep_result *result, struct hawk_findings *findings)
{
	if (result->overlapping)
		hawk_findings_add(findings, HAWK_FINDING_DAMAGE, false, "block-overlap",
				  "%llu sealed headers overlap a younger block and were set aside",
				  (unsigned long long)result->overlapping);
	if (result->implausible)
		hawk_findings_add(findings, HAWK_FINDING_DAMAGE, true, "block-implausible",
				  "%llu sealed headers have a size, trace, birth or alignment that "
				  "cannot be and were left out",
				  (unsigned long long)result->implausible);
	if (result->clipped)
		hawk_findings_add(findings, HAWK_FINDING_MISSING, false, "block-clipped",
				  "the end of %s live block%s is not in the core",
				  hawk_quantity_count(result->clipped).text,
				  result->clipped == 1 ? "" : "s");
}

static void hawk_cleanup_crew(struct crew **crew)
{
	if (!*crew)
		return;
	for (unsigned i = 0; (*crew)->slots && i < (*crew)->slot_count; i++)
		hawk_sweep_found_deinit(&(*crew)->slots[i].found);
	free((*crew)->slots);
	free((*crew)->extents);
	pthread_cond_destroy(&(*crew)->changed);
	pthread_mutex_destroy(&(*crew)->lock);
	free(*crew);
}

/* How many threads there is something to do for. */
static unsigned count_parts(const struct crew *crew, unsigned threads)
{
	uint64_t worth = crew->walk.all_bytes / (SHARES_PER_PART_MIN * crew->walk.share_bytes) + 1;
	unsigned parts = hawk_sweep_parts(threads);

	return parts < worth ? parts : (unsigned)worth;
}

static struct hawk_error *prepare(struct crew *crew, unsigned parts)
{
	struct hawk_error *err = hawk_extents_create(crew->target, &crew->extents);

	crew->slot_count = parts > 1 ? SLOTS_PER_PART * parts : 1;
	crew->slots = calloc(crew->slot_count, sizeof(*crew->slots));
	if (!err && !crew->slots)
		err = &hawk_enomem;
	for (unsigned i = 0; !err && i < crew->slot_count; i++)
		err = hawk_sweep_found_init(&crew->slots[i].found, crew->walk.share_bytes);
	crew->sweep.target = crew->target;
	crew->sweep.taker = crew->taker;
	crew->sweep.mappings = crew->walk.mappings;
	crew->sweep.extents = crew->extents;
	crew->sweep.wait = wait_for_fills;
	crew->sweep.wait_context = crew;
	crew->sweep.mapping = SIZE_MAX;
	return err;
}

unsigned hawk_sweep_parts(unsigned threads)
{
	unsigned parts = threads ? threads : hawk_parallel_processors();

	return parts < HAWK_HEAP_PARTS_MAX ? parts : HAWK_HEAP_PARTS_MAX;
}

struct hawk_error *hawk_sweep_beside(const struct hawk_target *target,
				     const struct hawk_sweep_plan *plan, unsigned threads,
				     const struct hawk_heap_sink *taker,
				     void (*progress)(void *context, uint64_t done, uint64_t all),
				     void *progress_context, struct hawk_findings *findings,
				     struct hawk_sweep_result *ret)
{
	CLEANUP(crew) struct crew *crew = calloc(1, sizeof(*crew));
	struct hawk_error *err;
	unsigned parts;

	if (!crew)
		return &hawk_enomem;
	pthread_mutex_init(&crew->lock, NULL);
	pthread_cond_init(&crew->changed, NULL);
	crew->target = target;
	crew->plan = plan;
	crew->taker = taker;
	crew->progress = progress;
	crew->progress_context = progress_context;
	hawk_sweep_walk_init(&crew->walk, target, plan, plan->window_bytes);
	parts = count_parts(crew, threads);
	err = prepare(crew, parts);
	if (err)
		return err;
	hawk_parallel_run(parts, run_part, crew);
	err = crew->err ? crew->err : hawk_sweep_finish(&crew->sweep);
	if (err)
		return err;
	if (progress)
		progress(progress_context, crew->sweep.result.swept_bytes, crew->walk.all_bytes);
	report_findings(&crew->sweep.result, findings);
	*ret = crew->sweep.result;
	return NULL;
}
