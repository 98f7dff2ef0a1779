/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * How much memory there is left.
 */
#ifndef HAWK_ANALYZER_BASE_MEMORY_H
#define HAWK_ANALYZER_BASE_MEMORY_H

#include <stdint.h>

/** Bytes that the kernel calls available, or less if control groups of this process (a container)
 * leave less; UINT64_MAX = not known. */
uint64_t hawk_memory_available(void);

/** Bytes that control groups leave; UINT64_MAX = they have no limit. `lines`: /proc/self/cgroup;
 * `folder`: where groups are mounted, "/sys/fs/cgroup". Memory of files counts as left. */
uint64_t hawk_memory_in_groups(const char *lines, const char *folder);

#endif
