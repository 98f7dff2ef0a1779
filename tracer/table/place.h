/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Placement and limit of the tracer's anonymous memory. Mapped by direct system calls; any thread,
 * also in signal handlers.
 */
#ifndef HAWK_TRACER_TABLE_PLACE_H
#define HAWK_TRACER_TABLE_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Most bytes of address space that the tracer maps, 0 = no limit. Set before anything is mapped.
 */
extern uint64_t hawk_place_limit;

/** Chooses where memory will lie. Needs nothing of the C library. */
void hawk_place_init(void);

/** Address space mapped so far, in bytes. */
uint64_t hawk_place_bytes(void);

/** Returns the bytes left below the limit; UINT64_MAX = no limit. */
uint64_t hawk_place_room(void);

/** Counts `bytes` as mapped, for who maps them in another way. False: beyond the limit. */
bool hawk_place_take(size_t bytes);

/** Unmaps and discounts what one of the others has given; NULL: discounts only. */
void hawk_place_give_back(void *memory, size_t bytes);

/** Maps `bytes` (whole pages, zeroed). What only the tracer itself uses (not `for_readers`) does
 * not compete for the scarce lowest addresses. NULL: no memory, or beyond the limit. */
void *hawk_place_map(size_t bytes, bool for_readers);

#endif
