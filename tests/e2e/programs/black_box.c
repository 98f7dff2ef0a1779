/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What a table file has to tell, from a program that knows the truth and dies at any moment.
 *
 *     run TRUTH THREADS [LIMIT]   threads allocate, resize and free for ever, and keep what they
 * own in the file TRUTH; LIMIT: RLIMIT_AS above what is mapped, bytes fork | raw | vfork          a
 * child allocates 1,000 blocks in child_site, the parent 10 before and 20 after; then it is killed
 *     fds                         closes every descriptor, goes elsewhere, then makes many stacks
 *     exec PROGRAM ARGUMENTS      executes
 *
 * Truth: before each call a thread writes what it is about to do, after it what it owns. So of a
 * thread that is in a call the table may know it or not.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "random.h"

enum { SITES = 8, THREADS_MAX = 16, BLOCKS = 8192, DEPTH = 60, KEEP = 1 << 17 };

struct truth {
	int64_t objects[SITES];
	int64_t bytes[SITES];
	struct call {
		int64_t busy, new_site, new_bytes, old_site, old_bytes; /* sites: -1 = none */
	} call;
	int64_t calls;
	char padding[256 - 2 * 8 * SITES - 6 * 8];
};

static struct truth *truths;

#define BARRIER() __asm__ volatile("" : : : "memory")

/** Frames between here and main differ by depth: more stacks than a thread has counters. */
#define SITE(n)                                                                                    \
	static __attribute__((noinline)) void *site_##n(void *old, size_t bytes, unsigned depth)   \
	{                                                                                          \
		void *result = depth ? site_##n(old, bytes, depth - 1)                             \
			       : old ? realloc(old, bytes)                                         \
				     : malloc(bytes);                                              \
                                                                                                   \
		BARRIER();                                                                         \
		return result;                                                                     \
	}
SITE(0)
SITE(1)
SITE(2)
SITE(3)
SITE(4)
SITE(5)
SITE(6)
SITE(7)

static void *(*const sites[SITES])(void *, size_t, unsigned) = {site_0, site_1, site_2, site_3,
								site_4, site_5, site_6, site_7};

struct block {
	void *pointer;
	int64_t site, bytes;
};

static void account(struct truth *truth, int64_t site, int64_t objects, int64_t bytes)
{
	if (site < 0)
		return;
	truth->objects[site] += objects;
	truth->bytes[site] += bytes;
}

static void one_call(struct truth *truth, struct block *block, uint64_t *state)
{
	uint64_t number = next_random(state);
	struct call call = {.busy = 1,
			    .new_site = -1,
			    .old_site = block->pointer ? block->site : -1,
			    .old_bytes = block->bytes};
	void *result = NULL;

	if (!block->pointer || number % 4 == 0) {
		call.new_site = (int64_t)(number >> 8) % SITES;
		call.new_bytes = (int64_t)(number >> 16) % 2000 + 1;
	}
	call.busy = 0;
	truth->call = call;
	BARRIER();
	truth->call.busy = 1;
	BARRIER();
	if (call.new_site < 0)
		free(block->pointer);
	else
		result = sites[call.new_site](block->pointer, (size_t)call.new_bytes,
					      (unsigned)(number >> 32) % DEPTH);
	BARRIER();
	if (result || call.new_site < 0) { /* else there was no memory, and nothing has changed */
		account(truth, call.old_site, -1, -call.old_bytes);
		account(truth, call.new_site, 1, call.new_bytes);
		block->pointer = result;
		block->site = call.new_site;
		block->bytes = call.new_bytes;
	}
	truth->calls++;
	BARRIER();
	truth->call.busy = 0;
	BARRIER();
}

static void *work(void *data)
{
	struct truth *truth = data;
	uint64_t state = 88172645463325252u + (uint64_t)(truth - truths) * 7919;
	static __thread struct block blocks[BLOCKS];

	for (;;)
		one_call(truth, &blocks[next_random(&state) % BLOCKS], &state);
	return NULL;
}

