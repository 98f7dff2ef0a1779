/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Takes and touches memory until it is killed, or there is no more.
 */
#include <stdlib.h>
#include <string.h>

static __attribute__((noinline)) void *hog_site(size_t bytes)
{
	void *block = malloc(bytes);

	if (!block)
		exit(3);
	memset(block, 1, bytes);
	return block;
}

static void *volatile keep[1 << 20];

int main(void)
{
	for (unsigned long i = 0;; i++)
		keep[i % (1 << 20)] = hog_site(10000);
}
