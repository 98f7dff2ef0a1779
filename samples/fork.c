/* SPDX-License-Identifier: Apache-2.0 */
/** @file Forked children that allocate while other threads of the parent do, and grandchildren.
 * With `abort` the child dies, not the parent. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_bool stop;

static void *churn(void *argument)
{
	while (!stop) {
		char *volatile block = malloc(100);

		free(block);
	}
	return argument;
}

__attribute__((noinline)) static char *allocate_in_child(size_t size)
{
	char *block = malloc(size);

	if (!block)
		_exit(1);
	return memset(block, 'c', size);
}

static void churn_in_child(void)
{
	for (int i = 0; i < 1000; i++)
		free(allocate_in_child((size_t)i + 1));
}

static void live_in_child(int die)
{
	char *kept = allocate_in_child(1234);
	int status = 0;
	pid_t grandchild;

	churn_in_child();
	if (die)
		abort();
	grandchild = fork();
	if (grandchild == 0) {
		churn_in_child();
		_exit(0);
	}
	waitpid(grandchild, &status, 0);
	free(kept);
	_exit(status != 0);
}

int main(int argc, char **argv)
{
	int die = argc > 1 && !strcmp(argv[1], "abort");
	int failed = 0;
	pthread_t thread;

	if (pthread_create(&thread, NULL, churn, NULL))
		return 1;
	for (int i = 0; i < (die ? 1 : 20); i++) {
		int status = 0;
		pid_t child = fork();

		if (child == 0)
			live_in_child(die);
		waitpid(child, &status, 0);
		failed += status != 0;
	}
	if (!die && system("true"))
		failed++;
	stop = 1;
	pthread_join(thread, NULL);
	printf("%d children failed\n", failed);
	return failed != 0;
}
