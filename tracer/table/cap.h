/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The default cap on the tracer's memory, from what the system and the process's limits leave it.
 * Asked once, at start-up, by direct system calls.
 */
#ifndef HAWK_TRACER_TABLE_CAP_H
#define HAWK_TRACER_TABLE_CAP_H

#include <stdint.h>

enum {
	HAWK_CAP_SHARE = 16,              /**< of memory, one part in so many */
	HAWK_CAP_SHARE_OF_LITTLE = 4,     /**< of little memory, and of a limited address space */
	HAWK_CAP_BYTES_ENOUGH = 64 << 20, /**< the cap is this at least, where that is not much */
	HAWK_CAP_BYTES_MIN = 8 << 20,     /**< what the tables need to begin with */
};

/** The cap in bytes; 0: so little may be mapped that the tracer should not start. */
uint64_t hawk_cap_choose(void);

/** The cap for `memory` bytes; never 0. */
uint64_t hawk_cap_of_memory(uint64_t memory);

/**
 * The lowest limit of the process's cgroup (v1 or v2) and of those around it; UINT64_MAX: none, or
 * not to be found. Reads /proc/self/cgroup and /sys/fs/cgroup below `root`, "" but in tests.
 */
uint64_t hawk_cap_cgroup_limit(const char *root);

#endif
