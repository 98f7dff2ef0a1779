/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * 65,536 lists a thread that grow at random, so that neighbours in memory are strangers; one node
 * in 50 is lost, with its payload.
 *
 *     many_lists NODES [THREADS [SPARE]]      two blocks each, payloads with SPARE more bytes; then
 *                                             it aborts
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "random.h"

enum { LISTS = 65536, PAYLOADS = 3, LOST = 50, THREADS_MAX = 16 };

struct node {
	struct node *next;
	void *payload;
	uint64_t number;
	uint64_t spare[4];
};

static struct node *lists[THREADS_MAX][LISTS];
static uint64_t nodes_a_thread;
static size_t spare_bytes;

__attribute__((noinline)) static void *new_payload(unsigned sort)
{
	switch (sort) {
	case 0:
		return malloc(24 + spare_bytes);
	case 1:
		return malloc(40 + spare_bytes);
	default:
		return malloc(72 + spare_bytes);
	}
}

__attribute__((noinline)) static struct node *new_node(uint64_t number, uint64_t random)
{
	struct node *node = calloc(1, sizeof(*node));

	if (!node)
		abort();
	node->payload = new_payload(random % PAYLOADS);
	node->number = number;
	return node;
}

static void *fill(void *to)
{
	uint64_t state = UINT64_C(88172645463325252);
	struct node **own = to;

	for (uint64_t i = 0; i < nodes_a_thread; i++) {
		uint64_t random = next_random(&state);
		struct node *node = new_node(i, random);
		struct node **list = &own[random >> 48];

		if ((random >> 8) % LOST == 0)
			continue;
		node->next = *list;
		*list = node;
	}
	return NULL;
}

/* Fills lists in threads, which end: their arenas stay. */
static void fill_in_threads(unsigned count)
{
	pthread_t threads[THREADS_MAX];

	for (unsigned i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, fill, lists[i]))
			abort();
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;

	if (threads < 1 || threads > THREADS_MAX)
		return 2;
	nodes_a_thread = (argc > 1 ? strtoull(argv[1], NULL, 10) : 0) / threads;
	spare_bytes = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	if (threads == 1)
		fill(lists[0]);
	else
		fill_in_threads(threads);
	abort();
}
