/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Marked traces: a trace with scopes or a type has its own id. The trace that it marks stays
 * unchanged, so that annotated and plain stacks share their frames. Lock-free, async-signal-safe.
 */
#ifndef HAWK_TRACER_TABLE_MARKS_H
#define HAWK_TRACER_TABLE_MARKS_H

#include <stdbool.h>

#include "base/options.h"
#include "hawk_trace_table.h"

/** Maps the hash buckets. Returns false without memory. */
bool hawk_marks_init(void);

/**
 * Returns the id of trace `base` (not marked; 0 = no stack) with 1 to HAWK_TRACE_MARKS_MAX `marks`;
 * 0 without room.
 */
uint32_t hawk_marks_intern(uint32_t base, const uint64_t *marks, uint32_t count);

/** Returns the id of trace `base` when no open scope is on its stack. */
static inline uint32_t hawk_marks_none(uint32_t base)
{
	return hawk_options.only_scopes ? 0 : base;
}

/** Returns the trace that `trace` marks, or `trace` if it is not marked. Copies its marks, at most
 * HAWK_TRACE_MARKS_MAX. */
uint32_t hawk_marks_of(uint32_t trace, uint64_t *marks, uint32_t *count);

#endif
