/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Blocks of 1,000 bytes, then a pause of two seconds, then blocks of 3,000 bytes, and abort(). The
 * clock is read all the time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BLOCKS = 200, READINGS = 1000, PAUSE_SECONDS = 4 };

static void *volatile kept[2 * BLOCKS];

static void read_clocks(void)
{
	for (int i = 0; i < READINGS; i++) {
		struct timespec now;

		clock_gettime(CLOCK_MONOTONIC, &now);
	}
}

static void make_old(void)
{
	for (int i = 0; i < BLOCKS; i++)
		kept[i] = malloc(1000);
}

static void make_young(void)
{
	for (int i = BLOCKS; i < 2 * BLOCKS; i++)
		kept[i] = malloc(3000);
}

int main(void)
{
	const struct timespec pause = {.tv_sec = PAUSE_SECONDS};

	read_clocks();
	make_old();
	nanosleep(&pause, NULL);
	read_clocks();
	make_young();
	abort();
}
