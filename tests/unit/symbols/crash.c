/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Dies inside a callback of the C library, below a recursion with frames of changing size, in one
 * of the ways that make unwinding hard (or waits there); three more threads wait.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *way;
static pthread_barrier_t ready;
static char other_stack[65536];
static volatile int sink;

__attribute__((noinline)) static void die(void)
{
	if (strcmp(way, "abort") == 0)
		abort();
	if (strcmp(way, "null") == 0)
		*(volatile int *)16 = 1;
	if (strcmp(way, "call-null") == 0)
		((void (*volatile)(void))0)();
	if (strcmp(way, "call-nowhere") == 0)
		((void (*volatile)(void))0x1234567812)();
	if (strcmp(way, "trap") == 0)
		__builtin_trap();
	if (strcmp(way, "handler") == 0 || strcmp(way, "other-stack") == 0)
		raise(SIGUSR1);
	if (strcmp(way, "fault-handler") == 0)
		*(volatile int *)32 = 1;
	if (strcmp(way, "wait") == 0)
		pause();
	sink++;
}

__attribute__((noinline)) static int compare(const void *a, const void *b)
{
	die();
	return *(const int *)a - *(const int *)b;
}

static void handle(int number)
{
	volatile char frame[300];

	memset((void *)frame, number, sizeof(frame));
	abort();
}

static void *wait_here(void *how)
{
	pthread_barrier_wait(&ready);
	for (;;) {
		if (how)
			pause();
		else
			sleep(100);
	}
	return NULL;
}

__attribute__((noinline)) static int recurse(int depth, int *values)
{
	volatile char frame[depth % 7 * 16 + 1];

	frame[0] = (char)depth;
	if (depth == 0) {
		qsort(values, 4, sizeof(*values), compare);
		return 0;
	}
	return recurse(depth - 1, values) + frame[0];
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = handle};
	stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof(other_stack)};
	int values[4] = {3, 1, 2, 0};

	way = argc > 1 ? argv[1] : "";
	if (strcmp(way, "other-stack") == 0) {
		sigaltstack(&stack, NULL);
		action.sa_flags = SA_ONSTACK;
	}
	sigaction(SIGUSR1, &action, NULL);
	if (strcmp(way, "fault-handler") == 0)
		sigaction(SIGSEGV, &action, NULL);
	pthread_barrier_init(&ready, NULL, 4);
	for (int i = 0; i < 3; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, wait_here, i ? &ready : NULL);
	}
	pthread_barrier_wait(&ready);
	usleep(100000);
	return recurse(12, values);
}
