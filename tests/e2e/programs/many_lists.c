/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * 65,536 lists that grow at random, so that neighbours in memory are strangers; one node in 50 is
 * lost, with its payload.
 *
 *     many_lists NODES      two blocks each; then it aborts
 */
#include <stdint.h>
#include <stdlib.h>

#include "random.h"

enum { LISTS = 65536, PAYLOADS = 3, LOST = 50 };

struct node {
	struct node *next;
	void *payload;
	uint64_t number;
	uint64_t spare[4];
};

static struct node *lists[LISTS];

__attribute__((noinline)) static void *new_payload(unsigned sort)
{
	switch (sort) {
	case 0:
		return malloc(24);
	case 1:
		return malloc(40);
	default:
		return malloc(72);
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

int main(int argc, char **argv)
{
	uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	uint64_t state = UINT64_C(88172645463325252);

	for (uint64_t i = 0; i < count; i++) {
		uint64_t random = next_random(&state);
		struct node *node = new_node(i, random);
		struct node **list = &lists[random >> 48];

		if ((random >> 8) % LOST == 0)
			continue;
		node->next = *list;
		*list = node;
	}
	abort();
}
