/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The sweep's threads. Each looks for headers in the next share. The caller decides about shares in
 * order of addresses, and searches itself while the next share is not ready.
 */
#include "sweep.h"

#include <pthread.h>
#include <stdlib.h>

#include "hawk/base/parallel.h"
#include "sweep_state.h"

enum {
	PARTS_MAX = 8, /* memory bandwidth does not grow beyond */
	SLOTS_PER_PART = 4,
	SHARES_PER_PART_MIN = 4, /* fewer are not worth a thread */
};

enum slot_state { SLOT_FREE = 0, SLOT_AT_WORK, SLOT_FOUND };

struct slot {
	enum slot_state state;
	struct hawk_sweep_found found;
};

struct hawk_sweep {
	const struct hawk_target *target;
	const struct hawk_sweep_plan *plan;
	struct hawk_extent *extents;
	struct hawk_parallel_team team;
	struct hawk_sweep_finder finder; /* the caller's */

	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Guarded by the lock, like the slots' states. */
	unsigned waiting;
	struct hawk_sweep_walk walk;
	bool walked;            /* all shares are given out */
	bool stopped;           /* by an error, or by the caller */
	uint64_t shares;        /* given out */
	struct hawk_error *err; /* the first one */

	/* Used by the caller only. */
	uint64_t decided; /* shares */
	bool finished;
	struct slot *apart; /* its blocks come next, or were given; NULL = none */
	bool apart_given;
	struct hawk_sweep_state state;
	unsigned slot_count;
	struct slot *slots; /* a share uses slot number modulo their count */
};

static void wake(struct hawk_sweep *sweep)
{
	if (sweep->waiting)
		pthread_cond_broadcast(&sweep->changed);
}

static void wait_for_change(struct hawk_sweep *sweep)
{
	sweep->waiting++;
	pthread_cond_wait(&sweep->changed, &sweep->lock);
	sweep->waiting--;
}

static struct slot *slot_of(struct hawk_sweep *sweep, uint64_t share)
{
	return &sweep->slots[share % sweep->slot_count];
}

/* Returns true if a slot is free for the next share. */
static bool may_find(struct hawk_sweep *sweep)
{
	return !sweep->walked && slot_of(sweep, sweep->shares)->state == SLOT_FREE;
}

/* Looks for headers in the next share, if any. Called with the lock, which it releases meanwhile.
 */
static void find(struct hawk_sweep *sweep, struct hawk_sweep_finder *finder)
{
	struct slot *slot = slot_of(sweep, sweep->shares);
	struct hawk_error *err;

	sweep->walked = !hawk_sweep_walk_next(&sweep->walk, &slot->found.share);
	if (sweep->walked) {
		wake(sweep);
		return;
	}
	slot->state = SLOT_AT_WORK;
	sweep->shares++;
	pthread_mutex_unlock(&sweep->lock);
	err = hawk_sweep_find(finder, &slot->found);
	pthread_mutex_lock(&sweep->lock);
	slot->state = SLOT_FOUND;
	if (err && sweep->err)
		hawk_error_destroy(err); /* only the first error counts */
	else if (err)
		sweep->err = err;
	sweep->stopped |= err != NULL;
	wake(sweep);
}

static void init_finder(const struct hawk_sweep *sweep, struct hawk_sweep_finder *finder)
{
	finder->target = sweep->target;
	finder->plan = sweep->plan;
	finder->extents = sweep->extents;
	hawk_scan_window_init(&finder->window, sweep->target, sweep->walk.share_bytes);
}

/* Runs one thread. If memory runs out for it, the others do its work. */
static void run_part(void *context, unsigned part)
{
	struct hawk_sweep *sweep = context;
	struct hawk_sweep_finder *finder = calloc(1, sizeof(*finder));

	(void)part;
	if (!finder)
		return;
	init_finder(sweep, finder);
	pthread_mutex_lock(&sweep->lock);
	while (!sweep->stopped && !sweep->walked) {
		if (may_find(sweep))
			find(sweep, finder);
		else
			wait_for_change(sweep);
	}
	pthread_mutex_unlock(&sweep->lock);
	hawk_scan_window_deinit(&finder->window);
	free(finder);
}

/* Returns true if the next share has been searched. */
static bool has_found(struct hawk_sweep *sweep)
{
	return sweep->decided < sweep->shares &&
	       slot_of(sweep, sweep->decided)->state == SLOT_FOUND;
}

/* Returns the result of the next share; NULL behind the last one, or after an error. */
static struct slot *next_found(struct hawk_sweep *sweep)
{
	struct slot *ret = NULL;

	pthread_mutex_lock(&sweep->lock);
	while (!sweep->stopped && !has_found(sweep) &&
	       !(sweep->walked && sweep->decided == sweep->shares)) {
		if (may_find(sweep))
			find(sweep, &sweep->finder);
		else
			wait_for_change(sweep);
	}
	if (!sweep->stopped && has_found(sweep))
		ret = slot_of(sweep, sweep->decided++);
	pthread_mutex_unlock(&sweep->lock);
	return ret;
}

