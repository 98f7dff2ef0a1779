// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * Structures of blocks from several sites, kept or lost as the first argument says, for what
 * analyze says of suspects and of what they retain. Ends with abort().
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define KEEP __attribute__((noinline))

enum { NODES = 400 };

struct node {
	struct node *next;
	void *payload;
	long filler[2];
};

struct entry {
	void *body;
	long filler[5];
};

#define MAKER(type, name, count, bytes)                                                            \
	KEEP type *name(void)                                                                      \
	{                                                                                          \
		return calloc(count, bytes);                                                       \
	}
MAKER(struct node, make_node, 1, sizeof(struct node))
MAKER(struct node, make_other, 1, sizeof(struct node))
MAKER(struct node, make_third, 1, sizeof(struct node))
MAKER(void, make_payload, 1, 500)
MAKER(struct node *, make_table, NODES, sizeof(struct node *))
MAKER(struct entry, make_entry, 1, sizeof(struct entry))
MAKER(void, make_body, 1, 1 << 20)

static volatile int g_entries = 2; /* one call for all of them */
static void *volatile g_kept[4];
static char *volatile g_inside;
static void *volatile g_scratch;

static KEEP struct node *make_list(struct node *(*make)(void), int payloads)
{
	struct node *first = NULL;

	for (int i = 0; i < NODES; i++) {
		struct node *node = make();

		node->next = first;
		node->payload = payloads ? make_payload() : NULL;
		first = node;
	}
	return first;
}

/** Rings of so many nodes from two or three sites in turn, each ring beginning with another one. */
static KEEP void lose_rings(int nodes, int sites)
{
	struct node *(*const make[])(void) = {make_node, make_other, make_third};

	for (int ring = 0; ring < NODES / nodes; ring++) {
		struct node *first = NULL, *last = NULL;

		for (int i = 0; i < nodes; i++) {
			struct node *node = make[(ring + i) % sites]();

			node->payload = make_payload();
			if (last)
				last->next = node;
			else
				first = node;
			last = node;
		}
		last->next = first;
	}
}

static KEEP void make_shape(const char *shape)
{
	if (!strcmp(shape, "blocks")) {
		for (int i = 0; i < NODES; i++)
			memset(make_payload(), 1, 500);
	} else if (!strcmp(shape, "list")) {
		g_scratch = make_list(make_node, 1);
	} else if (!strcmp(shape, "kept")) {
		g_kept[0] = make_list(make_node, 1);
	} else if (!strcmp(shape, "table")) {
		struct node **table = make_table();

		for (int i = 0; i < NODES; i++) {
			table[i] = make_node();
			table[i]->payload = make_payload();
		}
	} else if (!strcmp(shape, "ring")) {
		lose_rings(NODES, 2);
	} else if (!strcmp(shape, "rings")) {
		lose_rings(5, 3);
	} else if (!strcmp(shape, "pairs")) {
		lose_rings(2, 2);
	} else if (!strcmp(shape, "some")) { /* many of them are kept, and one loses payloads */
		for (int i = 0; i < NODES / 4; i++) {
			struct node *node = make_node();

			node->next = g_kept[0];
			if (i == NODES / 8)
				node->payload = make_list(make_other, 1);
			else
				g_kept[0] = node;
			g_scratch = node;
		}
	} else if (!strcmp(shape, "two")) { /* two structures of one payload */
		g_scratch = make_list(make_node, 1);
		g_scratch = make_list(make_other, 1);
	} else if (!strcmp(shape, "inside")) { /* only to the inside */
		g_inside = (char *)make_list(make_node, 1) + 24;
	} else if (!strcmp(shape, "shared")) { /* two entries of a table share a body */
		struct node **table = make_table();
		void *body = make_body();

		for (int i = 0; i < g_entries; i++) {
			struct entry *entry = make_entry();

			entry->body = body;
			table[i] = (struct node *)entry;
		}
		g_kept[0] = table;
	} else {
		exit(2);
	}
	g_scratch = NULL;
}

static void *run(void *shape)
{
	make_shape(shape);
	return NULL;
}

/* A thread that has ended leaves no pointers on a stack or in registers. */
int main(int argc, char **argv)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, argc > 1 ? argv[1] : "") ||
	    pthread_join(thread, NULL))
		return 2;
	abort();
}
