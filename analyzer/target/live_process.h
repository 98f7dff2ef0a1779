/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A process that is stopped while we look at it. See live_stop.h for how it is stopped; here: its
 * memory, read through process_vm_readv() and, where that may not (PROT_NONE), /proc/PID/mem.
 * Pages that were never touched are not read but taken as the zeros that they are.
 *
 * After hawk_live_release() only what was captured can be read.
 */
#ifndef HAWK_LIVE_PROCESS_H
#define HAWK_LIVE_PROCESS_H

#include "hawk_target.h"

struct hawk_live;
struct hawk_stopper;

/**
 * `directory` is an open /proc/PID; both it and `stopper` belong to the result, also on failure.
 * `tid` is any living thread of the process: a leader that has exited has no memory.
 */
struct hawk_error *hawk_live_create(int directory, pid_t tid, struct hawk_stopper *stopper,
				    struct hawk_live **ret);

/**
 * Tells the mappings, which the caller keeps, and finds out which of their pages were ever touched.
 * To be called once, while the process stands still, before anything is read through a mapping.
 */
struct hawk_error *hawk_live_use_mappings(struct hawk_live *live,
					  const struct hawk_mapping *mappings, size_t count);

/** Whether the process ended before the release, or has ended now: memory that was read meanwhile
 * may be missing from what was read. */
bool hawk_live_ended(const struct hawk_live *live);

/** Releases first; accepts NULL. */
void hawk_live_close(struct hawk_live *live);

/** Lets the process go on. A second call does nothing. */
void hawk_live_release(struct hawk_live *live);
uint64_t hawk_live_pause_ns(const struct hawk_live *live);

/** How many bytes from `address` on, within `mapping`, could be read. */
size_t hawk_live_read(const struct hawk_live *live, const struct hawk_mapping *mapping,
		      uint64_t address, void *to, size_t bytes);

/**
 * Narrows [*start, *end), addresses within `mapping`, to the first stretch that can be read and was
 * ever touched; false = there is none.
 */
bool hawk_live_data(const struct hawk_live *live, const struct hawk_mapping *mapping,
		    uint64_t *start, uint64_t *end);

/** Copies [start, end) of `mapping`; what cannot be read is left out and counted. */
struct hawk_error *hawk_live_capture(struct hawk_live *live, const struct hawk_mapping *mapping,
				     uint64_t start, uint64_t end);

/** Captured bytes in place, or NULL. */
const void *hawk_live_view(const struct hawk_live *live, uint64_t address, size_t bytes);

/** Adds the finding "live-unreadable" if parts of what was to be captured are not there. */
void hawk_live_check(const struct hawk_live *live, struct hawk_findings *findings);

#endif
