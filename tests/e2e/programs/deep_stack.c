/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Recursion that overflows the stack, or that stops at a depth and aborts: one function, three in
 * turn, or in an order that never repeats.
 *
 *     deep_stack WAY CALLS                 in the first thread
 *     deep_stack WAY CALLS thread          in another one
 *     deep_stack WAY CALLS BELOW -         BELOW calls of something else at the inner end
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long left;
static unsigned long random_state = 1;
static volatile unsigned sink;
static void *volatile held;

static unsigned long below;

/** The end lies that many calls of another function below the recursion. */
__attribute__((noinline)) static void descend(unsigned long depth)
{
	if (depth)
		descend(depth - 1);
	else
		abort();
	sink++;
}

static void end(void)
{
	if (left-- == 0)
		descend(below);
}

__attribute__((noinline)) static void alone(void)
{
	volatile char local[8] = {0};

	end();
	alone();
	sink += local[0];
}

/** Touches its own end first: dies with the stack pointer below the stack. */
__attribute__((noinline)) static void wide(void)
{
	volatile char local[3000];

	local[0] = 1;
	end();
	wide();
	sink += local[0];
}

static void handler(int number)
{
	void *volatile block = malloc(4242);

	(void)number;
	memset(block, 1, 4242);
	abort();
}

/** What a service does that wants to report its own overflow. */
__attribute__((noinline)) static void wide_with_handler(void)
{
	static char other_stack[64 << 10];
	stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof(other_stack)};
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};

	sigaltstack(&stack, NULL);
	sigaction(SIGSEGV, &action, NULL);
	wide();
	sink++;
}

static void ping(void);

__attribute__((noinline)) static void pang(void)
{
	end();
	ping();
	sink++;
}

__attribute__((noinline)) static void pong(void)
{
	end();
	pang();
	sink++;
}

__attribute__((noinline)) static void ping(void)
{
	end();
	pong();
	sink++;
}

static void left_side(void);

__attribute__((noinline)) static void right_side(void)
{
	end();
	random_state = random_state * 6364136223846793005UL + 1442695040888963407UL;
	if (random_state >> 63)
		left_side();
	else
		right_side();
	sink++;
}

__attribute__((noinline)) static void left_side(void)
{
	end();
	random_state = random_state * 6364136223846793005UL + 1442695040888963407UL;
	if (random_state >> 63)
		left_side();
	else
		right_side();
	sink += 2;
}

__attribute__((noinline)) static void *begin_recursion(void *way)
{
	void *volatile mine = malloc(777);

	memset(mine, 1, 777);
	if (!strcmp(way, "alone"))
		alone();
	else if (!strcmp(way, "wide"))
		wide();
	else if (!strcmp(way, "handled"))
		wide_with_handler();
	else if (!strcmp(way, "three"))
		ping();
	else
		left_side();
	held = mine;
	return NULL;
}

__attribute__((noinline)) static void serve(char *way)
{
	begin_recursion(way);
	sink++;
}

int main(int count, char **arguments)
{
	pthread_t thread;

	left = strtoul(arguments[2], NULL, 0);
	if (count > 4)
		below = strtoul(arguments[3], NULL, 0);
	if (count != 4) {
		serve(arguments[1]);
		return 0;
	}
	pthread_create(&thread, NULL, begin_recursion, arguments[1]);
	pthread_join(thread, NULL);
	return 0;
}
