/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table in a variable of main(), whose small nodes hold large buffers. A register has a copy
 * of a pointer to a node when the process dies. */
#include <stdlib.h>
#include <string.h>

enum { NODES = 200, BUFFER_BYTES = 16000 };

struct node {
	struct node *next;
	char *buffer;
};

struct table {
	struct node *first, **buckets;
};

static __attribute__((noinline)) char *reserve(void)
{
	char *buffer = malloc(BUFFER_BYTES);

	*(volatile char *)buffer = 1;
	return buffer;
}

static __attribute__((noinline)) void add(struct table *table, size_t number)
{
	struct node *node = malloc(sizeof(*node));

	node->buffer = reserve();
	node->next = table->first;
	table->first = table->buckets[number] = node;
}

int main(void)
{
	struct table table = {.buckets = calloc(NODES, sizeof(struct node *))};
	register struct node *copy __asm__("r12");

	for (size_t i = 0; i < NODES; i++)
		add(&table, i);
	copy = table.buckets[NODES / 2];
	__asm__ volatile("movl $0, 0" : : "r"(&table), "r"(copy) : "memory");
}
