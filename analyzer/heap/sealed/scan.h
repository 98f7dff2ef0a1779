/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Shared by the sweep and the search for one block: tests the granules of a page for seals, decodes
 * sealed headers, reads the target's bytes window by window. Internal to heap/.
 *
 * Invariant: a scan's result depends only on the bytes and their addresses, never on the bounds of
 * windows.
 */
#ifndef HAWK_ANALYZER_HEAP_SEALED_SCAN_H
#define HAWK_ANALYZER_HEAP_SEALED_SCAN_H

#include "sweep.h"

#include <string.h>

enum {
	HAWK_SCAN_PAGE_BYTES = 4096,
	HAWK_SCAN_PAGE_GRANULES = HAWK_SCAN_PAGE_BYTES / HAWK_GRANULE_BYTES,
	HAWK_SCAN_WINDOW_BYTES = 4 << 20,
	/** log2 of the largest believable alignment: an address has 47 bits. */
	HAWK_SCAN_OFFSET_LOG2_MAX = 46,
};

/** The sealed granules of one page, or a part of it, in ascending order. */
struct hawk_scan_page {
	unsigned live_count;
	unsigned dead_count;
	uint16_t live[HAWK_SCAN_PAGE_GRANULES];
	uint16_t dead[HAWK_SCAN_PAGE_GRANULES];
	/** The two header words of each live granule. */
	uint64_t words0[HAWK_SCAN_PAGE_GRANULES];
	uint64_t words1[HAWK_SCAN_PAGE_GRANULES];
};

/**
 * Tests `granules` (at most HAWK_SCAN_PAGE_GRANULES) granules. `bytes` may be unaligned; `address`
 * is their address in the target. Reads nothing beyond them, but prefetches.
 */
void hawk_scan_page(const struct hawk_sweep_plan *plan, const uint8_t *bytes, size_t granules,
		    uint64_t address, struct hawk_scan_page *ret);

/** Returns the two words of a granule. */
static inline struct hawk_block_header hawk_scan_header(const uint8_t *bytes, size_t granule)
{
	struct hawk_block_header header;

	memcpy(&header, bytes + granule * HAWK_GRANULE_BYTES, sizeof(header));
	return header;
}

/** Returns the exact log2 of an offset of HAWK_OFFSET_LARGE, from the word before the header. 0 =
 * implausible. */
unsigned hawk_scan_large_offset(const struct hawk_target *target, uint64_t header_address);

/**
 * Decodes the live header at `address` of the target. Returns false if the seal fits but the
 * contents are impossible: a trace id or birth beyond the plan's, an end beyond `limit` (exclusive
 * end of the contiguous address space), an impossible alignment. Inline because it runs once for
 * each block.
 */
static inline bool hawk_scan_decode(const struct hawk_target *target,
				    const struct hawk_sweep_plan *plan,
				    struct hawk_block_header header, uint64_t address,
				    uint64_t limit, struct hawk_block *ret)
{
	uint64_t start = address + HAWK_HEADER_BYTES;

	*ret = (struct hawk_block){
		.start = start,
		.size = hawk_header_size(header.word0),
		.trace = hawk_header_trace(header.word1),
		.kind = (uint8_t)hawk_header_kind(header.word0),
		.birth = hawk_header_birth(header.word0),
		.offset_code = (uint8_t)hawk_header_offset_code(header.word0),
	};
	if (ret->trace >= plan->trace_count || ret->birth > plan->birth_max)
		return false;
	if (start > limit || ret->size > limit - start)
		return false;
	return ret->offset_code != HAWK_OFFSET_LARGE || hawk_scan_large_offset(target, address);
}

/** Returns the distance in bytes from the allocator's pointer to `block->start`: header and
 * alignment padding. At least 16. */
static inline uint64_t hawk_scan_offset_bytes(const struct hawk_target *target,
					      const struct hawk_block *block)
{
	unsigned log2 = 4u + block->offset_code;

	if (block->offset_code == HAWK_OFFSET_LARGE)
		log2 = hawk_scan_large_offset(target, block->start - HAWK_HEADER_BYTES);
	return log2 ? UINT64_C(1) << log2 : HAWK_HEADER_BYTES;
}

/** Returns true if the sweep reads this mapping: writable, or anonymous (a heap page may have been
 * protected). */
bool hawk_scan_wants(const struct hawk_mapping *mapping);

/** A window on the target's bytes, in place or in its own buffer. */
struct hawk_scan_window {
	const struct hawk_target *target;
	size_t window_bytes; /**< a multiple of the page size */
	uint8_t *buffer;     /**< allocated when first needed */
};

/** Initializes a window of `window_bytes`, rounded up to whole pages; 0 = HAWK_SCAN_WINDOW_BYTES.
 */
void hawk_scan_window_init(struct hawk_scan_window *window, const struct hawk_target *target,
			   size_t window_bytes);
void hawk_scan_window_deinit(struct hawk_scan_window *window);

/**
 * Reads [address, address + bytes), at most a window. `*got` is the number of readable bytes; 0
 * with `*ret` NULL if the first one cannot be read. Valid until the next call.
 */
struct hawk_error *hawk_scan_window_read(struct hawk_scan_window *window, uint64_t address,
					 size_t bytes, const uint8_t **ret, size_t *got);

#endif
