/* SPDX-License-Identifier: Apache-2.0 */
/** @file realloc in all its forms, beginning with the very first allocation of the program. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *first;

__attribute__((constructor)) static void allocate_first(void)
{
	first = realloc(NULL, 10);
}

static int grows_and_shrinks(void)
{
	size_t size = 1;
	unsigned char *block = realloc(NULL, size);

	if (!block)
		return 0;
	block[0] = 7;
	for (int i = 0; i < 200; i++) {
		size_t next = (size * 7 + (size_t)i * 131) % 100000 + 1;
		size_t kept = size < next ? size : next;

		block = realloc(block, next);
		if (!block)
			return 0;
		for (size_t j = 0; j < kept; j++)
			if (block[j] != 7)
				return 0;
		memset(block, 7, next);
		size = next;
	}
	free(block);
	return 1;
}

/* Returns 0, or which expectation failed. */
static int refuses_the_impossible(void)
{
	volatile size_t huge = SIZE_MAX - 8;
	volatile size_t half = SIZE_MAX / 2;
	char *block = malloc(16);

	if (!block)
		return 1;
	strcpy(block, "still here");
	errno = 0;
	if (realloc(block, huge) || errno != ENOMEM)
		return 2;
	errno = 0;
	if (reallocarray(block, half, 4) || errno != ENOMEM)
		return 3;
	errno = 0;
	if (malloc(huge) || errno != ENOMEM)
		return 4;
	errno = 0;
	if (calloc(half, 4) || errno != ENOMEM)
		return 5;
	if (strcmp(block, "still here"))
		return 6;
	errno = 77;
	free(block);
	return errno == 77 ? 0 : 7;
}

int main(void)
{
	int failed = refuses_the_impossible();
	int ok = first && grows_and_shrinks() && !failed;
	char *block = malloc(10);

	free(realloc(block, 0)); /* glibc frees and returns NULL, others return a block */
	first = reallocarray(first, 10, 10);
	free(first);
	printf("%s, %d\n", ok ? "all as expected" : "bad", failed);
	return !ok;
}
