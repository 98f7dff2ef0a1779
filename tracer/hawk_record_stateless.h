/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Recording for nested and gone callers (hawk_threads.h): no per-thread state, counters go straight
 * into the trace's record.
 */
#ifndef HAWK_RECORD_STATELESS_H
#define HAWK_RECORD_STATELESS_H

#include "hawk_unwind.h"

/** As hawk_record_trace(), which calls it. */
uint32_t hawk_record_stateless(const struct hawk_frame_state *caller, uint64_t bytes);

#endif
