/* SPDX-License-Identifier: Apache-2.0 */
/** @file Allocations of 70000 + N bytes at the ends of various C call chains, then abort(). */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))
#define KEEP()   __asm__ volatile("" : : : "memory")

static void *volatile kept[16];

NOINLINE static void plain_leaf(int number)
{
	kept[number] = malloc(70000u + (unsigned)number);
	KEEP();
}

NOINLINE static void plain_middle(int number)
{
	plain_leaf(number);
	KEEP();
}

__attribute__((always_inline)) static inline void inlined_leaf(int number)
{
	kept[number] = calloc(1, 70000u + (unsigned)number);
	KEEP();
}

__attribute__((always_inline)) static inline void inlined_middle(int number)
{
	KEEP();
	inlined_leaf(number);
}

NOINLINE static void around_inlined(int number)
{
	inlined_middle(number);
	KEEP();
}

NOINLINE static int recursive(int depth, int number)
{
	int result;

	if (depth == 0) {
		plain_leaf(number);
		return 0;
	}
	result = recursive(depth - 1, number) + 1;
	KEEP();
	return result;
}

static int compare(const void *a, const void *b)
{
	if (!kept[3])
		kept[3] = realloc(NULL, 70003);
	return *(const int *)a - *(const int *)b;
}

NOINLINE static void with_alloca(int size)
{
	volatile char *space = __builtin_alloca((size_t)size);

	space[0] = 1;
	plain_middle(4);
	space[1] = 1;
}

static void on_signal(int number)
{
	(void)number;
	plain_middle(5);
}

static void *in_thread(void *argument)
{
	plain_middle(6);
	return argument;
}

int main(void)
{
	int numbers[] = {3, 1, 2};
	pthread_t thread;

	plain_middle(0);
	around_inlined(1);
	recursive(7, 2);
	qsort(numbers, 3, sizeof(numbers[0]), compare);
	with_alloca(1000 + numbers[0]);
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	pthread_create(&thread, NULL, in_thread, NULL);
	pthread_join(thread, NULL);
	abort();
}