static void release(struct hawk_sweep *sweep, struct slot *slot)
{
	pthread_mutex_lock(&sweep->lock);
	slot->state = SLOT_FREE;
	wake(sweep);
	pthread_mutex_unlock(&sweep->lock);
}

/* Decides about the next share. Returns false behind the last one, or after an error. */
static bool decide(struct hawk_sweep *sweep)
{
	struct slot *slot = next_found(sweep);
	bool apart;

	if (!slot)
		return false;
	hawk_sweep_decide(&sweep->state, &slot->found, &apart);
	if (apart && slot->found.count) {
		sweep->apart = slot;
		sweep->apart_given = false;
	} else {
		release(sweep, slot);
	}
	return true;
}

struct hawk_error *hawk_sweep_next(struct hawk_sweep *sweep, const struct hawk_block **ret,
				   size_t *count)
{
	*count = 0;
	if (sweep->apart && sweep->apart_given) {
		release(sweep, sweep->apart);
		sweep->apart = NULL;
	}
	while (!sweep->apart && !*count && !sweep->finished) {
		sweep->finished = !decide(sweep);
		if (sweep->finished && sweep->err) {
			struct hawk_error *err = sweep->err;

			sweep->err = NULL;
			return err;
		}
		if (sweep->finished)
			hawk_sweep_finish(&sweep->state);
		*ret = sweep->state.batch;
		*count = sweep->state.batch_count;
	}
	if (*count || !sweep->apart)
		return NULL;
	*ret = sweep->apart->found.blocks;
	*count = sweep->apart->found.count;
	sweep->apart_given = true;
	return NULL;
}

const struct hawk_sweep_result *hawk_sweep_result(const struct hawk_sweep *sweep)
{
	return &sweep->state.result;
}

uint64_t hawk_sweep_bytes(const struct hawk_sweep *sweep)
{
	return sweep->walk.all_bytes;
}

void hawk_sweep_end(struct hawk_sweep *sweep)
{
	if (!sweep)
		return;
	pthread_mutex_lock(&sweep->lock);
	sweep->stopped = true;
	wake(sweep);
	pthread_mutex_unlock(&sweep->lock);
	hawk_parallel_join(&sweep->team);
	hawk_scan_window_deinit(&sweep->finder.window);
	for (unsigned i = 0; sweep->slots && i < sweep->slot_count; i++)
		hawk_sweep_found_deinit(&sweep->slots[i].found);
	pthread_cond_destroy(&sweep->changed);
	pthread_mutex_destroy(&sweep->lock);
	hawk_error_destroy(sweep->err);
	free(sweep->slots);
	free(sweep->state.batch);
	free(sweep->extents);
	free(sweep);
}

/* Returns the number of threads that have enough work. */
static unsigned count_parts(const struct hawk_sweep *sweep, unsigned threads)
{
	uint64_t worth =
		sweep->walk.all_bytes / (SHARES_PER_PART_MIN * sweep->walk.share_bytes) + 1;
	unsigned parts = threads < PARTS_MAX ? threads : PARTS_MAX;

	return parts < worth ? parts : (unsigned)worth;
}

static struct hawk_error *prepare(struct hawk_sweep *sweep, unsigned parts,
				  struct hawk_damages *damages)
{
	struct hawk_error *err = hawk_extents_create(sweep->target, &sweep->extents);
	size_t granules = sweep->walk.share_bytes / HAWK_GRANULE_BYTES;

	sweep->slot_count = parts > 1 ? SLOTS_PER_PART * parts : 2;
	sweep->slots = calloc(sweep->slot_count, sizeof(*sweep->slots));
	sweep->state.batch = calloc(granules + 2, sizeof(*sweep->state.batch));
	if (!err && !(sweep->slots && sweep->state.batch))
		err = &hawk_enomem;
	for (unsigned i = 0; !err && i < sweep->slot_count; i++)
		err = hawk_sweep_found_init(&sweep->slots[i].found, sweep->walk.share_bytes);
	sweep->state.target = sweep->target;
	sweep->state.damages = damages;
	sweep->state.extents = sweep->extents;
	init_finder(sweep, &sweep->finder);
	return err;
}

struct hawk_error *hawk_sweep_begin(const struct hawk_target *target,
				    const struct hawk_sweep_plan *plan, unsigned threads,
				    struct hawk_damages *damages, struct hawk_sweep **ret)
{
	struct hawk_sweep *sweep = calloc(1, sizeof(*sweep));
	struct hawk_error *err;
	unsigned parts;

	if (!sweep)
		return &hawk_enomem;
	pthread_mutex_init(&sweep->lock, NULL);
	pthread_cond_init(&sweep->changed, NULL);
	sweep->target = target;
	sweep->plan = plan;
	hawk_sweep_walk_init(&sweep->walk, target, plan, plan->window_bytes);
	parts = count_parts(sweep, threads);
	err = prepare(sweep, parts, damages);
	if (err) {
		hawk_sweep_end(sweep);
		return err;
	}
	hawk_parallel_start(&sweep->team, parts, run_part, sweep);
	*ret = sweep;
	return NULL;
}
