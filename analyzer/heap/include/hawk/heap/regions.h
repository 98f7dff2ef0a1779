/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What is known of memory beside the blocks: which of it is nobody's data, which was not dumped,
 * and what lies beside heaps. Plain values: a source fills what it knows, and leaves the rest zero.
 */
#ifndef HAWK_ANALYZER_HEAP_REGIONS_H
#define HAWK_ANALYZER_HEAP_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hawk/base/span.h"

/** Ascending, disjoint, but for `undumped`, which is in any order. */
struct hawk_spans {
	struct hawk_span *items;
	size_t count;
};

struct hawk_heap_regions {
	/** The tracer's or the allocator's own memory: holds neither blocks nor roots. */
	struct hawk_spans metadata;
	/** Memory in mappings with blocks that belongs to no heap: the kernel merges adjacent
	 * anonymous mappings. The rest of such a mapping is heap. */
	struct hawk_spans outside;
	/** What the program keeps out of cores (MADV_DONTDUMP). */
	struct hawk_spans undumped;
	bool undumped_known; /**< `undumped` is all of it */
	/** Some live blocks were not found (dropped, damaged): memory of heaps outside of blocks
	 * may be in use. */
	bool blocks_missing;
};

/** Accepts regions of zeros. */
void hawk_heap_regions_deinit(struct hawk_heap_regions *regions);

#endif
