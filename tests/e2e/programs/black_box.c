/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What a table file has to tell of a program that is killed.
 *
 *     black_box fork | raw | vfork | threads
 *
 * A child allocates 1,000 blocks in child_site, the parent 10 before and 20 after; then it dies.
 *
 *     black_box fds
 *
 * Closes every descriptor, goes elsewhere, makes many stacks.
 *
 *     black_box exec PROGRAM ARGUMENTS
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "paths.h"

enum { KEEP = 1 << 17 };

#define BARRIER() __asm__ volatile("" : : : "memory")

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

static void allocate_in_parent(void *data)
{
	(void)data;
	parent_site(1);
}

static void without_descriptors(void)
{
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	if (chdir("/") || !getenv("HOME"))
		exit(3);
	for (unsigned i = 0; i < 1 << 15; i++)
		call_by_path(i, 15, allocate_in_parent, NULL);
	child_site(1000);
	kill(getpid(), SIGKILL);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "fds"))
		without_descriptors();
	else if (argc > 2 && !strcmp(argv[1], "exec"))
		execv(argv[2], argv + 2);
	else if (argc == 2)
		fork_and_die(argv[1]);
	return 2;
}
