/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Accounting of the process's memory, in bytes: the program's requests, headers and the allocator's
 * overhead, the tracer's own memory.
 *
 *     heap_bytes = requested_bytes + header_bytes + overhead_bytes + never_used_bytes
 *     writable_bytes = heap_bytes + tracer_bytes + other_bytes
 *     touched_bytes = requested_bytes - untouched_bytes + header_bytes + overhead_bytes
 *                     + tracer_touched_bytes + hawk_accounting_other_touched()
 *
 * (up to blocks whose end the core does not hold). The allocator's structures are not read, so
 * `overhead_bytes` is the rest: rounding, free memory that it keeps, its bookkeeping. The extent of
 * glibc's heaps is known. With other allocators the rest includes other memory in the same
 * mappings.
 */
#ifndef HAWK_ANALYZER_HEAP_ACCOUNTING_H
#define HAWK_ANALYZER_HEAP_ACCOUNTING_H

#include "hawk/base/error.h"

/** Touched memory outside of heaps, as far as it is known whose it is. */
struct hawk_outside {
	uint64_t stack_bytes; /**< of live threads */
	/** Threads that ended and were neither joined nor detached; and their stacks. */
	uint64_t ended_stacks, ended_stack_bytes;
	uint64_t unknown_bytes; /**< anonymous memory of no heap, thread or tracer */
};

struct hawk_accounting {
	uint64_t requested_bytes;  /**< of live blocks, as requested by the program */
	uint64_t untouched_bytes;  /**< part of requested_bytes: in pages of zeros */
	uint64_t header_bytes;     /**< the tracer's headers, alignment padding included */
	uint64_t heap_bytes;       /**< memory of the heaps in which blocks were found */
	uint64_t never_used_bytes; /**< part of heap_bytes: in pages of zeros, outside of blocks */
	uint64_t overhead_bytes;   /**< part of heap_bytes: the rest */

	uint64_t writable_bytes; /**< of writable memory in the core, or of the process */
	uint64_t touched_bytes;  /**< part of writable_bytes: pages that are not all zeros */
	/** The three sums of pages are known. Older snapshots of untraced processes lack them. */
	bool measured;

	uint64_t tracer_bytes;         /**< of the trace table and its scratch, as far as present */
	uint64_t tracer_touched_bytes; /**< part of tracer_bytes: pages that are not all zeros */

	uint64_t other_bytes; /**< the rest of writable memory: stacks, data segments, mmap */
	struct hawk_outside outside; /**< parts of what of it is touched; older snapshots lack it */
};

struct hawk_heap;
struct hawk_touched;

/** Makes the accounting of a heap that was walked; `untouched_bytes` are of its blocks. */
struct hawk_accounting hawk_accounting_make(const struct hawk_heap *heap,
					    const struct hawk_touched *touched,
					    uint64_t untouched_bytes);

/** Fills `ret`, which is zeros. */
struct hawk_error *hawk_outside_find(const struct hawk_heap *heap,
				     const struct hawk_touched *touched, struct hawk_outside *ret);

/** Returns what of `other_bytes` is touched. */
uint64_t hawk_accounting_other_touched(const struct hawk_accounting *of);

#endif
