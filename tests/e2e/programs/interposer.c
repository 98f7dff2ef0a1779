/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A library to preload that stands before the C library: its functions allocate while they hold a
 * lock, and its clock is days ahead.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { AHEAD_SECONDS = 1000000 };

static pthread_mutex_t clock_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t loader_lock = PTHREAD_MUTEX_INITIALIZER;

static void allocate(void)
{
	char *volatile block = malloc(64);

	free(block);
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	int (*next)(clockid_t, struct timespec *);
	int result;

	pthread_mutex_lock(&clock_lock);
	allocate();
	next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	result = next(clock, time);
	time->tv_sec += AHEAD_SECONDS;
	pthread_mutex_unlock(&clock_lock);
	return result;
}

typedef int callback_function(struct dl_phdr_info *info, size_t size, void *data);

int dl_iterate_phdr(callback_function *callback, void *data)
{
	int (*next)(callback_function *, void *);
	int result;

	pthread_mutex_lock(&loader_lock);
	allocate();
	next = (int (*)(callback_function *, void *))dlsym(RTLD_NEXT, "dl_iterate_phdr");
	result = next(callback, data);
	pthread_mutex_unlock(&loader_lock);
	return result;
}

static int ignore(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)info;
	(void)size;
	(void)data;
	return 0;
}

/** Perhaps the first allocation of the process. */
__attribute__((constructor)) static void come_up(void)
{
	dl_iterate_phdr(ignore, NULL);
}
