/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Marked traces: a trace with scopes or a type, under an id of its own. The trace that it marks
 * stays what it is, so that stacks share their frames whether annotated or not. Lock-free,
 * async-signal-safe.
 */
#ifndef HAWK_TRACER_TABLE_MARKS_H
#define HAWK_TRACER_TABLE_MARKS_H

#include <stdbool.h>

#include "base/options.h"
#include "hawk_trace_table.h"

/** Maps the hash buckets. False: no memory. */
bool hawk_marks_init(void);

/**
 * The id of trace `base` (not marked; 0 = no stack) with `marks`, 1 .. HAWK_TRACE_MARKS_MAX of
 * them; 0 if there is no room.
 */
uint32_t hawk_marks_intern(uint32_t base, const uint64_t *marks, uint32_t count);

/** What remains of trace `base` where none of the scopes that are open is on its stack. */
static inline uint32_t hawk_marks_none(uint32_t base)
{
	return hawk_options.only_scopes ? 0 : base;
}

/** What `trace` marks, or itself if it is not marked. Copies its marks, HAWK_TRACE_MARKS_MAX at
 * most. */
uint32_t hawk_marks_of(uint32_t trace, uint64_t *marks, uint32_t *count);

#endif
