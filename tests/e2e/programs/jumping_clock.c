/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Preloaded: the monotonic clock jumps by 150 ms each time it is read. STOP_FROM: the process stops
 * itself (SIGSTOP) at this reading and at each later one.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { JUMP_MS = 150 };

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	static unsigned long readings;
	int result = (int)syscall(SYS_clock_gettime, clock, ret);
	const char *from = getenv("STOP_FROM");
	unsigned long reading, ms;

	if (result || clock != CLOCK_MONOTONIC)
		return result;
	reading = __atomic_add_fetch(&readings, 1, __ATOMIC_RELAXED);
	ms = (unsigned long)ret->tv_nsec / 1000000 + reading * JUMP_MS;
	ret->tv_sec += (time_t)(ms / 1000);
	ret->tv_nsec = (long)(ms % 1000 * 1000000);
	if (from && reading >= strtoul(from, NULL, 10))
		kill(getpid(), SIGSTOP);
	return 0;
}
