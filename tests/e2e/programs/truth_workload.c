/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The workload of the ground-truth programs: PROGRAM TRUTH-FILE THREADS STEPS SEED.
 *
 * All memory of the workload itself is static, so that nearly every block of the process is one
 * that the truth file names.
 */
#include "truth.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 16, SLOTS = 300, EXCHANGE = 64 };

struct slot {
	unsigned char *block;
	size_t size;
	const char *kind;
	int release;
	int path1, path2, path3;
};

struct thread {
	pthread_t handle;
	uint64_t random;
	long steps;
	struct slot slots[SLOTS];
	uint64_t objects[PATH_COUNT];
	uint64_t bytes[PATH_COUNT];
};

static struct thread threads[THREADS_MAX];
static int thread_count;
static pthread_barrier_t all_done;
static pthread_mutex_t exchange_lock = PTHREAD_MUTEX_INITIALIZER;
static struct slot exchange[EXCHANGE];

static uint64_t next_random(struct thread *thread, uint64_t below)
{
	thread->random = thread->random * 6364136223846793005u + 1442695040888963407u;
	return (thread->random >> 33) % below;
}

static size_t random_size(struct thread *thread)
{
	uint64_t sort = next_random(thread, 1000);

	if (sort < 20)
		return 0;
	if (sort < 900)
		return 1 + next_random(thread, 300);
	if (sort < 995)
		return 1 + next_random(thread, 20000);
	return 1 + next_random(thread, 400000);
}

static void fill_block(struct slot *slot)
{
	for (size_t i = 0; i < slot->size; i += 64)
		slot->block[i] = (unsigned char)(slot->size + i / 64);
}

/* What other threads and the allocator did must not show in a live block. */
static void check_block(const struct slot *slot)
{
	for (size_t i = 0; i < slot->size; i += 64)
		if (slot->block[i] != (unsigned char)(slot->size + i / 64))
			_exit(3);
}

static void make_block(struct thread *thread, struct slot *slot, void *old)
{
	struct job job;
	int path;

	memset(&job, 0, sizeof(job));
	job.path1 = (int)next_random(thread, LEVEL1_COUNT);
	job.path2 = (int)next_random(thread, LEVEL2_COUNT);
	job.path3 = (int)next_random(thread, LEVEL3_COUNT);
	job.how = (int)next_random(thread, (uint64_t)how_count);
	job.size = random_size(thread);
	job.old = old;
	if (old && job.size == 0)
		job.size = 1; /* realloc(p, 0) is free() for some */
	slot->block = (unsigned char *)allocate(&job);
	if (!slot->block)
		_exit(4);
	slot->size = job.size;
	slot->kind = job.kind;
	slot->release = job.release;
	slot->path1 = job.path1;
	slot->path2 = job.path2;
	slot->path3 = job.path3;
	path = (job.path1 * LEVEL2_COUNT + job.path2) * LEVEL3_COUNT + job.path3;
	thread->objects[path]++;
	thread->bytes[path] += job.size;
	fill_block(slot);
}

static void swap_with_others(struct thread *thread, struct slot *slot)
{
	struct slot *other = &exchange[next_random(thread, EXCHANGE)];
	struct slot mine = *slot;

	pthread_mutex_lock(&exchange_lock);
	*slot = *other;
	*other = mine;
	pthread_mutex_unlock(&exchange_lock);
}

static void step(struct thread *thread)
{
	struct slot *slot = &thread->slots[next_random(thread, SLOTS)];

	if (!slot->block) {
		make_block(thread, slot, NULL);
		return;
	}
	check_block(slot);
	switch (next_random(thread, 4)) {
	case 0:
		swap_with_others(thread, slot);
		break;
	case 1:
		if (can_resize(slot->release)) {
			make_block(thread, slot, slot->block);
			break;
		}
		/* fall through */
	default:
		release(slot->block, slot->release, slot->size);
		slot->block = NULL;
	}
}

static void *work(void *argument)
{
	struct thread *thread = (struct thread *)argument;

	for (long i = 0; i < thread->steps; i++)
		step(thread);
	if (thread == &threads[0])
		return NULL; /* the main thread goes on to write the truth */
	pthread_barrier_wait(&all_done);
	for (;;)
		pause();
}

static void write_slot(int fd, const struct slot *slot)
{
	if (slot->block &&
	    dprintf(fd, "block %p %zu %s %d %d %d\n", (void *)slot->block, slot->size, slot->kind,
		    slot->path1, slot->path2, slot->path3) < 0)
		_exit(5);
}

static void write_path(int fd, int path)
{
	unsigned long objects = 0, bytes = 0;

	for (int i = 0; i < thread_count; i++) {
		objects += threads[i].objects[path];
		bytes += threads[i].bytes[path];
	}
	if (dprintf(fd, "path %d %d %d %lu %lu\n", path / LEVEL3_COUNT / LEVEL2_COUNT,
		    path / LEVEL3_COUNT % LEVEL2_COUNT, path % LEVEL3_COUNT, objects, bytes) < 0)
		_exit(5);
}

static void write_truth(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	if (fd < 0)
		_exit(6);
	for (int i = 0; i < thread_count; i++)
		for (int j = 0; j < SLOTS; j++)
			write_slot(fd, &threads[i].slots[j]);
	for (int i = 0; i < EXCHANGE; i++)
		write_slot(fd, &exchange[i]);
	for (int i = 0; i < PATH_COUNT; i++)
		write_path(fd, i);
	close(fd);
}

int run_workload(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	thread_count = atoi(argv[2]);
	if (thread_count < 1 || thread_count > THREADS_MAX)
		return 2;
	pthread_barrier_init(&all_done, NULL, (unsigned)thread_count);
	for (int i = 0; i < thread_count; i++) {
		threads[i].steps = atol(argv[3]);
		threads[i].random = strtoull(argv[4], NULL, 10) + (uint64_t)i * 7919;
		if (i > 0 && pthread_create(&threads[i].handle, NULL, work, &threads[i]))
			return 1;
	}
	work(&threads[0]);
	pthread_barrier_wait(&all_done);
	write_truth(argv[1]);
	abort();
}
