/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * How far the tracer is: what every part may ask, whoever decides it (hooks/init.h).
 */
#ifndef HAWK_TRACER_BASE_PHASE_H
#define HAWK_TRACER_BASE_PHASE_H

enum hawk_phase {
	HAWK_PHASE_NONE = 0, /**< nothing called yet */
	HAWK_PHASE_STARTING, /**< inside hawk_init_once(): only the bootstrap heap works */
	HAWK_PHASE_TRACING,  /**< new blocks get headers */
	HAWK_PHASE_PASSIVE,  /**< new blocks get no header; existing headers are still understood */
	HAWK_PHASE_BYPASS,   /**< no table: nothing of ours exists, everything passes through */
};

/** Written during start-up, and by a child of fork() that has no table. */
extern enum hawk_phase hawk_phase __attribute__((visibility("hidden")));

#endif
