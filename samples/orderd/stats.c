/* SPDX-License-Identifier: Apache-2.0 */
/** @file Totals, and a thread that keeps a bounded series of samples of them. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "orderd.h"

enum { SAMPLES_KEPT = 60 };

struct sample {
	uint64_t orders, cents;
	struct sample *older;
};

struct stats {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	bool stopping;
	uint64_t orders, rejected, cents;
	struct sample *samples;
	size_t sample_count;
};

static void take_sample(struct stats *stats)
{
	struct sample *sample = malloc(sizeof(*sample));

	if (!sample)
		abort();
	*sample = (struct sample){stats->orders, stats->cents, stats->samples};
	stats->samples = sample;
	if (++stats->sample_count <= SAMPLES_KEPT)
		return;
	while (sample->older->older)
		sample = sample->older;
	free(sample->older);
	sample->older = NULL;
	stats->sample_count--;
}

static void *sample_regularly(void *argument)
{
	struct stats *stats = argument;

	pthread_mutex_lock(&stats->lock);
	while (!stats->stopping) {
		struct timespec until;

		take_sample(stats);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 50 * 1000 * 1000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&stats->wake, &stats->lock, &until);
	}
	pthread_mutex_unlock(&stats->lock);
	return NULL;
}

struct stats *stats_start(void)
{
	struct stats *stats = calloc(1, sizeof(*stats));

	if (!stats)
		abort();
	pthread_mutex_init(&stats->lock, NULL);
	pthread_cond_init(&stats->wake, NULL);
	if (pthread_create(&stats->thread, NULL, sample_regularly, stats))
		abort();
	return stats;
}

void stats_add(struct stats *stats, uint64_t cents, bool rejected)
{
	pthread_mutex_lock(&stats->lock);
	stats->orders++;
	stats->rejected += rejected;
	stats->cents += cents;
	pthread_mutex_unlock(&stats->lock);
}

void stats_finish(struct stats *stats)
{
	pthread_mutex_lock(&stats->lock);
	stats->stopping = true;
	pthread_cond_signal(&stats->wake);
	pthread_mutex_unlock(&stats->lock);
	pthread_join(stats->thread, NULL);
	printf("%lu orders, %lu rejected, %lu.%02lu in all\n", stats->orders, stats->rejected,
	       stats->cents / 100, stats->cents % 100);
	while (stats->samples) {
		struct sample *older = stats->samples->older;

		free(stats->samples);
		stats->samples = older;
	}
	free(stats);
}
