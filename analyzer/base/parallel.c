/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Runs parts on threads.
 */
#include "hawk/base/parallel.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <time.h>

#include "hawk/base/progress.h"

enum { REFRESH_NS = 100000000 };

static void *run_part(void *argument)
{
	struct hawk_parallel_part *part = argument;

	hawk_progress_adopt(part->progress);
	part->function(part->context, part->number);
	hawk_progress_settle();
	return NULL;
}

/* Waits for a thread, and refreshes the progress of its remaining work. */
static void wait_for(pthread_t thread)
{
	struct timespec until;

	while (hawk_progress_is_heard() && clock_gettime(CLOCK_MONOTONIC, &until) == 0) {
		until.tv_nsec += REFRESH_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until) != ETIMEDOUT)
			return;
		hawk_progress_refresh();
	}
	pthread_join(thread, NULL);
}

void hawk_parallel_start(struct hawk_parallel_team *team, unsigned parts,
			 hawk_parallel_function *function, void *context)
{
	assert(parts <= HAWK_PARALLEL_MAX);
	team->count = parts;
	for (unsigned i = 1; i < parts; i++) {
		struct hawk_parallel_part *part = &team->parts[i];

		*part = (struct hawk_parallel_part){
			.function = function,
			.context = context,
			.number = i,
			.progress = hawk_progress_current(),
		};
		part->started = !pthread_create(&part->thread, NULL, run_part, part);
	}
}

void hawk_parallel_join(struct hawk_parallel_team *team)
{
	for (unsigned i = 1; i < team->count; i++)
		if (team->parts[i].started)
			wait_for(team->parts[i].thread);
}

void hawk_parallel_run(unsigned parts, hawk_parallel_function *function, void *context)
{
	struct hawk_parallel_team team;

	hawk_parallel_start(&team, parts, function, context);
	hawk_progress_settle();
	if (parts)
		function(context, 0);
	for (unsigned i = 1; i < parts; i++)
		if (!team.parts[i].started)
			function(context, i);
	hawk_parallel_join(&team);
}

unsigned hawk_parallel_processors(void)
{
	cpu_set_t set;
	int count;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	count = CPU_COUNT(&set);
	if (count < 1)
		return 1;
	return count < HAWK_PARALLEL_MAX ? (unsigned)count : HAWK_PARALLEL_MAX;
}

static unsigned threads_wanted;

unsigned hawk_parallel_threads(void)
{
	return threads_wanted ? threads_wanted : hawk_parallel_processors();
}

void hawk_parallel_set_threads(unsigned threads)
{
	threads_wanted = threads < HAWK_PARALLEL_MAX ? threads : HAWK_PARALLEL_MAX;
}
