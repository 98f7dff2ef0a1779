/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Read from /proc/meminfo.
 */
#include "hawk_memory.h"

#include <stdio.h>

#include "hawk_cleanup.h"

uint64_t hawk_memory_available(void)
{
	CLEANUP(close_file) FILE *file = fopen("/proc/meminfo", "re");
	unsigned long long kib;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
			return kib << 10;
	return UINT64_MAX;
}
