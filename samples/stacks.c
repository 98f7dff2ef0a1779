/* SPDX-License-Identifier: Apache-2.0 */
/** @file Stacks of other sorts: threads with the smallest stack allowed, and coroutines that switch
 * by swapcontext() in the middle of their work. */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { COROUTINES = 8, SWITCHES = 200, STACK_BYTES = 16384 };

static ucontext_t main_context, contexts[COROUTINES];
static char stacks[COROUTINES][STACK_BYTES] __attribute__((aligned(4096)));
static char *kept[COROUTINES][SWITCHES];

__attribute__((noinline)) static void *allocate_here(size_t size)
{
	void *block = malloc(size);

	return block ? memset(block, 1, size) : NULL;
}

static void run_coroutine(int self)
{
	for (int i = 0; i < SWITCHES; i++) {
		kept[self][i] = allocate_here((size_t)self * 16 + 8);
		swapcontext(&contexts[self], &main_context);
	}
}

static void *run_on_small_stack(void *argument)
{
	for (int i = 0; i < 100; i++)
		free(allocate_here((size_t)i + 1));
	return argument;
}

int main(int argc, char **argv)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN);
	for (int i = 0; i < 10; i++) {
		if (pthread_create(&thread, &attributes, run_on_small_stack, NULL))
			return 1;
		pthread_join(thread, NULL);
	}
	for (int i = 0; i < COROUTINES; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks[i];
		contexts[i].uc_stack.ss_size = STACK_BYTES;
		contexts[i].uc_link = &main_context;
		makecontext(&contexts[i], (void (*)(void))run_coroutine, 1, i);
	}
	for (int i = 0; i < COROUTINES * SWITCHES; i++)
		swapcontext(&main_context, &contexts[i % COROUTINES]);
	printf("%d blocks on %d stacks\n", COROUTINES * SWITCHES, COROUTINES);
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "abort"))
		abort();
	return 0;
}
