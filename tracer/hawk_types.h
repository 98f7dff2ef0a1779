/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Naming the type of a block that exists already: its header gets the id of the same trace with the
 * type as a mark, and its allocation is counted for that one from then on.
 */
#ifndef HAWK_TYPES_H
#define HAWK_TYPES_H

#include <stddef.h>

/** Ignores what is not the start of a traced block. The caller owns the block: nobody frees it
 * meanwhile. */
void hawk_types_set(void *pointer, const char *name, size_t length);

#endif
