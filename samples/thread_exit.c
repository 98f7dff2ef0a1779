/* SPDX-License-Identifier: Apache-2.0 */
/** @file 3000 short threads, each with a key destructor that allocates while its thread dies:
 * memory per thread must be used again. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_key_t key;
static _Thread_local char *own;

static void destroy(void *value)
{
	char *copy = strdup(value);

	free(value);
	free(own);
	free(copy);
}

static void *live_briefly(void *argument)
{
	own = malloc(48);
	pthread_setspecific(key, strdup("thread"));
	return argument;
}

static long virtual_kib(void)
{
	char line[256];
	long size = -1;
	FILE *status = fopen("/proc/self/status", "r");

	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "VmSize: %ld", &size) == 1)
			break;
	if (status)
		fclose(status);
	return size;
}

static int run_threads(int count)
{
	for (int i = 0; i < count; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, live_briefly, NULL))
			return 0;
		pthread_join(thread, NULL);
	}
	return 1;
}

int main(void)
{
	long before;

	if (pthread_key_create(&key, destroy) || !run_threads(100))
		return 1;
	before = virtual_kib();
	if (!run_threads(2900))
		return 1;
	if (virtual_kib() - before > 8192) {
		printf("grew by %ld KiB\n", virtual_kib() - before);
		return 1;
	}
	puts("3000 threads, no growth");
	return 0;
}
