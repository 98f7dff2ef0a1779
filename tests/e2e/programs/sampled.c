/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Known numbers of live and of freed blocks from one function each, by THREADS threads, for
 * comparing a sample with what really was.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))

enum { THREADS = 4, KEPT_MAX = 40000 };

struct keep {
	void *blocks[KEPT_MAX];
	int count;
};

static struct keep keeps[THREADS];

static void keep(struct keep *to, void *block)
{
	to->blocks[to->count++] = block;
}

NOINLINE void make_small(struct keep *to)
{
	for (int i = 0; i < 20000; i++)
		keep(to, malloc((size_t)(16 + i % 33)));
}

NOINLINE void make_medium(struct keep *to)
{
	for (int i = 0; i < 3000; i++)
		keep(to, malloc((size_t)(1000 + i % 1000)));
}

NOINLINE void make_huge(struct keep *to)
{
	for (int i = 0; i < 4; i++)
		keep(to, malloc(4 << 20));
}

NOINLINE void make_empty(struct keep *to)
{
	for (int i = 0; i < 10000; i++)
		keep(to, malloc(0));
}

NOINLINE void make_grown(struct keep *to)
{
	for (int i = 0; i < 500; i++) {
		void *block = malloc(100);

		for (size_t size = 200; size <= 3200; size *= 2)
			block = realloc(block, size);
		keep(to, block);
	}
}

NOINLINE void make_temporary(void)
{
	for (int i = 0; i < 100000; i++) {
		void *block = malloc((size_t)(64 + i % 64));

		__asm__ volatile("" : "+r"(block));
		free(block);
	}
}

static void *run(void *argument)
{
	make_small(argument);
	make_medium(argument);
	make_huge(argument);
	make_empty(argument);
	make_grown(argument);
	make_temporary();
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run, &keeps[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	puts("done");
	fflush(stdout);
	abort();
}
