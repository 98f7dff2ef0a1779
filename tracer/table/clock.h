/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The kernel's clocks, and the birth time: the table's clock and its code for block headers.
 * Threads refresh it now and then; it never goes back.
 *
 * Clocks are read without the C library: the program or a preloaded library may define a
 * clock_gettime() that tells another time, allocates or takes a lock.
 */
#ifndef HAWK_TRACER_TABLE_CLOCK_H
#define HAWK_TRACER_TABLE_CLOCK_H

#include <stdint.h>
#include <time.h>

/** Finds the clock in the vDSO. Before this call, and without a vDSO, a system call reads it. Needs
 * no C library; call before any thread starts. */
void hawk_clock_init(void);

/** Returns nanoseconds of `clock`; 0 if it cannot be read. Safe in any thread and in signal
 * handlers. */
uint64_t hawk_clock_now_ns(clockid_t clock);

struct hawk_slot;

/** The latest birth code; refreshed by hawk_record_block() every so often. */
extern uint8_t hawk_clock_birth __attribute__((visibility("hidden")));

/**
 * Reads the clock and sets after how many calls to read it again: a thread that allocates rarely
 * reads it every time, a busy one every 64th time. After a pause, at most the first 64 blocks look
 * older than they are. Called only by the slot's own thread while busy.
 */
void hawk_clock_refresh(struct hawk_slot *slot);

#endif
