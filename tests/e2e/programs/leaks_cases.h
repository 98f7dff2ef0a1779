/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Cases of lost and kept blocks. Every function that allocates is named site_*: that is how the
 * tools' answers are compared. Each ends at the same point: under Valgrind with its leak check,
 * with LeakSanitizer with that one's, with LEAKS_WAIT=1 by waiting, else with abort(), so that
 * there is a core.
 */
#ifndef LEAKS_CASES_H
#define LEAKS_CASES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#else
#define RUNNING_ON_VALGRIND 0
#define VALGRIND_DO_LEAK_CHECK
#endif

#define SITE __attribute__((noinline, noclone))

/* Not the address, whatever a tool makes of integers. */
#define HIDE(pointer) ((uintptr_t)(pointer) ^ (uintptr_t)0x5555555555555555)

#ifdef __cplusplus
extern "C"
#endif
	int
	__lsan_do_recoverable_leak_check(void) __attribute__((weak));

/* What returned functions have left below the stack pointer and in registers must hold nobody. */
SITE static void scrub(void)
{
	volatile char rubbish[64 << 10];

	for (size_t i = 0; i < sizeof(rubbish); i++)
		rubbish[i] = 0;
	__asm__ volatile("xor %%eax, %%eax\n\t"
			 "xor %%ecx, %%ecx\n\t"
			 "xor %%edx, %%edx\n\t"
			 "xor %%esi, %%esi\n\t"
			 "xor %%edi, %%edi\n\t"
			 "xor %%r8d, %%r8d\n\t"
			 "xor %%r9d, %%r9d\n\t"
			 "xor %%r10d, %%r10d\n\t"
			 "xor %%r11d, %%r11d\n\t"
			 :
			 :
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc");
}

static void stop(void)
{
	if (RUNNING_ON_VALGRIND) {
		VALGRIND_DO_LEAK_CHECK;
		_exit(0);
	}
	if (__lsan_do_recoverable_leak_check) {
		__lsan_do_recoverable_leak_check();
		_exit(0);
	}
	if (getenv("LEAKS_WAIT")) {
		if (write(STDOUT_FILENO, "ready\n", 6) != 6)
			_exit(1);
		for (;;)
			pause();
	}
	abort();
}

#endif
