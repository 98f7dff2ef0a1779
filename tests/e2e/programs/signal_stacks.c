/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Alternate signal stacks in blocks that only the kernel knows, of threads that wait, and what a
 * handler has interrupted: pointers that are in its ucontext only. Then the handler aborts.
 */
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include "leaks_cases.h"

enum { THREADS = 10, STACK_BYTES = 16 << 10, GUARD_BYTES = 1 << 10 };

static pthread_barrier_t ready;

static void use_stack(char *stack, int flags)
{
	stack_t wanted = {.ss_sp = stack, .ss_size = STACK_BYTES, .ss_flags = flags};

	/* One argument for both, which the kernel allows. */
	if (sigaltstack(&wanted, &wanted))
		_exit(1);
	memset(&wanted, 0, sizeof(wanted));
}

SITE static void site_in_use(void)
{
	use_stack(malloc(STACK_BYTES), 0);
}

SITE static void site_behind_guard(void)
{
	use_stack((char *)malloc(GUARD_BYTES + STACK_BYTES) + GUARD_BYTES, 0);
}

SITE static void site_disabled(void)
{
	use_stack(malloc(STACK_BYTES), 0);
	use_stack(NULL, SS_DISABLE);
}

SITE static void site_of_ended(void)
{
	use_stack(malloc(STACK_BYTES), 0);
}

SITE static void site_of_handler(void)
{
	use_stack(malloc(STACK_BYTES), 0);
}

SITE static uintptr_t site_in_general(void)
{
	return HIDE(malloc(200));
}

SITE static uintptr_t site_in_vector(void)
{
	return HIDE(malloc(300));
}

static void *wait_with_stack(void *function)
{
	((void (*)(void))function)();
	scrub();
	pthread_barrier_wait(&ready);
	for (;;)
		pause();
	return NULL;
}

static void *end_with_stack(void *argument)
{
	site_of_ended();
	scrub();
	return argument;
}

static void start(void (*function)(void))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, wait_with_stack, (void *)function))
		_exit(1);
}

/** Forgets what the interrupted code had in registers. */
SITE static void die(int number)
{
	__asm__ volatile("xor %%r9d, %%r9d\n\tpxor %%xmm9, %%xmm9" ::: "r9", "xmm9");
	if (number)
		abort();
}

SITE static void die_with_pointers(uintptr_t general, uintptr_t vector)
{
	__asm__ volatile("movabs $0x5555555555555555, %%rax\n\t"
			 "xor %%rax, %0\n\txor %%rax, %1\n\t"
			 "mov %0, %%r9\n\tmovq %1, %%xmm9\n\t"
			 "xor %0, %0\n\txor %1, %1\n\tud2"
			 : "+r"(general), "+r"(vector)
			 :
			 : "rax", "r9", "xmm9", "memory");
}

int main(void)
{
	struct sigaction action = {.sa_handler = die, .sa_flags = SA_ONSTACK};
	pthread_t thread;

	pthread_barrier_init(&ready, NULL, THREADS + 3);
	if (pthread_create(&thread, NULL, end_with_stack, NULL) || pthread_join(thread, NULL))
		_exit(1);
	for (int i = 0; i < THREADS; i++)
		start(site_in_use);
	start(site_behind_guard);
	start(site_disabled);
	pthread_barrier_wait(&ready);
	site_of_handler();
	sigaction(SIGILL, &action, NULL);
	scrub();
	die_with_pointers(site_in_general(), site_in_vector());
	return 0;
}
