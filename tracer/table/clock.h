/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The kernel's clocks, and the time that births are taken from: the table's clock, and its code for
 * block headers. Threads read it every so often, and it never goes back.
 *
 * Clocks are read without the C library: a program or a library before it may have a
 * clock_gettime() of its own, which tells another time, allocates, or holds a lock while it does.
 */
#ifndef HAWK_TRACER_TABLE_CLOCK_H
#define HAWK_TRACER_TABLE_CLOCK_H

#include <stdint.h>
#include <time.h>

/** Looks for the clock in the vDSO. Until then, and where there is none, a system call reads it.
 * Needs nothing of the C library; before there are threads. */
void hawk_clock_init(void);

/** Nanoseconds of `clock`; 0: it cannot be read. Any thread, also in signal handlers. */
uint64_t hawk_clock_now_ns(clockid_t clock);

struct hawk_slot;

/** The latest birth code; refreshed by hawk_record_block() every so often. */
extern uint8_t hawk_clock_birth __attribute__((visibility("hidden")));

/**
 * Reads the clock and decides after how many calls to read it again: a thread that allocates rarely
 * reads it every time, a busy one every 64th time. After a pause the first 64 blocks at most can
 * look older than they are. Only by the slot's own thread while busy.
 */
void hawk_clock_refresh(struct hawk_slot *slot);

#endif
