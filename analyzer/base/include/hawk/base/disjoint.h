/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Divides overlapping items of an address space among each other.
 */
#ifndef HAWK_ANALYZER_BASE_DISJOINT_H
#define HAWK_ANALYZER_BASE_DISJOINT_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Cuts items that overlap: bytes go to the last item that covers them. Items begin with a struct
 * hawk_span (or equal members) and are sorted by start. `array` is the address of the pointer to
 * the items, which changes. Returns false, with nothing changed, if memory runs out.
 */
bool hawk_disjoint_make(void *array, size_t *count, size_t *capacity, size_t item_bytes);

#endif
