/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Start-up: on the first allocation of the process, wherever it comes from, and again in our
 * constructor for what needs a working C library.
 */
#ifndef HAWK_TRACER_HOOKS_INIT_H
#define HAWK_TRACER_HOOKS_INIT_H

#include <stdbool.h>

#include "base/phase.h"

/** The tracer disables itself because ulimit -v or -d leaves the process too little. */
extern bool hawk_init_lacks_memory __attribute__((visibility("hidden")));

/** Brings the phase to TRACING, PASSIVE or BYPASS; returns it (STARTING for calls from within
 * itself). */
enum hawk_phase hawk_init_once(void);

static inline bool hawk_tracing(void)
{
	if (__builtin_expect(hawk_phase == HAWK_PHASE_TRACING, 1))
		return true;
	return hawk_phase < HAWK_PHASE_TRACING && hawk_init_once() == HAWK_PHASE_TRACING;
}

#endif
