/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Parts on threads.
 */
#include "hawk_parallel.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

struct part {
	hawk_parallel_function *function;
	void *context;
	unsigned number;
	pthread_t thread;
	bool started;
};

static void *run_part(void *argument)
{
	struct part *part = argument;

	part->function(part->context, part->number);
	return NULL;
}

void hawk_parallel_run(unsigned parts, hawk_parallel_function *function, void *context)
{
	struct part items[HAWK_PARALLEL_MAX];

	assert(parts <= HAWK_PARALLEL_MAX);
	for (unsigned i = 1; i < parts; i++) {
		items[i] = (struct part){.function = function, .context = context, .number = i};
		items[i].started = !pthread_create(&items[i].thread, NULL, run_part, &items[i]);
	}
	if (parts)
		function(context, 0);
	for (unsigned i = 1; i < parts; i++)
		if (!items[i].started)
			function(context, i);
	for (unsigned i = 1; i < parts; i++)
		if (items[i].started)
			pthread_join(items[i].thread, NULL);
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
