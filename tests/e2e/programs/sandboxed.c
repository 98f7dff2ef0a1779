/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Forbids itself system calls (each then fails with EPERM), and goes on allocating: from stacks
 * never seen before, in a thread that has not allocated yet, on a stack of its own with nothing
 * above it, in a forked child. usage: sandboxed [abort|exit] NUMBER...; prints what it had from
 * malloc(). sandboxed strict: allocates where no call but exit is survived (seccomp's strict mode).
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "paths.h"

enum { DEPTH = 17, NUMBERS_MAX = 32, STACK_BYTES = 1 << 16 };

static unsigned long blocks, failures, sum;
static sem_t go;

static int forbid(const int *numbers, unsigned count)
{
	struct sock_filter filter[2 * NUMBERS_MAX + 2];
	struct sock_fprog program = {.filter = filter};
	unsigned at = 0;

	filter[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						    offsetof(struct seccomp_data, nr));
	for (unsigned i = 0; i < count; i++) {
		filter[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							    (unsigned)numbers[i], 0, 1);
		filter[at++] =
			(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	}
	filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = (unsigned short)at;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}

static void keep_one(unsigned size)
{
	unsigned char *block = malloc(size);

	errno = 0;
	if (!block) {
		failures++;
		return;
	}
	memset(block, 0x5a, size);
	sum += block[size - 1];
	blocks++;
}

static void keep_sized(void *data)
{
	keep_one(16 + *(unsigned *)data % 48);
}

/** A stack never seen before for each. */
static void branch_out(unsigned ways)
{
	for (unsigned i = 0; i < ways; i++) {
		unsigned way = i * 2654435761u >> 14;

		call_by_path(way, DEPTH, keep_sized, &way);
	}
}

static void *thread(void *unused)
{
	sem_wait(&go);
	branch_out(300);
	return unused;
}

/** On a stack of its own that nothing lies above, with a frame pointer that leads nowhere. */
__attribute__((noinline)) static void coroutine(void)
{
	branch_out(50);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void run_coroutine(char *top)
{
	__asm__ volatile("mov %%rsp, %%rbx\n\t"
			 "mov %%rbp, %%r12\n\t"
			 "mov %0, %%rsp\n\t"
			 "mov %0, %%rbp\n\t"
			 "call *%1\n\t"
			 "mov %%rbx, %%rsp\n\t"
			 "mov %%r12, %%rbp"
			 :
			 : "r"(top), "r"(coroutine)
			 : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11",
			   "r12", "memory", "cc");
}

static void be_strict(void)
{
	branch_out(5);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		_exit(77);
	branch_out(40);
	for (unsigned i = 0; i < 1000; i++)
		free(malloc(i % 50));
	syscall(SYS_exit, failures ? 1 : 0);
}

int main(int count, char **arguments)
{
	int numbers[NUMBERS_MAX];
	pthread_t other;
	char *stack = mmap(NULL, 2 * STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status = 0;
	pid_t child;

	if (!strcmp(arguments[1], "strict"))
		be_strict();
	munmap(stack + STACK_BYTES, STACK_BYTES);
	sem_init(&go, 0, 0);
	pthread_create(&other, NULL, thread, NULL);
	branch_out(20);
	for (int i = 2; i < count && i < NUMBERS_MAX; i++)
		numbers[i - 2] = atoi(arguments[i]);
	if (count > 2 && forbid(numbers, (unsigned)count - 2)) {
		puts("no filter");
		return 77;
	}
	branch_out(30000);
	run_coroutine(stack + STACK_BYTES);
	sem_post(&go);
	pthread_join(other, NULL);
	child = fork();
	if (!child) {
		branch_out(500);
		_exit(failures ? 1 : 0);
	}
	waitpid(child, &status, 0);
	for (unsigned i = 0; i < 100000; i++)
		free(malloc(i % 500));
	printf("%lu blocks, %lu failures, sum %lx, child %x\n", blocks, failures, sum,
	       (unsigned)status);
	fflush(stdout);
	if (!strcmp(arguments[1], "abort"))
		abort();
	return 0;
}
