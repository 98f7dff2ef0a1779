/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A ring of batches between the sweep and whoever takes its blocks.
 */
#include "hawk_sweep_beside.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "hawk_cleanup.h"
#include "hawk_parallel.h"

/* Waking the other side costs as much as several batches: each waits until there is enough to do.
 */
enum {
	BATCHES = 32,
	FILLED_ENOUGH = 8,
	FREE_ENOUGH = 16,
};

struct batch {
	size_t count;
	struct hawk_block blocks[HAWK_SWEEP_BATCH];
};

struct ring {
	hawk_sweep_function *function;
	void *context;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Under the lock. */
	uint64_t filled;
	uint64_t taken;
	bool finished;          /* nothing more will be filled */
	struct hawk_error *err; /* of the taker, which then only empties the ring */
	bool failed;
	/* Not under the lock: a batch belongs to one side at a time. */
	struct batch batches[BATCHES];
};

/* Waits for a filled batch; NULL = there are no more. */
static struct batch *wait_filled(struct ring *ring)
{
	struct batch *batch = NULL;

	pthread_mutex_lock(&ring->lock);
	if (ring->filled == ring->taken)
		while (ring->filled - ring->taken < FILLED_ENOUGH && !ring->finished)
			pthread_cond_wait(&ring->changed, &ring->lock);
	if (ring->filled != ring->taken)
		batch = &ring->batches[ring->taken % BATCHES];
	pthread_mutex_unlock(&ring->lock);
	return batch;
}

static void *take_all(void *argument)
{
	struct ring *ring = argument;
	struct hawk_error *err = NULL;
	struct batch *batch;

	while ((batch = wait_filled(ring)) != NULL) {
		if (!err)
			err = ring->function(ring->context, batch->blocks, batch->count);
		pthread_mutex_lock(&ring->lock);
		ring->taken++;
		ring->failed = err != NULL;
		if (ring->filled - ring->taken == BATCHES - FREE_ENOUGH)
			pthread_cond_signal(&ring->changed);
		pthread_mutex_unlock(&ring->lock);
	}
	ring->err = err;
	return NULL;
}

/** The error that ends the sweep when the taker has failed; its own one is passed on then. */
static struct hawk_error *stop_sweep(void)
{
	return hawk_error_create(HAWK_ERROR_UNSUPPORTED, "blocks were refused");
}

static struct hawk_error *fill(void *context, const struct hawk_block *blocks, size_t count)
{
	struct ring *ring = context;
	struct batch *batch;
	bool failed;

	pthread_mutex_lock(&ring->lock);
	if (ring->filled - ring->taken == BATCHES)
		while (ring->filled - ring->taken > BATCHES - FREE_ENOUGH)
			pthread_cond_wait(&ring->changed, &ring->lock);
	failed = ring->failed;
	batch = &ring->batches[ring->filled % BATCHES];
	pthread_mutex_unlock(&ring->lock);
	if (failed)
		return stop_sweep();
	memcpy(batch->blocks, blocks, count * sizeof(*blocks));
	batch->count = count;
	pthread_mutex_lock(&ring->lock);
	ring->filled++;
	if (ring->filled - ring->taken == FILLED_ENOUGH)
		pthread_cond_signal(&ring->changed);
	pthread_mutex_unlock(&ring->lock);
	return NULL;
}

static void finish(struct ring *ring, pthread_t thread)
{
	pthread_mutex_lock(&ring->lock);
	ring->finished = true;
	pthread_cond_signal(&ring->changed);
	pthread_mutex_unlock(&ring->lock);
	pthread_join(thread, NULL);
}

struct hawk_error *hawk_sweep_beside(const struct hawk_target *target,
				     const struct hawk_sweep_plan *plan, unsigned threads,
				     hawk_sweep_function *function, void *context,
				     void (*progress)(void *context, uint64_t done, uint64_t all),
				     void *progress_context, struct hawk_findings *findings,
				     struct hawk_sweep_result *ret)
{
	bool beside = threads != 1 && hawk_parallel_processors() > 1;
	CLEANUP(free_ptr) struct ring *ring = beside ? calloc(1, sizeof(*ring)) : NULL;
	struct hawk_error *err;
	pthread_t thread;

	if (ring) {
		ring->function = function;
		ring->context = context;
		pthread_mutex_init(&ring->lock, NULL);
		pthread_cond_init(&ring->changed, NULL);
	}
	if (!ring || pthread_create(&thread, NULL, take_all, ring))
		return hawk_sweep(target, plan, function, context, progress, progress_context,
				  findings, ret);
	err = hawk_sweep(target, plan, fill, ring, progress, progress_context, findings, ret);
	finish(ring, thread);
	if (!ring->err)
		return err;
	hawk_error_destroy(err);
	return ring->err;
}
