/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * COUNT different stacks of FRAMES frames, at the end of each of them a block that is freed at
 * once: what a stack costs that was never seen before, or that finds no room.
 *
 *     bench_plain_stacks [COUNT [FRAMES]]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void *volatile kept;

static void right(uint64_t path, int frames);

static __attribute__((noinline)) void allocate(void)
{
	void *block = malloc(40);

	kept = block;
	free(block);
}

static __attribute__((noinline)) void left(uint64_t path, int frames)
{
	if (!frames)
		allocate();
	else if (path >> (frames & 63) & 1)
		right(path, frames - 1);
	else
		left(path, frames - 1);
	__asm__ volatile("" : : : "memory"); /* not a tail call */
}

static __attribute__((noinline)) void right(uint64_t path, int frames)
{
	if (!frames)
		allocate();
	else if (path >> (frames & 63) & 1)
		right(path, frames - 1);
	else
		left(path, frames - 1);
	__asm__ volatile("" : : : "memory");
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 1000000;
	int frames = argc > 2 ? atoi(argv[2]) : 100;
	uint64_t path = 1;

	for (int i = 0; i < count; i++) {
		path = path * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		left(path ^ path >> 32, frames);
	}
	printf("%d stacks\n", count);
	return 0;
}
