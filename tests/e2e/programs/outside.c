/* SPDX-License-Identifier: Apache-2.0 */
/* Little heap, and much else: stacks of threads that ended and nobody joined, and a mapping that
 * nobody unmaps. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { THREADS = 64, STACK_BYTES = 1 << 20, MAPPED_BYTES = 2 << 20 };

static void *work(void *argument)
{
	return argument;
}

int main(void)
{
	pthread_t threads[THREADS];
	pthread_attr_t attributes;
	struct stat tasks;
	void *mapped = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	memset(mapped, 1, MAPPED_BYTES);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], &attributes, work, NULL);
	while (!stat("/proc/self/task", &tasks) && tasks.st_nlink > 3) /* ".", "..", one thread */
		usleep(1000);
	abort();
}
