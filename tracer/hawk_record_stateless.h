/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Recording for nested and gone callers (hawk_threads.h): no per-thread state, counters go straight
 * into the trace's record.
 */
#ifndef HAWK_RECORD_STATELESS_H
#define HAWK_RECORD_STATELESS_H

#include "hawk_record.h"

/** As hawk_record_block(), which calls it. */
void *hawk_record_stateless(const struct hawk_frame_state *caller, struct hawk_new_block block);

#endif
