/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Available memory.
 */
#ifndef HAWK_ANALYZER_BASE_MEMORY_H
#define HAWK_ANALYZER_BASE_MEMORY_H

#include <stdint.h>

/** Returns the bytes that the kernel calls available, or the control groups' remainder (a
 * container's) if smaller; UINT64_MAX = unknown. */
uint64_t hawk_memory_available(void);

/** Returns the bytes left within the control groups' limits; UINT64_MAX = no limit. `lines`:
 * /proc/self/cgroup; `folder`: where groups are mounted, "/sys/fs/cgroup". File cache counts as
 * available. */
uint64_t hawk_memory_in_groups(const char *lines, const char *folder);

#endif
