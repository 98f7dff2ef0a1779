/* SPDX-License-Identifier: Apache-2.0 */
/** @file 16 threads that allocate at the same time; every block is checked before it is freed, and
 * blocks are freed by other threads than those that made them. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 16, ROUNDS = 20000, SLOTS = 64 };

static _Atomic(unsigned char *) slots[SLOTS];
static atomic_long damaged;

static void check_and_free(unsigned char *block)
{
	if (!block)
		return;
	for (int i = 1; i < 1 + block[0] % 100; i++)
		damaged += block[i] != block[0];
	free(block);
}

static void *work(void *argument)
{
	unsigned seed = (unsigned)(size_t)argument;

	for (int i = 0; i < ROUNDS; i++) {
		unsigned char mark = (unsigned char)rand_r(&seed);
		unsigned char *block = malloc(1 + (size_t)(mark % 100));

		if (!block)
			abort();
		memset(block, mark, 1 + (size_t)(mark % 100));
		check_and_free(atomic_exchange(&slots[rand_r(&seed) % SLOTS], block));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(i + 1)))
			return 1;
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%ld bytes damaged\n", atomic_load(&damaged));
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "abort"))
		abort();
	for (size_t i = 0; i < SLOTS; i++)
		check_and_free(slots[i]);
	return damaged != 0;
}
