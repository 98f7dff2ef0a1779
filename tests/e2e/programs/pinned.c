/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * pinned THREADS KEEP: each thread makes blocks and frees all but each KEEP-th, so that the few
 * that are left pin pages. Prints malloc_info() and "ready". A line on standard input frees those,
 * too, and has the memory trimmed; it prints resident bytes before and after. The end of input
 * aborts.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 64, BLOCKS = 20000, BLOCK_BYTES = 200 };

static pthread_barrier_t made, parted;
static int keep_each;
static void **blocks[THREADS_MAX];

__attribute__((noinline)) void *make_kept(void)
{
	void *block = malloc(BLOCK_BYTES);

	memset(block, 1, BLOCK_BYTES);
	return block;
}

__attribute__((noinline)) void *make_dropped(void)
{
	void *block = malloc(BLOCK_BYTES);

	memset(block, 2, BLOCK_BYTES);
	return block;
}

static void *work(void *argument)
{
	void ***ours = argument;

	*ours = calloc(BLOCKS, sizeof(**ours));
	pthread_barrier_wait(&parted); /* each thread has an arena of its own by now */
	for (int i = 0; i < BLOCKS; i++)
		(*ours)[i] = i % keep_each ? make_dropped() : make_kept();
	for (int i = 0; i < BLOCKS; i++) {
		if (i % keep_each) {
			free((*ours)[i]);
			(*ours)[i] = NULL;
		}
	}
	pthread_barrier_wait(&made);
	pause();
	return NULL;
}

static long resident(void)
{
	long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (!file || fscanf(file, "%*d %ld", &pages) != 1)
		abort();
	fclose(file);
	return pages * sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv)
{
	int threads = atoi(argv[1]);
	long untrimmed, before;
	char line[16];

	keep_each = atoi(argv[2]);
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	pthread_barrier_init(&parted, NULL, (unsigned)threads);
	pthread_barrier_init(&made, NULL, (unsigned)threads + 1);
	for (int i = 0; i < threads; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, work, &blocks[i]);
	}
	pthread_barrier_wait(&made);
	malloc_info(0, stdout);
	puts("ready");
	if (!fgets(line, sizeof(line), stdin))
		abort();
	untrimmed = resident();
	malloc_trim(0);
	before = resident();
	for (int i = 0; i < threads; i++)
		for (int j = 0; j < BLOCKS; j++)
			free(blocks[i][j]);
	malloc_trim(0);
	printf("%ld %ld %ld\n", untrimmed, before, resident());
	return argc < 3;
}
