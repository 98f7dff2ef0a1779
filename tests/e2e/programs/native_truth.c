/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A random heap that knows itself: threads allocate, grow, align and free, also each other's
 * blocks; some end, the others stand still. Then every live block and its usable size is written to
 * standard output, without allocating anything, and the program aborts.
 *
 *     native_truth SEED STEPS THREADS ENDED-THREADS FLAGS
 *
 * FLAGS are letters: a memalign, l blocks with mappings of their own, r realloc, x frees by other
 * threads, s sbrk() by somebody else, n the break cannot grow any more, p pause instead of
 * aborting, w die by SIGQUIT at a random moment while all threads work: the address of the first
 * worker and the distance to the next are written, whose live blocks the core has.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { SLOTS = 4096, WORKERS_MAX = 128 };

struct worker {
	void *blocks[SLOTS]; /* live ones; NULL = none */
	pthread_mutex_t lock;
	uint64_t random;
	unsigned steps;
	pthread_t thread;
};

static struct worker *workers;
static unsigned worker_count;
static const char *flags;
static pthread_barrier_t parked;

static int has(char flag)
{
	return strchr(flags, flag) != NULL;
}

static uint64_t next_random(struct worker *worker)
{
	worker->random ^= worker->random << 13;
	worker->random ^= worker->random >> 7;
	worker->random ^= worker->random << 17;
	return worker->random;
}

/* Mostly small; some of each power of two. */
static size_t random_size(struct worker *worker)
{
	uint64_t kind = next_random(worker) % 100, random = next_random(worker);

	if (kind < 70)
		return random % 200;
	if (kind < 93)
		return random % 3000;
	if (kind < 99 || !has('l'))
		return random % 70000;
	return (size_t)128 * 1024 + random % (2 << 20);
}

static void *make_block(struct worker *worker, void *old)
{
	size_t size = random_size(worker);
	void *block = NULL;

	if (old && has('r'))
		return realloc(old, size ? size : 1);
	if (has('a') && next_random(worker) % 12 == 0) {
		unsigned most = next_random(worker) % 16 || !has('l') ? 12 : 18; /* to 2 MiB */

		return posix_memalign(&block, (size_t)16 << next_random(worker) % most, size)
			       ? NULL
			       : block;
	}
	return next_random(worker) % 7 ? malloc(size) : calloc(1, size);
}

/* Fills what the program asked for with words that look like anything. */
static void fill(struct worker *worker, void *block)
{
	size_t words = malloc_usable_size(block) / 8;
	uint64_t *at = block;

	for (size_t i = 0; i < words && i < 64; i++)
		at[i] = next_random(worker) % 3 ? next_random(worker)
						: (uint64_t)(uintptr_t)block + i;
}

static void step(struct worker *worker)
{
	struct worker *other = has('x') ? &workers[next_random(worker) % worker_count] : worker;
	unsigned slot = (unsigned)(next_random(worker) % SLOTS);
	void *old, *made = NULL;

	pthread_mutex_lock(&other->lock);
	old = other->blocks[slot];
	other->blocks[slot] = NULL;
	pthread_mutex_unlock(&other->lock);
	if (old && next_random(worker) % 3) {
		free(old);
		return;
	}
	if (old && !has('r')) {
		free(old);
		old = NULL;
	}
	made = make_block(worker, old);
	if (!made)
		return;
	fill(worker, made);
	pthread_mutex_lock(&other->lock);
	old = other->blocks[slot];
	other->blocks[slot] = made;
	pthread_mutex_unlock(&other->lock);
	free(old);
}

static void *work(void *argument)
{
	struct worker *worker = argument;

	for (unsigned i = 0; i < worker->steps || has('w'); i++)
		step(worker);
	return NULL;
}

static void *work_and_park(void *argument)
{
	work(argument);
	pthread_barrier_wait(&parked);
	for (;;)
		pause();
	return NULL;
}

/* Somebody else moves the break, or has what is behind it. */
static void disturb(void)
{
	if (has('s'))
		memset(sbrk(5000), 0x41, 5000);
	if (has('n')) {
		uintptr_t end = ((uintptr_t)sbrk(0) + 4095) & ~(uintptr_t)4095;

		mmap((void *)(end + 4096), 4096, PROT_READ,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	}
}

static void die_while_working(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGQUIT};
	struct itimerspec when = {.it_value.tv_nsec =
					  10000000 + (long)(workers[0].random % 300000000)};
	timer_t timer;

	dprintf(STDOUT_FILENO, "%#lx %zu\n", (unsigned long)(uintptr_t)workers, sizeof(*workers));
	timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer);
	timer_settime(timer, 0, &when, NULL);
}

/* Grows an aligned block with a mapping of its own, which realloc() mostly moves. */
static void move_aligned(void)
{
	enum { ALIGNMENT = 1 << 20, BYTES = 34 << 20 };
	void **block = &workers[0].blocks[0];

	free(*block);
	*block = NULL;
	if (posix_memalign(block, ALIGNMENT, BYTES) == 0)
		*block = realloc(*block, 2 * BYTES);
}

static void tell(void)
{
	for (unsigned i = 0; i < worker_count; i++)
		for (unsigned j = 0; j < SLOTS; j++) {
			char line[64];
			void *block = workers[i].blocks[j];
			int length = block ? snprintf(line, sizeof(line), "%#lx %zu\n",
						      (unsigned long)(uintptr_t)block,
						      malloc_usable_size(block))
					   : 0;

			if (length && write(STDOUT_FILENO, line, (size_t)length) != length)
				_exit(1);
		}
}

int main(int count, char **arguments)
{
	unsigned living, ended, steps;

	if (count != 6)
		return 2;
	steps = (unsigned)atoi(arguments[2]);
	living = (unsigned)atoi(arguments[3]);
	ended = (unsigned)atoi(arguments[4]);
	flags = arguments[5];
	worker_count = living + ended + 1;
	workers = mmap(NULL, worker_count * sizeof(*workers), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_barrier_init(&parked, NULL, living + 1);
	for (unsigned i = 0; i < worker_count; i++) {
		pthread_mutex_init(&workers[i].lock, NULL);
		workers[i].random = strtoull(arguments[1], NULL, 10) * 7919 + i * 104729 + 1;
		workers[i].steps = steps;
	}
	workers[0].steps = steps / 2;
	if (has('w'))
		die_while_working();
	else
		work(&workers[0]);
	disturb();
	for (unsigned i = 0; i < ended; i++)
		pthread_create(&workers[1 + i].thread, NULL, work, &workers[1 + i]);
	for (unsigned i = 0; i < ended && !has('w'); i++)
		pthread_join(workers[1 + i].thread, NULL);
	for (unsigned i = 0; i < living; i++)
		pthread_create(&workers[1 + ended + i].thread, NULL, work_and_park,
			       &workers[1 + ended + i]);
	work(&workers[0]);
	pthread_barrier_wait(&parked);
	if (has('a') && has('l') && has('r'))
		move_aligned();
	tell();
	if (!has('p'))
		abort();
	close(STDOUT_FILENO);
	for (;;)
		pause();
}
