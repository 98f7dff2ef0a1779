/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Short reads of memory, most of them in the mapping of the one before: that is kept at hand. Of
 * one thread.
 */
#ifndef HAWK_ANALYZER_TARGET_NEAR_H
#define HAWK_ANALYZER_TARGET_NEAR_H

#include <string.h>

#include "hawk/base/prefetch.h"
#include "hawk/target/target.h"

/** Zeros but for the target, which must outlive it. */
struct hawk_near {
	const struct hawk_target *target;
	const uint8_t *bytes; /**< memory at `start`, in place */
	uint64_t start, end;
};

/** The slow half of the function below: goes to another mapping. */
size_t hawk_near_read_elsewhere(struct hawk_near *near, uint64_t address, void *to, size_t bytes);

/** As hawk_target_read_some(). */
static inline size_t hawk_near_read(struct hawk_near *near, uint64_t address, void *to,
				    size_t bytes)
{
	if (address < near->start || address > near->end || near->end - address < bytes)
		return hawk_near_read_elsewhere(near, address, to, bytes);
	memcpy(to, near->bytes + (address - near->start), bytes);
	return bytes;
}

/** The same in place: `bytes` at `address`, or NULL if they are not all in the mapping at hand; a
 * read may bring it there. Valid until the target is closed. */
static inline const uint8_t *hawk_near_view(const struct hawk_near *near, uint64_t address,
					    size_t bytes)
{
	if (address < near->start || address > near->end || near->end - address < bytes)
		return NULL;
	return near->bytes + (address - near->start);
}

/** Asks the processor for the memory at `address`, if that is in the mapping at hand. */
static inline void hawk_near_prefetch(const struct hawk_near *near, uint64_t address)
{
	if (address >= near->start && address < near->end)
		hawk_prefetch(near->bytes + (address - near->start));
}

#endif
