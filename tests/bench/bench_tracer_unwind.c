/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What a stack costs: nothing changed, a few new frames, a whole walk with warm rules, cold rules.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "unwind/unwind.h"

/* Finding modules without a log: what it costs to keep one is not measured here. */
bool hawk_modules_find(uint64_t pc, struct hawk_code_range *ret)
{
	struct dl_find_object object;

	if (_dl_find_object((void *)pc, &object))
		return false;
	*ret = (struct hawk_code_range){(uint64_t)object.dlfo_map_start,
					(uint64_t)object.dlfo_map_end,
					(uint64_t)object.dlfo_eh_frame};
	return true;
}

uint32_t hawk_modules_generation(void)
{
	return 0;
}

#define NOINLINE       __attribute__((noinline))
#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

enum { REPEATS = 9, WALKS = 20000, COLD_WALKS = 200 };

static struct hawk_stack stack;
static struct hawk_walk_result result;
static volatile uint32_t sink;

enum kind {
	HIT,       /**< the same stack again and again */
	TWO_SITES, /**< the leaf's caller changes every time */
	WARM,      /**< nothing remembered but rules */
	STATELESS,
	COLD, /**< not even rules */
	KINDS
};
static const char *const kind_names[] = {"hit", "two sites", "warm walk", "stateless", "cold walk"};

static NOINLINE void walk_here(void)
{
	struct hawk_frame_state start = {
		.pc = (uint64_t)__builtin_return_address(0),
		.sp = (uint64_t)__builtin_dwarf_cfa(),
		.bp = *(const uint64_t *)__builtin_frame_address(0),
	};

	hawk_walk(&stack, &start, &result);
	sink += (uint32_t)result.hash;
}

static NOINLINE void walk_statelessly_here(void)
{
	static uint64_t pcs[HAWK_STACK_FRAMES];
	struct hawk_frame_state start = {
		.pc = (uint64_t)__builtin_return_address(0),
		.sp = (uint64_t)__builtin_dwarf_cfa(),
		.bp = *(const uint64_t *)__builtin_frame_address(0),
	};

	hawk_walk_stateless(&start, pcs, HAWK_STACK_FRAMES, &result);
	sink += (uint32_t)result.hash;
}

static NOINLINE void first_site(void)
{
	walk_here();
	NO_TAIL_CALL();
}

static NOINLINE void second_site(void)
{
	walk_here();
	NO_TAIL_CALL();
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static NOINLINE void run(enum kind kind, int walks)
{
	for (int i = 0; i < walks; i++) {
		switch (kind) {
		case TWO_SITES:
			if (i & 1)
				first_site();
			else
				second_site();
			break;
		case STATELESS:
			walk_statelessly_here();
			break;
		case COLD:
			hawk_unwind_invalidate();
			walk_here();
			break;
		case WARM:
			/* One frame is left, of no stack; what is readable stays known. */
			stack.count = 1;
			stack.frames[0].state.sp = 0;
			walk_here();
			break;
		default:
			walk_here();
		}
	}
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static NOINLINE void measure(void)
{
	run(HIT, 10);
	printf("%5u", result.count);
	for (int kind = 0; kind < KINDS; kind++) {
		int walks = kind == COLD ? COLD_WALKS : WALKS;
		double times[REPEATS];

		for (int i = 0; i < REPEATS; i++) {
			double start = now_ns();

			run((enum kind)kind, walks);
			times[i] = (now_ns() - start) / walks;
		}
		qsort(times, REPEATS, sizeof(times[0]), compare);
		printf("  %9.1f (%5.2f)", times[REPEATS / 2], times[REPEATS / 2] / result.count);
	}
	putchar('\n');
}

static NOINLINE void recurse(int depth)
{
	volatile int local[4] = {depth};

	if (depth)
		recurse(depth - 1);
	else
		measure();
	sink += (uint32_t)local[0];
}

int main(void)
{
	static const int depths[] = {8, 16, 32, 64, 128, 256};

	hawk_unwind_options.depth = HAWK_STACK_FRAMES;
	if (!hawk_unwind_init()) {
		fputs("no memory\n", stderr);
		return 1;
	}
	printf("ns per walk (per frame), medians of %d\nframes", REPEATS);
	for (int kind = 0; kind < KINDS; kind++)
		printf("  %17s", kind_names[kind]);
	putchar('\n');
	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		/* measure(), run() and walk's caller count, too. */
		recurse(depths[i] > 6 ? depths[i] - 6 : 0);
	}
	return 0;
}
