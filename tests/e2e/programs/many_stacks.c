/* SPDX-License-Identifier: Apache-2.0 */
/** @file 2^17 different stacks: a walk through a binary tree of two functions, a block at each
 * leaf. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 17 };

static char *volatile kept[1 << LEVELS];
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
	left(LEVELS);
	printf("%u blocks\n", count);
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "abort"))
		abort();
	return 0;
}
