/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Blocks of argv[1] bytes: 1,000 are known by their ends only, 1,000 are lost, and behind each of
 * these another block was freed, whose address its allocator remembers. Then abort().
 */
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 1000 };

#define SITE __attribute__((noinline, noclone))

static char *volatile g_ends[BLOCKS];

SITE static char *site_end(size_t size)
{
	return (char *)malloc(size) + size;
}

SITE static void *site_lost(size_t size)
{
	return malloc(size);
}

SITE static void lose(size_t size)
{
	void **freed = malloc(BLOCKS * sizeof(*freed));

	for (int i = 0; i < BLOCKS; i++) {
		memset(site_lost(size), 1, size);
		freed[i] = malloc(size);
	}
	for (int i = 0; i < BLOCKS; i++)
		free(freed[i]);
	memset(freed, 0, BLOCKS * sizeof(*freed));
	free(freed);
}

int main(int count, char **arguments)
{
	size_t size = count > 1 ? strtoul(arguments[1], NULL, 10) : 32;

	for (int i = 0; i < BLOCKS; i++)
		g_ends[i] = site_end(size);
	lose(size);
	abort();
}
