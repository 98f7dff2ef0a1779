/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Accounting of the process's memory, in bytes: the program's requests, headers and the allocator's
 * overhead, the tracer's own memory.
 *
 *     heap_bytes = requested_bytes + header_bytes + overhead_bytes + never_used_bytes
 *     writable_bytes = heap_bytes + tracer_bytes + other_bytes
 *
 * (up to blocks whose end the core does not hold). The allocator's structures are not read, so
 * `overhead_bytes` is the rest: rounding, free memory that it keeps, its bookkeeping. The extent of
 * glibc's heaps is known. With other allocators the rest includes other memory in the same
 * mappings.
 */
#ifndef HAWK_ANALYZER_HEAP_ACCOUNTING_H
#define HAWK_ANALYZER_HEAP_ACCOUNTING_H

#include "hawk/base/error.h"

struct hawk_accounting {
	uint64_t requested_bytes;  /**< of live blocks, as requested by the program */
	uint64_t header_bytes;     /**< the tracer's headers, alignment padding included */
	uint64_t heap_bytes;       /**< memory of the heaps in which blocks were found */
	uint64_t never_used_bytes; /**< part of heap_bytes: pages of zeros outside of blocks */
	uint64_t overhead_bytes;   /**< part of heap_bytes: the rest */

	uint64_t writable_bytes; /**< of writable memory in the core, or of the process */
	uint64_t touched_bytes;  /**< part of writable_bytes: pages that are not all zeros */
	/** never_used_bytes and touched_bytes are known: the source looked at every page. */
	bool measured;

	uint64_t tracer_bytes;         /**< of the trace table and its scratch, as far as present */
	uint64_t tracer_touched_bytes; /**< part of tracer_bytes: pages that are not all zeros */

	uint64_t other_bytes; /**< the rest of writable memory: stacks, data segments, mmap */
};

struct hawk_heap;

/** Makes the accounting from regions and sums of a heap that was walked. Reads the tracer's
 * extents, so a live target must still be held. */
struct hawk_error *hawk_accounting_make(const struct hawk_heap *heap, struct hawk_accounting *ret);

#endif
