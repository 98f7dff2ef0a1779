# SPDX-License-Identifier: Apache-2.0
"""A program that leaks, caches, churns, and fills at start-up and in a burst."""

import re

from support import hawk

SECONDS = 4

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KEEP __attribute__((noinline))

struct node { struct node *next; long filler[3]; };

KEEP void *make_held(void) { return malloc(sizeof(struct node)); }
KEEP void *make_lost(void) { return malloc(200); }
KEEP void *make_startup(void) { return malloc(48); }
KEEP void *make_burst(void) { return malloc(64); }
KEEP void *make_cached(void) { return malloc(80); }
KEEP void *make_young(void) { return malloc(96); }
KEEP void *make_single(void) { return malloc(112); }
KEEP void *make_again(void) { return malloc(300); }

struct node *g_held;
void *g_startup[500], *g_burst[500], *g_cache[400], *g_work[40], *g_single, *g_again[2];
static volatile int sink;

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static KEEP void replace(void **slot, void *block)
{
	free(*slot);
	*slot = block;
}

static KEEP void wipe_stack(void)
{
	char bytes[20000];
	memset(bytes, 0, sizeof(bytes));
	sink = bytes[sink];
}

static KEEP void step(int turn, int turns)
{
	struct node *node = make_held();

	memset(node, 0, sizeof(*node));
	node->next = g_held;
	g_held = node;
	memset(make_lost(), 0, 200);
	replace(&g_work[turn % 40], make_young());
	/* A cache of a quarter of the turns, first in, first out. */
	replace(&g_cache[turn % (turns / 4)], make_cached());
	/* Of two blocks the lower one is made anew, so that it is not the oldest. */
	if (turn < 2 || turn == turns - 100) {
		free(g_again[turn == 1]);
		g_again[turn == 1] = make_again();
	}
	if (turn == turns / 2)
		for (int i = 0; i < 500; i++)
			g_burst[i] = make_burst();
}

int main(int argc, char **argv)
{
	double end = now() + atof(argv[1]), step_seconds = atof(argv[1]) / 1600, next = now();
	double last = next, longest = 0;
	char text[32];

	(void)argc;
	for (int i = 0; i < 500; i++)
		g_startup[i] = make_startup();
	for (int turn = 0; now() < end && turn < 1600; turn++) {
		step(turn, 1600);
		if (turn == 700)
			g_single = make_single();
		next += step_seconds;
		while (now() < next)
			usleep(300);
		longest = now() - last > longest ? now() - last : longest;
		last = now();
	}
	wipe_stack();
	if (write(1, text, (size_t)snprintf(text, sizeof(text), "longest %.3f\n", longest)) < 1)
		return 1;
	abort();
}
"""


def build(folder):
    return hawk.compile_text(folder, "growth", SOURCE, flags=["-O1"])


def crash(folder, program, seconds=SECONDS):
    """A life without a pause that would be seen in it, on a machine that has other things to do, too."""
    for _ in range(4):
        core, done = hawk.crash([program, str(seconds)], hawk.tracer_environment(), folder)
        longest = re.search(r"longest ([\d.]+)", done.stdout)
        if not longest or float(longest.group(1)) < seconds / 32:
            break
    return core
