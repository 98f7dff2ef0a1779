/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The smallest leak: 100 blocks of 64 bytes made by forget_block() under do_work(), never freed.
 *
 * Every one-idea program here prints what it did, exits with 0, and with the argument `abort` dies
 * by abort() at the moment when its blocks are live.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static void forget_block(int number)
{
	char *volatile block = malloc(64);

	if (block)
		memset(block, number, 64);
}

__attribute__((noinline)) static void do_work(void)
{
	for (int i = 0; i < 100; i++) {
		char *volatile fine = malloc(500);

		forget_block(i);
		free(fine);
	}
}

int main(int argc, char **argv)
{
	do_work();
	puts("100 blocks forgotten");
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "abort"))
		abort();
	return 0;
}
