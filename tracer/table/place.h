/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Placement and limit of the tracer's anonymous memory. Maps by direct system calls, in any thread
 * and in signal handlers.
 */
#ifndef HAWK_TRACER_TABLE_PLACE_H
#define HAWK_TRACER_TABLE_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Upper limit on the address space that the tracer maps, in bytes; 0 = none. Set before the first
 * mapping.
 */
extern uint64_t hawk_place_limit;

/** Chooses the place of later mappings. Needs no C library. */
void hawk_place_init(void);

/** Address space mapped so far, in bytes. */
uint64_t hawk_place_bytes(void);

/** Returns the bytes left below the limit; UINT64_MAX = no limit. */
uint64_t hawk_place_room(void);

/** Counts `bytes` mapped in another way. Returns false beyond the limit. */
bool hawk_place_take(size_t bytes);

/** Unmaps and discounts memory from one of these functions; with NULL only discounts. */
void hawk_place_give_back(void *memory, size_t bytes);

/** Maps `bytes` (whole pages, zeroed). Memory that is not `for_readers` does not compete for the
 * scarce lowest addresses. Returns NULL without memory or beyond the limit. */
void *hawk_place_map(size_t bytes, bool for_readers);

#endif
