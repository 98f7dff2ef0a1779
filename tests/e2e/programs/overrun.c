/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writes beyond the end of blocks, over the headers of the next ones, loses one block, and dies.
 *
 *     overrun              one header
 *     overrun keep COUNT   so many headers, and loses no block
 *     overrun full COUNT   the same after more stacks than a small table has room for
 *     overrun idle         40 headers, with 100 threads that do nothing; waits for a signal
 *     overrun fork COUNT   in each of CHILDREN forked children, of a parent whose other threads
 *                          allocate all the time. Each dies in a folder of its own, 0, 1, ...
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "paths.h"

enum {
	IDLE_THREADS = 100,
	IDLE_OVERWRITTEN = 40,
	BUSY_THREADS = 8,
	CHILDREN = 8,
	BLOCK_BYTES = 1000,
	KEPT_BYTES = 5000,
	PATH_BITS = 17,
};

static void *volatile kept[2 * IDLE_OVERWRITTEN];
static void *volatile busy[BUSY_THREADS];

/** Each of these blocks fills what the allocator gave, up to the next header. */
static bool overwrite(int count)
{
	for (int i = 0; i < 2 * count; i++) {
		kept[i] = malloc(BLOCK_BYTES);
		if (!kept[i])
			return false;
	}
	for (int i = 0; i < 2 * count; i += 2)
		if ((char *)kept[i + 1] > (char *)kept[i])
			memset(kept[i], 'A', (size_t)((char *)kept[i + 1] - (char *)kept[i]));
	return true;
}

static __attribute__((noinline)) void lose(void)
{
	void *volatile lost = malloc(KEPT_BYTES);

	memset(lost, 0, KEPT_BYTES);
	lost = NULL;
}

static void allocate_once(void *data)
{
	(void)data;
	free(malloc(BLOCK_BYTES));
}

static void *idle(void *data)
{
	for (;;)
		pause();
	return data;
}

static void *allocate(void *data)
{
	void *volatile *mine = data;

	for (size_t size = 1;; size = size * 7 % 30011 + 1) {
		void *moved = realloc(*mine, size);

		*mine = moved;
		free(malloc(size % 500));
	}
	return data;
}

static bool start(int count, void *(*function)(void *), void *volatile *data)
{
	pthread_t thread;

	for (int i = 0; i < count; i++)
		if (pthread_create(&thread, NULL, function, (void *)(data ? data + i : NULL)))
			return false;
	return true;
}

static bool fork_children(int overwritten)
{
	for (int i = 0; i < CHILDREN; i++) {
		char folder[16];
		pid_t pid;

		snprintf(folder, sizeof(folder), "%d", i);
		usleep(1000);
		pid = fork();
		if (!pid) {
			if (!chdir(folder) && overwrite(overwritten))
				abort();
			_exit(1);
		}
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	bool full = argc > 2 && !strcmp(argv[1], "full");

	for (unsigned path = 0; full && path < 1u << PATH_BITS; path++)
		call_by_path(path, PATH_BITS, allocate_once, NULL);
	if (full || (argc > 2 && !strcmp(argv[1], "keep"))) {
		busy[0] = malloc(BLOCK_BYTES);
		return overwrite(atoi(argv[2])) ? abort(), 0 : 1;
	}
	lose();
	if (argc < 2)
		return overwrite(1) ? abort(), 0 : 1;
	if (!strcmp(argv[1], "idle")) {
		if (!start(IDLE_THREADS, idle, NULL) || !overwrite(IDLE_OVERWRITTEN))
			return 1;
		puts("ready");
		fflush(stdout);
		pause();
	}
	if (argc < 3 || !start(BUSY_THREADS, allocate, busy))
		return 1;
	return fork_children(atoi(argv[2])) ? 0 : 1;
}
