/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * 2^17 different stacks: walks through a binary tree of two functions, a block at each leaf.
 *
 *     many_stacks [abort [WALKS]]     WALKS: 1 to 8
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 17, WALKS_MAX = 8 };

static char *volatile kept[WALKS_MAX << LEVELS];
static unsigned count;

static void left(int level);

__attribute__((noinline)) static void right(int level)
{
	if (level == 0) {
		kept[count++] = malloc(24);
		return;
	}
	left(level - 1);
	right(level - 1);
	__asm__ volatile("" : : : "memory"); /* not a tail call */
}

__attribute__((noinline)) static void left(int level)
{
	if (level == 0) {
		kept[count++] = malloc(40);
		return;
	}
	left(level - 1);
	right(level - 1);
	__asm__ volatile("" : : : "memory");
}

int main(int argc, char **argv)
{
	int walks = argc > 2 ? atoi(argv[2]) : 1;

	for (int i = 0; i < walks && i < WALKS_MAX; i++)
		left(LEVELS);
	printf("%u blocks\n", count);
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "abort"))
		abort();
	return 0;
}
