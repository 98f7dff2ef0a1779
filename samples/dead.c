/* SPDX-License-Identifier: Apache-2.0 */
/** @file Blocks that are dead: 2000 made by make_doomed() and freed, 10 made by make_kept(). No
 * allocator may make the dead ones look alive. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOOMED = 2000, KEPT = 10 };

static char *doomed[DOOMED], *kept[KEPT];

__attribute__((noinline)) static char *make_doomed(size_t size)
{
	char *volatile block = malloc(size);

	return block;
}

__attribute__((noinline)) static char *make_kept(size_t size)
{
	char *volatile block = calloc(1, size);

	return block;
}

int main(int argc, char **argv)
{
	for (int i = 0; i < DOOMED; i++)
		doomed[i] = make_doomed(16 + (size_t)i);
	for (int i = 0; i < KEPT; i++)
		kept[i] = make_kept(100);
	for (int i = 0; i < DOOMED; i++)
		free(doomed[i]);
	printf("%d freed, %d kept\n", DOOMED, KEPT);
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "abort"))
		abort();
	return 0;
}
