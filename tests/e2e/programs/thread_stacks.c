/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Blocks that live threads hold, that only stacks of ended threads mention, and that lie beside
 * large blocks and stacks in memory of the program's own, which the kernel joins to those. Calls
 * only what any C library has, so that it can be linked with an old one.
 *
 *     thread_stacks [wait]     else it aborts
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SITE __attribute__((noinline))

enum {
	PAGE_BYTES = 4096,
	STACK_BYTES = 256 << 10,
	LARGE_BYTES = 300000,
	BESIDE = 100, /* pointers in memory beside large blocks */
	ENDED = 3,    /* threads, before and behind one that lives */
};

static pthread_barrier_t everybody;
static __thread void *volatile t_own;
static void *volatile g_large[4];
static int returns;

#define SITE_MALLOC(name, bytes)                                                                   \
	SITE static void *name(void)                                                               \
	{                                                                                          \
		return malloc(bytes);                                                              \
	}
SITE_MALLOC(site_beside_large, 40)
SITE_MALLOC(site_beside_stack, 48)
SITE_MALLOC(site_large, LARGE_BYTES)
SITE static void *site_large_aligned(void)
{
	void *block = NULL;

	return posix_memalign(&block, 2 * PAGE_BYTES, LARGE_BYTES) ? NULL : block;
}
SITE_MALLOC(site_ended_stack, 56)
SITE_MALLOC(site_ended_tls, 64)
SITE_MALLOC(site_live_stack, 72)
SITE_MALLOC(site_live_tls, 80)
SITE_MALLOC(site_own_stack, 88)
SITE_MALLOC(site_joined, 96)
SITE_MALLOC(site_alternate, 104)
SITE_MALLOC(site_interrupted, 112)

/** Memory that touches what was mapped before it: the kernel goes downwards. */
static void **map_pages(unsigned pages)
{
	void *memory = mmap(NULL, pages * PAGE_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		exit(1);
	return memory;
}

static void hold_beside_large(void)
{
	void **first;

	g_large[0] = site_large();
	first = map_pages(2);
	g_large[1] = site_large();
	g_large[2] = site_large_aligned();
	for (int i = 0; i < BESIDE; i++)
		first[2 * i] = site_beside_large();
}

static SITE void leave_behind(int level)
{
	void *volatile block[64];

	memset((void *)block, 0, sizeof(block));
	if (level) {
		leave_behind(level - 1);
	} else {
		block[32] = site_ended_stack();
		block[33] = block[32];
	}
	__asm__ volatile("" ::"r"(block) : "memory");
}

static void *end(void *argument)
{
	leave_behind(3);
	t_own = site_ended_tls();
	if (argument)
		pthread_barrier_wait(argument);
	return NULL;
}

static void *live(void *argument)
{
	void *volatile block = site_live_stack();

	(void)argument;
	t_own = site_live_tls();
	pthread_barrier_wait(&everybody);
	pause();
	return block;
}

static void *live_on_own(void *argument)
{
	void *volatile block = site_own_stack();

	(void)argument;
	pthread_barrier_wait(&everybody);
	pause();
	return block;
}

static void handle(int number)
{
	void *volatile block = site_alternate();

	(void)number;
	pthread_barrier_wait(&everybody);
	pause();
	(void)block;
}

/** Lives in a handler with a stack of its own; what it interrupted holds a block all the same. */
static void *live_in_handler(void *argument)
{
	void *volatile block = site_interrupted();
	stack_t stack = {.ss_sp = map_pages(16), .ss_size = 16 * PAGE_BYTES};
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};

	(void)argument;
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	return block;
}

/** Ended, and joined only later: what it returns is held by nobody but the C library. */
static void *return_block(void *argument)
{
	void *block = site_joined();

	(void)argument;
	__atomic_store_n(&returns, 1, __ATOMIC_RELEASE);
	return block;
}

static pthread_t start(void *(*function)(void *), void *argument, void *stack)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	if (stack)
		pthread_attr_setstack(&attributes, stack, STACK_BYTES);
	else
		pthread_attr_setstacksize(&attributes, STACK_BYTES);
	if (pthread_create(&thread, &attributes, function, argument))
		exit(1);
	return thread;
}

/** At once, so that each has a stack of its own. */
static void start_ended(pthread_t threads[ENDED], pthread_barrier_t *barrier)
{
	pthread_barrier_init(barrier, NULL, ENDED + 1);
	for (int i = 0; i < ENDED; i++)
		threads[i] = start(end, barrier, NULL);
}

int main(int argc, char **argv)
{
	static char own_stack[STACK_BYTES] __attribute__((aligned(PAGE_BYTES)));
	pthread_barrier_t above, below;
	pthread_t ended[2 * ENDED];
	void **beside;

	pthread_barrier_init(&everybody, NULL, 4);
	hold_beside_large();
	start_ended(ended, &above);
	start(live, NULL, NULL);
	beside = map_pages(1);
	start(live_in_handler, NULL, NULL);
	start_ended(ended + ENDED, &below);
	start(live_on_own, NULL, own_stack);
	start(return_block, NULL, NULL);
	beside[7] = site_beside_stack();
	pthread_barrier_wait(&above);
	pthread_barrier_wait(&below);
	for (int i = 0; i < 2 * ENDED; i++)
		pthread_join(ended[i], NULL);
	pthread_barrier_wait(&everybody);
	while (!__atomic_load_n(&returns, __ATOMIC_ACQUIRE))
		usleep(1000);
	usleep(100000); /* until it has returned, and the others pause */
	puts("ready");
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "wait"))
		pause();
	abort();
}
