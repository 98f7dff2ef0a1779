/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The time that births are taken from: the table's clock, and its code for block headers. Threads
 * read the clock every so often, and it never goes back.
 */
#ifndef HAWK_CLOCK_H
#define HAWK_CLOCK_H

#include <stdint.h>

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
