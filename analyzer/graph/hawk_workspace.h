/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The one piece of memory in which marking and dominators work, and in which dominators leave their
 * result: 28 bytes per block, used again and again, because touching new memory costs more than any
 * of the algorithms.
 *
 * Seven lanes of one 32-bit number per block and a few more; neighbouring lanes 0-1 and 4-5 also
 * serve as 64-bit arrays.
 */
#ifndef HAWK_WORKSPACE_H
#define HAWK_WORKSPACE_H

#include <string.h>

#include "hawk_area.h"

enum { HAWK_LANES = 7 };

struct hawk_workspace {
	struct hawk_area area;
	uint64_t stride;  /**< numbers in a lane: blocks + 2 at least */
	unsigned threads; /**< that work in it at a time */
};

/** For `count` blocks. The owner may change `threads` later. */
struct hawk_error *hawk_workspace_create(struct hawk_workspace *workspace, uint32_t count,
					 unsigned threads);

/** Accepts a workspace of zeros. */
void hawk_workspace_destroy(struct hawk_workspace *workspace);

static inline uint32_t *hawk_workspace_lane(const struct hawk_workspace *workspace, unsigned lane)
{
	return (uint32_t *)workspace->area.bytes + lane * workspace->stride;
}

#endif
