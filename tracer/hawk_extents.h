/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The list in the table's header of all that the tracer has mapped.
 */
#ifndef HAWK_EXTENTS_H
#define HAWK_EXTENTS_H

#include "hawk_trace_table.h"

/** Enters memory into the list. `file_offset`: 0 = anonymous. A list that is full is left as it is.
 */
void hawk_extents_publish(const void *memory, size_t bytes, enum hawk_extent_kind kind,
			  uint64_t file_offset);

/** Anonymous memory of `kind` was mapped at `end`, where an extent ends. */
void hawk_extents_extend(uint64_t end, size_t bytes, enum hawk_extent_kind kind);

#endif
