/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The default cap on the tracer's memory, derived from the system's memory and the process's
 * limits. Computed once, at start-up, by direct system calls.
 */
#ifndef HAWK_TRACER_TABLE_CAP_H
#define HAWK_TRACER_TABLE_CAP_H

#include <stdint.h>

enum {
	HAWK_CAP_SHARE = 16,              /**< divisor of memory */
	HAWK_CAP_SHARE_OF_LITTLE = 4,     /**< divisor of little memory or limited address space */
	HAWK_CAP_BYTES_ENOUGH = 64 << 20, /**< lower limit of the cap, given enough memory */
	HAWK_CAP_BYTES_MIN = 8 << 20,     /**< initial size of the tables */
};

/** Returns the cap in bytes; 0 if the process may map too little for the tracer to start. */
uint64_t hawk_cap_choose(void);

/** Returns the cap for `memory` bytes; never 0. */
uint64_t hawk_cap_of_memory(uint64_t memory);

/**
 * Returns the lowest limit of the process's cgroup (v1 or v2) and its ancestors; UINT64_MAX if none
 * is found. Reads /proc/self/cgroup and /sys/fs/cgroup below `root`, which is "" outside tests.
 */
uint64_t hawk_cap_cgroup_limit(const char *root);

#endif
