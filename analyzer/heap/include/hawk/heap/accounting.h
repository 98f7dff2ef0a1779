/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Where the process's memory went: what the program asked for, what headers and the allocator add,
 * what the tracer itself takes. All in bytes.
 *
 *     heap_bytes = requested_bytes + header_bytes + overhead_bytes + never_used_bytes
 *     writable_bytes = heap_bytes + tracer_bytes + other_bytes
 *
 * (up to blocks whose end the core does not hold). The allocator's structures are not read, so
 * `overhead_bytes` is what is left over: rounding, free memory that it keeps, its bookkeeping. Of
 * glibc's heaps it is known how far they reach; with other allocators it is also whatever else lies
 * in the same mappings.
 */
#ifndef HAWK_ANALYZER_HEAP_ACCOUNTING_H
#define HAWK_ANALYZER_HEAP_ACCOUNTING_H

#include "hawk/base/error.h"

struct hawk_accounting {
	uint64_t requested_bytes;  /**< of live blocks, as the program asked for them */
	uint64_t header_bytes;     /**< the tracer's headers, alignment padding included */
	uint64_t heap_bytes;       /**< memory of the heaps in which blocks were found */
	uint64_t never_used_bytes; /**< of those: pages of zeros outside of blocks */
	uint64_t overhead_bytes;   /**< of those: the rest */

	uint64_t writable_bytes; /**< of writable memory in the core, or of the process */
	uint64_t touched_bytes;  /**< of that: pages that hold anything but zeros */
	/** never_used_bytes and touched_bytes are known: the source looked at every page. */
	bool measured;

	uint64_t tracer_bytes;         /**< of the trace table and its scratch, as far as there */
	uint64_t tracer_touched_bytes; /**< of that: pages that hold anything but zeros */

	uint64_t other_bytes; /**< the rest of writable memory: stacks, data segments, mmap */
};

struct hawk_heap;

/** From regions and sums of a heap that was walked. Reads the tracer's extents: before a live
 * target is released. */
struct hawk_error *hawk_accounting_make(const struct hawk_heap *heap, struct hawk_accounting *ret);

#endif
