/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Short reads that mostly stay in one mapping, which is cached. For use by one thread.
 */
#ifndef HAWK_ANALYZER_TARGET_NEAR_H
#define HAWK_ANALYZER_TARGET_NEAR_H

#include <string.h>

#include "hawk/base/prefetch.h"
#include "hawk/target/target.h"

/** Initialize with the target and zeros. The target must outlive it. */
struct hawk_near {
	const struct hawk_target *target;
	const uint8_t *bytes; /**< memory at `start`, in place */
	uint64_t start, end;
};

/** Slow path of the function below: switches to another mapping. */
size_t hawk_near_read_elsewhere(struct hawk_near *near, uint64_t address, void *to, size_t bytes);

/** Reads like hawk_target_read_some(). */
static inline size_t hawk_near_read(struct hawk_near *near, uint64_t address, void *to,
				    size_t bytes)
{
	if (address < near->start || address > near->end || near->end - address < bytes)
		return hawk_near_read_elsewhere(near, address, to, bytes);
	memcpy(to, near->bytes + (address - near->start), bytes);
	return bytes;
}

/** Returns `bytes` at `address` in place, or NULL if they are not all in the cached mapping; a read
 * may cache it. Valid until the target is closed. */
static inline const uint8_t *hawk_near_view(const struct hawk_near *near, uint64_t address,
					    size_t bytes)
{
	if (address < near->start || address > near->end || near->end - address < bytes)
		return NULL;
	return near->bytes + (address - near->start);
}

/** Prefetches `address` if it is in the cached mapping. */
static inline void hawk_near_prefetch(const struct hawk_near *near, uint64_t address)
{
	if (address >= near->start && address < near->end)
		hawk_prefetch(near->bytes + (address - near->start));
}

#endif