static uint64_t mapped_bytes(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (!file || fscanf(file, "%lu", &pages) != 1)
		exit(3);
	fclose(file);
	return pages * 4096;
}

static void run(char **arguments)
{
	int fd = open(arguments[0], O_RDWR | O_CREAT, 0600);
	int threads = atoi(arguments[1]);
	pthread_t thread;

	if (fd < 0 || ftruncate(fd, THREADS_MAX * sizeof(*truths)))
		exit(3);
	truths = mmap(NULL, THREADS_MAX * sizeof(*truths), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		      0);
	if (truths == MAP_FAILED)
		exit(3);
	for (int i = 1; i < threads; i++)
		if (pthread_create(&thread, NULL, work, &truths[i]))
			exit(3);
	if (arguments[2]) {
		uint64_t bytes = mapped_bytes() + strtoull(arguments[2], NULL, 0);

		setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes});
	}
	work(&truths[0]);
}

static __attribute__((noinline)) void parent_site(int count)
{
	static void *volatile keep[KEEP];

	for (int i = 0; i < count; i++)
		keep[i] = malloc(100);
	BARRIER();
}

static __attribute__((noinline)) void child_site(int count)
{
	static void *volatile keep[KEEP];

	for (int i = 0; i < count; i++)
		keep[i] = malloc(200);
	BARRIER();
}

static void *allocate_a_little(void *data)
{
	void *volatile block = malloc(10); /* or the compiler leaves it out */

	free(block);
	return data;
}

static void *be_child(void *data)
{
	child_site(1000);
	return data;
}

static void run_thread(void *(*function)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, function, NULL) || pthread_join(thread, NULL))
		exit(3);
}

static void child(const char *mode)
{
	if (strcmp(mode, "threads"))
		be_child(NULL);
	else
		run_thread(be_child);
	if (getenv("CHILD_ABORTS"))
		abort();
	_exit(0);
}

static void fork_and_die(const char *mode)
{
	void *given = malloc(4000);
	pid_t pid;
	int status;

	parent_site(10);
	if (!strcmp(mode, "threads"))
		run_thread(allocate_a_little);
	if (!strcmp(mode, "vfork")) {
		pid = vfork();
		if (!pid)
			_exit(0);
	} else {
		pid = strcmp(mode, "raw") ? fork() : (pid_t)syscall(SYS_fork);
		if (!pid) {
			free(given);
			child(mode);
		}
	}
	printf("%d\n", pid);
	fflush(stdout);
	waitpid(pid, &status, 0);
	parent_site(20);
	kill(getpid(), SIGKILL);
}

static __attribute__((noinline)) void many_stacks(unsigned bits)
{
	for (unsigned i = 0; bits >> i; i++)
		if (bits >> i & 1)
			free(sites[i % SITES](NULL, 10, i + bits % 7));
}

/** Another function for each bit of the number: 2^n stacks. */
static __attribute__((noinline)) void left(unsigned bits, unsigned n);
static __attribute__((noinline)) void right(unsigned bits, unsigned n);

static void turn(unsigned bits, unsigned n)
{
	if (!n)
		parent_site(1);
	else if (bits & 1)
		left(bits >> 1, n - 1);
	else
		right(bits >> 1, n - 1);
}

static void left(unsigned bits, unsigned n)
{
	turn(bits, n);
	BARRIER();
}

static void right(unsigned bits, unsigned n)
{
	turn(bits, n);
	BARRIER();
}

static void without_descriptors(void)
{
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	if (chdir("/") || !getenv("HOME"))
		exit(3);
	for (unsigned i = 0; i < 1 << 15; i++)
		turn(i, 15);
	many_stacks(255);
	child_site(1000);
	kill(getpid(), SIGKILL);
}

int main(int argc, char **argv)
{
	if (argc > 3 && !strcmp(argv[1], "run"))
		run(argv + 2);
	else if (argc == 2 && !strcmp(argv[1], "fds"))
		without_descriptors();
	else if (argc > 2 && !strcmp(argv[1], "exec"))
		execv(argv[2], argv + 2);
	else if (argc == 2)
		fork_and_die(argv[1]);
	return 2;
}
