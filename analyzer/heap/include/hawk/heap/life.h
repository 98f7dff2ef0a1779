/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The lifetime of a traced process. The tracer reads the clock when the process allocates, so its
 * last reading is only a lower bound: a service that idled for hours seems to end at its last
 * allocation. This finds better evidence and rates it. A pure function of numbers.
 */
#ifndef HAWK_ANALYZER_HEAP_LIFE_H
#define HAWK_ANALYZER_HEAP_LIFE_H

#include "hawk/target/target.h"
#include "hawk_trace_table.h"

/** Evidence for the end. */
enum hawk_life_end {
	HAWK_LIFE_CLOCK = 0, /**< the tracer's last clock reading: it lived that long at least */
	HAWK_LIFE_NOW,       /**< alive: the present */
	HAWK_LIFE_ATTRIBUTE, /**< systemd-coredump noted the time of death with the core file */
	HAWK_LIFE_NAME,      /**< a time in the core file's name, as of core_pattern's %t */
};

/** Times in HAWK_BIRTH_UNIT_NS from the tracer's start. */
struct hawk_life {
	enum hawk_life_end end;
	uint64_t clock_units; /**< the tracer's last clock reading */
	uint64_t end_units;   /**< the assumed end, clock_units or later; ages count from it */
	/** The core file's mtime, for display only, as copying or touching changes it. 0 = unknown;
	 * HAWK_LIFE_CLOCK only. */
	uint64_t latest_units;
};

/**
 * Finds the end of the process's life. Recorded times count if they lie between the tracer's last
 * clock reading and the present, and the clock was set when the process started.
 */
struct hawk_life hawk_life_find(const struct hawk_table_header *header,
				const struct hawk_end_times *times);

/** Returns true if the process idled, or may have by the file's time, long enough to tell the
 * reader. */
bool hawk_life_may_have_idled(const struct hawk_life *life);

double hawk_life_seconds(uint64_t units);

/** "clock", "now", "attribute", "name" */
const char *hawk_life_end_name(enum hawk_life_end end);

#endif
