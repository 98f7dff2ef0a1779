/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Threads that enter and leave scopes in every way, name types and exit inside of scopes, while
 * signal handlers do the same at any instruction. Prints how often each tag was entered, then
 * aborts.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hawk_annotate.h"

enum {
	THREADS = 8,
	ROUNDS = 20000,
	TAGS = 5,
	SIGNAL_BYTES = 900, /* nothing else is so large, with a header or without */
};

static const char *const tags[TAGS] = {"walk", "jump", "exit", "handler", "typed"};
static uint64_t entered[TAGS];
static volatile int done;

static void count(int tag)
{
	__atomic_fetch_add(&entered[tag], 1, __ATOMIC_RELAXED);
}

/**
 * The allocator's functions may not be called from handlers. Here they may, as glibc is made: each
 * thread keeps a freed block of this size, which handlers take without a lock, until it exits.
 */
static __thread volatile int may_allocate;

static void on_signal(int number)
{
	HAWK_SCOPE("handler");
	void *block = may_allocate ? malloc(SIGNAL_BYTES) : NULL;

	(void)number;
	count(3);
	if (block)
		hawk_annotate_type(block, "signal");
	free(block);
}

static __attribute__((noinline)) void walk(int depth)
{
	HAWK_SCOPE("walk");
	char *block = malloc((size_t)depth * 16 + 1);

	count(0);
	if (!block)
		abort();
	block[0] = 1;
	if (depth)
		walk(depth - 1);
	free(block);
}

static __attribute__((noinline)) void jump(jmp_buf *back, int depth)
{
	HAWK_SCOPE("jump");

	count(1);
	free(malloc(100));
	if (depth)
		jump(back, depth - 1);
	else if (!done)
		longjmp(*back, 1);
}

static __attribute__((noinline)) void type_something(void **slot, unsigned round)
{
	HAWK_SCOPE("typed");

	count(4);
	free(*slot);
	*slot = malloc(200);
	hawk_annotate_type(*slot, round % 2 ? "odd" : "even");
	if (round % 3 == 0)
		hawk_annotate_type(*slot, "third");
	if (round % 5 == 0)
		*slot = realloc(*slot, 300);
}

static void block_signal(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(how, &set, NULL);
}

static void *work(void *argument)
{
	void *slot = NULL;
	jmp_buf back;

	(void)argument;
	block_signal(SIG_BLOCK);
	free(malloc(SIGNAL_BYTES));
	may_allocate = 1;
	block_signal(SIG_UNBLOCK);
	for (volatile unsigned round = 0; round < ROUNDS; round++) {
		walk((int)(round % 7));
		if (!setjmp(back))
			jump(&back, (int)(round % 4));
		type_something(&slot, round);
	}
	HAWK_SCOPE("exit");
	count(2);
	may_allocate = 0;
	pthread_exit(slot);
}

/** Threads that live for a moment, so that slots change hands. */
static void *live_shortly(void *argument)
{
	HAWK_SCOPE("exit");

	(void)argument;
	count(2);
	free(malloc(50));
	return NULL;
}

static void *disturb(void *threads)
{
	unsigned i = 0;

	while (!done) {
		pthread_kill(((pthread_t *)threads)[i++ % THREADS], SIGUSR1);
		usleep(1);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS], disturber, short_lived;
	void *kept;

	signal(SIGUSR1, on_signal);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			abort();
	if (pthread_create(&disturber, NULL, disturb, threads))
		abort();
	for (int i = 0; i < 200; i++) {
		if (pthread_create(&short_lived, NULL, live_shortly, NULL))
			abort();
		pthread_join(short_lived, NULL);
	}
	/* Nobody may be disturbed who has been joined. */
	while (__atomic_load_n(&entered[4], __ATOMIC_RELAXED) < THREADS * ROUNDS)
		usleep(1000);
	done = 1;
	pthread_join(disturber, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], &kept);
	for (int i = 0; i < TAGS; i++)
		printf("%s %llu\n", tags[i], (unsigned long long)entered[i]);
	fflush(stdout);
	abort();
}
