/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The kernel's clocks, read without the C library: a program or a library before it may have a
 * clock_gettime() of its own, which tells another time, allocates, or holds a lock while it does.
 */
#ifndef HAWK_VDSO_H
#define HAWK_VDSO_H

#include <stdint.h>
#include <time.h>

/** Looks for the clock in the vDSO. Until then, and where there is none, a system call reads it.
 * Needs nothing of the C library; before there are threads. */
void hawk_vdso_init(void);

/** Nanoseconds of `clock`; 0: it cannot be read. Any thread, also in signal handlers. */
uint64_t hawk_vdso_now_ns(clockid_t clock);

#endif
