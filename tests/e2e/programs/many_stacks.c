/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * 2^LEVELS different stacks: walks through a binary tree of two functions, a block at each leaf.
 *
 *     many_stacks [abort|exit [WALKS [LEVELS]]]     1 to 8, and 1 to 17; of one walk: 1 to 20
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 17, BLOCKS_MAX = 8 << LEVELS };

static char *volatile kept[BLOCKS_MAX];
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
	int levels = argc > 3 ? atoi(argv[3]) : LEVELS;

	for (int i = 0; i < walks && count + (1U << levels) <= BLOCKS_MAX; i++)
		left(levels);
	printf("%u blocks\n", count);
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "abort"))
		abort();
	return 0;
}
